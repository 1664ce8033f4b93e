"""The DSCP target: sets the upper six bits of the TOS or traffic class field.

Kernel: net/netfilter/xt_DSCP.c, dscp_tg. Manual: iptables-extensions(8), section DSCP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each
from datapath.extensions.matches.dscp import parse_class
from datapath.extensions.targets.tos import LAYOUT


@dataclass(frozen=True, slots=True)
class Dscp(Target):
    """`-j DSCP`."""

    NAME: ClassVar[str] = "DSCP"
    SUMMARY: ClassVar[str] = "sets the DSCP, by value or class"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"mangle"})
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--set-dscp",)), Option(("--set-dscp-class",)))

    dscp: int

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("DSCP", given)
        if len(found) != 1:
            raise RulesetSyntaxError("DSCP needs either --set-dscp or --set-dscp-class")
        (item,) = found.values()
        return cls(number(item.argument, 0, 63, "DSCP") if item.name == "--set-dscp" else parse_class(item.argument))

    def format(self) -> str:
        return f"--set-dscp 0x{self.dscp:02x}"

    def lower(self) -> Op:
        return Op("TOS", LAYOUT.pack(self.dscp << 2, 0xFC))
