"""What a capture shows of the translation that Linux chose for a packet."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from datapath.capture.packet import ACK, ICMP, ICMPV6, SYN, TCP, IpPacket
from datapath.capture.window import Key, Sight, Window, acknowledging_key, leaving_key, to_key

MOST_DATAGRAMS = 1024


@dataclass(frozen=True, slots=True)
class Shown:
    """The ends of a packet after NAT; None where the capture does not show one. Ports of an ICMP query are its id."""

    source: tuple[bytes, int] | None
    destination: tuple[bytes, int] | None
    by: int  # number of the record that shows it


class LeavingCopies:
    """Reads what is shown from the frames in which packets left.

    Of a datagram in fragments the first shows it, and the last that comes in needs it: then the datagram is whole and
    walks on. So it is remembered for the others.
    """

    def __init__(self) -> None:
        self._of_datagrams: OrderedDict[Key, Shown] = OrderedDict()

    def shown(self, sight: Sight, window: Window) -> Shown | None:
        """What the leaving copy of this packet shows."""
        packet = sight.packet
        if packet is None:
            return None
        datagram = (packet.source, packet.destination, packet.protocol, packet.identification)
        if packet.fragment_offset:
            return self._of_datagrams.get(datagram)
        for copy in window.following(leaving_key(packet), sight):
            if copy.packet is None or is_way_back(copy.packet, packet):
                continue
            shown = shown_by(copy.packet, copy.record.number)
            if packet.more_fragments:
                self._of_datagrams[datagram] = shown
                if len(self._of_datagrams) > MOST_DATAGRAMS:
                    self._of_datagrams.popitem(last=False)
            return shown
        return None


def is_way_back(leaving: IpPacket, packet: IpPacket) -> bool:
    """Whether a leaving packet goes to where this one comes from: an echo has the same content."""
    return leaving.destination == packet.source and leaving.source != packet.source


def shown_by(packet: IpPacket, number: int) -> Shown:
    """The ends of a packet that was captured after NAT."""
    return Shown((packet.source, packet.source_port), (packet.destination, packet.destination_port), number)


def shown_by_reply(sight: Sight, window: Window, is_local: Callable[[bytes], bool]) -> Shown | None:
    """Read from the first packet that can only be the answer: whence it comes is where the packet went.

    TCP: the SYN-ACK that acknowledges exactly this SYN. Others: the first packet to the same client end from another
    end than the client spoke to (were it from that end, nothing was translated, or it was translated back).
    """
    packet = sight.packet
    if packet is None:
        return None
    if packet.protocol == TCP:
        if packet.tcp_flags & (SYN | ACK) != SYN:
            return None
        for reply in window.following(acknowledging_key((packet.sequence + 1) & 0xFFFFFFFF), sight):
            answer = reply.packet
            assert answer is not None
            if (answer.destination, answer.destination_port) == (packet.source, packet.source_port):
                return Shown(None, (answer.source, answer.source_port), reply.record.number)
            if is_local(answer.destination):
                ends = (answer.destination, answer.destination_port), (answer.source, answer.source_port)
                return Shown(*ends, reply.record.number)
        return None
    if packet.protocol in (ICMP, ICMPV6) or not packet.has_ports:
        return None
    for reply in window.following(to_key(packet.protocol, packet.source, packet.source_port), sight):
        answer = reply.packet
        assert answer is not None
        if answer.has_ports and (answer.source, answer.source_port) != (packet.destination, packet.destination_port):
            return Shown(None, (answer.source, answer.source_port), reply.record.number)
    return None
