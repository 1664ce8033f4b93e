"""The esp match: the SPI of an IPsec ESP header.

Kernel: net/netfilter/xt_esp.c, esp_mt. Manual: iptables-extensions(8), section esp.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import UINT32_MAX, format_range, negation, number_range

ALL_SPIS = (0, UINT32_MAX)
LAYOUT = struct.Struct("<2IB3x")


@dataclass(frozen=True, slots=True)
class Esp(Match):
    """`-m esp`."""

    NAME: ClassVar[str] = "esp"
    SUMMARY: ClassVar[str] = "SPI of an IPsec ESP header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--espspi",), negatable=True),)

    spis: tuple[int, int] = ALL_SPIS
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("esp", given).get("--espspi")
        return cls() if item is None else cls(number_range(item.argument, UINT32_MAX, "--espspi"), item.negated)

    def format(self) -> str:
        if self.spis == ALL_SPIS and not self.negated:
            return ""
        return " ".join([*negation(self.negated), "--espspi", format_range(*self.spis)])

    def check(self, rule: RuleContext) -> None:
        rule.require_protocol("esp", 50)

    def lower(self) -> Op:
        return Op("esp", LAYOUT.pack(*self.spis, self.negated))
