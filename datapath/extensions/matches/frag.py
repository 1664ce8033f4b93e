"""The frag match: fields of an IPv6 fragment header.

Kernel: net/ipv6/netfilter/ip6t_frag.c, frag_mt6. Manual: iptables-extensions(8), section frag.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import UINT32_MAX, format_range, negation, number_range

ALL_IDS = (0, UINT32_MAX)
FLAGS = {"--fragres": 1, "--fragfirst": 2, "--fragmore": 4, "--fraglast": 8}
LAYOUT = struct.Struct("<2I2B2x")


@dataclass(frozen=True, slots=True)
class Frag(Match):
    """`-m frag`. `length` is printed only: Linux does not look at it."""

    NAME: ClassVar[str] = "frag"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({6})
    SUMMARY: ClassVar[str] = "fields of an IPv6 fragment header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--fragid",), negatable=True),
        Option(("--fraglen",), negatable=True),
        *(Option((name,), arguments=0) for name in FLAGS),
    )

    ids: tuple[int, int] = ALL_IDS
    ids_negated: bool = False
    length: int | None = None
    length_negated: bool = False
    flags: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("frag", given)
        if "--fragmore" in found and "--fraglast" in found:
            raise RulesetSyntaxError("frag: --fragmore and --fraglast cannot be used together")
        ids, length = found.get("--fragid"), found.get("--fraglen")
        return cls(
            number_range(ids.argument, UINT32_MAX, "--fragid") if ids else ALL_IDS, ids is not None and ids.negated,
            number(length.argument, 0, UINT32_MAX, "--fraglen") if length else None, length is not None and length.negated,
            frozenset(found.keys() & FLAGS.keys()),
        )

    def format(self) -> str:
        words = []
        if self.ids != ALL_IDS or self.ids_negated:
            words += [*negation(self.ids_negated), "--fragid", format_range(*self.ids)]
        if self.length is not None:
            words += [*negation(self.length_negated), "--fraglen", str(self.length)]
        return " ".join([*words, *(name for name in FLAGS if name in self.flags)])

    def lower(self) -> Op:
        return Op("frag", LAYOUT.pack(*self.ids, self.ids_negated, sum(FLAGS[name] for name in self.flags)))
