"""The verdicts that need no module: ACCEPT, DROP, RETURN, and QUEUE.

Kernel: the standard target of net/ipv4/netfilter/ip_tables.c, ipt_do_table. Manual: iptables(8), section TARGETS.
The compiler turns them into rule actions; QUEUE hands the packet to user space, where its way ends here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError
from datapath.extensions.base import Given, Op, RuleContext, Target


@dataclass(frozen=True, slots=True)
class StandardTarget(Target):
    """What the four have in common: no options, and a verdict that the core knows."""

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return cls()

    def format(self) -> str:
        return ""

    def lower(self) -> Op:
        return Op(self.NAME)


@dataclass(frozen=True, slots=True)
class Accept(StandardTarget):
    """`-j ACCEPT`."""

    NAME: ClassVar[str] = "ACCEPT"
    SUMMARY: ClassVar[str] = "the packet passes this table"


@dataclass(frozen=True, slots=True)
class Drop(StandardTarget):
    """`-j DROP`."""

    NAME: ClassVar[str] = "DROP"
    SUMMARY: ClassVar[str] = "the packet is dropped"

    def check(self, rule: RuleContext) -> None:
        if rule.table == "nat":
            raise RulesetError('the "nat" table is not intended for filtering: the use of DROP is inhibited')


@dataclass(frozen=True, slots=True)
class Return(StandardTarget):
    """`-j RETURN`."""

    NAME: ClassVar[str] = "RETURN"
    SUMMARY: ClassVar[str] = "back to the calling chain, or to the policy"


@dataclass(frozen=True, slots=True)
class Queue(StandardTarget):
    """`-j QUEUE`: as NFQUEUE to queue 0."""

    NAME: ClassVar[str] = "QUEUE"
    SUMMARY: ClassVar[str] = "the packet is handed to user space"
