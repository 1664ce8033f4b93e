"""The TOS target: sets the TOS or traffic class field, or some of its bits.

Kernel: net/netfilter/xt_DSCP.c, tos_tg. Manual: iptables-extensions(8), section TOS.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each
from datapath.extensions.matches.tos import parse_tos

LAYOUT = struct.Struct("<2B")


@dataclass(frozen=True, slots=True)
class Tos(Target):
    """`-j TOS`: the bits of `mask` are cleared, then the field is XORed with `value`."""

    NAME: ClassVar[str] = "TOS"
    SUMMARY: ClassVar[str] = "sets the TOS or traffic class field or some of its bits"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"mangle"})
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--set-tos",)),
        Option(("--and-tos",)),
        Option(("--or-tos",)),
        Option(("--xor-tos",)),
    )

    value: int
    mask: int

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("TOS", given)
        if len(found) != 1:
            raise RulesetSyntaxError("TOS needs exactly one of --set-tos, --and-tos, --or-tos and --xor-tos")
        (item,) = found.values()
        if item.name == "--set-tos":
            return cls(*parse_tos(item.argument, 0x3F))
        bits = number(item.argument, 0, 255, "TOS")
        match item.name:
            case "--and-tos":
                return cls(0, ~bits & 0xFF)
            case "--or-tos":
                return cls(bits, bits)
            case _:
                return cls(bits, 0)

    def format(self) -> str:
        return f"--set-tos 0x{self.value:02x}/0x{self.mask:02x}"

    def lower(self) -> Op:
        return Op("TOS", LAYOUT.pack(self.value, self.mask))
