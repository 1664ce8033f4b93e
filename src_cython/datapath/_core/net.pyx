"""The node: what Linux calls a network namespace (struct net). Owns the tables, the connections and the clock."""
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from datapath._core.backlog cimport backlog_free, backlog_init
from datapath._core.context cimport ROUTES
from datapath._core.defrag cimport fragments_free, fragments_init
from datapath._core.fib cimport RouteDecision
from datapath._core.fib cimport Flow, RouteDecision
from datapath._core.draws cimport Shown
from datapath._core.nat cimport nat_undo
from datapath._core.hooks cimport hooks_rebuild
from datapath._core.icmp_limit cimport icmp_limits_free, icmp_limits_init
from datapath._core.neighbour cimport neighbours_entries, neighbours_free, neighbours_init, neighbours_load
from datapath._core.nat_source cimport nat_free, nat_init, nat_rules
from datapath._core.conntrack cimport conntrack_free, conntrack_init
from datapath._core.ct_view cimport view_delete, view_entries, view_load, view_start, view_stats, view_track
from datapath._core.offload cimport offload_allow
from datapath._core.ipset cimport set_add, set_create, set_delete, set_destroy, set_flush, sets_export, sets_free, sets_start
from datapath._core.output cimport outputs_free, outputs_init, outputs_take
from datapath._core.packet cimport Packet, packet_ip
from datapath._core.pool cimport packet_free, packet_new, packet_reserve, pool_free, pool_in_use, pool_init
from datapath._core.program_load cimport program_counters, program_force_sysctls, program_free, program_load, program_tables
from datapath._core.recent cimport recent_export, recent_free, recent_import, recent_start
from datapath._core.record cimport Rewrite, Step, recorder_begin, recorder_free, recorder_init
from datapath._core.route cimport address_is_local, fib_free, fib_load, fib_lookup
from datapath._core.route_query cimport route_query
from datapath._core.tuples cimport Addr
from datapath._core.sysctls cimport sysctls_load
from datapath._core.walk cimport walk_advance, walk_local_out, walk_receive

cdef enum:
    FRAME_MAX = 262144      # the largest record of a capture that is played
    NET_IP_ALIGN = 2        # behind an Ethernet header the IP header then stands on a word's border


cdef int address_from(Addr* address, bytes packed) except -1:
    """From 4 or 16 bytes."""
    cdef const uint8_t* data = packed
    if len(packed) != 4 and len(packed) != 16:
        raise ValueError(f"an address of {len(packed)} bytes: expected 4 or 16")
    memset(address, 0, sizeof(Addr))
    memcpy(address, data, len(packed))
    return 0


