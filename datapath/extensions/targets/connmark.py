"""The CONNMARK target: sets the connection's mark, or copies marks between the packet and its connection.

Kernel: net/netfilter/xt_connmark.c, connmark_tg_shift. Manual: iptables-extensions(8), section CONNMARK.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each
from datapath.extensions.targets.mark import MARK_OPTIONS, parse_operation
from datapath.extensions.values import UINT32_MAX

LAYOUT = struct.Struct("<3I3Bx")
SET, SAVE, RESTORE = range(3)
MODES = {"--save-mark": SAVE, "--restore-mark": RESTORE}
SHIFTS = ("--left-shift-mark", "--right-shift-mark")


@dataclass(frozen=True, slots=True)
class Connmark(Target):
    """`-j CONNMARK`. `ctmark` and `ctmask` as in MARK when `mode` is SET; else the masks say which bits are copied."""

    NAME: ClassVar[str] = "CONNMARK"
    SUMMARY: ClassVar[str] = "sets the connection's mark, saves the packet's in it or restores it"
    NEEDS_CONNTRACK: ClassVar[bool] = True
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        *MARK_OPTIONS,
        Option(("--save-mark",), arguments=0),
        Option(("--restore-mark",), arguments=0),
        Option(("--left-shift-mark",)),
        Option(("--right-shift-mark",)),
        Option(("--ctmask",)),
        Option(("--nfmask",)),
        Option(("--mask",)),
    )

    mode: int
    ctmark: int = 0
    ctmask: int = UINT32_MAX
    nfmask: int = UINT32_MAX
    right: bool = False
    bits: int = 0

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("CONNMARK", given)
        operations = [item for name, item in found.items() if name in MODES or name in {option.names[0] for option in MARK_OPTIONS}]
        if len(operations) != 1:
            raise RulesetSyntaxError("CONNMARK needs exactly one of --set-xmark, --set-mark, --and-mark, --or-mark, --xor-mark, "
                                     "--save-mark and --restore-mark")
        right, bits = parse_shift(found)
        (operation,) = operations
        if operation.name not in MODES:
            return cls(SET, *parse_operation(operation), right=right, bits=bits)
        if "--mask" in found and ("--ctmask" in found or "--nfmask" in found):
            raise RulesetSyntaxError("CONNMARK: --mask cannot be used together with --ctmask or --nfmask")
        both = number(found["--mask"].argument, 0, UINT32_MAX, "mask") if "--mask" in found else UINT32_MAX
        ctmask = number(found["--ctmask"].argument, 0, UINT32_MAX, "ctmask") if "--ctmask" in found else both
        nfmask = number(found["--nfmask"].argument, 0, UINT32_MAX, "nfmask") if "--nfmask" in found else both
        return cls(MODES[operation.name], 0, ctmask, nfmask, right, bits)

    def format(self) -> str:
        if self.mode == SET:
            text = f"--set-xmark {self.ctmark:#x}/{self.ctmask:#x}"
        else:
            text = f"{'--save-mark' if self.mode == SAVE else '--restore-mark'} --nfmask {self.nfmask:#x} --ctmask {self.ctmask:#x}"
        return f"{text} {SHIFTS[self.right]} {self.bits}" if self.bits else text

    def check(self, rule: RuleContext) -> None:
        if self.bits > 31:
            raise RulesetError("CONNMARK: a mark can be shifted by 31 bits at most")

    def lower(self) -> Op:
        return Op("CONNMARK", LAYOUT.pack(self.ctmark, self.ctmask, self.nfmask, self.mode, self.right, self.bits))


def parse_shift(found: dict[str, Given]) -> tuple[bool, int]:
    """Direction and number of bits."""
    shifts = [item for name, item in found.items() if name in SHIFTS]
    if not shifts:
        return False, 0
    return shifts[-1].name == SHIFTS[1], number(shifts[-1].argument, 0, 32, "number of bits")
