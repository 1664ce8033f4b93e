"""The HL target: sets, raises or lowers the hop limit of IPv6.

Kernel: net/netfilter/xt_HL.c, hl_tg6. Manual: iptables-extensions(8), section HL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.extensions.base import Given, Op, Option, RuleContext, Target
from datapath.extensions.targets.ttl import LAYOUT, MODES, parse_change


@dataclass(frozen=True, slots=True)
class Hl(Target):
    """`-j HL`. `mode` is set, inc or dec."""

    NAME: ClassVar[str] = "HL"
    SUMMARY: ClassVar[str] = "sets, raises or lowers the hop limit"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({6})
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"mangle"})
    OPTIONS: ClassVar[tuple[Option, ...]] = tuple(Option((f"--hl-{mode}",)) for mode in MODES)

    mode: str
    value: int

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return cls(*parse_change(cls.NAME, given))

    def format(self) -> str:
        return f"--hl-{self.mode} {self.value}"

    def lower(self) -> Op:
        return Op("TTL", LAYOUT.pack(MODES[self.mode], self.value))
