"""What the hbh and dst matches share: length and options of an IPv6 options header.

Kernel: net/ipv6/netfilter/ip6t_hbh.c, hbh_mt6 (both matches).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, RuleContext, number, one_of_each
from datapath.extensions.values import UINT32_MAX, negation

MOST_OPTIONS = 16
ANY_LENGTH = 255
LAYOUT = struct.Struct("<I4B16H")


@dataclass(frozen=True, slots=True)
class Ipv6Options(Match):
    """Length in bytes, None for any, and the options that must stand first, in order: (type, length or 255 for any)."""

    HEADER: ClassVar[int]

    length: int | None = None
    length_negated: bool = False
    options: tuple[tuple[int, int], ...] | None = None

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each(cls.NAME, given)
        length, options = found.get(f"--{cls.NAME}-len"), found.get(f"--{cls.NAME}-opts")
        return cls(
            number(length.argument, 0, UINT32_MAX, "header length") if length else None,
            length is not None and length.negated,
            parse_options(options.argument) if options else None,
        )

    def format(self) -> str:
        words = []
        if self.length is not None:
            words += [*negation(self.length_negated), f"--{self.NAME}-len", str(self.length)]
        if self.options is not None:
            options = ",".join(str(kind) + ("" if length == ANY_LENGTH else f":{length}") for kind, length in self.options)
            words += [f"--{self.NAME}-opts", options]
        return " ".join(words)

    def lower(self) -> Op:
        options = [kind << 8 | length for kind, length in self.options or ()]
        options += [0] * (MOST_OPTIONS - len(options))
        count = len(self.options or ())
        return Op("ipv6_options", LAYOUT.pack(
            self.length or 0, self.length is not None, self.length_negated, count, self.HEADER, *options))


def parse_options(text: str) -> tuple[tuple[int, int], ...]:
    """`TYPE[:LENGTH],...`; iptables keeps the low eight bits of each."""
    words = text.split(",")
    if len(words) > MOST_OPTIONS:
        raise RulesetSyntaxError(f"too many IPv6 options in {text!r}: at most {MOST_OPTIONS}")
    options = []
    for index, word in enumerate(words):
        kind_text, colon, length_text = word.partition(":")
        kind = number(kind_text, 0, (1 << 64) - 1, "option type") & 0xFF
        if colon and (kind == 0 or index == MOST_OPTIONS - 1):
            raise RulesetSyntaxError(f"IPv6 option {word!r} cannot have a length")
        options.append((kind, number(length_text, 0, (1 << 64) - 1, "option length") & 0xFF if colon else ANY_LENGTH))
    return tuple(options)
