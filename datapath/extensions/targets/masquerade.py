"""The MASQUERADE target: translates the source to an address of the device that the packet leaves by.

Kernel: net/netfilter/xt_MASQUERADE.c, nf_nat_masquerade.c. Manual: iptables-extensions(8), section MASQUERADE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.extensions.base import Given, Op, Option, RuleContext, Target, one_of_each
from datapath.extensions.nat_range import RANDOM, RANDOM_FULLY, TO_PORTS, NatRange


@dataclass(frozen=True, slots=True)
class Masquerade(Target):
    """`-j MASQUERADE`. The range holds no addresses."""

    NAME: ClassVar[str] = "MASQUERADE"
    SUMMARY: ClassVar[str] = "translates the source to an address of the device that the packet leaves by"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"nat"})
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"POSTROUTING"})
    NEEDS_CONNTRACK: ClassVar[bool] = True
    OPTIONS: ClassVar[tuple[Option, ...]] = (TO_PORTS, RANDOM, RANDOM_FULLY)

    range: NatRange

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("MASQUERADE", given)
        ports = NatRange().given(found)
        if item := found.get("--to-ports"):
            ports = ports.to_ports(item.argument, rule).without_base()
        return cls(ports)

    def format(self) -> str:
        return " ".join(self.range.words("--to-ports"))

    def lower(self) -> Op:
        return Op("MASQUERADE", self.range.pack())
