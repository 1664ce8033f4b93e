"""The DNAT target: translates the destination, before routing.

Kernel: net/netfilter/xt_nat.c, xt_dnat_target_v2. Manual: iptables-extensions(8), section DNAT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, one_of_each
from datapath.extensions.nat_range import PERSISTENT_OPTION, RANDOM, NatRange


@dataclass(frozen=True, slots=True)
class Dnat(Target):
    """`-j DNAT`."""

    NAME: ClassVar[str] = "DNAT"
    SUMMARY: ClassVar[str] = "translates the destination, before routing"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"nat"})
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"PREROUTING", "OUTPUT"})
    NEEDS_CONNTRACK: ClassVar[bool] = True
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--to-destination",)), RANDOM, PERSISTENT_OPTION)

    range: NatRange

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("DNAT", given)
        if "--to-destination" not in found:
            raise RulesetSyntaxError('DNAT: option "--to-destination" must be specified')
        return cls(NatRange().given(found).to(found["--to-destination"].argument, rule))

    def format(self) -> str:
        return " ".join(self.range.words("--to-destination"))

    def lower(self) -> Op:
        return Op("DNAT", self.range.pack())
