"""The conntrack match: what connection tracking knows of the packet's connection.

Kernel: net/netfilter/xt_conntrack.c, conntrack_mt (revision 3). Manual: iptables-extensions(8), section conntrack.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.matches.conntrack_states import (
    STATE_NAMES,
    STATES,
    STATUS_NAMES,
    STATUSES,
    format_names,
    parse_names,
)
from datapath.extensions.ports import resolve_ports
from datapath.extensions.values import UINT32_MAX, MaskedAddress, format_range, negation, number_range, parse_protocol

ADDRESSES = ("--ctorigsrc", "--ctorigdst", "--ctreplsrc", "--ctrepldst")
PORTS = ("--ctorigsrcport", "--ctorigdstport", "--ctreplsrcport", "--ctrepldstport")
FLAGS = {       # enum ConntrackOption in conntrack.pxd
    name: 1 << bit for bit, name in enumerate(("--ctstate", "--ctproto", *ADDRESSES, *PORTS, "--ctstatus", "--ctexpire", "--ctdir"))
}
LAYOUT = struct.Struct("<2I3H2x" + "16s16s" * 4 + "8H2I")
NO_ADDRESS = bytes(16)


@dataclass(frozen=True, slots=True)
class Conntrack(Match):
    """`-m conntrack`. What is None was not asked for; `negated` holds the options that stood after `!`."""

    NAME: ClassVar[str] = "conntrack"
    NEEDS_CONNTRACK: ClassVar[bool] = True
    SUMMARY: ClassVar[str] = "state, status, tuples, remaining lifetime and direction of the packet's connection"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        *(Option((name,), negatable=True) for name in FLAGS if name != "--ctdir"),
        Option(("--ctdir",)),
    )

    states: int | None = None
    protocol: int | None = None
    addresses: tuple[MaskedAddress | None, ...] = (None,) * 4
    ports: tuple[tuple[int, int] | None, ...] = (None,) * 4
    statuses: int | None = None
    expires: tuple[int, int] | None = None      # seconds, both included
    reply: bool | None = None
    negated: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("conntrack", given)
        if not found:
            raise RulesetSyntaxError("conntrack: at least one option is required")
        text = {name: item.argument for name, item in found.items()}
        return cls(
            parse_names(text["--ctstate"], STATE_NAMES, STATES, "ctstate") if "--ctstate" in text else None,
            parse_protocol(text["--ctproto"]) if "--ctproto" in text else None,
            tuple(MaskedAddress.parse(text[name], rule.family) if name in text else None for name in ADDRESSES),
            tuple(resolve_ports(text[name]) if name in text else None for name in PORTS),
            parse_names(text["--ctstatus"], STATUS_NAMES, STATUSES, "ctstatus") if "--ctstatus" in text else None,
            number_range(text["--ctexpire"], UINT32_MAX, "ctexpire") if "--ctexpire" in text else None,
            parse_direction(text["--ctdir"]) if "--ctdir" in text else None,
            frozenset(name for name, item in found.items() if item.negated),
        )

    def format(self) -> str:
        words = self.values()
        return " ".join(word for name, value in words.items() for word in (*negation(name in self.negated), name, value))

    def values(self) -> dict[str, str]:
        """The argument of each option asked for, in the order in which iptables-save prints them."""
        words: dict[str, str] = {}
        if self.states is not None:
            words["--ctstate"] = format_names(self.states, STATES)
        if self.protocol is not None:
            words["--ctproto"] = str(self.protocol)
        words.update({name: str(address) for name, address in zip(ADDRESSES, self.addresses, strict=True) if address})
        words.update({name: format_range(*port) for name, port in zip(PORTS, self.ports, strict=True) if port})
        if self.statuses is not None:
            words["--ctstatus"] = format_names(self.statuses, STATUSES) or "NONE"
        if self.expires is not None:
            words["--ctexpire"] = format_range(*self.expires)
        if self.reply is not None:
            words["--ctdir"] = "REPLY" if self.reply else "ORIGINAL"
        return words

    def lower(self) -> Op:
        asked = sum(FLAGS[name] for name in self.values())
        inverted = sum(FLAGS[name] for name in self.negated) | (FLAGS["--ctdir"] if self.reply else 0)
        addresses = [part for address in self.addresses for part in ((address.address, address.mask) if address else (NO_ADDRESS,) * 2)]
        ports = [port for pair in self.ports for port in (pair or (0, 0))]
        return Op("conntrack", LAYOUT.pack(
            asked, inverted, self.states or 0, self.statuses or 0, self.protocol or 0,
            *addresses, *ports, *(self.expires or (0, 0))))


def parse_direction(text: str) -> bool:
    """Whether the reply direction is meant."""
    if text.upper() not in ("ORIGINAL", "REPLY"):
        raise RulesetSyntaxError(f"conntrack: bad value {text!r} for --ctdir: expected ORIGINAL or REPLY")
    return text.upper() == "REPLY"