cdef class NetNamespace:
    """One node. Not for use by several threads at once. Time is given with each packet and never runs backwards."""

    def __cinit__(self, *, seed: int = 0, kernel: tuple = (6, 18)):
        memset(&self.net, 0, sizeof(Net))
        self.net.loopback = -1
        self.net.strict = 1
        self.net.kernel_major, self.net.kernel_minor = kernel
        self.net.draws.state = <uint64_t>(seed & 0xFFFFFFFFFFFFFFFF)
        recorder_init(&self.net.recorder)
        self.net.routes = <RouteDecision*>calloc(ROUTES, sizeof(RouteDecision))
        if self.net.routes == NULL:
            raise MemoryError
        pool_init(&self.net)
        outputs_init(&self.net)
        conntrack_init(&self.net)
        nat_init(&self.net)
        backlog_init(&self.net)
        icmp_limits_init(&self.net)
        fragments_init(&self.net)
        neighbours_init(&self.net)

    def __dealloc__(self):
        neighbours_free(&self.net)
        fragments_free(&self.net)
        icmp_limits_free(&self.net)
        backlog_free(&self.net)
        program_free(&self.net)
        recent_free(&self.net)
        sets_free(&self.net)
        outputs_free(&self.net)
        conntrack_free(&self.net)
        pool_free(&self.net)
        nat_free(&self.net)
        free(self.net.routes)
        recorder_free(&self.net.recorder)
        fib_free(&self.net)

    def receive(self, const uint8_t[::1] frame not None, int device, unsigned long long now_ns, *, wire_length: int = -1, mark: int = 0) -> int:
        """A frame from the wire arrives on a device. `wire_length` is its length before the snap length cut it.

        Returns the Outcome. Frames that left are had with take_outputs().
        """
        cdef Packet* pkt = self._packet(frame, wire_length, mark, NET_IP_ALIGN)
        self._begin(now_ns)
        pkt.dev = device
        if not self.net.strict:
            offload_allow(&self.net, pkt, device < 0 or self.net.devices[device].has_link_header)
        with nogil:
            walk_receive(&self.net, pkt)
        self._end()
        return self.net.outcome

    def send(self, const uint8_t[::1] packet not None, unsigned long long now_ns, *, uid: int | None = None, gid: int | None = None,
             mark: int = 0, device: int = -1, wire_length: int = -1) -> int:
        """A local process sends an IP packet (a raw socket with IP_HDRINCL); `device` is what its socket is bound to."""
        cdef Packet* pkt = self._packet(packet, wire_length, mark, 0)
        self._begin(now_ns)
        pkt.dev = device
        pkt.local = 1
        if uid is not None or gid is not None:
            pkt.has_owner = 1
            pkt.uid = uid or 0
            pkt.gid = gid or 0
        if not self.net.strict:
            offload_allow(&self.net, pkt, False)
        with nogil:
            walk_local_out(&self.net, pkt)
        self._end()
        return self.net.outcome

    def show(self, source: tuple[bytes, int] | None, destination: tuple[bytes, int] | None, *, statistic: bool = True) -> None:
        """What a capture shows of the next packet's ends after NAT, (address, port or ICMP id): draws follow it where they can.

        `statistic` false: the statistic match does not, only NAT's choices of ports.
        """
        cdef Shown* shown = &self.net.draws.shown
        memset(shown, 0, sizeof(Shown))
        shown.for_statistic = statistic
        if source is not None:
            shown.has_src = 1
            shown.sport = source[1]
            address_from(&shown.src, source[0])
        if destination is not None:
            shown.has_dst = 1
            shown.dport = destination[1]
            address_from(&shown.dst, destination[0])

    def before_nat(self, const uint8_t[::1] packet not None, *, wire_length: int = -1) -> bytes | None:
        """An IP packet that left, as it was before NAT by its connection's entry; None: there is no entry."""
        cdef Packet* pkt = self._packet(packet, wire_length, 0, 0)
        try:
            if pkt.len < 20:
                return None
            pkt.net = pkt.mac
            pkt.family = packet_ip(pkt)[0] >> 4
            if pkt.family != 4 and (pkt.family != 6 or pkt.len < 40):
                return None
            if not self.net.strict:
                offload_allow(&self.net, pkt, False)
            return packet_ip(pkt)[:pkt.present] if nat_undo(&self.net, pkt) else None
        finally:
            packet_free(&self.net, pkt)

    def is_local(self, bytes address not None) -> bool:
        """Whether an address of 4 or 16 bytes is the node's own."""
        cdef Addr addr
        memset(&addr, 0, sizeof(Addr))
        address_from(&addr, address)
        return address_is_local(&self.net, 4 if len(address) == 4 else 6, &addr, -1)

    def device_of_route(self, bytes address not None) -> int:
        """The device by which packets to an address of 4 or 16 bytes leave; -1: there is no route."""
        cdef Flow flow
        cdef RouteDecision decision
        memset(&flow, 0, sizeof(Flow))
        memset(&decision, 0, sizeof(RouteDecision))
        address_from(&flow.dst, address)
        flow.family = 4 if len(address) == 4 else 6
        flow.iif = self.net.loopback
        flow.oif = -1
        return -1 if fib_lookup(&self.net, &flow, &decision) else decision.dev

    def advance(self, unsigned long long now_ns) -> None:
        """Let time pass without a packet: retries, reassembly and neighbours that give up."""
        self._begin(now_ns)

    def neighbours(self) -> list:
        """The neighbour table: [(device, address of 16 bytes, family, link address or b"", NUD_* bits)]."""
        return neighbours_entries(&self.net)

    def take_outputs(self) -> list:
        """The frames that left since the last time: [(device index, bytes)]."""
        return outputs_take(&self.net)

    def steps(self) -> list:
        """What the latest call wrote down: [(kind, hook, table, arg, a, b, depth, value)]."""
        cdef uint32_t i
        cdef Step* step
        cdef list found = []
        for i in range(self.net.recorder.count):
            step = &self.net.recorder.steps[i]
            found.append((step.kind, step.hook, step.table, step.arg, step.a, step.b, step.depth, step.value))
        return found

    def rewrites(self) -> list:
        """The ends that STEP_REWRITE names: [(family, protocol, address before, port or id, address after, port or id)]."""
        cdef uint32_t i
        cdef Rewrite* end
        cdef list found = []
        for i in range(self.net.recorder.n_rewrites):
            end = &self.net.recorder.rewrites[i]
            found.append((end.family, end.protocol, bytes(end.before.b[:16]), end.before_key, bytes(end.after.b[:16]), end.after_key))
        return found

    def nat_rules(self, first: int = 0) -> list:
        """The rules that STEP_NAT names, from the place `first` on: [(family, table, chain, rule)]. They stay when tables are replaced."""
        return nat_rules(&self.net, first)

    def load_host(self, compiled) -> None:
        """Take devices, addresses, sysctls, routes and policy rules from a CompiledHost, in place of those before."""
        fib_load(&self.net, compiled)
        program_force_sysctls(&self.net)
        neighbours_load(&self.net, compiled.neighbours)

    def route_query(self, str kind, int family, dst: bytes, *, src: bytes = b"", iif: int = -1, oif: int = -1, mark: int = 0, tos: int = 0,
                    uid: int = 0, protocol: int = 17, sport: int = 0, dport: int = 0, scope: int = 0, flags: int = 0) -> dict:
        """Ask routing as `ip route get` does. `kind`: input, output, address_type, reverse_path, masquerade or source."""
        return route_query(&self.net, {
            "kind": kind, "family": family, "dst": dst, "src": src, "iif": iif, "oif": oif, "mark": mark, "tos": tos, "uid": uid,
            "protocol": protocol, "sport": sport, "dport": dport, "scope": scope, "flags": flags,
        })

    def load_program(self, int family, compiled) -> None:
        """Replace tables by compiled ones, as iptables-restore does (datapath.compiler.program.compile_ruleset makes them)."""
        program_load(&self.net, family, compiled)
        hooks_rebuild(&self.net, family)

    def log_line(self, unsigned long long value) -> str:
        """The line that a log step (its value) of the latest packet refers to."""
        cdef uint32_t offset = <uint32_t>(value >> 32)
        cdef uint32_t length = <uint32_t>(value & 0xFFFFFFFF)
        if <uint64_t>offset + length > self.net.recorder.text_used:
            raise IndexError("the line is gone: it belonged to an earlier packet")
        return self.net.recorder.text[offset:offset + length].decode("utf-8", "replace")

    def counters(self, int family) -> dict:
        """{"filter/FORWARD/1": (packets, bytes), "filter/FORWARD/policy": ...}."""
        return program_counters(&self.net, family)

    @property
    def rules_tried(self) -> int:
        """How many rules Linux would have tried for all packets so far."""
        return self.net.recorder.rules_tried

    def tables(self, int family) -> dict:
        """{table number as in steps: the CompiledTable that is loaded}."""
        return program_tables(&self.net, family)

    def recent_lists(self) -> dict:
        """The lists of the recent match: {name: [(family, address, ttl, index, [stamp in jiffies of packet time, ...]), ...]}."""
        return recent_export(&self.net)

    def load_recent(self, str name not None, entries) -> None:
        """Fill a list of the recent match that a loaded rule refers to; stamps count from the first packet, in jiffies."""
        recent_import(&self.net, name, entries)

    def create_set(self, dict given not None) -> None:
        """A new, empty IP set (datapath.model.ipset.IpSet.compiled). Raises ValueError when the name is taken."""
        set_create(&self.net, given)

    def add_to_set(self, str name not None, rows) -> None:
        """Add elements (datapath.model.ipset.Element.row), or put them in the place of equal ones."""
        set_add(&self.net, name, rows)

    def delete_from_set(self, str name not None, rows) -> int:
        """Take elements out; how many were there."""
        return set_delete(&self.net, name, rows)

    def flush_set(self, str name not None) -> None:
        """Take all elements out."""
        set_flush(&self.net, name)

    def destroy_set(self, str name not None) -> None:
        """Take a set away. Raises ValueError when a rule or a list refers to it."""
        set_destroy(&self.net, name)

    def sets(self) -> dict:
        """The elements of each set as they stand now (ipset.pyx, sets_export)."""
        return sets_export(&self.net)

    def conntrack_entries(self) -> list:
        """The connections, oldest first, as rows (ct_view.pyx)."""
        return view_entries(&self.net)

    def load_conntrack(self, rows) -> None:
        """Enter rows of a listing; what is left of their life counts from the first packet."""
        view_load(&self.net, rows)

    def delete_conntrack(self, ids) -> int:
        """Take connections out by their ids; how many there were."""
        return view_delete(&self.net, ids)

    def conntrack_stats(self) -> dict:
        """Counts of what happened to the table, by the names of `conntrack -S`."""
        return view_stats(&self.net)

    def load_sysctls(self, dict values not None) -> None:
        """Set the node's sysctls alone (compiler.sysctls.Sysctls.of_node)."""
        sysctls_load(&self.net.sysctl, values)

    def track(self, const unsigned char[::1] packet not None, unsigned long long now_ns, *, hook: int = 0, confirm: bool = True) -> tuple:
        """Give an IP packet to connection tracking alone: (verdict, CtInfo, whether it has an entry)."""
        self._begin(now_ns)
        return view_track(&self.net, packet, hook, confirm)

    @property
    def outcome(self) -> int:
        """The Outcome of the latest packet."""
        return self.net.outcome

    @property
    def drop_reason(self) -> int:
        """The DropReason of the latest packet; 0: it was not dropped."""
        return self.net.drop_reason

    @property
    def error(self) -> int:
        """The errno that the latest send() gave to its process; 0: none."""
        return self.net.error

    @property
    def packets_held(self) -> int:
        """Packets that wait for a neighbour or for the rest of their fragments."""
        return pool_in_use(&self.net)

    @property
    def draw_counts(self) -> tuple:
        """How often something was drawn by the seed, and how often the capture showed it."""
        return self.net.draws.count[0], self.net.draws.count[1]

    @property
    def strict(self) -> bool:
        """Whether no allowance is made for frames that offload left unfinished."""
        return self.net.strict != 0

    @strict.setter
    def strict(self, bint value) -> None:
        self.net.strict = value

    @property
    def now_ns(self) -> int:
        """The latest time that was told."""
        return self.net.now_ns

    @property
    def record_level(self) -> int:
        """How much is written down (RecordLevel)."""
        return self.net.recorder.level

    @record_level.setter
    def record_level(self, int level) -> None:
        self.net.recorder.level = <uint8_t>level

    @property
    def strict(self) -> bool:
        """Whether what offload leaves in captured packets (_core/offload.pyx) is taken as it stands."""
        return self.net.strict != 0

    @strict.setter
    def strict(self, bint value) -> None:
        self.net.strict = value

    @property
    def answer(self) -> bool:
        """Whether local sockets and the echo service answer."""
        return self.net.answer != 0

    @answer.setter
    def answer(self, bint value) -> None:
        self.net.answer = value

    cdef int _end(self) except -1:
        self.net.draws.shown.has_src = 0
        self.net.draws.shown.has_dst = 0
        return 0

    cdef int _begin(self, uint64_t now_ns) except -1:
        recorder_begin(&self.net.recorder)
        self.net.outcome = 0
        self.net.drop_reason = 0
        self.net.error = 0
        with nogil:
            walk_advance(&self.net, now_ns)
        view_start(&self.net)
        recent_start(&self.net)
        sets_start(&self.net)
        return 0

    cdef Packet* _packet(self, const uint8_t[::1] data, wire_length, mark, uint32_t shift) except NULL:
        cdef Packet* pkt
        cdef Py_ssize_t n = data.shape[0]
        if n > FRAME_MAX:
            raise ValueError(f"a packet of {n} bytes: expected at most {FRAME_MAX}")
        pkt = packet_new(&self.net)
        if pkt == NULL or not packet_reserve(pkt, <uint32_t>n + shift):
            packet_free(&self.net, pkt)
            raise MemoryError
        pkt.mac += shift
        pkt.net += shift
        if n:
            memcpy(pkt.head + pkt.mac, &data[0], n)
        pkt.present = <uint32_t>n
        pkt.len = <uint32_t>max(n, wire_length)
        pkt.mark = mark
        pkt.main = 1
        return pkt
