"""The node's connection table in Python: listing as `conntrack -L`, import of its text, deletion as `conntrack -D`."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import ClassVar

from datapath._core.net import NetNamespace
from datapath.errors import InputError
from datapath.model.conntrack import SCTP_STATES, TCP_STATES, ConntrackEntry, FlowTuple, Traffic
from datapath.model.host import Host
from datapath.syntax.conntrack_list import parse_conntrack_list

SEEN_REPLY, ASSURED = 1 << 1, 1 << 2
STATE_NAMES = {6: TCP_STATES, 132: SCTP_STATES}
PROTOCOLS = {"tcp": 6, "udp": 17, "icmp": 1, "icmpv6": 58, "sctp": 132, "dccp": 33, "gre": 47, "udplite": 136}
Direction = tuple[bytes, bytes, int, int, int]
Row = tuple[int, int, int, int, int, int | None, int, int, Direction, Direction, tuple[tuple[int, int], tuple[int, int]] | None, int | None]


class ConntrackTable:
    """The connections of one node."""

    def __init__(self, core: NetNamespace, host: Host) -> None:
        self._core = core
        if "conntrack.txt" in host.texts:
            core.load_conntrack([row_of(entry) for entry in parse_conntrack_list(host.texts["conntrack.txt"], "conntrack.txt")])

    def entries(self) -> list[ConntrackEntry]:
        """The connections that live now, oldest first."""
        return [entry_of(row) for row in self._core.conntrack_entries()]

    def delete(self, options: str) -> int:
        """Take out the connections that `conntrack -D` with these options would; how many there were."""
        wanted = Selection(options)
        return self._core.delete_conntrack([row[0] for row in self._core.conntrack_entries() if wanted.fits(entry_of(row))])


def entry_of(row: Row) -> ConntrackEntry:
    """An entry from the core's row (ct_view.pyx, entry_row)."""
    _, status, protocol, family, left_ns, state, mark, use, first, second, counted, age = row
    names = STATE_NAMES.get(protocol)
    return ConntrackEntry(
        original=flow_of(family, protocol, first),
        reply=flow_of(family, protocol, second),
        timeout=max(left_ns, 0) // 1_000_000_000,
        state=names[state] if names is not None and state is not None else None,
        seen_reply=bool(status & SEEN_REPLY),
        assured=bool(status & ASSURED),
        mark=mark,
        use=use,
        counted=None if counted is None else (Traffic(*counted[0]), Traffic(*counted[1])),
        age=None if age is None else age // 1_000_000_000,
    )


def flow_of(family: int, protocol: int, direction: Direction) -> FlowTuple:
    """One direction of a row."""
    src, dst, sport, dport, zone = direction
    return FlowTuple(family, protocol, str(ip_address(src)), str(ip_address(dst)), sport, dport, zone)


def row_of(entry: ConntrackEntry) -> Row:
    """The row that `load_conntrack` takes."""
    names = STATE_NAMES.get(entry.protocol)
    state = names.index(entry.state) if names is not None and entry.state in names else None
    status = SEEN_REPLY * entry.seen_reply | ASSURED * entry.assured
    counted = None
    if entry.counted is not None:
        counted = (entry.counted[0].packets, entry.counted[0].bytes), (entry.counted[1].packets, entry.counted[1].bytes)
    left_ns = entry.timeout * 1_000_000_000
    return (
        0, status, entry.protocol, entry.family, left_ns, state, entry.mark, entry.use,
        direction_of(entry.original), direction_of(entry.reply), counted, None,
    )  # fmt: skip


def direction_of(flow: FlowTuple) -> Direction:
    """One direction as a row has it."""
    return ip_address(flow.src).packed, ip_address(flow.dst).packed, flow.sport, flow.dport, flow.zone


class Selection:
    """The options of `conntrack -D` that say which entries are meant (conntrack(8), FILTER PARAMETERS)."""

    TESTS: ClassVar[dict[tuple[str, ...], Callable[[ConntrackEntry], object]]] = {
        ("-s", "--src", "--orig-src"): lambda entry: entry.original.src,
        ("-d", "--dst", "--orig-dst"): lambda entry: entry.original.dst,
        ("-r", "--reply-src"): lambda entry: entry.reply.src,
        ("-q", "--reply-dst"): lambda entry: entry.reply.dst,
        ("--sport", "--orig-port-src"): lambda entry: entry.original.sport,
        ("--dport", "--orig-port-dst"): lambda entry: entry.original.dport,
        ("--reply-port-src",): lambda entry: entry.reply.sport,
        ("--reply-port-dst",): lambda entry: entry.reply.dport,
        ("-p", "--proto"): lambda entry: entry.protocol,
        ("-m", "--mark"): lambda entry: entry.mark,
        ("-f", "--family"): lambda entry: entry.family,
        ("--state",): lambda entry: entry.state,
        ("-w", "--zone"): lambda entry: entry.original.zone,
    }

    def __init__(self, options: str) -> None:
        words = options.split()
        if len(words) % 2:
            raise InputError(f"conntrack -D {options}: expected options with one value each")
        known = {name: names for names in self.TESTS for name in names}
        for name in words[::2]:
            if name not in known:
                raise InputError(f"conntrack -D {options}: option {name} is not known; expected one of {', '.join(known)}")
        self._wanted = [(known[name], value) for name, value in zip(words[::2], words[1::2], strict=True)]

    def fits(self, entry: ConntrackEntry) -> bool:
        """Whether the entry is meant."""
        return all(self._equal(self.TESTS[names](entry), value) for names, value in self._wanted)

    @staticmethod
    def _equal(have: object, value: str) -> bool:
        if isinstance(have, int):
            number, _, mask = value.partition("/")
            if number in ("ipv4", "ipv6"):
                return have == int(number[-1])
            wanted = PROTOCOLS.get(number)
            wanted = int(number, 0) if wanted is None else wanted
            return have & int(mask, 0) == wanted if mask else have == wanted
        try:
            return ip_address(str(have)) in ip_network(value)
        except ValueError:
            return have == value
