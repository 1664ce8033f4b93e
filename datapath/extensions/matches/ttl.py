"""The ttl match: the time to live of an IPv4 header.

Kernel: net/netfilter/xt_hl.c, ttl_mt. Manual: iptables-extensions(8), section ttl.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import negation

MODES = {"eq": 0, "ne": 1, "lt": 2, "gt": 3}       # IPT_TTL_*, IP6T_HL_*
LAYOUT = struct.Struct("<2B")


@dataclass(frozen=True, slots=True)
class Ttl(Match):
    """`-m ttl`. `mode` is eq, ne, lt or gt."""

    NAME: ClassVar[str] = "ttl"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({4})
    SUMMARY: ClassVar[str] = "the time to live of an IPv4 header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--ttl-eq", "--ttl"), negatable=True),
        Option(("--ttl-lt",)),
        Option(("--ttl-gt",)),
    )

    mode: str
    value: int

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return cls(*parse_comparison("ttl", given))

    def format(self) -> str:
        return format_comparison("ttl", self.mode, self.value)

    def lower(self) -> Op:
        return Op("hl", LAYOUT.pack(MODES[self.mode], self.value))


def parse_comparison(extension: str, given: Sequence[Given]) -> tuple[str, int]:
    """(mode, value) of the one option that must be given."""
    found = one_of_each(extension, given)
    if len(found) != 1:
        raise RulesetSyntaxError(f"{extension}: you must specify one of --{extension}-eq, --{extension}-lt, --{extension}-gt")
    (item,) = found.values()
    return "ne" if item.negated else item.name[-2:], number(item.argument, 0, 255, extension.upper())


def format_comparison(extension: str, mode: str, value: int) -> str:
    """The option as iptables-save prints it."""
    return " ".join([*negation(mode == "ne"), f"--{extension}-{'eq' if mode == 'ne' else mode}", str(value)])
