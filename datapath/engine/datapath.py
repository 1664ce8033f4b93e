"""`Datapath`: one node that packets are played through."""

from __future__ import annotations

from functools import partial

from datapath._core.net import NetNamespace
from datapath._core.record import RecordLevel, StepKind
from datapath.compiler.host import compile_host
from datapath.engine.conntrack import ConntrackTable
from datapath.engine.decode import Decoder, drop_reason_name
from datapath.engine.host import Host
from datapath.engine.ipsets import IpSets
from datapath.engine.recent import load_recent, recent_files
from datapath.engine.refused import refuse_unsupported_files
from datapath.engine.rulesets import Rulesets
from datapath.engine.transit import Transit
from datapath.errors import HostError, UnsupportedFeatureError
from datapath.model.conntrack import ConntrackEntry
from datapath.model.host import ROUTE_TYPES
from datapath.model.ruleset import Ruleset
from datapath.model.verdicts import OUTCOMES

FAMILIES = (4, 6)


class Datapath:
    """A node: its state, and the packets that it is given.

        node = Datapath(Host.load("host/"), seed=0)
        transit = node.receive(frame, interface="eth0", now_ns=0)

    `seed` feeds everything that Linux draws at random. `kernel` ("6.18" or "6.1") goes before the host's own version.
    `lenient` turns what is not emulated into an unknown outcome, instead of refusing it. With `answer`, local sockets
    and the echo service answer what is delivered. `why` also records, for each rule that was tried and did not match,
    the first condition that failed.

    Time is the packets', in integer nanoseconds, and never runs backwards: the later of the previous packet's and the
    packet's own. Not for use by several threads at once.
    """

    def __init__(
        self, host: Host, *, seed: int = 0, kernel: str | None = None, lenient: bool = False, answer: bool = False, why: bool = False
    ) -> None:
        refuse_unsupported_files(host)
        self._host = host
        self._core = NetNamespace(seed=seed, kernel=kernel_version(kernel) if kernel else host.kernel)
        self._core.record_level = RecordLevel.RECORD_WHY if why else RecordLevel.RECORD_STEPS
        self._core.answer = answer
        self._core.load_host(compile_host(host))
        self._devices = {link.name: number for number, link in enumerate(host.links)}
        self._ipsets = IpSets(self._core, host)
        self._rulesets = Rulesets(lenient, self._ipsets.check)
        self._nat_rules: list[str] = []
        for compiled in self._rulesets.load(host):
            self._core.load_program(compiled.family, compiled)
        self._conntrack = ConntrackTable(self._core, host)
        load_recent(self._core, host)

    @property
    def host(self) -> Host:
        """The node's state as it was loaded, with the changes made since."""
        return self._host

    @property
    def core(self) -> NetNamespace:
        """The compiled node, for what plays many packets at once (datapath.capture.bulk)."""
        return self._core

    # Packets

    def receive(
        self, frame: bytes, interface: str, now_ns: int = 0, *, mark: int = 0, wire_length: int | None = None
    ) -> Transit:
        """A frame from the wire. `wire_length` is its length before a snap length cut it. Raises HostError for an unknown interface."""
        self._core.receive(frame, self._device(interface), now_ns, wire_length=-1 if wire_length is None else wire_length, mark=mark)
        return self._transit()

    def send(
        self,
        packet: bytes,
        now_ns: int = 0,
        uid: int | None = None,
        gid: int | None = None,
        mark: int = 0,
        interface: str | None = None,
        *,
        wire_length: int | None = None,
    ) -> Transit:
        """An IP packet that a local process sends through a raw socket; it enters at OUTPUT.

        `uid` and `gid` are the process's, for the owner match; `interface` is what its socket is bound to.
        """
        device = -1 if interface is None else self._device(interface)
        length = -1 if wire_length is None else wire_length
        self._core.send(packet, now_ns, uid=uid, gid=gid, mark=mark, device=device, wire_length=length)
        return self._transit()

    def advance(self, now_ns: int) -> list[Transit]:
        """What happens without a packet up to this time: ARP retries, reassembly time-outs, expiries."""
        self._core.advance(now_ns)
        return [self._transit()] if self._core.steps() else []  # whatever leaves is a step too

    # State

    def counters(self, family: int = 4) -> dict[str, tuple[int, int]]:
        """Packets and bytes of each rule ("filter/FORWARD/1", from 1 per chain) and policy ("filter/FORWARD/policy")."""
        return self._core.counters(family)

    def conntrack(self) -> list[ConntrackEntry]:
        """The connections that live now; `str()` of one is its line in `conntrack -L -o extended`."""
        return self._conntrack.entries()

    def recent(self) -> dict[str, str]:
        """The lists of the recent match by name, each as /proc/net/xt_recent/NAME would show it, the oldest entry first."""
        return recent_files(self._core)

    def ruleset(self, family: int = 4, legacy: bool = False) -> Ruleset:
        """The rules as they are loaded."""
        return self._rulesets.of(family, legacy)

    # Changes

    def restore(self, text: str, family: int = 4, noflush: bool = False, counters: bool = False) -> None:
        """What iptables-restore does with this text; connections are kept. All of it is loaded or, after an error, nothing."""
        live = self._core.counters(family)
        self._name_nat_rules()
        self._core.load_program(family, self._rulesets.restore(text, family, noflush=noflush, counters=counters, live=live))

    def conntrack_delete(self, options: str) -> int:
        """`conntrack -D` with these options ("-p udp --orig-dst 10.96.0.10"); how many entries went."""
        return self._conntrack.delete(options)

    def sysctl(self, name: str, value: str | int) -> None:
        """`sysctl -w NAME=VALUE`."""
        self._change(self._host.with_sysctl(name, str(value)))

    def ip(self, command: str) -> None:
        """An `ip` command that changes the node: addr, link, route, rule, neigh; add, del, replace, set."""
        self._change(self._host.after_ip(command))

    def ipset(self, command: str) -> None:
        """An `ipset` command: create, add, del, flush or destroy, with its arguments."""
        self._ipsets.command(command)

    def ipvsadm(self, command: str) -> None:
        """An `ipvsadm` command."""
        raise UnsupportedFeatureError(f"ipvsadm {command}: IPVS is not emulated yet")

    # What a replay asks (datapath.capture.node.Node)

    def allow_offload(self, allowed: bool) -> None:
        """Whether a checksum of the pseudo-header alone, a zero IP length and a frame above the MTU count as valid."""
        self._core.strict = not allowed

    def show(
        self, source: tuple[bytes, int] | None, destination: tuple[bytes, int] | None, *, statistic: bool = True
    ) -> None:
        """What a capture shows of the next packet's ends after NAT: (address of 4 or 16 bytes, port). Draws follow it.

        `statistic` false: the statistic match does not, only NAT's choices of ports.
        """
        self._core.show(source, destination, statistic=statistic)

    def draw_counts(self) -> tuple[int, int]:
        """How often something was drawn by the seed so far, and how often the capture showed it."""
        return self._core.draw_counts

    def before_nat(self, packet: bytes) -> bytes | None:
        """A packet captured as it left, translated back through its connection's entry; None without an entry."""
        return self._core.before_nat(packet)

    def is_local(self, address: bytes) -> bool:
        """Whether an address (4 or 16 bytes) is the node's own."""
        family = 4 if len(address) == 4 else 6
        return bool(self._core.route_query("address_type", family, address)["type"] == ROUTE_TYPES["local"])

    def device_of_route(self, address: bytes) -> str | None:
        """The device by which packets to an address leave, None without a route."""
        answer = self._core.route_query("output", 4 if len(address) == 4 else 6, address)
        return None if answer["error"] else self._host.links[answer["dev"]].name

    # Within

    def _device(self, interface: str) -> int:
        try:
            return self._devices[interface]
        except KeyError:
            raise HostError(f"the host has no interface {interface!r}: it has {', '.join(self._devices)}", self._host.source) from None

    def _change(self, host: Host) -> None:
        self._core.load_host(compile_host(host))
        self._host = host
        self._devices = {link.name: number for number, link in enumerate(host.links)}

    def _name_nat_rules(self) -> list[str]:
        """The rules that have bound a connection, named while the tables that hold them are there."""
        for family, number, chain, rule in self._core.nat_rules(len(self._nat_rules)):
            table = self._core.tables(family)[number]
            self._nat_rules.append(f"{table.label}/{table.chain_names[chain]}/{rule}")
        return self._nat_rules

    def _transit(self) -> Transit:
        core, links = self._core, self._host.links
        outputs = tuple((links[device].name, frame) for device, frame in core.take_outputs())
        reason = core.drop_reason
        raw = core.steps()
        lines = {step[-1]: core.log_line(step[-1]) for step in raw if step[0] == StepKind.STEP_LOG}
        decoder = Decoder(self._host, {family: core.tables(family) for family in FAMILIES}, self._name_nat_rules(), lines)
        return Transit(
            OUTCOMES[core.outcome],
            drop_reason_name(reason) if reason else None,
            outputs,
            core.now_ns,
            partial(decoder.decode, raw, core.rewrites()),
        )


def kernel_version(text: str) -> tuple[int, int]:
    """A kernel profile by its name: "6.18" or "6.1"."""
    if text not in ("6.18", "6.1"):
        raise HostError(f"no profile of Linux {text!r}: expected 6.18 or 6.1")
    major, minor = text.split(".")
    return int(major), int(minor)

