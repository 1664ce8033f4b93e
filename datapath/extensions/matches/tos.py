"""The tos match: the TOS or traffic class field under a mask.

Kernel: net/netfilter/xt_dscp.c, tos_mt. Manual: iptables-extensions(8), section tos.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.matches.dscp import LAYOUT
from datapath.extensions.values import negation

NAMES = {"Minimize-Delay": 16, "Maximize-Throughput": 8, "Maximize-Reliability": 4, "Minimize-Cost": 2, "Normal-Service": 0}


@dataclass(frozen=True, slots=True)
class Tos(Match):
    """`-m tos`. A name implies the mask 0x3f."""

    NAME: ClassVar[str] = "tos"
    SUMMARY: ClassVar[str] = "the TOS or traffic class field under a mask"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--tos",), negatable=True),)

    value: int
    mask: int
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("tos", given).get("--tos")
        if item is None:
            raise RulesetSyntaxError("tos: option --tos must be specified")
        return cls(*parse_tos(item.argument, 0x3F), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--tos", f"0x{self.value:02x}/0x{self.mask:02x}"])

    def lower(self) -> Op:
        return Op("tos", LAYOUT.pack(self.value, self.mask, self.negated))


def parse_tos(text: str, mask_of_names: int) -> tuple[int, int]:
    """(value, mask) of `VALUE[/MASK]` or of a name."""
    if text[:1].isdigit():
        value, slash, mask = text.partition("/")
        return number(value, 0, 255, "TOS"), number(mask, 0, 255, "TOS mask") if slash else 255
    for name, value_of_name in NAMES.items():
        if text.lower() == name.lower():
            return value_of_name, mask_of_names
    raise RulesetSyntaxError(f"unknown TOS {text!r}: expected VALUE[/MASK] or {', '.join(NAMES)}")
