"""The CT target: how conntrack shall treat the packet. Only --notrack is emulated.

Kernel: net/netfilter/xt_CT.c, xt_ct_target. Manual: iptables-extensions(8), section CT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import UnsupportedFeatureError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, one_of_each

OTHERS = ("--helper", "--timeout", "--ctevents", "--expevents", "--zone", "--zone-orig", "--zone-reply")


@dataclass(frozen=True, slots=True)
class Ct(Target):
    """`-j CT --notrack`. Rules that only say --notrack do not switch conntrack on."""

    NAME: ClassVar[str] = "CT"
    SUMMARY: ClassVar[str] = "--notrack: conntrack passes the packet by"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"raw"})
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--notrack",), arguments=0), *(Option((name,)) for name in OTHERS))

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("CT", given)
        for name in OTHERS:
            if name in found:
                raise UnsupportedFeatureError(f"target CT {name} is not emulated")
        if "--notrack" not in found:
            raise UnsupportedFeatureError("target CT without --notrack is not emulated")
        return cls()

    def format(self) -> str:
        return "--notrack"

    def lower(self) -> Op:
        return Op("NOTRACK")
