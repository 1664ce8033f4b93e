"""The udp match: ports of a UDP header.

Kernel: net/netfilter/xt_tcpudp.c, udp_mt. Manual: iptables-extensions(8), section udp.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.ports import ANY_PORT, PortRange, ports_nft

LAYOUT = struct.Struct("<4HBx")


@dataclass(frozen=True, slots=True)
class Udp(Match):
    """`-m udp`."""

    NAME: ClassVar[str] = "udp"
    SUMMARY: ClassVar[str] = "ports of a UDP header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--sport", "--source-port"), negatable=True),
        Option(("--dport", "--destination-port"), negatable=True),
    )

    source: PortRange = ANY_PORT
    destination: PortRange = ANY_PORT

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("udp", given)
        return cls(PortRange.resolved(found.get("--sport")), PortRange.resolved(found.get("--dport")))

    def format(self) -> str:
        return " ".join([*self.source.words("--sport"), *self.destination.words("--dport")])

    def check(self, rule: RuleContext) -> None:
        rule.require_protocol("udp", 17)

    def lower(self) -> Op:
        return Op("udp", LAYOUT.pack(
            self.source.low, self.source.high, self.destination.low, self.destination.high,
            self.source.negated | self.destination.negated << 1))

    def lower_nft(self) -> Op:
        if (self.source, self.destination) == (ANY_PORT, ANY_PORT):
            return self.lower()
        return Op("ports_nft", ports_nft(self.source, self.destination))
