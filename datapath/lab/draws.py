"""What the kernel drew for a packet (ports, ids): the emulator takes it if Linux could have drawn it."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence

from datapath.capture.packet import IpPacket, read_packet
from datapath.lab.case import CasePacket, Recording
from datapath.lab.masks import network_offset

End = tuple[bytes, int]
Ends = tuple[End | None, End | None]

ENTRY = re.compile(
    r"src=(?P<src>\S+) dst=(?P<dst>\S+) (?:sport=(?P<sport>\d+) dport=(?P<dport>\d+)|type=\d+ code=\d+ id=(?P<id>\d+))")


class Drawn:
    """The draws of a recording.

    A packet's leaving copy shows them, else the entry that the kernel had right after the packet, or at the end.
    """

    def __init__(self, recording: Recording) -> None:
        self._packets = recording.packets
        self._at_the_end = bindings(recording.conntrack)

    def shown(self, number: int, packet: CasePacket) -> Ends:
        """The ends of packet `number` after NAT as far as anything shows them."""
        sent = read_packet(packet.data if packet.local else packet.data[network_offset(packet.data) :])
        if sent is None:
            return None, None
        happened = self._packets[number]
        for _, frame in happened.outputs:
            left = read_packet(frame[network_offset(frame) :])
            if left is not None and left.key == sent.key:
                return end(left, source=True), end(left, source=False)
        key = sent.protocol, end(sent, source=True), end(sent, source=False)
        new = bindings(happened.bound)
        # The last piece of a fragmented packet has no ports; the packet that it completes was bound.
        whole = [ends for (protocol, *pair), ends in new.items() if protocol == sent.protocol and addresses(pair) == addresses(key[1:])]
        return new.get(key) or (whole[0] if len(whole) == 1 else self._at_the_end.get(key, (None, None)))


def addresses(pair: Sequence[End]) -> list[bytes]:
    """The two ends without their ports."""
    return [address for address, _ in pair]


def bindings(lines: list[str]) -> dict[tuple[int, End, End], Ends]:
    """By protocol and ends of the original direction: the ends after NAT."""
    found: dict[tuple[int, End, End], Ends] = {}
    for line in lines:
        words, ends = line.split(), [ends_of(match) for match in ENTRY.finditer(line)]
        if len(ends) == 2:
            (source, destination), (back_source, back_destination) = ends
            found[int(words[3]), source, destination] = (back_destination, back_source)
    return found


def end(packet: IpPacket, *, source: bool) -> End:
    """One end of a packet; the id of an ICMP query stands for both of its ports."""
    if source:
        return packet.source, packet.source_port
    return packet.destination, packet.source_port if packet.is_echo else packet.destination_port


def ends_of(entry: re.Match[str]) -> tuple[End, End]:
    """Source and destination of one direction of a conntrack line."""
    source, destination = packed(entry["src"]), packed(entry["dst"])
    return (source, int(entry["sport"] or entry["id"])), (destination, int(entry["dport"] or entry["id"]))


def packed(address: str) -> bytes:
    """An address as 4 or 16 bytes."""
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
