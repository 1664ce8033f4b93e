"""The table as Python sees it. Rows, not objects: datapath/engine/conntrack.py makes entries of them.

A row: (id, status, protocol, family, left_ns, state, mark, use, original, reply, counted, age), where a direction is
(src, dst, sport, dport, zone) with addresses as bytes, and counted is ((packets, bytes), (packets, bytes)) or None.
"""
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from datapath._core.conn cimport (
    IPS_ASSURED, IPS_CONFIRMED, IPS_COUNTED, IPS_DST_NAT, IPS_DST_NAT_DONE, IPS_DYING, IPS_IMPORTED, IPS_REPLY_ONLY,
    IPS_SEEN_REPLY, IPS_SRC_NAT, IPS_SRC_NAT_DONE, CtEntry, CtLink, CtTcp,
)
from datapath._core.conntrack cimport conntrack_confirm, conntrack_in
from datapath._core.context cimport Walk
from datapath._core.ct_table cimport (
    Conntrack, entry_expired, entry_insert, entry_kill, entry_new, entry_put, table_find, table_slot,
)
from datapath._core.ct_tcp cimport SIDE_BE_LIBERAL, SIDE_SACK_PERM, SIDE_WINDOW_SCALE
from datapath._core.ct_tuple cimport tuple_invert
from datapath._core.nat_source cimport nat_source_link
from datapath._core.packet cimport Packet
from datapath._core.pool cimport packet_free, packet_new, packet_reserve
from datapath._core.tuples cimport Tuple, addr_equal

cdef enum:
    PROTO_TCP = 6
    PROTO_UDP = 17
    PROTO_SCTP = 132
    UNKNOWN_SCALE = 14          # of an imported entry: the widest, so that nothing in any window is refused

cdef uint64_t SECOND_NS = 1000000000
cdef uint64_t STREAM_AFTER_NS = <uint64_t>2 * 1000000000


cdef list view_entries(Net* net):
    """The live entries, oldest first."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef CtEntry* ct
    cdef uint32_t slot
    cdef list rows = []
    for slot in range(table.used):
        ct = table_slot(table, slot)
        if listed(net, ct):
            rows.append(entry_row(net, ct))
    rows.sort(key=lambda row: row[0])
    return rows


cdef bint listed(Net* net, const CtEntry* ct) noexcept:
    return ct.status & IPS_CONFIRMED and not ct.status & (IPS_DYING | IPS_REPLY_ONLY) \
        and not entry_expired(net, ct)


cdef tuple entry_row(Net* net, const CtEntry* ct):
    cdef object counted = None
    cdef object age = None
    cdef object state = None
    if ct.status & IPS_COUNTED:
        counted = ((ct.packets[0], ct.bytes[0]), (ct.packets[1], ct.bytes[1]))
    if ct.extra != NULL and ct.extra.has_start:
        age = net.now_ns // SECOND_NS - ct.extra.start_ns // SECOND_NS    # as the tool takes it, of whole seconds
    if ct.tuple[0].protocol == PROTO_TCP:
        state = ct.proto.tcp.state
    elif ct.tuple[0].protocol == PROTO_SCTP:
        state = ct.proto.sctp.state
    return (ct.id, ct.status, ct.tuple[0].protocol, ct.tuple[0].family, ct.timeout_ns - net.now_ns, state, ct.mark,
            ct.refs, direction_row(&ct.tuple[0]), direction_row(&ct.tuple[1]), counted, age)


cdef tuple direction_row(const Tuple* t):
    cdef Py_ssize_t n = 4 if t.family == 4 else 16
    return t.src.b[:n], t.dst.b[:n], t.sport, t.dport, t.zone


cdef int fill_tuple(Tuple* t, int family, int protocol, tuple direction) except -1:
    cdef bytes src = direction[0]
    cdef bytes dst = direction[1]
    memset(t, 0, sizeof(Tuple))
    memcpy(t.src.b, <const char*>src, len(src))
    memcpy(t.dst.b, <const char*>dst, len(dst))
    t.family = <uint8_t>family
    t.protocol = <uint8_t>protocol
    t.sport = direction[2]
    t.dport = direction[3]
    t.zone = direction[4]
    return 0


cdef int view_load(Net* net, object rows) except -1:
    """Enter rows of a listing. Their time counts from the first packet. A tuple that is taken already is left out."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef CtEntry* ct
    cdef Tuple original
    cdef Tuple reply
    cdef uint8_t direction = 0
    for row in rows:
        _, status, protocol, family, left_ns, state, mark, _, first, second, counted, _ = row
        fill_tuple(&original, family, protocol, first)
        fill_tuple(&reply, family, protocol, second)
        if table_find(net, &original, &direction) != NULL or table_find(net, &reply, &direction) != NULL:
            continue
        ct = entry_new(net, &original)
        if ct == NULL:
            break
        ct.tuple[0] = original
        ct.tuple[1] = reply
        ct.mark = mark
        ct.status = (<uint32_t>status & (IPS_SEEN_REPLY | IPS_ASSURED)) | nat_status(ct)
        if counted is not None:
            ct.status |= IPS_COUNTED
            ct.packets[0], ct.bytes[0] = counted[0]
            ct.packets[1], ct.bytes[1] = counted[1]
        ct.timeout_ns = left_ns + net.now_ns
        if protocol == PROTO_TCP:
            import_tcp(ct, state or 0)
        elif protocol == PROTO_UDP:
            import_udp(net, ct, left_ns)
        elif protocol == PROTO_SCTP:
            ct.proto.sctp.state = state or 0
        entry_insert(net, ct)
        nat_source_link(net, ct)
        entry_put(net, ct)
    if net.now_ns == 0:
        table.waiting = 1
    return 0


