"""Random conversations for connection tracking, without end: `python -m tests.kernel.conntrack_random [SEED] [CONVERSATIONS]`.

Numbers, windows and options are drawn from what was said before, at and beside its edges; sysctls differ from one
conversation to the next. A difference between kernel and emulator is printed with the conversation that led to it.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable

from tests.kernel.conntrack_pair import Pair, differences, pair
from tests.kernel.conntrack_random_other import OtherTalk, SctpTalk
from tests.kernel.conntrack_scripts import End, Said, client, server

STEPS = (0, 0, 0, 0, 1, -1, 2, -2, 10, -10, 1000, -1000, 65535, -65535, 65999, -65999, 66000, -66000, 66001, -66001, 1 << 14, 1 << 20,
         1 << 30,
         1 << 31)
COMMON_FLAGS = ("A",) * 10 + ("FA",) * 3 + ("R", "R", "RA", "RA", "S", "S", "SA", "SA", "FAU", "AU", "SU", "PA", "AEC")
OPENINGS = {
    "usual": ((0, "S"), (1, "SA"), (0, "A")),
    "simultaneous": ((0, "S"), (1, "S"), (0, "SA"), (1, "SA")),
    "middle": ((0, "A"), (1, "A")),
    "none": (),
}
TIMEOUTS = ("syn_sent", "syn_recv", "established", "fin_wait", "close_wait", "last_ack", "time_wait", "close", "max_retrans",
            "unacknowledged")


class TcpTalk:
    """The segments of one TCP conversation."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.next = [draw.choice([draw.getrandbits(32), 0xFFFFFFF0, 0, 0x7FFFFFF0]) for _ in range(2)]
        self.numbers = [[number] for number in self.next]   # by side: what was said of its sequence numbers
        self.scale = [draw.choice([0, 0, 2, 7, 14]) for _ in range(2)]
        self.windows = draw.choice([[65535], [1, 100, 1000], [0, 1, 65535], [502, 501]])
        self.opening = list(OPENINGS[draw.choice(["usual", "usual", "middle", "simultaneous", "none"])])
        self.latest: Said | None = None

    def packet(self) -> Said:
        """The next segment."""
        draw = self.draw
        if self.latest is not None and draw.random() < 0.12:
            return self.latest
        if self.opening and draw.random() < 0.93:
            side, flags = self.opening.pop(0)
            seq, ack, data = self.next[side] - ("S" in flags and len(self.numbers[side]) > 1), self.next[1 - side], 0
        else:
            side, flags = draw.randrange(2), draw.choice(COMMON_FLAGS)
            if draw.random() < 0.05:
                flags = "".join(letter for letter in "FSRPAU" if draw.random() < 0.4)
            seq, ack = (self.next[side], self.next[1 - side]) if draw.random() < 0.6 else (self._number(side), self._number(1 - side))
            data = 0 if set(flags) & set("SR") and draw.random() < 0.9 else draw.choice([0, 0, 1, 10, 100, 1400])
        if "A" not in flags and draw.random() < 0.8:
            ack = 0
        if "R" in flags and draw.random() < 0.2:
            seq = 0
        self.latest = self._segment((client, server)[side], side, flags, seq, ack, data)
        return self.latest

    def _segment(self, end: End, side: int, flags: str, seq: int, ack: int, data: int) -> Said:
        draw = self.draw
        window = draw.choice(self.windows)
        after = seq + data + ("S" in flags) + ("F" in flags)
        self.numbers[side] += [seq, after]
        if "A" in flags:
            self.numbers[1 - side] += [ack, ack + (window << self.scale[side])]
        if "R" not in flags and draw.random() < 0.8:
            self.next[side] = after
        options = self._syn_options(side) if "S" in flags else self._options(side)
        return end(flags, seq, ack, win=window, options=options[:40], data=data, spoil=draw.random() < 0.01)

    def _number(self, side: int) -> int:
        number = self.next[side] if self.draw.random() < 0.55 else self.draw.choice(self.numbers[side][-12:])
        return number + self.draw.choice(STEPS)

    def _syn_options(self, side: int) -> bytes:
        draw = self.draw
        options = draw.choice([b"", b"\x04\x02", b"\x04\x02"])
        options += draw.choice([b"", *[bytes([3, 3, self.scale[side]])] * 3, bytes([3, 3, draw.choice([15, 255])])])
        options = draw.choice([options] * 9 + [b"\x05\x00" + options, options + b"\x00\x03\x03\x07", b"\x03\x03\x05" + options])
        return options + b"\x01" * (-len(options) % 4)

    def _options(self, side: int) -> bytes:
        draw = self.draw
        blocks = b"".join(struct.pack("!II", edge & 0xFFFFFFFF, edge + draw.choice([1, 10, 1000, 66000]) & 0xFFFFFFFF)
                          for edge in (self._number(1 - side) for _ in range(draw.choice([1, 1, 2, 3]))))
        selective = b"\x01\x01\x05" + bytes([2 + len(blocks)]) + blocks
        odd = (b"\x05\x0a\x01\x01", b"\x05\x09" + bytes(10), b"\x03\x03\x02\x01", b"\x01\x01\x08\x0a" + bytes(8))
        return draw.choice([b""] * 12 + [selective] * 4 + list(odd))


