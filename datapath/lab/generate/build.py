"""Frames and packets from their parts; every checksum is right unless a part is damaged later."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

ICMP, TCP, UDP, ICMPV6, FRAGMENT = 1, 6, 17, 58, 44
PROTOCOLS = {"icmp": ICMP, "tcp": TCP, "udp": UDP, "ipv6-icmp": ICMPV6}
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = 1, 2, 4, 8, 16, 32, 64, 128


def internet_sum(data: bytes, start: int = 0) -> int:
    """The Internet checksum of data, continued from `start`."""
    if len(data) % 2:
        data += b"\0"
    total = start + sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int(total ^ 0xFFFF)


def packed(address: str) -> bytes:
    """An address's bytes."""
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def pseudo(source: str, destination: str, protocol: int, length: int) -> int:
    """The sum of the pseudo-header, to continue from."""
    data = packed(source) + packed(destination) + struct.pack("!II", length, protocol)
    return sum(struct.unpack(f"!{len(data) // 2}H", data))


@dataclass(frozen=True)
class Header:
    """What the IP header says. `flags` are IPv4's three bits with the fragment offset; `options` are IPv4's, padded."""

    source: str
    destination: str
    protocol: int
    lifetime: int = 64
    tos: int = 0
    identification: int = 0
    flags: int = 0
    options: bytes = b""
    flow_label: int = 0

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.source else 4


def ip_packet(header: Header, payload: bytes) -> bytes:
    """The packet of a header and what it carries."""
    if header.version == 6:
        first = 6 << 28 | header.tos << 20 | header.flow_label
        return (
            struct.pack("!IHBB", first, len(payload), header.protocol, header.lifetime)
            + packed(header.source)
            + packed(header.destination)
            + payload
        )
    words = 5 + len(header.options) // 4
    start = struct.pack(
        "!BBHHHBB",
        0x40 | words,
        header.tos,
        words * 4 + len(payload),
        header.identification,
        header.flags,
        header.lifetime,
        header.protocol,
    )
    rest = packed(header.source) + packed(header.destination) + header.options
    return start + struct.pack("!H", internet_sum(start + rest)) + rest + payload


def udp(source: str, destination: str, sport: int, dport: int, data: bytes = b"", *, checksum: bool = True) -> bytes:
    """A UDP datagram; without a checksum it carries zero."""
    head = struct.pack("!HHH", sport, dport, 8 + len(data))
    value = internet_sum(head + b"\0\0" + data, pseudo(source, destination, UDP, 8 + len(data))) or 0xFFFF if checksum else 0
    return head + struct.pack("!H", value) + data


@dataclass(frozen=True)
class Segment:
    """A TCP segment without its checksum."""

    sport: int
    dport: int
    sequence: int = 0
    acknowledgement: int = 0
    flags: int = SYN
    window: int = 64240
    options: bytes = b""
    data: bytes = b""


def tcp(source: str, destination: str, segment: Segment) -> bytes:
    """A TCP segment with its checksum."""
    words = 5 + len(segment.options) // 4
    head = struct.pack(
        "!HHIIBBH",
        segment.sport,
        segment.dport,
        segment.sequence & 0xFFFFFFFF,
        segment.acknowledgement & 0xFFFFFFFF,
        words << 4,
        segment.flags,
        segment.window,
    )
    tail = b"\0\0" + segment.options + segment.data
    value = internet_sum(head + b"\0\0" + tail, pseudo(source, destination, TCP, len(head) + 2 + len(tail)))
    return head + struct.pack("!H", value) + tail


def icmp(source: str, destination: str, kind: int, code: int, rest: int, data: bytes = b"") -> bytes:
    """An ICMP or (between IPv6 addresses) ICMPv6 message."""
    body = struct.pack("!I", rest) + data
    head = struct.pack("!BB", kind, code)
    start = pseudo(source, destination, ICMPV6, 4 + len(body)) if ":" in source else 0
    return head + struct.pack("!H", internet_sum(head + b"\0\0" + body, start)) + body


def frame(source_mac: str, destination_mac: str, packet: bytes) -> bytes:
    """An Ethernet frame around an IP packet."""
    kind = b"\x86\xdd" if packet[:1] and packet[0] >> 4 == 6 else b"\x08\x00"
    return bytes.fromhex(destination_mac.replace(":", "") + source_mac.replace(":", "")) + kind + packet


def mac_text(data: bytes) -> str:
    """A MAC address with colons."""
    return data.hex(":")
