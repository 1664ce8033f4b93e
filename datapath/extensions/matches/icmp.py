"""The icmp match: type and code of an ICMP message.

Kernel: net/netfilter/xt_tcpudp.c, icmp_match. Manual: iptables-extensions(8), section icmp.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.matches.icmp_types import ICMP, parse_type
from datapath.extensions.values import negation

LAYOUT = struct.Struct("<5B")


@dataclass(frozen=True, slots=True)
class Icmp(Match):
    """`-m icmp`. Type 255 is every type. iptables-save prints only the first code of a range, so do we."""

    NAME: ClassVar[str] = "icmp"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({4})
    SUMMARY: ClassVar[str] = "type and code of an ICMP message"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--icmp-type",), negatable=True),)

    type: int
    code_low: int = 0
    code_high: int = 255
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("icmp", given).get("--icmp-type")
        if item is None:
            raise RulesetSyntaxError("icmp: option --icmp-type must be specified")
        return cls(*parse_type(item.argument, ICMP), item.negated)

    def format(self) -> str:
        text = "any" if self.type == 255 else str(self.type)
        if self.type != 255 and (self.code_low, self.code_high) != (0, 255):
            text += f"/{self.code_low}"
        return " ".join([*negation(self.negated), "--icmp-type", text])

    def check(self, rule: RuleContext) -> None:
        rule.require_protocol("icmp", 1)

    def lower(self) -> Op:
        return Op("icmp", LAYOUT.pack(self.type, self.code_low, self.code_high, self.negated, self.type == 255))
