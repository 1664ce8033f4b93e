"""The TRACE target: from here on each rule that the packet matches writes a line.

Kernel: net/netfilter/xt_TRACE.c, and trace_packet in net/ipv4/netfilter/ip_tables.c. Manual: iptables-extensions(8),
section TRACE. The lines are those of iptables-legacy; iptables-nft tells the same through xtables-monitor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.extensions.base import Given, Op, RuleContext, Target


@dataclass(frozen=True, slots=True)
class Trace(Target):
    """`-j TRACE`."""

    NAME: ClassVar[str] = "TRACE"
    SUMMARY: ClassVar[str] = "each rule that the packet matches from here on writes a line to the report"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"raw"})

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return cls()

    def format(self) -> str:
        return ""

    def lower(self) -> Op:
        return Op("TRACE")
