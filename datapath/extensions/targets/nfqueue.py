"""The NFQUEUE target: a process in user space decides. The packet's way ends here, QUEUED.

Kernel: net/netfilter/xt_NFQUEUE.c, nfqueue_tg_v3. Manual: iptables-extensions(8), section NFQUEUE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each


@dataclass(frozen=True, slots=True)
class Nfqueue(Target):
    """`-j NFQUEUE`: queues `first` to `last`. With `bypass` Linux accepts when no process listens; we always say QUEUED."""

    NAME: ClassVar[str] = "NFQUEUE"
    SUMMARY: ClassVar[str] = "a process in user space decides: the packet's way ends as QUEUED"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--queue-num",)),
        Option(("--queue-balance",)),
        Option(("--queue-bypass",), arguments=0),
        Option(("--queue-cpu-fanout",), arguments=0),
    )

    first: int = 0
    last: int = 0
    bypass: bool = False
    fanout: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("NFQUEUE", given)
        if "--queue-num" in found and "--queue-balance" in found:
            raise RulesetSyntaxError("NFQUEUE: --queue-num cannot be used together with --queue-balance")
        if "--queue-cpu-fanout" in found and "--queue-balance" not in found:
            raise RulesetSyntaxError("NFQUEUE: --queue-cpu-fanout also requires --queue-balance")
        first = last = 0
        if item := found.get("--queue-num"):
            first = last = number(item.argument, 0, 65535, "queue number")
        if item := found.get("--queue-balance"):
            low, colon, high = item.argument.partition(":")
            first, last = number(low, 0, 65535, "queue number"), number(high, 0, 65535, "queue number")
            if not colon or first >= last:
                raise RulesetSyntaxError(f"NFQUEUE: bad queue range {item.argument!r}: expected FIRST:LAST")
        return cls(first, last, "--queue-bypass" in found, "--queue-cpu-fanout" in found)

    def format(self) -> str:
        queues = f"--queue-num {self.first}" if self.first == self.last else f"--queue-balance {self.first}:{self.last}"
        return queues + " --queue-bypass" * self.bypass + " --queue-cpu-fanout" * self.fanout

    def lower(self) -> Op:
        return Op("NFQUEUE")
