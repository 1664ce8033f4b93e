"""The NETMAP target: translates a whole network to another one, host by host.

Kernel: net/netfilter/xt_NETMAP.c. Manual: iptables-extensions(8), section NETMAP.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each
from datapath.extensions.nat_range import NatRange
from datapath.extensions.values import format_address


@dataclass(frozen=True, slots=True)
class Netmap(Target):
    """`-j NETMAP`: the network as its address, and the length of its prefix."""

    NAME: ClassVar[str] = "NETMAP"
    SUMMARY: ClassVar[str] = "translates a whole network to another one, host by host"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"nat"})
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"})
    NEEDS_CONNTRACK: ClassVar[bool] = True
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--to",)),)

    network: bytes
    length: int

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("NETMAP", given)
        if "--to" not in found:
            raise RulesetSyntaxError('NETMAP: option "--to" must be specified')
        text, slash, mask = found["--to"].argument.partition("/")
        address = parse_loose_address(text, rule.family)
        bits = len(address) * 8
        length = parse_length(mask, rule.family, bits) if slash else bits
        host = (1 << (bits - length)) - 1
        return cls((int.from_bytes(address, "big") & ~host).to_bytes(len(address), "big"), length)

    def format(self) -> str:
        return f"--to {format_address(self.network)}/{self.length}"

    def lower(self) -> Op:
        host = (1 << (len(self.network) * 8 - self.length)) - 1
        last = (int.from_bytes(self.network, "big") | host).to_bytes(len(self.network), "big")
        return Op("NETMAP", NatRange(self.network, last).pack())


def parse_loose_address(text: str, family: int) -> bytes:
    """A numeric address; of IPv4 also `192.0.2` and `0xc0000201`."""
    try:
        return socket.inet_aton(text) if family == 4 else socket.inet_pton(socket.AF_INET6, text)
    except OSError:
        raise RulesetSyntaxError(f"bad address {text!r}: expected an IPv{family} address") from None


def parse_length(text: str, family: int, bits: int) -> int:
    """A prefix length, or a mask that is one. Any other mask, and so a number beyond `bits`, counts as a whole address."""
    try:
        return number(text, 0, bits, "prefix length")
    except RulesetSyntaxError:
        mask = int.from_bytes(parse_loose_address(text, family), "big")
    length = mask.bit_count()
    return length if mask == ((1 << length) - 1) << (bits - length) else bits
