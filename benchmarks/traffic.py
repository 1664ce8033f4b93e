"""The captures that the benchmarks play: 60-byte TCP frames in pcap files, made of bytes, always the same."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

NODE_OUTSIDE, NODE_INSIDE = bytes.fromhex("020000000a01"), bytes.fromhex("020000000b01")
WIRE = bytes.fromhex("02000000ff01")
SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10
SERVICES = 0x0A600000  # 10.96.0.0/16: service i is at + i + 1, port 80
SERVERS = 0x0AF40000  # 10.244.0.0/16: endpoint j of service i is at + 2 i + j + 1, port 8080
CLIENTS = 0x0A010000  # 10.1.0.0/16: behind the masquerading node
WORLD = 0xC6336400  # 198.51.100.0/24
FILE_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF ^ ((total & 0xFFFF) + (total >> 16))


def segment(source: int, destination: int, sport: int, dport: int, flags: int, seq: int, ack: int) -> bytes:
    """An Ethernet frame for the node, with right checksums; 60 bytes, the end is padding."""
    addresses = struct.pack(">II", source, destination)
    tcp = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 8192, 0, 0)
    tcp = tcp[:16] + struct.pack(">H", checksum(addresses + b"\0\x06\0\x14" + tcp)) + tcp[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40, 1, 0x4000, 64, 6, 0) + addresses
    return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp + bytes(6)


def write(path: Path, segments: Iterable[tuple[bytes, bytes]], gap_ns: int = 1000) -> Path:
    """A pcap of (receiving device's link address, packet)."""
    with path.open("wb", buffering=1 << 20) as out:
        out.write(FILE_HEADER)
        for number, (device, packet) in enumerate(segments):
            seconds, rest = divmod(1_700_000_000_000_000_000 + number * gap_ns, 1_000_000_000)
            frame = device + WIRE + b"\x08\0" + packet
            out.write(struct.pack("<4I", seconds, rest, len(frame), len(frame)) + frame)
    return path


def masqueraded(connections: int, *, established: int = 0) -> Iterator[tuple[bytes, bytes]]:
    """Each connection's SYN from behind the node, then `established` rounds of one packet of each (rows 1, 2, 4)."""
    ends = [(CLIENTS + 1 + i // 60000, 1024 + i % 60000, WORLD + 1 + i % 200) for i in range(connections)]
    for client, port, server in ends:
        yield NODE_INSIDE, segment(client, server, port, 80, SYN, 1000, 0)
    for _ in range(established):
        for client, port, server in ends:
            yield NODE_INSIDE, segment(client, server, port, 80, ACK, 1001, 1)


def to_services(connections: int, services: int) -> Iterator[tuple[bytes, bytes]]:
    """New connections, spread evenly over the services (row 3)."""
    for i in range(connections):
        service = i * 7919 % services
        client, port = WORLD + 1 + i % 200, 1024 + i // 200 % 60000
        yield NODE_OUTSIDE, segment(client, SERVICES + service + 1, port, 80, SYN, 1000, 0)
