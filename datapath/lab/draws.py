"""What the kernel drew for a packet, as its leaving copy shows it: the emulator takes it if Linux could have drawn it."""

from __future__ import annotations

from datapath.capture.packet import read_packet
from datapath.lab.case import CasePacket, Output
from datapath.lab.masks import network_offset

End = tuple[bytes, int]


def shown_ends(packet: CasePacket, outputs: list[Output]) -> tuple[End | None, End | None]:
    """Source and destination of the first output that carries what the packet carried; None where there is none."""
    sent = read_packet(packet.data if packet.local else packet.data[network_offset(packet.data):])
    if sent is None:
        return None, None
    for _, frame in outputs:
        left = read_packet(frame[network_offset(frame):])
        if left is not None and left.key == sent.key:
            return (left.source, left.source_port), (left.destination, left.destination_port)
    return None, None
