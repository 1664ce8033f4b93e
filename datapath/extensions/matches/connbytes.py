"""The connbytes match: how much the packet's connection has carried so far.

Kernel: net/netfilter/xt_connbytes.c, connbytes_mt. Manual: iptables-extensions(8), section connbytes. Loading such a
rule switches accounting on, as Linux does.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import negation, number_range

UINT64_MAX = (1 << 64) - 1
MODES = {"packets": 0, "bytes": 1, "avgpkt": 2}
DIRECTIONS = {"original": 0, "reply": 1, "both": 2}
LAYOUT = struct.Struct("<2Q3B5x")


@dataclass(frozen=True, slots=True)
class Connbytes(Match):
    """`-m connbytes`, both ends of the range included."""

    NAME: ClassVar[str] = "connbytes"
    NEEDS_CONNTRACK: ClassVar[bool] = True
    NEEDS_ACCOUNTING: ClassVar[bool] = True
    SUMMARY: ClassVar[str] = "packets, bytes or the mean packet size of the connection so far"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--connbytes",), negatable=True),
        Option(("--connbytes-mode",)),
        Option(("--connbytes-dir",)),
    )

    low: int
    high: int
    mode: str
    direction: str
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("connbytes", given)
        for name in ("--connbytes", "--connbytes-mode", "--connbytes-dir"):
            if name not in found:
                raise RulesetSyntaxError(f"connbytes: option {name} must be specified")
        text = found["--connbytes"].argument
        low, high = number_range(text, UINT64_MAX, "--connbytes")
        if ":" not in text:
            high = UINT64_MAX
        if high < low:
            raise RulesetSyntaxError(f"connbytes: {low} should be less than {high}")
        mode, direction = found["--connbytes-mode"].argument, found["--connbytes-dir"].argument
        if mode not in MODES or direction not in DIRECTIONS:
            raise RulesetSyntaxError(f"connbytes: unknown mode or direction: {mode}, {direction}")
        # Linux tells an inverted range by its ends being swapped: with equal ends nothing is inverted.
        return cls(low, high, mode, direction, found["--connbytes"].negated and low != high)

    def format(self) -> str:
        text = str(self.low) if self.high == UINT64_MAX else f"{self.low}:{self.high}"
        return " ".join([
            *negation(self.negated), "--connbytes", text, "--connbytes-mode", self.mode, "--connbytes-dir", self.direction])

    def lower(self) -> Op:
        return Op("connbytes", LAYOUT.pack(self.low, self.high, MODES[self.mode], DIRECTIONS[self.direction], self.negated))
