"""The dccp match: ports, packet types and options of a DCCP packet.

Kernel: net/netfilter/xt_dccp.c, dccp_mt. Manual: iptables-extensions(8), section dccp.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.ports import PortRange
from datapath.extensions.values import negation

TYPES = ("REQUEST", "RESPONSE", "DATA", "ACK", "DATAACK", "CLOSEREQ", "CLOSE", "RESET", "SYNC", "SYNCACK", "INVALID")
INVALID_TYPES = 0xFC00      # every type from 10 on
LAYOUT = struct.Struct("<5H4B")


@dataclass(frozen=True, slots=True)
class Dccp(Match):
    """`-m dccp`. `types` is a bit mask, None for any; `option` 0 for none."""

    NAME: ClassVar[str] = "dccp"
    SUMMARY: ClassVar[str] = "ports, packet types and options of a DCCP packet"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--sport", "--source-port"), negatable=True),
        Option(("--dport", "--destination-port"), negatable=True),
        Option(("--dccp-types",), negatable=True),
        Option(("--dccp-option",), negatable=True),
    )

    source: PortRange | None = None
    destination: PortRange | None = None
    types: int | None = None
    types_negated: bool = False
    option: int = 0
    option_negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("dccp", given)
        source, destination = (PortRange.resolved(found[name]) if name in found else None for name in ("--sport", "--dport"))
        types, option = found.get("--dccp-types"), found.get("--dccp-option")
        return cls(
            source, destination,
            parse_types(types.argument) if types else None, types is not None and types.negated,
            number(option.argument, 1, 255, "DCCP option") if option else 0, option is not None and option.negated,
        )

    def format(self) -> str:
        words = []
        for name, port in (("--sport", self.source), ("--dport", self.destination)):
            if port is not None:
                words += [*negation(port.negated), name, f"{port.low}:{port.high}" if port.low != port.high else str(port.low)]
        if self.types is not None:
            names = ",".join(name for bit, name in enumerate(TYPES) if self.types & 1 << bit)
            words += [*negation(self.types_negated), "--dccp-types", names]
        if self.option:
            words += [*negation(self.option_negated), "--dccp-option", str(self.option)]
        return " ".join(words)

    def check(self, rule: RuleContext) -> None:
        rule.require_protocol("dccp", 33)

    def lower(self) -> Op:
        source, destination = self.source or PortRange(), self.destination or PortRange()
        invert = source.negated | destination.negated << 1 | self.types_negated << 2 | self.option_negated << 3
        return Op("dccp", LAYOUT.pack(
            source.low, source.high, destination.low, destination.high, self.types or 0,
            invert, self.types is not None, self.option, 0))


def parse_types(text: str) -> int:
    """The bits of a comma-separated list of packet types."""
    mask = 0
    for word in filter(None, text.split(",")):
        if word.upper() not in TYPES:
            raise RulesetSyntaxError(f"dccp: unknown type {word!r}: expected {', '.join(TYPES)}")
        mask |= INVALID_TYPES if word.upper() == "INVALID" else 1 << TYPES.index(word.upper())
    return mask
