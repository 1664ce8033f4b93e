"""The rpfilter match: whether a reply to the packet's source would leave by the interface it came in.

Kernel: net/ipv4/netfilter/ipt_rpfilter.c and net/ipv6/netfilter/ip6t_rpfilter.c, rpfilter_mt. Manual:
iptables-extensions(8), section rpfilter.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each

FLAGS = {"--loose": 1, "--validmark": 2, "--accept-local": 4, "--invert": 8}      # XT_RPFILTER_*
LAYOUT = struct.Struct("<B")


@dataclass(frozen=True, slots=True)
class Rpfilter(Match):
    """`-m rpfilter`."""

    NAME: ClassVar[str] = "rpfilter"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"mangle", "raw"})
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"PREROUTING"})
    SUMMARY: ClassVar[str] = "whether a reply would leave by the interface that the packet came in"
    OPTIONS: ClassVar[tuple[Option, ...]] = tuple(Option((name,), arguments=0) for name in FLAGS)

    flags: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return cls(frozenset(one_of_each("rpfilter", given)))

    def format(self) -> str:
        return " ".join(name for name in FLAGS if name in self.flags)

    def lower(self) -> Op:
        return Op("rpfilter", LAYOUT.pack(sum(FLAGS[name] for name in self.flags)))
