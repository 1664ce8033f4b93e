"""The multiport match: up to 15 ports or port ranges.

Kernel: net/netfilter/xt_multiport.c, multiport_mt. Manual: iptables-extensions(8), section multiport.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.ports import parse_port
from datapath.extensions.values import format_range, negation

PROTOCOLS = {6: "tcp", 17: "udp", 33: "dccp", 132: "sctp", 136: "udplite"}
MOST_PORTS = 15
SIDES = {"--sports": 1, "--dports": 2, "--ports": 3}       # bit 0: source, bit 1: destination
LAYOUT = struct.Struct("<30H4B")


@dataclass(frozen=True, slots=True)
class Multiport(Match):
    """`-m multiport`. `option` is --sports, --dports or --ports; a range counts as two ports."""

    NAME: ClassVar[str] = "multiport"
    SUMMARY: ClassVar[str] = "one of several source or destination ports (tcp, udp, udplite, sctp, dccp)"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--sports", "--source-ports"), negatable=True),
        Option(("--dports", "--destination-ports"), negatable=True),
        Option(("--ports",), negatable=True),
    )

    option: str
    ports: tuple[tuple[int, int], ...]
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        require_ports_protocol(rule)
        found = one_of_each("multiport", given)
        if not found:
            raise RulesetSyntaxError("multiport needs one of --sports, --dports and --ports")
        if len(found) > 1:
            raise RulesetSyntaxError(f"multiport: {' and '.join(sorted(found))} cannot be used together")
        (item,) = found.values()
        return cls(item.name, parse_ports(item.argument, PROTOCOLS[rule.protocol]), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), self.option, ",".join(format_range(*port) for port in self.ports)])

    def check(self, rule: RuleContext) -> None:
        require_ports_protocol(rule)

    def lower(self) -> Op:
        flat = [port for pair in self.ports for port in pair]
        flat += [0] * (2 * MOST_PORTS - len(flat))
        return Op("multiport", LAYOUT.pack(*flat, len(self.ports), SIDES[self.option], self.negated, 0))


def require_ports_protocol(rule: RuleContext) -> None:
    """Refuse a rule that does not name a protocol with ports."""
    if rule.protocol not in PROTOCOLS or rule.protocol_negated:
        raise RulesetError(f"multiport needs -p {', '.join(PROTOCOLS.values())}")


def parse_ports(text: str, protocol: str) -> tuple[tuple[int, int], ...]:
    """`PORT[:PORT],...`; at most 15 numbers in all."""
    ports, numbers = [], 0
    for word in text.split(","):
        low_text, colon, high_text = word.partition(":")
        low = parse_port(low_text, protocol)
        high = parse_port(high_text, protocol) if colon else low
        if colon and low >= high:
            raise RulesetSyntaxError(f"multiport: invalid port range {word!r}: expected LOW:HIGH")
        ports.append((low, high))
        numbers += 2 if colon else 1
    if numbers > MOST_PORTS:
        raise RulesetSyntaxError(f"multiport: too many ports in {text!r}: at most {MOST_PORTS}, a range counts as two")
    return tuple(ports)
