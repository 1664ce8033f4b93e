"""The quota match: true until so many bytes have gone by.

Kernel: net/netfilter/xt_quota.c, quota_mt. Manual: iptables-extensions(8), section quota.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import negation

LAYOUT = struct.Struct("<QB7x")


@dataclass(frozen=True, slots=True)
class Quota(Match):
    """`-m quota`. iptables-save prints the bytes that the rule began with, not those that are left."""

    NAME: ClassVar[str] = "quota"
    SUMMARY: ClassVar[str] = "true until so many bytes have gone by"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--quota",), negatable=True),)

    bytes: int
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("quota", given).get("--quota")
        if item is None:
            raise RulesetSyntaxError("quota: option --quota must be specified")
        return cls(number(item.argument, 0, (1 << 64) - 1, "quota"), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--quota", str(self.bytes)])

    def lower(self) -> Op:
        return Op("quota", LAYOUT.pack(self.bytes, self.negated))