cdef uint32_t nat_status(const CtEntry* ct) noexcept:
    """What NAT did, as the tuples tell; that it has decided, in any case."""
    cdef Tuple answer
    cdef uint32_t status = IPS_SRC_NAT_DONE | IPS_DST_NAT_DONE
    if not tuple_invert(&ct.tuple[0], &answer):
        return status
    if not addr_equal(&answer.dst, &ct.tuple[1].dst) or (
            answer.sport != ct.tuple[1].sport if is_icmp(ct.tuple[0].protocol) else answer.dport != ct.tuple[1].dport):
        status |= IPS_SRC_NAT
    if not addr_equal(&answer.src, &ct.tuple[1].src) or (
            not is_icmp(ct.tuple[0].protocol) and answer.sport != ct.tuple[1].sport):
        status |= IPS_DST_NAT
    return status


cdef inline bint is_icmp(uint8_t protocol) noexcept:
    return protocol == 1 or protocol == 58


cdef void import_tcp(CtEntry* ct, uint8_t state) noexcept:
    """Windows are not in a listing: liberal until both sides were seen, and then with the widest scaling."""
    cdef CtTcp* tcp = &ct.proto.tcp
    cdef int side
    ct.status |= IPS_IMPORTED
    tcp.state = state
    tcp.last_index = 5      # no segment yet
    tcp.last_win = 1        # not closed
    for side in range(2):
        tcp.seen[side].td_scale = UNKNOWN_SCALE
        tcp.seen[side].flags = SIDE_BE_LIBERAL | SIDE_SACK_PERM | SIDE_WINDOW_SCALE


cdef void import_udp(Net* net, CtEntry* ct, uint64_t left_ns) noexcept:
    """When it began is not in a listing: as late as it can be, at its latest packet."""
    cdef uint64_t since = net.sysctl.ct_timeout_udp[0] - left_ns if net.sysctl.ct_timeout_udp[0] > left_ns else 0
    if not ct.status & IPS_ASSURED and since < STREAM_AFTER_NS:
        ct.proto.stream_ns = net.now_ns + STREAM_AFTER_NS - since


cdef void view_start(Net* net) noexcept nogil:
    """The first packet: the time of imported entries begins."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef CtEntry* ct
    cdef uint32_t slot
    if not table.waiting:
        return
    table.waiting = 0
    for slot in range(table.used):
        ct = table_slot(table, slot)
        if ct.status & IPS_CONFIRMED:
            ct.timeout_ns += net.now_ns
            if ct.tuple[0].protocol == PROTO_UDP and ct.proto.stream_ns:
                ct.proto.stream_ns += net.now_ns


cdef int view_delete(Net* net, object ids) except -1:
    """Take the entries with these ids out; how many there were."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef CtEntry* ct
    cdef uint32_t slot
    cdef int deleted = 0
    cdef set wanted = set(ids)
    for slot in range(table.used):
        ct = table_slot(table, slot)
        if listed(net, ct) and ct.id in wanted and entry_kill(net, ct):
            deleted += 1
    return deleted


cdef dict view_stats(Net* net):
    """What `conntrack -S` counts, how many entries there are, and the memory that the table takes."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef uint64_t memory = table.used * sizeof(CtEntry) + (<uint64_t>sizeof(CtLink) << table.bits)
    return {"entries": table.count, "memory": memory, "found": table.stats.found, "invalid": table.stats.invalid, "insert": table.stats.insert,
            "insert_failed": table.stats.insert_failed, "drop": table.stats.drop, "early_drop": table.stats.early_drop,
            "error": table.stats.error, "search_restart": table.stats.search_restart,
            "clash_resolve": table.stats.clash_resolve}


cdef tuple view_track(Net* net, const unsigned char[::1] packet, int hook, bint confirm):
    """Conntrack alone, without a walk, for the tests: (verdict, CtInfo, whether it has an entry)."""
    cdef Packet* pkt = packet_new(net)
    cdef Walk walk
    cdef int verdict
    cdef tuple answer
    if pkt == NULL or not packet_reserve(pkt, <uint32_t>packet.shape[0]):
        raise MemoryError
    memcpy(pkt.head + pkt.net, &packet[0], packet.shape[0])
    pkt.len = <uint32_t>packet.shape[0]
    pkt.present = pkt.len
    pkt.family = packet[0] >> 4
    net.calls += 1
    memset(&walk, 0, sizeof(Walk))
    walk.net = net
    walk.pkt = pkt
    walk.family = pkt.family
    walk.hook = <uint8_t>hook
    verdict = conntrack_in(&walk, 0)
    if confirm and verdict == 1:
        verdict = conntrack_confirm(&walk, 0)
    answer = (verdict, pkt.ctinfo, pkt.ct != NULL)
    packet_free(net, pkt)
    return answer
