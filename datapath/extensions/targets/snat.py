"""The SNAT target: translates the source, after routing.

Kernel: net/netfilter/xt_nat.c, xt_snat_target_v1. Manual: iptables-extensions(8), section SNAT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, one_of_each
from datapath.extensions.nat_range import PERSISTENT_OPTION, RANDOM, RANDOM_FULLY, NatRange


@dataclass(frozen=True, slots=True)
class Snat(Target):
    """`-j SNAT`."""

    NAME: ClassVar[str] = "SNAT"
    SUMMARY: ClassVar[str] = "translates the source, after routing"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"nat"})
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"POSTROUTING", "INPUT"})
    NEEDS_CONNTRACK: ClassVar[bool] = True
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--to-source",)), RANDOM, RANDOM_FULLY, PERSISTENT_OPTION)

    range: NatRange

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("SNAT", given)
        if "--to-source" not in found:
            raise RulesetSyntaxError('SNAT: option "--to-source" must be specified')
        return cls(NatRange().given(found).to(found["--to-source"].argument, rule).without_base())

    def format(self) -> str:
        return " ".join(self.range.words("--to-source"))

    def lower(self) -> Op:
        return Op("SNAT", self.range.pack())
