"""Packets that are not as they should be, and packets in unusual places."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from datapath.lab.case import CasePacket
from datapath.lab.generate.build import FRAGMENT, internet_sum
from datapath.lab.generate.world import INTERFACES, World
from datapath.lab.masks import network_offset

if TYPE_CHECKING:
    from datapath.lab.generate.traffic import Traffic


def damage(world: World, packet: CasePacket, traffic: Traffic) -> CasePacket:
    """The packet with one thing wrong or unusual. What cannot be done to it leaves it as it is."""
    if packet.local:
        return packet
    at = network_offset(packet.data)
    head, ip = packet.data[:at], bytearray(packet.data[at:])
    if len(ip) < 20:
        return packet
    version = ip[0] >> 4
    roll = world.rng.random()
    if roll < 0.15:
        return replace(packet, data=head + bad_checksum(world, ip))
    if roll < 0.3:
        return _fragments(world, packet, head, bytes(ip), traffic)
    if is_fragment(ip) and roll >= 0.6:
        # Where the pieces of one packet have headers of different lengths, Linux cuts it again as the room before each
        # piece in the driver's buffer allows, which is another matter than the packets'.
        return packet
    if roll < 0.4:
        mac = world.rng.choice(("02:00:00:00:99:99", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05"))
        return replace(packet, data=bytes.fromhex(mac.replace(":", "")) + packet.data[6:])
    if roll < 0.5:
        return replace(packet, interface=world.rng.choice(INTERFACES))
    if roll < 0.6:
        return replace(packet, data=head + lifetime(ip, world.rng.choice((0, 1, 2))))
    if roll < 0.7:
        return replace(packet, data=head + (odd_header4(world, ip) if version == 4 else odd_header6(world, ip)))
    if roll < 0.8:
        return replace(packet, data=packet.data[: world.rng.randrange(at + 1, len(packet.data) + 1)])
    if roll < 0.9:
        return traffic.error_about(packet) or packet
    return replace(packet, data=head + with_extension(world, ip) if version == 6 else packet.data + b"\0" * world.rng.randrange(1, 20))


def is_fragment(ip: bytearray) -> bool:
    """A piece of a packet."""
    return bool(struct.unpack_from("!H", ip, 6)[0] & 0x3FFF) if ip[0] >> 4 == 4 else ip[6] == FRAGMENT


def fix_header(ip: bytearray) -> bytes:
    """An IPv4 packet with its header checksum made right."""
    if ip[0] >> 4 == 4:
        length = max(20, min(len(ip), (ip[0] & 15) * 4))
        ip[10:12] = b"\0\0"
        ip[10:12] = struct.pack("!H", internet_sum(bytes(ip[:length])))
    return bytes(ip)


def lifetime(ip: bytearray, value: int) -> bytes:
    """Another TTL or hop limit."""
    ip[8 if ip[0] >> 4 == 4 else 7] = value
    return fix_header(ip)


def bad_checksum(world: World, ip: bytearray) -> bytes:
    """A bit flipped in the header's or the transport's checksum, or in the last byte."""
    at = world.rng.choice((10, len(ip) - 1, min(len(ip) - 1, 36 if ip[9] == 6 else 26)))
    if ip[0] >> 4 == 6 and at < 40:
        at = len(ip) - 1
    ip[at] ^= 1 << world.rng.randrange(8)
    return bytes(ip)


def odd_header4(world: World, ip: bytearray) -> bytes:
    """Header fields that Linux refuses or treats specially."""
    what = world.rng.randrange(7)
    if what == 0:
        ip[0] = world.rng.choice((0x44, 0x55, 0x46, 0x4F))
    elif what == 1:
        ip[2:4] = struct.pack("!H", world.rng.choice((19, 20, len(ip) + 8, 0, len(ip) - 1)) & 0xFFFF)
    elif what == 2:
        ip[12:16] = bytes(
            map(int, world.rng.choice(("127.0.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1", "192.0.2.1", "240.0.0.1")).split("."))
        )
    elif what == 3:
        ip[16:20] = bytes(map(int, world.rng.choice(("127.0.0.1", "0.0.0.0", "240.0.0.1", "169.254.1.1", "192.0.2.0")).split(".")))
    elif what == 4:
        return _with_options(world, ip)
    elif what == 5:
        ip[6:8] = struct.pack("!H", world.rng.choice((0x8000, 0x6000, 0x2000, 0x1FFF)))
    else:
        ip[9] = world.rng.choice((0, 6, 17, 1, 41, 4, 47, 255))
    return fix_header(ip)


def _with_options(world: World, ip: bytearray) -> bytes:
    options = bytes.fromhex(
        world.rng.choice(("01010101", "07070400000000" + "00", "94040000", "8307040a600001" + "00", "07ff0400"))
    )
    longer = bytearray(bytes(ip[:20]) + options + bytes(ip[20:]))
    longer[0] = 0x40 | 5 + len(options) // 4
    longer[2:4] = struct.pack("!H", len(longer))
    return fix_header(longer)


def odd_header6(world: World, ip: bytearray) -> bytes:
    """The same for IPv6."""
    what = world.rng.randrange(5)
    if what == 0:
        ip[0] = world.rng.choice((0x40, 0x50, 0x6F))
    elif what == 1:
        ip[4:6] = struct.pack("!H", world.rng.choice((0, len(ip), 7)))
    elif what == 2:
        ip[8:24] = bytes.fromhex(
            world.rng.choice(
                ("00" * 15 + "01", "00" * 16, "ff02" + "00" * 13 + "01", "fd000001" + "00" * 11 + "01", "fe80" + "00" * 13 + "09")
            )
        )
    elif what == 3:
        ip[24:40] = bytes.fromhex(
            world.rng.choice(("00" * 15 + "01", "00" * 16, "ff01" + "00" * 13 + "01", "fe80" + "00" * 13 + "09", "ff02" + "00" * 13 + "01"))
        )
    else:
        ip[6] = world.rng.choice((59, 0, 41, 50, 60, 43))
    return bytes(ip)


def with_extension(world: World, ip: bytearray) -> bytes:
    """An extension header put between the IPv6 header and the rest."""
    kind, content = world.rng.choice(
        (
            (0, "00050200000100"),
            (0, "00010400000000"),
            (60, "00010400000000"),
            (60, "000104c3000000"),
            (0, "00c20400000000"),
            (43, "00000000000000"),
            (43, "00000100000000"),
            (FRAGMENT, "00000000001234"),
            (0, "000104830000" + "00"),
        )
    )
    header = bytes([ip[6]]) + bytes.fromhex(content)
    ip[6] = kind
    ip[4:6] = struct.pack("!H", struct.unpack_from("!H", ip, 4)[0] + len(header))
    return bytes(ip[:40]) + header + bytes(ip[40:])


def _fragments(world: World, packet: CasePacket, head: bytes, ip: bytes, traffic: Traffic) -> CasePacket:
    """The packet in pieces: one now, the others soon, one perhaps never."""
    if ip[0] >> 4 == 6 and ip[6] in (0, 43, 44, 60):
        return packet
    pieces = fragments4(world, ip) if ip[0] >> 4 == 4 else fragments6(world, ip)
    if len(pieces) < 2:
        return packet
    if world.chance(0.3):
        world.rng.shuffle(pieces)
    if world.chance(0.15):
        pieces.pop()
    for piece in reversed(pieces[1:]):
        traffic.pending.appendleft(replace(packet, data=head + piece))
    return replace(packet, data=head + pieces[0])


def cuts(world: World, length: int) -> list[tuple[int, int]]:
    """Where a payload is cut: (begin, end), multiples of eight but for the last end."""
    first = 8 * world.rng.randint(1, 4)
    places = [0, *range(first, length, 8 * world.rng.randint(1, 6)), length]
    return [(begin, end) for begin, end in pairwise(places) if end > begin]


def fragments4(world: World, ip: bytes) -> list[bytes]:
    """IPv4 fragments."""
    length = (ip[0] & 15) * 4
    payload = ip[length:]
    identification = world.rng.randrange(1, 65536)
    pieces = []
    for begin, end in cuts(world, len(payload)):
        piece = bytearray(ip[:length] + payload[begin:end])
        piece[2:4] = struct.pack("!H", len(piece))
        piece[4:8] = struct.pack("!HH", identification, begin // 8 | (0x2000 if end < len(payload) else 0))
        pieces.append(fix_header(piece))
    return pieces


def fragments6(world: World, ip: bytes) -> list[bytes]:
    """IPv6 fragments of everything after the fixed header."""
    payload = ip[40:]
    identification = world.rng.randrange(1 << 32)
    pieces = []
    for begin, end in cuts(world, len(payload)):
        header = struct.pack("!BBHI", ip[6], 0, begin | (end < len(payload)), identification)
        content = header + payload[begin:end]
        pieces.append(ip[:4] + struct.pack("!H", len(content)) + bytes([FRAGMENT]) + ip[7:40] + content)
    return pieces
