"""The TTL target: sets, raises or lowers the TTL of IPv4.

Kernel: net/netfilter/xt_HL.c, ttl_tg. Manual: iptables-extensions(8), section TTL.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each

LAYOUT = struct.Struct("<2B")
MODES = {"set": 0, "inc": 1, "dec": 2}


@dataclass(frozen=True, slots=True)
class Ttl(Target):
    """`-j TTL`. `mode` is set, inc or dec."""

    NAME: ClassVar[str] = "TTL"
    SUMMARY: ClassVar[str] = "sets, raises or lowers the TTL"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({4})
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"mangle"})
    OPTIONS: ClassVar[tuple[Option, ...]] = tuple(Option((f"--ttl-{mode}",)) for mode in MODES)

    mode: str
    value: int

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return cls(*parse_change(cls.NAME, given))

    def format(self) -> str:
        return f"--ttl-{self.mode} {self.value}"

    def lower(self) -> Op:
        return Op("TTL", LAYOUT.pack(MODES[self.mode], self.value))


def parse_change(target: str, given: Sequence[Given]) -> tuple[str, int]:
    """The mode and the value of `--ttl-MODE VALUE` or `--hl-MODE VALUE`."""
    found = one_of_each(target, given)
    if len(found) != 1:
        raise RulesetSyntaxError(f"{target}: you must specify exactly one action: set, inc or dec")
    (item,) = found.values()
    mode = item.name.rpartition("-")[2]
    return mode, number(item.argument, 0 if mode == "set" else 1, 255, target)
