"""The pkttype match: whom the link layer meant the packet for.

Kernel: net/netfilter/xt_pkttype.c, pkttype_mt. Manual: iptables-extensions(8), section pkttype.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import negation

TYPES = {"unicast": 0, "broadcast": 1, "multicast": 2, "otherhost": 3}     # PACKET_*
ALIASES = {"bcast": "broadcast", "mcast": "multicast", "host": "unicast"}
LAYOUT = struct.Struct("<2B")


@dataclass(frozen=True, slots=True)
class Pkttype(Match):
    """`-m pkttype`."""

    NAME: ClassVar[str] = "pkttype"
    SUMMARY: ClassVar[str] = "unicast, broadcast, multicast or meant for another host, by the link layer"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--pkt-type",), negatable=True),)

    type: str
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("pkttype", given).get("--pkt-type")
        if item is None:
            raise RulesetSyntaxError("pkttype: option --pkt-type must be specified")
        name = item.argument.lower()
        name = ALIASES.get(name, name)
        if name not in TYPES:
            raise RulesetSyntaxError(f"bad packet type {item.argument!r}: expected {', '.join(TYPES)}")
        return cls(name, item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--pkt-type", self.type])

    def lower(self) -> Op:
        return Op("pkttype", LAYOUT.pack(TYPES[self.type], self.negated))
