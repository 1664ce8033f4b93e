"""In what a captured packet differs from the predicted one."""

from __future__ import annotations

from collections.abc import Callable

from datapath.capture.packet import CHECKSUM_AT, IpPacket, address_text
from datapath.capture.played import Difference

PSEUDO_HEADER_PROTOCOLS = frozenset({6, 17, 136})


def differences(predicted: IpPacket, captured: IpPacket, *, generated: bool, strict: bool) -> tuple[Difference, ...]:
    """Every field in which they differ, as far as both were captured.

    `generated`: the kernel made it, so its IP id (or flow label) is a draw that is not compared. Without `strict` a
    checksum that holds only the pseudo-header's sum (offload) is as good as a finished one.
    """
    if predicted.data == captured.data:
        return ()
    found = [
        difference
        for what, a, b in fields(predicted, captured)
        if a != b and (difference := Difference(what, a, b)) and not (generated and what in ("identification", "flow label"))
    ]
    if predicted.family == captured.family and predicted.protocol == captured.protocol and predicted.transport == captured.transport:
        translated_alike = predicted.flow == captured.flow  # else the checksum differs with the addresses, which was said
        found += _content(predicted, captured, strict, translated_alike)
    return tuple(found)


def fields(predicted: IpPacket, captured: IpPacket) -> list[tuple[str, str, str]]:
    """(name, predicted value, captured value) of the header fields that are compared."""
    shown: list[tuple[str, Callable[[IpPacket], str]]] = [
        ("family", lambda p: str(p.family)),
        ("protocol", lambda p: str(p.protocol)),
        ("source", lambda p: p.end(0)),
        ("destination", lambda p: p.end(1)),
        ("length", lambda p: str(p.length)),
        ("fragment", _fragment),
    ]
    if predicted.family == captured.family == 4:
        shown += [
            ("ttl", lambda p: str(p.data[8])),
            ("tos", lambda p: f"0x{p.data[1]:02x}"),
            ("identification", lambda p: str(p.identification)),
            ("options", lambda p: p.data[20 : p.data[0] % 16 * 4].hex()),
        ]
    elif predicted.family == captured.family == 6:
        shown += [
            ("hop limit", lambda p: str(p.data[7])),
            ("traffic class", lambda p: f"0x{int.from_bytes(p.data[:2]) >> 4 & 0xFF:02x}"),
            ("flow label", lambda p: f"0x{int.from_bytes(p.data[1:4]) & 0xFFFFF:05x}"),
        ]
    return [(what, text(predicted), text(captured)) for what, text in shown]


def holds_pseudo_sum_only(packet: IpPacket) -> bool:
    """Whether the TCP or UDP checksum is what a device with checksum offload was given: the pseudo-header's sum."""
    if packet.protocol not in PSEUDO_HEADER_PROTOCOLS or packet.fragment_offset:
        return False
    at = packet.transport + CHECKSUM_AT[packet.protocol]
    addresses = packet.source + packet.destination
    total = sum(int.from_bytes(addresses[i : i + 2]) for i in range(0, len(addresses), 2))
    total += packet.protocol + packet.length - packet.transport
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return len(packet.data) >= at + 2 and int.from_bytes(packet.data[at : at + 2]) == total


def _fragment(packet: IpPacket) -> str:
    if not packet.fragment_offset and not packet.more_fragments:
        return "none"
    return f"{packet.fragment_offset}{'+' if packet.more_fragments else ''}"


def _content(predicted: IpPacket, captured: IpPacket, strict: bool, checksum: bool) -> list[Difference]:
    """The transport header behind the ports, and the payload."""
    at = predicted.transport
    a, b = bytearray(predicted.data[at:]), bytearray(captured.data[at:])
    n = min(len(a), len(b))
    del a[n:], b[n:]
    found: list[Difference] = []
    if not predicted.fragment_offset:
        if predicted.has_ports:
            a[:4] = b[:4] = bytes(min(n, 4))  # compared as part of the ends
        check = CHECKSUM_AT.get(predicted.protocol, n)
        if check + 2 <= n:
            if checksum and a[check : check + 2] != b[check : check + 2] and (strict or not holds_pseudo_sum_only(captured)):
                found.append(Difference("checksum", f"0x{a[check : check + 2].hex()}", f"0x{b[check : check + 2].hex()}"))
            a[check : check + 2] = b[check : check + 2] = b"\0\0"
        if predicted.is_echo and a[4:6] != b[4:6]:
            found.append(Difference("id", str(int.from_bytes(a[4:6])), str(int.from_bytes(b[4:6]))))
            a[4:6] = b[4:6]
    if a != b:
        where = next(i for i in range(n) if a[i] != b[i])
        what = f"byte {where} behind the IP header"
        found.append(Difference(what, a[where : where + 8].hex(), b[where : where + 8].hex()))
    return found


def end_text(address: bytes, port: int) -> str:
    """An address with its port."""
    text = address_text(address)
    return f"[{text}]:{port}" if len(address) == 16 else f"{text}:{port}"
