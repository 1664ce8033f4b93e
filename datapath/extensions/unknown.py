"""Matches and targets that are not emulated: what --lenient makes of them.

They print back verbatim and lower to the core's kind "unknown": the walk of a packet whose fate such a rule would
decide ends with the verdict *unknown*. They are not in the registry; the parser makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn, Self

from datapath.extensions.base import Given, Match, Op, RuleContext, Target


@dataclass(frozen=True, slots=True)
class UnknownMatch(Match):
    """`-m NAME` that is not emulated; `text` is what followed it."""

    NAME: ClassVar[str] = ""

    name: str
    text: str = ""

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return refuse()

    def format(self) -> str:
        return self.text

    def lower(self) -> Op:
        return Op("unknown")


@dataclass(frozen=True, slots=True)
class UnknownTarget(Target):
    """`-j NAME` that is not emulated; `text` is what followed it."""

    NAME: ClassVar[str] = ""

    name: str
    text: str = ""

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        return refuse()

    def format(self) -> str:
        return self.text

    def lower(self) -> Op:
        return Op("unknown")


def refuse() -> NoReturn:
    """Nobody knows their options."""
    raise NotImplementedError("an extension that is not emulated has no options to parse")
