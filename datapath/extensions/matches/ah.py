"""The ah match: fields of an IPsec authentication header.

Kernel: net/ipv4/netfilter/ipt_ah.c, ah_mt; net/ipv6/netfilter/ip6t_ah.c, ah_mt6. Manual: iptables-extensions(8),
section ah. IPv4 needs `-p ah`; IPv6 looks for the header among the extension headers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import UINT32_MAX, format_range, negation, number_range

ALL_SPIS = (0, UINT32_MAX)
LAYOUT = struct.Struct("<3I4B")


@dataclass(frozen=True, slots=True)
class Ah(Match):
    """`-m ah`. Length in bytes; 0 is any. Length and reserved field are asked for only in IPv6 rules."""

    NAME: ClassVar[str] = "ah"
    SUMMARY: ClassVar[str] = "SPI (IPv6: also length and reserved field) of an IPsec authentication header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--ahspi",), negatable=True),
        Option(("--ahlen",), negatable=True),
        Option(("--ahres",), arguments=0),
    )

    spis: tuple[int, int] = ALL_SPIS
    spis_negated: bool = False
    length: int = 0
    length_negated: bool = False
    reserved: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("ah", given)
        if rule.family == 4 and found.keys() - {"--ahspi"}:
            raise RulesetSyntaxError("ah: --ahlen and --ahres exist only for IPv6")
        spis, length = found.get("--ahspi"), found.get("--ahlen")
        return cls(
            number_range(spis.argument, UINT32_MAX, "--ahspi") if spis else ALL_SPIS, spis is not None and spis.negated,
            number(length.argument, 0, UINT32_MAX, "--ahlen") if length else 0, length is not None and length.negated,
            "--ahres" in found,
        )

    def format(self) -> str:
        words = []
        if self.spis != ALL_SPIS or self.spis_negated:
            words += [*negation(self.spis_negated), "--ahspi", format_range(*self.spis)]
        if self.length or self.length_negated:
            words += [*negation(self.length_negated), "--ahlen", str(self.length)]
        return " ".join(words + ["--ahres"] * self.reserved)

    def check(self, rule: RuleContext) -> None:
        if rule.family == 4:
            rule.require_protocol("ah", 51)

    def lower(self) -> Op:
        return Op("ah", LAYOUT.pack(*self.spis, self.length, self.spis_negated, self.length_negated, self.reserved, 0))
