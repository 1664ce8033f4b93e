"""The REDIRECT target: translates the destination to the node itself.

Kernel: net/netfilter/xt_REDIRECT.c, nf_nat_redirect.c. Manual: iptables-extensions(8), section REDIRECT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, one_of_each
from datapath.extensions.nat_range import RANDOM, TO_PORTS, NatRange


@dataclass(frozen=True, slots=True)
class Redirect(Target):
    """`-j REDIRECT`. The range holds no addresses."""

    NAME: ClassVar[str] = "REDIRECT"
    SUMMARY: ClassVar[str] = "translates the destination to the node itself"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"nat"})
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"PREROUTING", "OUTPUT"})
    NEEDS_CONNTRACK: ClassVar[bool] = True
    OPTIONS: ClassVar[tuple[Option, ...]] = (TO_PORTS, RANDOM)

    range: NatRange

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("REDIRECT", given)
        ports = NatRange().given(found)
        if item := found.get("--to-ports"):
            ports = ports.to_ports(item.argument, rule)
        if ports.base is not None:
            raise RulesetSyntaxError("REDIRECT: shifted portmap ranges are not supported")
        return cls(ports)

    def format(self) -> str:
        return " ".join(self.range.words("--to-ports"))

    def lower(self) -> Op:
        return Op("REDIRECT", self.range.pack())
