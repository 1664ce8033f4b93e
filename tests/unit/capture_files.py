"""Bytes of captures and of packets, made by hand so that the tests do not lean on the writer that they test."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Sequence
from ipaddress import ip_address

from datapath.capture.reader import Capture, read_capture
from datapath.capture.source import Source

MICROSECONDS, NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D
Packets = Sequence[tuple[int, bytes]]  # (time in ns, frame)


def open_bytes(data: bytes) -> Capture:
    return read_capture(Source(io.BytesIO(data), "test"))


def pcap(packets: Packets, *, order: str = "<", magic: int = NANOSECONDS, linktype: int = 1, version: tuple[int, int] = (2, 4)) -> bytes:
    unit = 1 if magic == NANOSECONDS else 1000
    out = struct.pack(order + "IHHiIII", magic, *version, 0, 0, 262144, linktype)
    for time_ns, frame in packets:
        seconds, rest = divmod(time_ns, 1_000_000_000)
        out += struct.pack(order + "4I", seconds, rest // unit, len(frame), len(frame)) + frame
    return out


def pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + pad(value)


def block(order: str, kind: int, body: bytes) -> bytes:
    total = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + total + body + total


def section(order: str = "<", version: tuple[int, int] = (1, 0)) -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, *version, -1))


def interface(order: str = "<", *, linktype: int = 1, snaplen: int = 0, options: Iterable[tuple[int, bytes]] = ()) -> bytes:
    return block(order, 1, struct.pack(order + "HHI", linktype, 0, snaplen) + b"".join(option(order, *item) for item in options))


def enhanced(
    frame: bytes,
    *,
    order: str = "<",
    interface_id: int = 0,
    ticks: int = 0,
    length: int | None = None,
    options: Iterable[tuple[int, bytes]] = (),
) -> bytes:
    head = struct.pack(order + "5I", interface_id, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), length or len(frame))
    return block(order, 6, head + pad(frame) + b"".join(option(order, *item) for item in options))


def pcapng(packets: Packets, *, order: str = "<", name: str = "eth0") -> bytes:
    out = section(order) + interface(order, options=[(2, name.encode()), (9, b"\x09")])
    return out + b"".join(enhanced(frame, order=order, ticks=time_ns) for time_ns, frame in packets)


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data[: len(data) & ~1])) + (data[-1] << 8 if len(data) & 1 else 0)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ip(source: str, destination: str, protocol: int, payload: bytes, *, ttl: int = 64, ident: int = 1) -> bytes:
    """An IPv4 or IPv6 packet with the checksums filled in."""
    a, b = ip_address(source).packed, ip_address(destination).packed
    at = {6: 16, 17: 6, 58: 2, 1: 2}.get(protocol)
    if at is not None:
        pseudo = b"" if protocol == 1 else a + b + struct.pack(">II", len(payload), protocol)
        payload = payload[:at] + b"\0\0" + payload[at + 2 :]
        payload = payload[:at] + struct.pack(">H", checksum(pseudo + payload)) + payload[at + 2 :]
    if len(a) == 16:
        return struct.pack(">IHBB", 6 << 28, len(payload), protocol, ttl) + a + b + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), ident, 0, ttl, protocol, 0) + a + b
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def udp(source: str, destination: str, sport: int, dport: int, payload: bytes = b"hello", **more: int) -> bytes:
    return ip(source, destination, 17, struct.pack(">4H", sport, dport, 8 + len(payload), 0) + payload, **more)


def tcp(
    source: str, destination: str, sport: int, dport: int, *,
    flags: int = 2, seq: int = 1000, ack: int = 0, payload: bytes = b"", **more: int,
) -> bytes:
    return ip(source, destination, 6, struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 4096, 0, 0) + payload, **more)


def ether(packet: bytes, *, src: str = "02:00:00:00:00:01", dst: str = "02:00:00:00:00:02", vlans: Sequence[int] = ()) -> bytes:
    tags = b"".join(struct.pack(">HH", 0x8100, vlan) for vlan in vlans)
    kind = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    return bytes.fromhex(dst.replace(":", "")) + bytes.fromhex(src.replace(":", "")) + tags + struct.pack(">H", kind) + packet
