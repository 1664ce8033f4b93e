"""The dscp match: the upper six bits of the TOS or traffic class field.

Kernel: net/netfilter/xt_dscp.c, dscp_mt. Manual: iptables-extensions(8), section dscp.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import negation

CLASSES = {
    **{f"CS{n}": n << 3 for n in range(8)},
    "BE": 0,
    **{f"AF{n}{drop}": n << 3 | drop << 1 for n in range(1, 5) for drop in range(1, 4)},
    "EF": 46,
}
LAYOUT = struct.Struct("<3B")       # value, mask, negated: shared with the tos match


@dataclass(frozen=True, slots=True)
class Dscp(Match):
    """`-m dscp`."""

    NAME: ClassVar[str] = "dscp"
    SUMMARY: ClassVar[str] = "the DSCP of the IP header, by value or class"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--dscp",), negatable=True), Option(("--dscp-class",), negatable=True))

    dscp: int
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("dscp", given)
        if len(found) != 1:
            raise RulesetSyntaxError("dscp needs either --dscp or --dscp-class")
        (item,) = found.values()
        if item.name == "--dscp":
            return cls(number(item.argument, 0, 63, "DSCP"), item.negated)
        return cls(parse_class(item.argument), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--dscp", f"0x{self.dscp:02x}"])

    def lower(self) -> Op:
        return Op("tos", LAYOUT.pack(self.dscp << 2, 0xFC, self.negated))


def parse_class(text: str) -> int:
    """The value of a class. iptables compares only as many letters as the class's name has."""
    for name, value in CLASSES.items():
        if text.upper().startswith(name):
            return value
    raise RulesetSyntaxError(f"invalid DSCP class {text!r}: expected {', '.join(CLASSES)}")
