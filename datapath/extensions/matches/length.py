"""The length match: length of the IP packet, headers included.

Kernel: net/netfilter/xt_length.c, length_mt and length_mt6. Manual: iptables-extensions(8), section length.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import format_range, negation, number_range

LAYOUT = struct.Struct("<2HBx")


@dataclass(frozen=True, slots=True)
class Length(Match):
    """`-m length`, in bytes, both ends included."""

    NAME: ClassVar[str] = "length"
    SUMMARY: ClassVar[str] = "length of the IP packet in bytes"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--length",), negatable=True),)

    low: int
    high: int
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("length", given).get("--length")
        if item is None:
            raise RulesetSyntaxError("length: option --length must be specified")
        return cls(*number_range(item.argument, 65535, "length"), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--length", format_range(self.low, self.high)])

    def lower(self) -> Op:
        return Op("length", LAYOUT.pack(self.low, self.high, self.negated))
