"""The ecn match: the ECN field of the IP header, the CWR and ECE flags of TCP.

Kernel: net/netfilter/xt_ecn.c, ecn_mt4 and ecn_mt6. Manual: iptables-extensions(8), section ecn.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import negation

ECE, CWR = 0x40, 0x80       # bits of the TCP flags byte
LAYOUT = struct.Struct("<4B")


@dataclass(frozen=True, slots=True)
class Ecn(Match):
    """`-m ecn`. `tcp_flags` are the flags asked for and `tcp_unset` those that must be clear; `codepoint` None: not asked."""

    NAME: ClassVar[str] = "ecn"
    SUMMARY: ClassVar[str] = "the ECN field of the IP header, CWR and ECE of TCP"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--ecn-tcp-ece",), arguments=0, negatable=True),
        Option(("--ecn-tcp-cwr",), arguments=0, negatable=True),
        Option(("--ecn-ip-ect",), negatable=True),
    )

    tcp_flags: int = 0
    tcp_unset: int = 0
    codepoint: int | None = None
    codepoint_negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("ecn", given)
        if not found:
            raise RulesetSyntaxError("ecn: some option is required")
        flags = unset = 0
        for name, bit in (("--ecn-tcp-ece", ECE), ("--ecn-tcp-cwr", CWR)):
            if item := found.get(name):
                flags |= bit
                unset |= bit if item.negated else 0
        field = found.get("--ecn-ip-ect")
        return cls(flags, unset, number(field.argument, 0, 3, "ECN codepoint") if field else None, field is not None and field.negated)

    def format(self) -> str:
        words = []
        for name, bit in (("--ecn-tcp-ece", ECE), ("--ecn-tcp-cwr", CWR)):
            if self.tcp_flags & bit:
                words += [*negation(bool(self.tcp_unset & bit)), name]
        if self.codepoint is not None:
            words += [*negation(self.codepoint_negated), "--ecn-ip-ect", str(self.codepoint)]
        return " ".join(words)

    def check(self, rule: RuleContext) -> None:
        if self.tcp_flags and (rule.protocol != 6 or rule.protocol_negated):
            raise RulesetError("ecn: cannot match TCP bits for non-tcp packets: needs -p tcp")

    def lower(self) -> Op:
        wanted = 0xFF if self.codepoint is None else self.codepoint
        return Op("ecn", LAYOUT.pack(self.tcp_flags, self.tcp_flags & ~self.tcp_unset, wanted, self.codepoint_negated))
