"""Make a case that differs smaller: fewer packets, fewer rules, the same kind of difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from datapath.lab.case import Case, CasePacket
from datapath.lab.compare import Difference, compare
from datapath.lab.errors import LabError
from datapath.lab.kernel import record_case

Item = TypeVar("Item")


def shrink(case: Case, difference: Difference, scratch: Path, seconds: float) -> Difference:
    """The difference in the smallest case found within `seconds`; the given one when it does not come again."""
    end = time.monotonic() + seconds
    attempt = _Attempt(case, difference, scratch)
    packets = case.packets if difference.packet < 0 else case.packets[: difference.packet + 1]
    if not attempt(packets, case.rules):
        return difference
    packets = smaller(packets, lambda fewer: attempt(fewer, case.rules), end)
    rules = dict(case.rules)
    for family in tuple(rules):
        rules[family] = attempt.with_fewer_rules(packets, rules, family, end)
    attempt(packets, rules)
    return attempt.found


class _Attempt:
    """Plays a variant of a case; true when it differs as the original does."""

    def __init__(self, case: Case, difference: Difference, scratch: Path) -> None:
        self.found = difference
        self._case, self._what, self._scratch = case, difference.what, scratch
        self._number = 0

    def __call__(self, packets: Sequence[CasePacket], rules: dict[int, str]) -> bool:
        self._number += 1
        variant = replace(self._case, rules=dict(rules), packets=list(packets), recording=None, host=None)
        try:
            record_case(variant, self._scratch / f"shrink-{self._number}", clock=False, drops=True)
            comparison = compare(variant, seconds_slack=4)
        except (LabError, ValueError):
            return False
        same = [item for item in comparison.differences if item.what == self._what]
        if same:
            self.found = same[0]
        return bool(same)

    def with_fewer_rules(self, packets: Sequence[CasePacket], rules: dict[int, str], family: int, end: float) -> str:
        """The rules of one family, as few as still differ."""
        lines = rules[family].splitlines()

        def differs(numbers: list[int]) -> bool:
            return self(packets, rules | {family: without(lines, numbers)})

        return without(lines, smaller([number for number, line in enumerate(lines) if line.startswith("-A")], differs, end))


def smaller(items: Sequence[Item], differs: Callable[[list[Item]], bool], end: float) -> list[Item]:
    """A small sublist that still differs (delta debugging, one pass per size), as far as time allows."""
    items = list(items)
    size = max(1, len(items) // 2)
    while items:
        start = 0
        while start < len(items):
            if time.monotonic() > end:
                return items
            fewer = items[:start] + items[start + size :]
            if differs(fewer):
                items = fewer
            else:
                start += size
        if size == 1:
            return items
        size = max(1, size // 2)
    return items


def without(lines: list[str], keep: Sequence[int]) -> str:
    """A rule set with only the rules on the kept lines."""
    kept = set(keep)
    return "".join(f"{line}\n" for number, line in enumerate(lines) if not line.startswith("-A") or number in kept)
