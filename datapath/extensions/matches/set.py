"""The set match: whether an IP set has what the packet shows.

Kernel: net/netfilter/xt_set.c, set_match_v4; net/netfilter/ipset/ip_set_core.c, ip_set_test. Manual:
iptables-extensions(8), section set.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import negation

MOST_DIMENSIONS = 6
LONGEST_NAME = 31
COMPARISONS = {"eq": 1, "ne": 2, "lt": 3, "gt": 4}      # IPSET_COUNTER_*
RETURN_NOMATCH, SKIP_COUNTERS, SKIP_SUBCOUNTERS, MATCH_COUNTERS = 1, 2, 4, 8       # enum SetFlag in ipset.pxd
FLAGS = (("--return-nomatch", RETURN_NOMATCH), ("--update-counters", SKIP_COUNTERS), ("--update-subcounters", SKIP_SUBCOUNTERS))
LAYOUT = struct.Struct("<3Q6B2x")

Comparison = tuple[str, int]        # ("", 0): not asked


@dataclass(frozen=True, slots=True)
class Set(Match):
    """`-m set`. `sources` says for each dimension whether the source is meant; `flags` are those that are set."""

    NAME: ClassVar[str] = "set"
    SUMMARY: ClassVar[str] = "whether an IP set has what the packet shows"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--match-set", "--set"), arguments=2, negatable=True),
        Option(("--return-nomatch",), arguments=0),
        Option(("--update-counters",), arguments=0, negatable=True),
        Option(("--update-subcounters",), arguments=0, negatable=True),
        *(Option((f"--{what}-{how}",), negatable=how == "eq") for what in ("packets", "bytes") for how in ("eq", "lt", "gt")),
    )

    name: str
    sources: tuple[bool, ...]
    negated: bool = False
    flags: int = 0
    packets: Comparison = ("", 0)
    bytes: Comparison = ("", 0)

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("set", given)
        item = found.get("--match-set")
        if item is None:
            raise RulesetSyntaxError("set: you must specify --match-set with proper arguments")
        name, dimensions = item.arguments
        if len(name) > LONGEST_NAME:
            raise RulesetSyntaxError(f"set: name {name!r} is too long: at most {LONGEST_NAME} characters")
        flags = RETURN_NOMATCH if "--return-nomatch" in found else 0
        for option, flag in FLAGS[1:]:
            if option in found and found[option].negated:
                flags |= flag
        packets, octets = (parse_comparison(found, what) for what in ("packets", "bytes"))
        return cls(name, parse_dimensions(dimensions), item.negated, flags, packets, octets)

    def format(self) -> str:
        words = [*negation(self.negated), "--match-set", self.name, ",".join("src" if source else "dst" for source in self.sources)]
        for option, flag in FLAGS:
            if self.flags & flag:
                words += [option] if flag == RETURN_NOMATCH else ["!", option]
        for what, (how, value) in (("packets", self.packets), ("bytes", self.bytes)):
            if how:
                words += [*negation(how == "ne"), f"--{what}-{'eq' if how == 'ne' else how}", str(value)]
        return " ".join(words)

    def lower(self) -> Op:
        flags = self.flags | (MATCH_COUNTERS if self.packets[0] or self.bytes[0] else 0)
        payload = LAYOUT.pack(
            0, self.packets[1], self.bytes[1], len(self.sources), sum(source << bit for bit, source in enumerate(self.sources)),
            flags, COMPARISONS.get(self.packets[0], 0), COMPARISONS.get(self.bytes[0], 0), self.negated)
        return Op("set", payload, ((0, "set", self.name),))


def parse_dimensions(text: str) -> tuple[bool, ...]:
    """`src` or `dst` for each dimension."""
    words = text.split(",")
    if len(words) > MOST_DIMENSIONS or not all(word.startswith(("src", "dst")) for word in words):
        raise RulesetSyntaxError(f"set: bad directions {text!r}: expected at most {MOST_DIMENSIONS} of src and dst, with commas")
    return tuple(word.startswith("src") for word in words)


def parse_comparison(found: dict[str, Given], what: str) -> Comparison:
    """How the packets or bytes of the element must compare."""
    asked = [(how, found[f"--{what}-{how}"]) for how in ("eq", "lt", "gt") if f"--{what}-{how}" in found]
    if not asked:
        return "", 0
    if len(asked) > 1:
        raise RulesetSyntaxError(f"set: only one of --{what}-eq, --{what}-lt and --{what}-gt is allowed")
    how, item = asked[0]
    return "ne" if item.negated else how, number(item.argument, 0, (1 << 64) - 1, f"--{what}-{how}")
