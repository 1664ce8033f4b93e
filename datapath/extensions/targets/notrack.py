"""The NOTRACK target: conntrack passes the packet by. The older spelling of CT --notrack.

Kernel: net/netfilter/xt_CT.c, xt_ct_target. Manual: iptables-extensions(8), section NOTRACK.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.extensions.base import Given, Op, RuleContext, Target


@dataclass(frozen=True, slots=True)
class Notrack(Target):
    """`-j NOTRACK`."""

    NAME: ClassVar[str] = "NOTRACK"
    SUMMARY: ClassVar[str] = "conntrack passes the packet by"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"raw"})

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return cls()

    def format(self) -> str:
        return ""

    def lower(self) -> Op:
        return Op("NOTRACK")
