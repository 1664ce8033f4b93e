"""What may differ between two right answers: fields that Linux draws at random.

These are the IP identification of packets that the kernel makes itself (ICMP errors, echo replies, resets, local packets
without one), the identification of IPv6 fragments that it cuts, the flow label of its ICMPv6 errors, echo replies and
resets. A masked frame has them zeroed, and its IPv4 header checksum made to fit; a checksum that was wrong before stays
wrong.
"""

from __future__ import annotations

IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
ICMP, TCP, FRAGMENT_HEADER, ICMPV6 = 1, 6, 44, 58
OPTION_HEADERS = frozenset({0, 43, 60})
ICMP_MADE = frozenset({0, 3, 4, 5, 11, 12})  # echo replies, errors
ECHO_REPLY6 = 129


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of data; 0 over a header with a right checksum."""
    if len(data) % 2:
        data += b"\0"
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def network_offset(frame: bytes) -> int:
    """Where the IP header starts; the length of the frame when there is none."""
    at = 12
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    return at + 2 if frame[at : at + 2] in (IPV4, IPV6) else len(frame)


def mask(frame: bytes, came_with: bytes = b"") -> bytes:
    """The frame without what Linux draws. The identification that the packet came with (`came_with`) is kept."""
    at = network_offset(frame)
    version = frame[at] >> 4 if at < len(frame) else 0
    if version == 4 and len(frame) >= at + 20:
        return _mask4(frame, at, came_with)
    if version == 6 and len(frame) >= at + 40:
        return _mask6(frame, at)
    return frame


def _mask4(frame: bytes, at: int, came_with: bytes) -> bytes:
    length = (frame[at] & 15) * 4
    header, rest = bytearray(frame[at : at + length]), frame[at + length :]
    if (bytes(header[4:6]) == came_with != b"\0\0") or not made_by_kernel(header, rest):
        return frame
    right = checksum(bytes(header)) == 0
    header[4:6] = b"\0\0"
    if right:
        header[10:12] = b"\0\0"
    return frame[:at] + bytes(header) + rest


def made_by_kernel(header: bytes | bytearray, payload: bytes) -> bool:
    """Can this IPv4 packet be one that the kernel itself made (an ICMP error, an echo reply, a reset)."""
    if header[9] == ICMP:
        return payload[:1] != b"" and payload[0] in ICMP_MADE
    return header[9] == TCP and len(payload) >= 20 and bool(payload[13] & 4)


def _mask6(frame: bytes, at: int) -> bytes:
    header, rest = bytearray(frame[at : at + 40]), bytearray(frame[at + 40 :])
    next_header, start = header[6], 0
    while next_header in OPTION_HEADERS and len(rest) >= start + 2:
        next_header, start = rest[start], start + (rest[start + 1] + 1) * 8
    if next_header == FRAGMENT_HEADER and len(rest) >= start + 8:
        rest[start + 4 : start + 8] = b"\0\0\0\0"
    answer = header[6] == ICMPV6 and rest[:1] and (rest[0] < 128 or rest[0] == ECHO_REPLY6)
    if answer or (header[6] == TCP and len(rest) >= 20 and rest[13] & 4):
        header[1:4] = bytes([header[1] & 0xF0, 0, 0])
    return frame[:at] + bytes(header) + bytes(rest)


def identification(data: bytes, at: int) -> bytes:
    """The IPv4 identification of the packet at an offset, zero when there is none."""
    return data[at + 4 : at + 6] if len(data) >= at + 20 and data[at] >> 4 == 4 else b"\0\0"
