"""The limit match: a token bucket of the rule.

Kernel: net/netfilter/xt_limit.c, limit_mt and limit_mt_check. Manual: iptables-extensions(8), section limit.
The bucket fills once per jiffy; HZ is 250, as in Debian's and most other distributions' kernels. iptables-legacy
refuses rates that would overflow its 32 bits. iptables-nft hands the rate to net/netfilter/nft_limit.c
(nft_limit_eval), which counts nanoseconds in 64 bits: such a rule must be one of iptables-nft's, and is done so.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import UINT32_MAX

SCALE = 10000       # XT_LIMIT_SCALE: the average is the time between packets in units of 1/10000 s
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
PRINTED = (("day", 86400 * SCALE), ("hour", 3600 * SCALE), ("min", 60 * SCALE), ("sec", SCALE))
DEFAULT_AVERAGE = SCALE * 3600 // 3
DEFAULT_BURST = 5
HZ = 250
CREDITS_PER_JIFFY = 128     # the power of two below 2^32 / (HZ * 86400)
LAYOUT = struct.Struct("<QIIII")
NANOSECONDS = struct.Struct("<4Q")


@dataclass(frozen=True, slots=True)
class Limit(Match):
    """`-m limit`. `average` is the time between packets in 1/10000 s."""

    NAME: ClassVar[str] = "limit"
    SUMMARY: ClassVar[str] = "a token bucket of the rule (packet time, HZ 250)"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--limit",)), Option(("--limit-burst",)))

    average: int = DEFAULT_AVERAGE
    burst: int = DEFAULT_BURST

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("limit", given)
        rate, burst = found.get("--limit"), found.get("--limit-burst")
        return cls(
            parse_rate(rate.argument) if rate else DEFAULT_AVERAGE,
            number(burst.argument, 0, 10000, "burst") if burst else DEFAULT_BURST,
        )

    def format(self) -> str:
        return f"--limit {format_rate(self.average)}" + (f" --limit-burst {self.burst}" if self.burst != DEFAULT_BURST else "")

    def check(self, rule: RuleContext) -> None:
        if self.burst == 0:
            raise RulesetError("limit: a burst of 0 never matches: expected at least 1")

    def lower(self) -> Op:
        cap, cost = credits_of(self.average * self.burst & UINT32_MAX), credits_of(self.average)
        if cap < cost:
            return self.lower_nft()
        return Op("limit", LAYOUT.pack(0, cap, cap, cost, 0))

    def lower_nft(self) -> Op:
        count, unit = largest_unit(self.average)
        nanoseconds = unit // SCALE * 1_000_000_000 // count
        return Op("limit_nft", NANOSECONDS.pack(0, nanoseconds * self.burst, nanoseconds * self.burst, nanoseconds))


def credits_of(average: int) -> int:
    """What passing costs, in credits (user2credits)."""
    per_second = HZ * CREDITS_PER_JIFFY
    if average > 0xFFFFFFFF // per_second:
        return average // SCALE * per_second & 0xFFFFFFFF
    return average * per_second // SCALE


def parse_rate(text: str) -> int:
    """`COUNT[/second|minute|hour|day]`, the unit possibly cut short."""
    count_text, slash, unit_text = text.partition("/")
    unit = next((seconds for name, seconds in UNITS.items() if unit_text and name.startswith(unit_text.lower())), 0) if slash else 1
    digits = re.match(r"\s*\+?([0-9]{1,100})", count_text)
    count = int(digits[1]) & 0xFFFFFFFF if digits else 0
    if not unit or not count:
        raise RulesetSyntaxError(f"limit: bad rate {text!r}: expected COUNT[/second|minute|hour|day]")
    average = SCALE * unit // count
    if not average:
        raise RulesetSyntaxError(f"limit: rate too fast {text!r}: at most {SCALE} in a unit of a second")
    return average


def format_rate(average: int) -> str:
    """The rate as iptables-save prints it."""
    count, unit = largest_unit(average)
    return f"{count}/{next(name for name, length in PRINTED if length == unit)}"


def largest_unit(average: int) -> tuple[int, int]:
    """(packets, unit in 1/10000 s) in the largest unit that keeps the rate exact enough."""
    chosen = PRINTED[0][1]
    for _, unit in PRINTED[1:]:
        if average > unit or unit // average < unit % average:
            break
        chosen = unit
    return chosen // average, chosen
