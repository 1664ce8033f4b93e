"""The REJECT target: drops a packet and tells its sender why.

Kernel: net/ipv4/netfilter/ipt_REJECT.c, net/ipv6/netfilter/ip6t_REJECT.c. Manual: iptables-extensions(8), section REJECT.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, one_of_each

RESET = -1
TCP = 6
LAYOUT = struct.Struct("<2B")
# (name, other spelling, code of the unreachable message or RESET), in the order in which iptables looks through them.
TYPES4 = (
    ("icmp-net-unreachable", "net-unreach", 0),
    ("icmp-host-unreachable", "host-unreach", 1),
    ("icmp-proto-unreachable", "proto-unreach", 2),
    ("icmp-port-unreachable", "port-unreach", 3),
    ("icmp-net-prohibited", "net-prohib", 9),
    ("icmp-host-prohibited", "host-prohib", 10),
    ("tcp-reset", "tcp-rst", RESET),
    ("icmp-admin-prohibited", "admin-prohib", 13),
)
TYPES6 = (
    ("icmp6-no-route", "no-route", 0),
    ("icmp6-adm-prohibited", "adm-prohibited", 1),
    ("icmp6-addr-unreachable", "addr-unreach", 3),
    ("icmp6-port-unreachable", "port-unreach", 4),
    ("tcp-reset", "tcp-reset", RESET),
    ("icmp6-policy-fail", "policy-fail", 5),
    ("icmp6-reject-route", "reject-route", 6),
)


@dataclass(frozen=True, slots=True)
class Reject(Target):
    """`-j REJECT`. `with_` is the name of what is sent, as iptables-save prints it."""

    NAME: ClassVar[str] = "REJECT"
    SUMMARY: ClassVar[str] = "drops the packet and sends an ICMP error or a TCP reset"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"filter"})
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"INPUT", "FORWARD", "OUTPUT"})
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--reject-with",)),)

    family: int
    with_: str

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("REJECT", given).get("--reject-with")
        if item is None:
            return cls(rule.family, "icmp-port-unreachable" if rule.family == 4 else "icmp6-port-unreachable")
        for name, alias, _ in types(rule.family):
            if any(text.startswith(item.argument.lower()) for text in (name, alias)):
                return cls(rule.family, name)
        names = ", ".join(name for name, _, _ in types(rule.family))
        raise RulesetSyntaxError(f'unknown reject type "{item.argument}": expected one of {names}')

    def format(self) -> str:
        return f"--reject-with {self.with_}"

    def check(self, rule: RuleContext) -> None:
        super(Reject, self).check(rule)
        if self.code == RESET and (rule.protocol != TCP or rule.protocol_negated):
            raise RulesetError("REJECT: tcp-reset needs -p tcp")

    @property
    def code(self) -> int:
        """The code of the unreachable message, or RESET."""
        return next(code for name, _, code in types(self.family) if name == self.with_)

    def lower(self) -> Op:
        return Op("REJECT", LAYOUT.pack(self.code == RESET, 0 if self.code == RESET else self.code))


def types(family: int) -> tuple[tuple[str, str, int], ...]:
    """What the family knows."""
    return TYPES4 if family == 4 else TYPES6
