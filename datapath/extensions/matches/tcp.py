"""The tcp match: ports, flags and options of a TCP header.

Kernel: net/netfilter/xt_tcpudp.c, tcp_mt. Manual: iptables-extensions(8), section tcp.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.ports import ANY_PORT, PortRange, ports_nft

FLAGS = {"FIN": 1, "SYN": 2, "RST": 4, "PSH": 8, "ACK": 16, "URG": 32}
LAYOUT = struct.Struct("<4H4B")


@dataclass(frozen=True, slots=True)
class Tcp(Match):
    """`-m tcp`. Flags are (mask, wanted bits); `option` is a TCP option's number, 0 for none."""

    NAME: ClassVar[str] = "tcp"
    SUMMARY: ClassVar[str] = "ports, flags and options of a TCP header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--sport", "--source-port"), negatable=True),
        Option(("--dport", "--destination-port"), negatable=True),
        Option(("--tcp-flags",), arguments=2, negatable=True),
        Option(("--syn",), arguments=0, negatable=True),
        Option(("--tcp-option",), negatable=True),
    )

    source: PortRange = ANY_PORT
    destination: PortRange = ANY_PORT
    flags: tuple[int, int] = (0, 0)
    flags_negated: bool = False
    option: int = 0
    option_negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("tcp", given)
        if "--syn" in found and "--tcp-flags" in found:
            raise RulesetSyntaxError("tcp: only one of --syn and --tcp-flags is allowed")
        flags, flags_negated, option, option_negated = (0, 0), False, 0, False
        if item := found.get("--syn"):
            flags, flags_negated = (FLAGS["SYN"] | FLAGS["RST"] | FLAGS["ACK"] | FLAGS["FIN"], FLAGS["SYN"]), item.negated
        if item := found.get("--tcp-flags"):
            flags, flags_negated = (parse_flags(item.arguments[0]), parse_flags(item.arguments[1])), item.negated
        if item := found.get("--tcp-option"):
            option, option_negated = number(item.argument, 1, 255, "TCP option"), item.negated
        return cls(
            PortRange.given(found.get("--sport"), "tcp"), PortRange.given(found.get("--dport"), "tcp"),
            flags, flags_negated, option, option_negated,
        )

    def format(self) -> str:
        words = [*self.source.words("--sport"), *self.destination.words("--dport")]
        if self.option or self.option_negated:
            words += ["!"] * self.option_negated + ["--tcp-option", str(self.option)]
        if self.flags != (0, 0) or self.flags_negated:
            words += ["!"] * self.flags_negated + ["--tcp-flags", format_flags(self.flags[0]), format_flags(self.flags[1])]
        return " ".join(words)

    def check(self, rule: RuleContext) -> None:
        rule.require_protocol("tcp", 6)

    def lower(self) -> Op:
        invert = self.source.negated | self.destination.negated << 1 | self.flags_negated << 2 | self.option_negated << 3
        return Op("tcp", LAYOUT.pack(
            self.source.low, self.source.high, self.destination.low, self.destination.high, self.option, *self.flags, invert))

    def lower_nft(self) -> Op:
        if self.option or self.option_negated or self == Tcp():
            return self.lower()
        return Op("ports_nft", ports_nft(self.source, self.destination, self.flags, self.flags_negated))


def parse_flags(text: str) -> int:
    """Bits of a comma-separated list of flag names, ALL or NONE."""
    bits = 0
    for name in text.upper().split(","):
        if name in ("ALL", "NONE"):
            bits |= 0x3F if name == "ALL" else 0
        elif name in FLAGS:
            bits |= FLAGS[name]
        else:
            raise RulesetSyntaxError(f"tcp: unknown flag {name!r}: expected {', '.join(FLAGS)}, ALL or NONE")
    return bits


def format_flags(bits: int) -> str:
    """The list as iptables-save prints it: in the order of the bits, never ALL."""
    return ",".join(name for name, bit in FLAGS.items() if bits & bit) or "NONE"
