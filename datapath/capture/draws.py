"""Connections whose translation the seed drew, and the replies that contradict it: said once per connection, with the reason."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from datapath.capture.compare import end_text
from datapath.capture.expected import ip_of_ethernet
from datapath.capture.packet import ACK, SYN, TCP, IpPacket
from datapath.capture.played import Difference
from datapath.capture.window import Key, Sight, acknowledging_key, to_key
from datapath.engine.transit import Transit
from datapath.model.steps import Tracked

KEPT = 65536


@dataclass(slots=True, eq=False)
class _Draw:
    """What was drawn for a connection: where its packets went."""

    number: int
    destination: tuple[bytes, int]
    told: bool = False


class DrawnConnections:
    """Remembers the latest connections in which something was drawn by the seed."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[Key, _Draw] = OrderedDict()

    def remember(self, sight: Sight, transit: Transit) -> None:
        """File a packet for which the seed drew, by what answers to it look like."""
        if sight.packet is None:
            return
        sent = next((p for _, frame in transit.outputs if (p := ip_of_ethernet(frame)) and p.full_key == sight.packet.full_key), None)
        if sent is None or not sent.has_ports:
            return
        draw = _Draw(sight.record.number, (sent.destination, sent.destination_port))
        self._file(to_key(sent.protocol, sent.source, sent.source_port), draw)
        if sent.protocol == TCP and sent.tcp_flags & (SYN | ACK) == SYN:
            self._file(acknowledging_key((sent.sequence + 1) & 0xFFFFFFFF), draw)

    def contradicted(self, sight: Sight, transit: Transit) -> tuple[Difference, ...]:
        """The draw that a received packet shows to have been another: it answers, but belongs to no entry."""
        packet = sight.packet
        if packet is None or not packet.has_ports or not self._by_key:
            return ()
        draw = self._answered(packet)
        end = (packet.source, packet.source_port)
        if draw is None or draw.told or draw.destination == end:
            return ()
        if any(isinstance(step, Tracked) and step.state not in ("NEW", "INVALID") for step in transit.own_steps()):
            return ()
        draw.told = True
        drawn = f"{end_text(*draw.destination)}, drawn by the seed for packet {draw.number}"
        return (Difference("draw", drawn, f"an answer from {end_text(*end)} to {packet.end(1)}"),)

    def _answered(self, packet: IpPacket) -> _Draw | None:
        if packet.tcp_flags & (SYN | ACK) == SYN | ACK:
            found = self._by_key.get(acknowledging_key(packet.acknowledgement))
            if found is not None:
                return found
        return self._by_key.get(to_key(packet.protocol, packet.destination, packet.destination_port))

    def _file(self, key: Key, draw: _Draw) -> None:
        self._by_key[key] = draw
        self._by_key.move_to_end(key)
        while len(self._by_key) > KEPT:
            self._by_key.popitem(last=False)
