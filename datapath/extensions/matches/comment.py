"""The comment match: a text that goes with a rule and always matches.

Kernel: net/netfilter/xt_comment.c. Manual: iptables-extensions(8), section comment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.values import quoted

LONGEST = 255       # bytes that the kernel's structure keeps


@dataclass(frozen=True, slots=True)
class Comment(Match):
    """`-m comment`. A longer text is cut, as iptables does."""

    NAME: ClassVar[str] = "comment"
    SUMMARY: ClassVar[str] = "a text that goes with the rule; always matches"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--comment",)),)

    text: str

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("comment", given).get("--comment")
        if item is None:
            raise RulesetSyntaxError("comment: option --comment must be specified")
        text = item.argument
        if len(text) > LONGEST // 4:    # may be too long
            text = text.encode(errors="surrogateescape")[:LONGEST].decode(errors="surrogateescape")
        return cls(text)

    def format(self) -> str:
        return f"--comment {quoted(self.text)}"

    def lower(self) -> Op:
        return Op("comment")
