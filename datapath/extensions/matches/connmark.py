"""The connmark match: the mark of the packet's connection.

Kernel: net/netfilter/xt_connmark.c, connmark_mt. Manual: iptables-extensions(8), section connmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.matches.mark import LAYOUT
from datapath.extensions.values import Masked, negation


@dataclass(frozen=True, slots=True)
class Connmark(Match):
    """`-m connmark`. A packet without an entry never matches, negated or not."""

    NAME: ClassVar[str] = "connmark"
    NEEDS_CONNTRACK: ClassVar[bool] = True
    SUMMARY: ClassVar[str] = "the mark of the packet's connection under a mask"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--mark",), negatable=True),)

    mark: Masked
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("connmark", given).get("--mark")
        if item is None:
            raise RulesetSyntaxError("connmark: option --mark must be specified")
        return cls(Masked.parse(item.argument, "connection mark"), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--mark", str(self.mark)])

    def lower(self) -> Op:
        return Op("connmark", LAYOUT.pack(self.mark.value, self.mark.mask, self.negated))
