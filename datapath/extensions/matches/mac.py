"""The mac match: the source MAC address.

Kernel: net/netfilter/xt_mac.c, mac_mt. Manual: iptables-extensions(8), section mac.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import negation

LAYOUT = struct.Struct("<6sB")


@dataclass(frozen=True, slots=True)
class Mac(Match):
    """`-m mac`. A packet that did not come from an Ethernet device never matches, negated or not."""

    NAME: ClassVar[str] = "mac"
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"PREROUTING", "INPUT", "FORWARD"})
    SUMMARY: ClassVar[str] = "the source MAC address"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--mac-source",), negatable=True),)

    source: bytes
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("mac", given).get("--mac-source")
        if item is None:
            raise RulesetSyntaxError("mac: option --mac-source must be specified")
        if not re.fullmatch(r"[0-9A-Fa-f]{1,2}(:[0-9A-Fa-f]{1,2}){5}", item.argument):
            raise RulesetSyntaxError(f"invalid MAC address {item.argument!r}: expected XX:XX:XX:XX:XX:XX")
        return cls(bytes(int(part, 16) for part in item.argument.split(":")), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--mac-source", self.source.hex(":")])

    def lower(self) -> Op:
        return Op("mac", LAYOUT.pack(self.source, self.negated))
