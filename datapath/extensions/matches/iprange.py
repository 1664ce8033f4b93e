"""The iprange match: source or destination within a range of addresses.

Kernel: net/netfilter/xt_iprange.c, iprange_mt4 and iprange_mt6. Manual: iptables-extensions(8), section iprange.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import format_address, negation, parse_address

LAYOUT = struct.Struct("<16s16s16s16s4B")


@dataclass(frozen=True, slots=True)
class Iprange(Match):
    """`-m iprange`. A range is (first, last) in network byte order; a reversed one never matches."""

    NAME: ClassVar[str] = "iprange"
    SUMMARY: ClassVar[str] = "source or destination within a range of addresses"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--src-range",), negatable=True), Option(("--dst-range",), negatable=True))

    source: tuple[bytes, bytes] | None = None
    destination: tuple[bytes, bytes] | None = None
    source_negated: bool = False
    destination_negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("iprange", given)
        source, destination = found.get("--src-range"), found.get("--dst-range")
        if source is None and destination is None:
            raise RulesetSyntaxError("iprange: you must specify --src-range or --dst-range")
        return cls(
            parse_range(source.argument, rule.family) if source else None,
            parse_range(destination.argument, rule.family) if destination else None,
            source is not None and source.negated, destination is not None and destination.negated,
        )

    def format(self) -> str:
        words = []
        if self.source:
            words += [*negation(self.source_negated), "--src-range", "-".join(map(format_address, self.source))]
        if self.destination:
            words += [*negation(self.destination_negated), "--dst-range", "-".join(map(format_address, self.destination))]
        return " ".join(words)

    def lower(self) -> Op:
        return Op("iprange", LAYOUT.pack(
            *(self.source or (b"", b"")), *(self.destination or (b"", b"")),
            self.source is not None, self.destination is not None, self.source_negated, self.destination_negated))


def parse_range(text: str, family: int) -> tuple[bytes, bytes]:
    """`FIRST[-LAST]`."""
    first, dash, last = text.partition("-")
    return parse_address(first, family), parse_address(last if dash else first, family)
