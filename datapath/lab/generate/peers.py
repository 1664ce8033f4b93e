"""What peers send back for what really reached them."""

from __future__ import annotations

import struct

from datapath.lab.generate.build import ACK, FIN, ICMP, ICMPV6, PSH, RST, SYN, TCP, UDP, Header, Segment, icmp, ip_packet, tcp, udp
from datapath.lab.generate.parse import Seen
from datapath.lab.generate.world import World

ERRORS4 = ((3, 3), (3, 1), (3, 0), (3, 13), (3, 4), (11, 0), (11, 1), (12, 0), (4, 0), (5, 1))
ERRORS6 = ((1, 4), (1, 0), (1, 3), (2, 0), (3, 0), (3, 1), (4, 1))
SYN_OPTIONS = bytes.fromhex("020405b40402080a000000010000000001030307")
MSS_OPTION = bytes.fromhex("020405b4")


def answers(world: World, seen: Seen) -> list[bytes]:
    """The IP packets that the receiver of a packet sends back, none, one or some."""
    rng = world.rng
    if rng.random() < 0.06:
        return [error_about(world, seen)]
    if not seen.readable or rng.random() < 0.12:
        return []
    if seen.protocol == TCP:
        return [_wrap(world, seen, TCP, tcp(seen.destination, seen.source, segment)) for segment in _segments(world, seen)]
    if seen.protocol == UDP:
        sport, dport = seen.ports()
        data = rng.choice((b"answer", b"", b"x" * 40))
        return [
            _wrap(
                world, seen, UDP, udp(seen.destination, seen.source, dport, sport, data, checksum=seen.version == 6 or rng.random() < 0.8)
            )
        ]
    return _echo(world, seen)


def _wrap(world: World, seen: Seen, protocol: int, payload: bytes) -> bytes:
    identification = world.rng.randrange(1, 65536)
    lifetime = world.rng.choice((64, 64, 60, 255, 2, 1) if world.chance(0.2) else (64,))
    return ip_packet(Header(seen.destination, seen.source, protocol, lifetime, 0, identification, world.rng.choice((0, 0x4000))), payload)


def _echo(world: World, seen: Seen) -> list[bytes]:
    kind = seen.payload[0]
    reply = {8: 0, 13: 14, 15: 16, 17: 18} if seen.protocol == ICMP else {128: 129}
    if kind not in reply:
        return []
    rest = struct.unpack_from("!I", seen.payload, 4)[0]
    return [_wrap(world, seen, seen.protocol, icmp(seen.destination, seen.source, reply[kind], 0, rest, seen.payload[8:]))]


def _segments(world: World, seen: Seen) -> list[Segment]:
    """What a TCP answers, mostly as it should."""
    rng = world.rng
    sport, dport, sequence, acknowledgement, offset, flags = struct.unpack_from("!HHIIBB", seen.payload)
    data = len(seen.payload) - (offset >> 4) * 4
    following = sequence + data + bool(flags & SYN) + bool(flags & FIN)
    base = Segment(dport, sport, acknowledgement, following, ACK, window=rng.choice((64240, 64240, 501, 100, 0)))
    if flags & RST:
        return []
    roll = rng.random()
    if roll < 0.05:
        return [_changed(base, flags=rng.choice((RST, RST | ACK)))]
    if roll < 0.1:
        return [
            _changed(
                base, sequence=acknowledgement + rng.choice((-1, 1, 100000, -100000, 70000)), flags=rng.choice((ACK, RST, FIN | ACK, SYN))
            )
        ]
    if flags & SYN and not flags & ACK:
        start = rng.randrange(1 << 32)
        return [_changed(base, sequence=start, flags=SYN | ACK, options=rng.choice((SYN_OPTIONS, MSS_OPTION, b"")))]
    if flags & FIN:
        return [_changed(base, flags=rng.choice((ACK, FIN | ACK)))]
    content = rng.choice((b"", b"GET /", b"x" * 100))
    if roll > 0.85:
        return [_changed(base, flags=FIN | ACK | PSH * bool(content), data=content)]
    if data == 0 and not flags & SYN and roll < 0.5:
        return []
    segments = [_changed(base, flags=ACK | PSH * bool(content), data=content)]
    if content and rng.random() < 0.3:
        segments.append(_changed(segments[0], sequence=segments[0].sequence + len(content)))
    return segments


def _changed(segment: Segment, **changes: object) -> Segment:
    from dataclasses import replace

    return replace(segment, **changes)  # type: ignore[arg-type]


def error_about(world: World, seen: Seen) -> bytes:
    """An ICMP error that quotes a packet, from its receiver or from a router on the way."""
    rng = world.rng
    version = seen.version
    kind, code = rng.choice(ERRORS4 if version == 4 else ERRORS6)
    sender = seen.destination if rng.random() < 0.7 else rng.choice(world.families[version].all_peers())
    if sender.startswith(("ff", "224.", "255.")):
        sender = rng.choice(world.families[version].all_peers())
    rest = 1280 if (kind, code) in ((3, 4), (2, 0)) else 0
    if version == 6:
        return ip_packet(
            Header(sender, seen.source, ICMPV6),
            icmp(sender, seen.source, kind, code, rest, seen.packet[: rng.choice((1232, 1232, 60, 48))]),
        )
    head = (seen.packet[0] & 15) * 4
    quote = seen.packet[: rng.choice((head + 8, head + 8, 548, head + 4, head))]
    return ip_packet(
        Header(sender, seen.source, ICMP, tos=rng.choice((0, 0xC0)), identification=rng.randrange(1, 65536)),
        icmp(sender, seen.source, kind, code, rest, quote),
    )
