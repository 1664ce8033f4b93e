"""The NFLOG target: hands a copy of the packet to a logging process; here it is a line of the report.

Kernel: net/netfilter/xt_NFLOG.c, nflog_tg. Manual: iptables-extensions(8), section NFLOG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each
from datapath.extensions.targets.log import LAYOUT, cut, parse_prefix
from datapath.extensions.values import UINT32_MAX, quoted

LONGEST_PREFIX = 63
DEFAULT_THRESHOLD = 0


@dataclass(frozen=True, slots=True)
class Nflog(Target):
    """`-j NFLOG`. `size` None: the whole packet; `range` is the option that never worked."""

    NAME: ClassVar[str] = "NFLOG"
    SUMMARY: ClassVar[str] = "writes a line to the report; Linux hands the packet to a logging process"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--nflog-group",)),
        Option(("--nflog-prefix",)),
        Option(("--nflog-range",)),
        Option(("--nflog-size",)),
        Option(("--nflog-threshold",)),
    )

    prefix: str = ""
    group: int = 0
    size: int | None = None
    range: int = 0
    threshold: int = DEFAULT_THRESHOLD

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("NFLOG", given)
        if "--nflog-range" in found and "--nflog-size" in found:
            raise RulesetSyntaxError("NFLOG: --nflog-range cannot be used together with --nflog-size")
        prefix = parse_prefix("NFLOG", found.get("--nflog-prefix"))
        values = {
            name: number(found[f"--nflog-{name}"].argument, 0, most, f"--nflog-{name}")
            for name, most in (("group", 65535), ("size", UINT32_MAX), ("range", UINT32_MAX), ("threshold", 65535))
            if f"--nflog-{name}" in found
        }
        return cls(cut(prefix, LONGEST_PREFIX), values.get("group", 0), values.get("size"),
                   values.get("range", 0), values.get("threshold", DEFAULT_THRESHOLD))

    def format(self) -> str:
        words = ["--nflog-prefix", quoted(self.prefix)] if self.prefix else []
        words += ["--nflog-group", str(self.group)] if self.group else []
        words += ["--nflog-size", str(self.size)] if self.size is not None else []
        words += ["--nflog-range", str(self.range)] if self.range else []
        words += ["--nflog-threshold", str(self.threshold)] if self.threshold != DEFAULT_THRESHOLD else []
        return " ".join(words)

    def lower(self) -> Op:
        return Op("LOG", LAYOUT.pack(True, 0x0F, self.prefix.encode()))
