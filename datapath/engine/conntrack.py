"""The connections of a node: listing, import, deletion."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any

from datapath._core.net import NetNamespace
from datapath.model.conntrack import SCTP_STATES, TCP_STATES, ConntrackEntry, FlowTuple, Traffic
from datapath.model.host import Host
from datapath.syntax.conntrack_command import parse_conntrack_delete
from datapath.syntax.conntrack_list import parse_conntrack_list

FILE = "conntrack.txt"
SECOND_NS = 1_000_000_000
SEEN_REPLY, ASSURED = 1 << 1, 1 << 2    # enum ip_conntrack_status
STATES = {6: TCP_STATES, 132: SCTP_STATES}

Row = tuple[Any, ...]


class ConntrackTable:
    """The connections of one node."""

    def __init__(self, core: NetNamespace, host: Host) -> None:
        """Take over those of the host's conntrack.txt. Raises InputError for a line that makes no sense."""
        self._core = core
        text = host.texts.get(FILE)
        if text is not None:
            self.load(parse_conntrack_list(text, FILE))

    def entries(self) -> list[ConntrackEntry]:
        """The live connections, oldest first."""
        return [entry_of_row(row) for row in self._core.conntrack_entries()]

    def load(self, entries: Iterable[ConntrackEntry]) -> None:
        """Enter the connections of a listing.

        Their timeouts count from the first packet. TCP windows, which no listing shows, are learned: until both sides
        have sent nothing is out of window.
        """
        self._core.load_conntrack([row_of_entry(entry) for entry in entries])

    def delete(self, options: str) -> int:
        """Delete what `conntrack -D OPTIONS` would; how many entries went. Raises InputError for bad options."""
        wanted = parse_conntrack_delete(options)
        return self._core.delete_conntrack([row[0] for row in self._core.conntrack_entries() if wanted.selects(entry_of_row(row))])


def entry_of_row(row: Row) -> ConntrackEntry:
    """An entry from a row of the core (ct_view.pyx)."""
    _, status, protocol, family, left_ns, state, mark, use, original, reply, counted, age = row
    states = STATES.get(protocol)
    return ConntrackEntry(
        original=_flow(family, protocol, original),
        reply=_flow(family, protocol, reply),
        timeout=left_ns // SECOND_NS,
        state=states[state] if states else None,
        seen_reply=bool(status & SEEN_REPLY),
        assured=bool(status & ASSURED),
        mark=mark,
        use=use,
        counted=(Traffic(*counted[0]), Traffic(*counted[1])) if counted else None,
        age=age,
    )


def row_of_entry(entry: ConntrackEntry) -> Row:
    """The row that the core takes for an entry."""
    status = SEEN_REPLY * entry.seen_reply | ASSURED * entry.assured
    states = STATES.get(entry.protocol)
    state = states.index(entry.state) if states and entry.state in states else None
    counted = entry.counted and tuple((direction.packets, direction.bytes) for direction in entry.counted)
    return (0, status, entry.protocol, entry.family, entry.timeout * SECOND_NS, state, entry.mark & 0xFFFFFFFF, 0,
            _direction(entry.original), _direction(entry.reply), counted, None)


def _flow(family: int, protocol: int, direction: Row) -> FlowTuple:
    src, dst, sport, dport, zone = direction
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    return FlowTuple(family, protocol, socket.inet_ntop(kind, src), socket.inet_ntop(kind, dst), sport, dport, zone)


def _direction(flow: FlowTuple) -> Row:
    kind = socket.AF_INET if flow.family == 4 else socket.AF_INET6
    return (socket.inet_pton(kind, flow.src), socket.inet_pton(kind, flow.dst), flow.sport, flow.dport, flow.zone)
