"""The hl match: the hop limit of an IPv6 header.

Kernel: net/netfilter/xt_hl.c, hl_mt6. Manual: iptables-extensions(8), section hl.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.extensions.base import Given, Match, Op, Option, RuleContext
from datapath.extensions.matches.ttl import LAYOUT, MODES, format_comparison, parse_comparison


@dataclass(frozen=True, slots=True)
class Hl(Match):
    """`-m hl`. `mode` is eq, ne, lt or gt."""

    NAME: ClassVar[str] = "hl"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({6})
    SUMMARY: ClassVar[str] = "the hop limit of an IPv6 header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--hl-eq",), negatable=True), Option(("--hl-lt",)), Option(("--hl-gt",)))

    mode: str
    value: int

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return cls(*parse_comparison("hl", given))

    def format(self) -> str:
        return format_comparison("hl", self.mode, self.value)

    def lower(self) -> Op:
        return Op("hl", LAYOUT.pack(MODES[self.mode], self.value))
