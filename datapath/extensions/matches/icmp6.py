"""The icmp6 match: type and code of an ICMPv6 message.

Kernel: net/netfilter/xt_tcpudp.c, icmp6_match. Manual: iptables-extensions(8), section icmp6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.matches.icmp import LAYOUT
from datapath.extensions.matches.icmp_types import ICMPV6, parse_type
from datapath.extensions.values import negation


@dataclass(frozen=True, slots=True)
class Icmp6(Match):
    """`-m icmp6`. iptables-save prints only the first code of a range, so do we."""

    NAME: ClassVar[str] = "icmp6"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({6})
    SUMMARY: ClassVar[str] = "type and code of an ICMPv6 message"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--icmpv6-type", "--icmp6-type"), negatable=True),)

    type: int
    code_low: int = 0
    code_high: int = 255
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("icmp6", given).get("--icmpv6-type")
        if item is None:
            raise RulesetSyntaxError("icmp6: option --icmpv6-type must be specified")
        return cls(*parse_type(item.argument, ICMPV6), item.negated)

    def format(self) -> str:
        code = "" if (self.code_low, self.code_high) == (0, 255) else f"/{self.code_low}"
        return " ".join([*negation(self.negated), "--icmpv6-type", f"{self.type}{code}"])

    def check(self, rule: RuleContext) -> None:
        rule.require_protocol("icmp6", 58)

    def lower(self) -> Op:
        return Op("icmp", LAYOUT.pack(self.type, self.code_low, self.code_high, self.negated, False))
