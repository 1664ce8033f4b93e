"""The ipv6header match: which extension headers a packet has.

Kernel: net/ipv6/netfilter/ip6t_ipv6header.c, ipv6header_mt6. Manual: iptables-extensions(8), section ipv6header.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import negation

# (protocol number, bit of the kernel's mask, the name that iptables-save prints, other names), in printing order.
HEADERS = (
    (0, 128, "hop-by-hop", ("hop", "hopopt")),
    (60, 64, "ipv6-opts", ("dst",)),
    (43, 32, "ipv6-route", ("route",)),
    (44, 16, "ipv6-frag", ("frag",)),
    (51, 8, "ah", ("auth",)),
    (50, 4, "esp", ()),
    (59, 2, "ipv6-nonxt", ("none",)),
    (255, 1, "protocol", ("prot",)),
)
LAYOUT = struct.Struct("<3B")


@dataclass(frozen=True, slots=True)
class Ipv6header(Match):
    """`-m ipv6header`. Hard mode wants exactly these headers; soft mode wants them all, whatever else there is."""

    NAME: ClassVar[str] = "ipv6header"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({6})
    SUMMARY: ClassVar[str] = "which extension headers an IPv6 packet has"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--header",), negatable=True), Option(("--soft",), arguments=0))

    headers: int
    negated: bool = False
    soft: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("ipv6header", given)
        item = found.get("--header")
        if item is None:
            raise RulesetSyntaxError("ipv6header: option --header must be specified")
        return cls(parse_headers(item.argument), item.negated, "--soft" in found)

    def format(self) -> str:
        names = ",".join(name for _, bit, name, _ in HEADERS if self.headers & bit)
        return " ".join([*negation(self.negated), "--header", names, *["--soft"] * self.soft])

    def lower(self) -> Op:
        return Op("ipv6header", LAYOUT.pack(self.headers, self.negated, self.soft))


def parse_headers(text: str) -> int:
    """The bits of a comma-separated list of names or numbers."""
    bits = 0
    for word in filter(None, text.split(",")):
        found = [bit for number, bit, name, others in HEADERS if word.lower() in (str(number), name, *others)]
        if not found:
            raise RulesetSyntaxError(f"ipv6header: unknown header {word!r}: expected {', '.join(h[2] for h in HEADERS)}")
        bits |= found[0]
    if not bits:
        raise RulesetSyntaxError(f"ipv6header: cannot parse header names {text!r}")
    return bits