def tcp_sysctls(draw: random.Random) -> dict[str, int]:
    """Some of the sysctls of TCP, now and then; timeouts that tell which of them was taken."""
    found = {}
    for name, chance, values in (("tcp_loose", 0.2, (0,)), ("tcp_be_liberal", 0.15, (1,)), ("tcp_ignore_invalid_rst", 0.3, (1,)),
                                 ("tcp_max_retrans", 0.4, (0, 1, 2, 5)), ("acct", 0.5, (1,))):
        if draw.random() < chance:
            found[name] = draw.choice(values)
    if draw.random() < 0.6:
        seconds = draw.sample(range(60, 160, 4), len(TIMEOUTS))
        found |= {f"tcp_timeout_{name}": value for name, value in zip(TIMEOUTS, seconds, strict=True)}
    return found


def no_sysctls(draw: random.Random) -> dict[str, int]:
    """Accounting, now and then."""
    return {"acct": 1} if draw.random() < 0.5 else {}


Talk = Callable[[random.Random], "TcpTalk | OtherTalk | SctpTalk"]
TALKS: tuple[tuple[Talk, Callable[[random.Random], dict[str, int]]], ...] = (
    (TcpTalk, tcp_sysctls), (TcpTalk, tcp_sysctls), (lambda draw: OtherTalk(draw, 4), no_sysctls),
    (lambda draw: OtherTalk(draw, 6), no_sysctls),
    (SctpTalk, no_sysctls))


def converse(both: Pair, seed: int) -> tuple[int, list[str]]:
    """One conversation: how many packets it had, and the difference that ended it, with what came before."""
    draw = random.Random(seed)
    talk, sysctls = draw.choice(TALKS)
    given = sysctls(draw)
    both.begin(given)
    speaker = talk(draw)
    told: list[str] = []
    for number in range(1, draw.randrange(5, 40)):
        said = speaker.packet()
        told.append(said.text)
        found = differences(*both.send(said.interface, said.packet))
        if found:
            return number, [f"conversation {seed}, {given}", *told, *found]
    return len(told), []


def main() -> int:
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    packets = differing = 0
    with pair() as both:
        for seed in range(first, first + count):
            number, found = converse(both, seed)
            packets += number
            differing += bool(found)
            if found:
                print("\n".join(found), flush=True)
            if seed % 500 == 499:
                print(f"{packets} packets, {differing} conversations differ", file=sys.stderr, flush=True)
    print(f"{packets} packets, {differing} conversations differ")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
