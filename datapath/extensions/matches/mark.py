"""The mark match: the packet's mark.

Kernel: net/netfilter/xt_mark.c, mark_mt. Manual: iptables-extensions(8), section mark.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import Masked, negation

LAYOUT = struct.Struct("<2IB3x")


@dataclass(frozen=True, slots=True)
class Mark(Match):
    """`-m mark`."""

    NAME: ClassVar[str] = "mark"
    SUMMARY: ClassVar[str] = "the packet's mark under a mask"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--mark",), negatable=True),)

    mark: Masked
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("mark", given).get("--mark")
        if item is None:
            raise RulesetSyntaxError("mark: option --mark must be specified")
        return cls(Masked.parse(item.argument, "mark"), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--mark", str(self.mark)])

    def lower(self) -> Op:
        return Op("mark", LAYOUT.pack(self.mark.value, self.mark.mask, self.negated))
