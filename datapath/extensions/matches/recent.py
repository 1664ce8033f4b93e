"""The recent match: whether and when an address was seen.

Kernel: net/netfilter/xt_recent.c, recent_mt and recent_mt_check. Manual: iptables-extensions(8), section recent.
Time goes in jiffies of packet time, with HZ 250 as in Debian's and most other distributions' kernels.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import UINT32_MAX, format_address, negation, parse_address

COMMANDS = {"--set": 2, "--rcheck": 1, "--update": 4, "--remove": 8}       # XT_RECENT_*
TTL, REAP = 16, 32
MOST_HITS = 65535
LONGEST_NAME = 199
LAYOUT = struct.Struct("<Q2I16s3B5x")


@dataclass(frozen=True, slots=True)
class Recent(Match):
    """`-m recent`. `mask` is 4 or 16 bytes; the first rule that names a list decides the list's mask."""

    NAME: ClassVar[str] = "recent"
    SUMMARY: ClassVar[str] = "whether, how often and when an address was seen (lists shared by name, packet time, HZ 250)"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        *(Option((name,), arguments=0, negatable=True) for name in COMMANDS),
        Option(("--seconds",)),
        Option(("--reap",), arguments=0),
        Option(("--hitcount",)),
        Option(("--rttl",), arguments=0),
        Option(("--name",)),
        Option(("--mask",)),
        Option(("--rsource",), arguments=0),
        Option(("--rdest",), arguments=0),
    )

    command: str
    mask: bytes
    name: str = "DEFAULT"
    seconds: int = 0
    hits: int = 0
    reap: bool = False
    ttl: bool = False
    destination: bool = False
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("recent", given)
        commands = [item for name, item in found.items() if name in COMMANDS]
        if len(commands) != 1:
            raise RulesetSyntaxError("recent: you must specify one of --set, --rcheck, --update or --remove")
        (command,) = commands
        if "--rttl" in found and command.name in ("--set", "--remove"):
            raise RulesetSyntaxError(f"recent: --rttl cannot be used together with {command.name}")
        if "--reap" in found and "--seconds" not in found:
            raise RulesetSyntaxError("recent: --reap also requires --seconds")
        mask = found["--mask"].argument if "--mask" in found else "255.255.255.255" if rule.family == 4 else "ff" * 2 + ":ffff" * 7
        sides = [item.name for item in given if item.name in ("--rsource", "--rdest")]
        return cls(
            command.name, parse_address(mask, rule.family),
            found["--name"].argument[:LONGEST_NAME] if "--name" in found else "DEFAULT",
            number(found["--seconds"].argument, 1, UINT32_MAX, "--seconds") if "--seconds" in found else 0,
            number(found["--hitcount"].argument, 0, UINT32_MAX, "--hitcount") if "--hitcount" in found else 0,
            "--reap" in found, "--rttl" in found, sides[-1:] == ["--rdest"], command.negated,
        )

    def format(self) -> str:
        words = [*negation(self.negated), self.command]
        words += ["--seconds", str(self.seconds)] if self.seconds else []
        words += ["--reap"] * self.reap
        words += ["--hitcount", str(self.hits)] if self.hits else []
        words += ["--rttl"] * self.ttl
        words += ["--name", self.name, "--mask", format_address(self.mask), "--rdest" if self.destination else "--rsource"]
        return " ".join(words)

    def check(self, rule: RuleContext) -> None:
        if self.command in ("--set", "--remove") and (self.seconds or self.hits or self.reap):
            raise RulesetError(f"recent: {self.command} takes neither --seconds nor --hitcount nor --reap")
        if self.hits > MOST_HITS:
            raise RulesetError(f"recent: hitcount {self.hits} is larger than the allowed maximum {MOST_HITS}")
        if not self.name or self.name in (".", "..") or "/" in self.name:
            raise RulesetError(f"recent: bad name {self.name!r}: it must be fit for a file's name")

    def lower(self) -> Op:
        commands = COMMANDS[self.command] | TTL * self.ttl | REAP * self.reap
        payload = LAYOUT.pack(
            0, self.seconds, self.hits, self.mask.ljust(16, b"\xff"), commands, self.negated, self.destination)
        return Op("recent", payload, ((0, "recent", self.name),))
