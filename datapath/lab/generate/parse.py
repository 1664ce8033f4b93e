"""What peers read out of a frame that reached them."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from datapath.lab.generate.build import FRAGMENT, ICMP, ICMPV6, TCP, UDP
from datapath.lab.masks import network_offset

EXTENSION_HEADERS = frozenset({0, 43, 60})


@dataclass(frozen=True)
class Seen:
    """A packet that somebody received: addresses, the protocol, the bytes from the transport header on.

    `packet` is the whole IP packet; `fragment` is set for all but whole packets.
    """

    source: str
    destination: str
    protocol: int
    payload: bytes
    packet: bytes
    fragment: bool = False
    source_mac: str = ""
    destination_mac: str = ""

    @property
    def version(self) -> int:
        """4 or 6."""
        return self.packet[0] >> 4

    def ports(self) -> tuple[int, int]:
        """Source and destination port of TCP and UDP."""
        sport, dport = struct.unpack_from("!HH", self.payload)
        return sport, dport

    @property
    def readable(self) -> bool:
        """Whole, and its transport header is there."""
        least = {TCP: 20, UDP: 8, ICMP: 8, ICMPV6: 8}.get(self.protocol, 1 << 16)
        return not self.fragment and len(self.payload) >= least


def see_frame(frame: bytes) -> Seen | None:
    """The IP packet in a frame, None when there is none that can be read."""
    at = network_offset(frame)
    seen = see_packet(frame[at:])
    if seen is None:
        return None
    return Seen(
        seen.source, seen.destination, seen.protocol, seen.payload, seen.packet, seen.fragment, frame[6:12].hex(":"), frame[:6].hex(":")
    )


def see_packet(packet: bytes) -> Seen | None:
    """An IP packet read."""
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:
        length = (packet[0] & 15) * 4
        fragment = struct.unpack_from("!H", packet, 6)[0] & 0x3FFF != 0
        total = min(len(packet), struct.unpack_from("!H", packet, 2)[0])
        return Seen(
            socket.inet_ntop(socket.AF_INET, packet[12:16]),
            socket.inet_ntop(socket.AF_INET, packet[16:20]),
            packet[9],
            packet[length:total],
            packet[:total],
            fragment,
        )
    if version == 6 and len(packet) >= 40:
        protocol, at = packet[6], 40
        while protocol in EXTENSION_HEADERS and at + 8 <= len(packet):
            protocol, at = packet[at], at + 8 + packet[at + 1] * 8
        total = min(len(packet), 40 + struct.unpack_from("!H", packet, 4)[0])
        return Seen(
            socket.inet_ntop(socket.AF_INET6, packet[8:24]),
            socket.inet_ntop(socket.AF_INET6, packet[24:40]),
            protocol,
            packet[at:total],
            packet[:total],
            protocol == FRAGMENT,
        )
    return None
