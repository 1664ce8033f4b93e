"""The addrtype match: what kind of address the routing tables say that source or destination is.

Kernel: net/netfilter/xt_addrtype.c, addrtype_mt_v1. Manual: iptables-extensions(8), section addrtype.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import negation

TYPES = (       # bit n: RTN_* number n
    "UNSPEC", "UNICAST", "LOCAL", "BROADCAST", "ANYCAST", "MULTICAST", "BLACKHOLE", "UNREACHABLE", "PROHIBIT",
    "THROW", "NAT", "XRESOLVE",
)
LAYOUT = struct.Struct("<2H4B")


@dataclass(frozen=True, slots=True)
class Addrtype(Match):
    """`-m addrtype`. Types are bit masks, 0 for not asked."""

    NAME: ClassVar[str] = "addrtype"
    SUMMARY: ClassVar[str] = "kind of the source or destination address by the routing tables"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--src-type",), negatable=True),
        Option(("--dst-type",), negatable=True),
        Option(("--limit-iface-in",), arguments=0),
        Option(("--limit-iface-out",), arguments=0),
    )

    source: int = 0
    destination: int = 0
    source_negated: bool = False
    destination_negated: bool = False
    limit_in: bool = False
    limit_out: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("addrtype", given)
        source, destination = found.get("--src-type"), found.get("--dst-type")
        if source is None and destination is None:
            raise RulesetSyntaxError("addrtype: you must specify --src-type or --dst-type")
        if "--limit-iface-in" in found and "--limit-iface-out" in found:
            raise RulesetSyntaxError("addrtype: --limit-iface-in and --limit-iface-out cannot be used together")
        return cls(
            parse_types(source.argument) if source else 0, parse_types(destination.argument) if destination else 0,
            source is not None and source.negated, destination is not None and destination.negated,
            "--limit-iface-in" in found, "--limit-iface-out" in found,
        )

    def format(self) -> str:
        words = []
        if self.source:
            words += [*negation(self.source_negated), "--src-type", format_types(self.source)]
        if self.destination:
            words += [*negation(self.destination_negated), "--dst-type", format_types(self.destination)]
        words += ["--limit-iface-in"] * self.limit_in + ["--limit-iface-out"] * self.limit_out
        return " ".join(words)

    def check(self, rule: RuleContext) -> None:
        if self.limit_out and rule.hooks & {"PREROUTING", "INPUT"}:
            raise RulesetError("addrtype: output interface limitation not valid in PREROUTING and INPUT")
        if self.limit_in and rule.hooks & {"POSTROUTING", "OUTPUT"}:
            raise RulesetError("addrtype: input interface limitation not valid in POSTROUTING and OUTPUT")
        asked = self.source | self.destination
        if rule.family == 6:
            for name in ("BLACKHOLE", "PROHIBIT", "THROW", "NAT", "XRESOLVE", "BROADCAST"):
                if asked & 1 << TYPES.index(name):
                    raise RulesetError(f"addrtype: {name} matching is not supported for IPv6")

    def lower(self) -> Op:
        return Op("addrtype", LAYOUT.pack(
            self.source, self.destination, self.source_negated, self.destination_negated, self.limit_in, self.limit_out))


def parse_types(text: str) -> int:
    """The bits of a comma-separated list of types or of their beginnings, in any case."""
    mask = 0
    for word in text.split(","):
        found = next((bit for bit, name in enumerate(TYPES) if word and name.startswith(word.upper())), None)
        if found is None:
            raise RulesetSyntaxError(f"addrtype: bad type {word!r}: expected {', '.join(TYPES)}")
        mask |= 1 << found
    return mask


def format_types(mask: int) -> str:
    """The list as iptables-save prints it."""
    return ",".join(name for bit, name in enumerate(TYPES) if mask & 1 << bit)
