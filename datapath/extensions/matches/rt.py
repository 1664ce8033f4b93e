"""The rt match: fields of an IPv6 routing header.

Kernel: net/ipv6/netfilter/ip6t_rt.c, rt_mt6. Manual: iptables-extensions(8), section rt.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import UINT32_MAX, format_address, format_range, negation, number_range, parse_address

ANY_SEGMENTS = (0, UINT32_MAX)
MOST_ADDRESSES = 16
TYPE, SEGMENTS, LENGTH = 1, 2, 4                        # bits of `inverted`
ASK_TYPE, ASK_LENGTH, ASK_RESERVED, ASK_ADDRESSES, NOT_STRICT = 1, 2, 4, 8, 16      # enum RtFlag in rt.pxd
LAYOUT = struct.Struct("<4I4B256s")


@dataclass(frozen=True, slots=True)
class Rt(Match):
    """`-m rt`. Length in bytes; addresses as 16 bytes each."""

    NAME: ClassVar[str] = "rt"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({6})
    SUMMARY: ClassVar[str] = "fields and addresses of an IPv6 routing header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--rt-type",), negatable=True),
        Option(("--rt-segsleft",), negatable=True),
        Option(("--rt-len",), negatable=True),
        Option(("--rt-0-res",), arguments=0),
        Option(("--rt-0-addrs",)),
        Option(("--rt-0-not-strict",), arguments=0),
    )

    type: int | None = None
    segments: tuple[int, int] = ANY_SEGMENTS
    length: int | None = None
    inverted: int = 0
    reserved: bool = False
    addresses: tuple[bytes, ...] | None = None
    not_strict: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        require_order(given)
        found = one_of_each("rt", given)
        kind, segments, length, addresses = (found.get(f"--rt-{name}") for name in ("type", "segsleft", "len", "0-addrs"))
        inverted = sum(bit for item, bit in ((kind, TYPE), (segments, SEGMENTS), (length, LENGTH)) if item and item.negated)
        return cls(
            number(kind.argument, 0, UINT32_MAX, "--rt-type") if kind else None,
            number_range(segments.argument, UINT32_MAX, "--rt-segsleft") if segments else ANY_SEGMENTS,
            number(length.argument, 0, UINT32_MAX, "--rt-len") if length else None,
            inverted, "--rt-0-res" in found, parse_addresses(addresses.argument) if addresses else None, "--rt-0-not-strict" in found,
        )

    def format(self) -> str:
        words = []
        if self.type is not None:
            words += [*negation(bool(self.inverted & TYPE)), "--rt-type", str(self.type)]
        if self.segments != ANY_SEGMENTS or self.inverted & SEGMENTS:
            words += [*negation(bool(self.inverted & SEGMENTS)), "--rt-segsleft", format_range(*self.segments)]
        if self.length is not None:
            words += [*negation(bool(self.inverted & LENGTH)), "--rt-len", str(self.length)]
        words += ["--rt-0-res"] * self.reserved
        if self.addresses is not None:
            words += ["--rt-0-addrs", ",".join(map(format_address, self.addresses))]
        return " ".join(words + ["--rt-0-not-strict"] * self.not_strict)

    def lower(self) -> Op:
        flags = (ASK_TYPE * (self.type is not None) | ASK_LENGTH * (self.length is not None) | ASK_RESERVED * self.reserved
                 | ASK_ADDRESSES * (self.addresses is not None) | NOT_STRICT * self.not_strict)
        return Op("rt", LAYOUT.pack(
            self.type or 0, *self.segments, self.length or 0, flags, self.inverted, len(self.addresses or ()), 0,
            b"".join(self.addresses or ())))


def require_order(given: Sequence[Given]) -> None:
    """The options for type 0 must follow what they depend on."""
    seen: set[str] = set()
    for item in given:
        if item.name in ("--rt-0-res", "--rt-0-addrs") and "--rt-type 0" not in seen:
            raise RulesetSyntaxError(f"rt: --rt-type 0 is required before {item.name}")
        if item.name == "--rt-0-not-strict" and "--rt-0-addrs" not in seen:
            raise RulesetSyntaxError("rt: --rt-0-addrs is required before --rt-0-not-strict")
        is_type_0 = item.name == "--rt-type" and not item.negated and number(item.argument, 0, UINT32_MAX, "--rt-type") == 0
        seen.add("--rt-type 0" if is_type_0 else item.name)


def parse_addresses(text: str) -> tuple[bytes, ...]:
    """`ADDRESS,...`."""
    words = text.split(",")
    if len(words) > MOST_ADDRESSES:
        raise RulesetSyntaxError(f"rt: too many addresses: at most {MOST_ADDRESSES}")
    return tuple(parse_address(word, 6) for word in words)
