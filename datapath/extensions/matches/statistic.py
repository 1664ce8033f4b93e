"""The statistic match: at random, or every nth packet.

Kernel: net/netfilter/xt_statistic.c, statistic_mt. Manual: iptables-extensions(8), section statistic.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import UINT32_MAX, negation

ONE = 1 << 31       # probability 1
LAYOUT = struct.Struct("<BBHIII")


@dataclass(frozen=True, slots=True)
class Statistic(Match):
    """`-m statistic`. Mode random: `probability` of 2^31; mode nth (`every` > 0): every that many packets, starting at `packet`."""

    NAME: ClassVar[str] = "statistic"
    SUMMARY: ClassVar[str] = "at random (a draw), or every nth packet"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--mode",)),
        Option(("--probability",), negatable=True),
        Option(("--every",), negatable=True),
        Option(("--packet",)),
    )

    probability: int = 0
    every: int = 0
    packet: int = 0
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("statistic", given)
        mode = found["--mode"].argument if "--mode" in found else ""
        if mode not in ("random", "nth"):
            raise RulesetSyntaxError(f"statistic: bad mode {mode!r}: expected --mode random or nth")
        wanted = {"--probability"} if mode == "random" else {"--every", "--packet"}
        if found.keys() - {"--mode"} != wanted:
            raise RulesetSyntaxError(f"statistic: --mode {mode} takes {' and '.join(sorted(wanted))}")
        negated = any(item.negated for item in found.values())
        if mode == "random":
            return cls(probability=parse_probability(found["--probability"].argument), negated=negated)
        every = number(found["--every"].argument, 1, UINT32_MAX, "--every")
        packet = number(found["--packet"].argument, 0, UINT32_MAX, "--packet")
        if packet >= every:
            raise RulesetSyntaxError(f"statistic: --packet {packet} must be below --every {every}")
        return cls(every=every, packet=packet, negated=negated)

    def format(self) -> str:
        if self.every:
            words = ["--mode", "nth", *negation(self.negated), "--every", str(self.every), "--packet", str(self.packet)]
        else:
            words = ["--mode", "random", *negation(self.negated), "--probability", f"{self.probability / ONE:.11f}"]
        return " ".join(words)

    def lower(self) -> Op:
        # Linux counts from `every - 1 - packet` up to `every - 1`; the packet that finds it there matches.
        last = self.every - 1 if self.every else 0
        return Op("statistic", LAYOUT.pack(self.every > 0, self.negated, 0, self.probability, last, last - self.packet))


def parse_probability(text: str) -> int:
    """A number from 0 to 1, in units of 2^-31, rounded as iptables does."""
    try:
        value = float.fromhex(text) if text.lower().startswith("0x") else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise RulesetSyntaxError(f"statistic: bad probability {text!r}: expected a number from 0 to 1")
    return math.floor(value * ONE + 0.5)
