"""The MARK target: sets the packet's mark, or some of its bits.

Kernel: net/netfilter/xt_mark.c, mark_tg. Manual: iptables-extensions(8), section MARK.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each
from datapath.extensions.values import UINT32_MAX, Masked

LAYOUT = struct.Struct("<2I")
MARK_OPTIONS = (
    Option(("--set-xmark",)),
    Option(("--set-mark",)),
    Option(("--and-mark",)),
    Option(("--or-mark",)),
    Option(("--xor-mark",)),
)


@dataclass(frozen=True, slots=True)
class Mark(Target):
    """`-j MARK`: the bits of `mask` are cleared, then the mark is XORed with `mark`. All spellings come down to this."""

    NAME: ClassVar[str] = "MARK"
    SUMMARY: ClassVar[str] = "sets the packet's mark or some of its bits"
    OPTIONS: ClassVar[tuple[Option, ...]] = MARK_OPTIONS

    mark: int
    mask: int

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("MARK", given)
        if len(found) != 1:
            raise RulesetSyntaxError(f"MARK needs exactly one of {', '.join(option.names[0] for option in MARK_OPTIONS)}")
        return cls(*parse_operation(*found.values()))

    def format(self) -> str:
        return f"--set-xmark {self.mark:#x}/{self.mask:#x}"

    def lower(self) -> Op:
        return Op("MARK", LAYOUT.pack(self.mark, self.mask))


def parse_operation(item: Given) -> tuple[int, int]:
    """(mark, mask) of one of MARK_OPTIONS."""
    if item.name in ("--set-xmark", "--set-mark"):
        value = Masked.parse(item.argument, "mark")
        return value.value, value.mask | value.value if item.name == "--set-mark" else value.mask
    bits = number(item.argument, 0, UINT32_MAX, "mark")
    match item.name:
        case "--and-mark":
            return 0, ~bits & UINT32_MAX
        case "--or-mark":
            return bits, bits
        case _:
            return bits, 0
