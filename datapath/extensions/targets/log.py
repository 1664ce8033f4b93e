"""The LOG target: writes a line about the packet to the kernel's log; here to the report.

Kernel: net/netfilter/xt_LOG.c, log_tg, and nf_log_syslog.c. Manual: iptables-extensions(8), section LOG.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each
from datapath.extensions.values import quoted

LAYOUT = struct.Struct("<2B70s")
LEVELS = {"emerg": 0, "panic": 0, "alert": 1, "crit": 2, "error": 3, "warning": 4, "notice": 5, "info": 6, "debug": 7}
DEFAULT_LEVEL = 4
FLAGS = {"--log-tcp-sequence": 1, "--log-tcp-options": 2, "--log-ip-options": 4, "--log-uid": 8, "--log-macdecode": 32}
LONGEST_PREFIX = 29


@dataclass(frozen=True, slots=True)
class Log(Target):
    """`-j LOG`. `flags` are NF_LOG_* bits. A longer prefix is cut, as iptables does."""

    NAME: ClassVar[str] = "LOG"
    SUMMARY: ClassVar[str] = "writes a line to the report, as the kernel's log would show it"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--log-level",)),
        Option(("--log-prefix",)),
        *(Option((name,), arguments=0) for name in FLAGS),
    )

    prefix: str = ""
    level: int = DEFAULT_LEVEL
    flags: int = 0

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("LOG", given)
        prefix = cut(parse_prefix("LOG", found.get("--log-prefix")), LONGEST_PREFIX)
        level = DEFAULT_LEVEL
        if item := found.get("--log-level"):
            level = LEVELS[item.argument] if item.argument in LEVELS else number(item.argument, 0, 7, "log level")
        return cls(prefix, level, sum(bit for name, bit in FLAGS.items() if name in found))

    def format(self) -> str:
        words = ["--log-prefix", quoted(self.prefix)] if self.prefix else []
        words += ["--log-level", str(self.level)] if self.level != DEFAULT_LEVEL else []
        return " ".join([*words, *(name for name, bit in FLAGS.items() if self.flags & bit)])

    def lower(self) -> Op:
        return Op("LOG", LAYOUT.pack(False, self.flags, self.prefix.encode()))


def parse_prefix(target: str, item: Given | None) -> str:
    """The text of --log-prefix or --nflog-prefix."""
    if item is None:
        return ""
    if not item.argument:
        raise RulesetSyntaxError(f"{target}: {item.name} needs a text")
    return item.argument


def cut(text: str, most: int) -> str:
    """The text in at most so many bytes."""
    return text.encode()[:most].decode(errors="ignore")
