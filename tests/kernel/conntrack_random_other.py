"""Random packets of the protocols beside TCP, and of ICMP errors about them."""

from __future__ import annotations

import random
import struct

from datapath.lab.masks import checksum
from tests.kernel.conntrack_other import chunk, init, sctp
from tests.kernel.conntrack_scripts import Said

HOSTS = {
    4: [[bytes([192, 0, 2, n]) for n in (2, 3)], [bytes([198, 51, 100, n]) for n in (2, 3)]],
    6: [[bytes.fromhex(f"fd00000{side}00000000000000000000000{n}") for n in (2, 3)] for side in (1, 2)],
}
INTERFACES = ("eth0", "eth1")
ICMP_PAIRS = {8: 0, 13: 14, 15: 16, 17: 18}
PROTOCOLS = {4: (17, 17, 17, 1, 1, 1, 47, 136, 50, 33), 6: (17, 17, 17, 58, 58, 58, 47, 136, 50, 33)}


class OtherTalk:
    """Packets of one family between two pairs of hosts."""

    def __init__(self, draw: random.Random, family: int) -> None:
        self.draw, self.family = draw, family
        self.sent: list[Said] = []

    def packet(self) -> Said:
        """The next packet: a new one, an earlier one again, or an error about one."""
        draw = self.draw
        side = draw.randrange(2)
        if self.sent and draw.random() < 0.3:
            said = self._error(side)
        elif self.sent and draw.random() < 0.15:
            said = draw.choice(self.sent[-4:])
        else:
            said = self._plain(side)
        self.sent.append(said)
        return said

    def _plain(self, side: int) -> Said:
        source, destination = self._ends(side)
        protocol = self.draw.choice(PROTOCOLS[self.family])
        make = {17: self._udp, 136: self._udplite, 1: self._icmp, 58: self._icmpv6, 47: self._gre}.get(protocol)
        payload = make(side, source, destination) if make else bytes(self.draw.choice([0, 1, 20]))
        return self._wrap(side, source, destination, protocol, payload)

    def _ends(self, side: int) -> tuple[bytes, bytes]:
        hosts = HOSTS[self.family]
        return self.draw.choice(hosts[side][:1] * 4 + hosts[side]), self.draw.choice(hosts[1 - side][:1] * 4 + hosts[1 - side])

    def _wrap(self, side: int, source: bytes, destination: bytes, protocol: int, payload: bytes, hops: int = 64) -> Said:
        draw = self.draw
        text = f"{INTERFACES[side]} {protocol} {payload[:40].hex()}"
        if self.family == 4:
            options = draw.choice([b""] * 8 + [b"\x01" * 4, b"\x01" * 40])
            header = struct.pack("!BBHHHBBH", 0x45 + len(options) // 4, 0, 20 + len(options) + len(payload), 0, 0, hops, protocol, 0)
            header += source + destination + options
            packet = header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload
            return Said(INTERFACES[side], packet, text)
        for _ in range(draw.choice([0] * 8 + [1, 1, 2, 3])):
            kind = draw.choice([60, 60, 43, 44])
            rest = {60: b"\x00\x01\x04" + bytes(4), 43: b"\x00\x03" + bytes(5), 44: bytes(7)}[kind]
            payload, protocol = bytes([protocol]) + rest + payload, kind
        packet = struct.pack("!IHBB", 6 << 28, len(payload), protocol, hops) + source + destination + payload
        return Said(INTERFACES[side], packet, text)

    def _sum(self, source: bytes, destination: bytes, protocol: int, payload: bytes, place: int, covered: int | None = None) -> bytes:
        pseudo = source + destination + struct.pack("!II", len(payload), protocol) if protocol != 1 else b""
        value = checksum(pseudo + payload[:place] + b"\x00\x00" + payload[place + 2 : covered])
        value ^= self.draw.choice([0] * 40 + [1, 0x8000])
        return payload[:place] + struct.pack("!H", value or (0xFFFF if protocol == 17 else 0)) + payload[place + 2 :]

    def _udp(self, side: int, source: bytes, destination: bytes) -> bytes:
        draw = self.draw
        ports = (draw.choice([1000, 1001]), 53)
        data = draw.choice([0, 1, 10])
        length = draw.choice([8 + data] * 12 + [0, 7, 8, 9, 9 + data, 65535])
        payload = struct.pack("!HHHH", *(ports if side == 0 else ports[::-1]), length, 0) + bytes(data)
        choice = draw.random()
        if choice < 0.05:
            return payload[: draw.randrange(8)]
        return payload if choice < 0.15 else self._sum(source, destination, 17, payload, 6)

    def _udplite(self, side: int, source: bytes, destination: bytes) -> bytes:
        coverage = self.draw.choice([0, 8, 8, 10, 18, 7, 19, 1])
        payload = struct.pack("!HHHH", *((1000, 53) if side == 0 else (53, 1000)), coverage, 0) + bytes(range(10))
        return self._sum(source, destination, self.draw.choice([17, 136]), payload, 6, coverage if 8 <= coverage <= 18 else None)

    def _icmp(self, side: int, source: bytes, destination: bytes) -> bytes:
        draw = self.draw
        kind = draw.choice([8, 8, 8, 0, 0, 13, 14, 15, 16, 17, 18, draw.randrange(25)])
        if side and draw.random() < 0.6:
            kind = ICMP_PAIRS.get(kind, kind)
        return self._message(source, destination, 1, kind)

    def _icmpv6(self, side: int, source: bytes, destination: bytes) -> bytes:
        draw = self.draw
        kind = draw.choice([128, 128, 128, 129, 129, 139, 140, 133, 135, 136, 130, 143, 151, 152, 153, draw.randrange(128, 160)])
        if side and kind in (128, 139) and draw.random() < 0.6:
            kind += 1
        return self._message(source, destination, 58, kind)

    def _message(self, source: bytes, destination: bytes, protocol: int, kind: int) -> bytes:
        draw = self.draw
        payload = struct.pack("!BBHHH", kind, draw.choice([0, 0, 0, 0, 1]), 0, draw.choice([1, 2]), 0) + bytes(draw.choice([0, 4, 24]))
        payload = self._sum(source, destination, protocol, payload, 2)
        return payload[: draw.randrange(8)] if draw.random() < 0.03 else payload

    def _gre(self, side: int, source: bytes, destination: bytes) -> bytes:
        draw = self.draw
        flags = draw.choice([0, 0x2000, 0x2001, 0x3001, 0x3001, 1, 2])
        payload = struct.pack("!HHHH", flags, draw.choice([0x880B, 0x880B, 0x0800]), 4, draw.choice([5, 6])) + b"data"
        return payload[: draw.randrange(9)] if draw.random() < 0.1 else payload

    def _error(self, side: int) -> Said:
        draw = self.draw
        source, destination = self._ends(side)
        quoted = (draw.choice(self.sent[-8:]) if draw.random() < 0.8 else self._plain(draw.randrange(2))).packet
        short = 28 if self.family == 4 else 48
        quoted = draw.choice([quoted, quoted, quoted[:short], quoted[:short], quoted[: draw.randrange(60)]])
        if len(quoted) > short and draw.random() < 0.1:
            place = draw.randrange(len(quoted))
            quoted = quoted[:place] + draw.randbytes(1) + quoted[place + 1 :]
        if self.family == 4:
            payload = bytes([draw.choice([3, 3, 3, 11, 12, 4, 5]), draw.choice([0, 1, 3, 4])]) + bytes(6) + quoted
            return self._wrap(side, source, destination, 1, self._sum(source, destination, 1, payload, 2))
        kind, hops = draw.choice([1, 1, 2, 3, 4, 100, 127, 137]), 64
        payload = bytes([kind, 0]) + bytes(6) + quoted
        if kind == 137:
            option = bytes([draw.choice([4, 4, 4, 1]), draw.choice([1, 6, 0])]) + bytes(6)
            payload = bytes([137, draw.choice([0, 0, 0, 1])]) + bytes(38) + option + quoted
            hops = draw.choice([255, 64])
        return self._wrap(side, source, destination, 58, self._sum(source, destination, 58, payload, 2), hops)


class SctpTalk:
    """Packets of SCTP with chunks in likely and unlikely order."""

    USUAL = ((0, 1), (1, 2), (0, 10), (1, 11), (0, 0), (1, 3), (0, 7), (1, 8), (0, 14))

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.tags = [draw.choice([1, 2, 0x11111111]), draw.choice([1, 2, 0x22222222])]
        self.plan = list(self.USUAL) if draw.random() < 0.6 else [(0, 4), (1, 5), (0, 0)] if draw.random() < 0.3 else []

    def packet(self) -> Said:
        """The next packet."""
        draw = self.draw
        if self.plan and draw.random() < 0.8:
            side, kind = self.plan.pop(0)
            kinds = [kind]
        else:
            side, kinds = draw.randrange(2), [draw.choice([0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 14, 15, 192])]
            while draw.random() < 0.2:
                kinds.append(draw.choice([0, 3, 4, 5, 9, 7, 6, 1, 11, 10, 14]))
        tag = 0 if kinds == [1] and draw.random() < 0.9 else self.tags[1 - side]
        tag = draw.choice([tag] * 14 + [self.tags[side], draw.choice([0, 1, 2, 3])])
        who = ("client", "server")[side]
        return sctp(who, tag, *(self._chunk(side, kind) for kind in kinds), spoil=int(draw.random() < 0.02))

    def _chunk(self, side: int, kind: int) -> bytes:
        draw = self.draw
        if kind in (1, 2):
            if draw.random() < 0.15:
                self.tags[side] = draw.choice([1, 2, 3, 0x33333333])
            made = init(kind, self.tags[side])
        else:
            flags = draw.choice([0, 0, 0, 1]) if kind in (6, 14) else 0
            made = chunk(kind, flags, bytes({0: 12, 4: 8, 5: 8}.get(kind, draw.choice([0, 4]))))
        if draw.random() < 0.02:
            made = made[:2] + struct.pack("!H", draw.choice([0, 1, 3, len(made) + 40, 1000])) + made[4:]
        return made
