"""Kernel extensions: one file per match in `matches/`, per target in `targets/`, and the one table of them all.

A new extension is entered in `MATCHES` or `TARGETS` below and nowhere else in Python; its evaluation is entered in
the core's `match_table.pyx` or `target_table.pyx`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from datapath.errors import UnsupportedFeatureError
from datapath.extensions.base import Extension, Match, Target
from datapath.extensions.matches.tcp import Tcp

Kind = Literal["match", "target"]

MATCHES: tuple[type[Match], ...] = (
    Tcp,
)

TARGETS: tuple[type[Target], ...] = (
)


def registry(entries: Iterable[tuple[Kind, type[Extension]]]) -> dict[tuple[Kind, int, str], type[Extension]]:
    """The extensions by (kind, family, name). One that stands twice is a fault of the program: RuntimeError."""
    table: dict[tuple[Kind, int, str], type[Extension]] = {}
    for kind, extension in entries:
        for family in sorted(extension.FAMILIES):
            key = (kind, family, extension.NAME)
            if key in table:
                raise RuntimeError(f"{kind} {extension.NAME} is entered twice for IPv{family}")
            table[key] = extension
    return table


REGISTRY = registry([*(("match", match) for match in MATCHES), *(("target", target) for target in TARGETS)])


def find_match(family: int, name: str) -> type[Match]:
    """The match that `-m NAME` means. Raises UnsupportedFeatureError."""
    found = REGISTRY.get(("match", family, name))
    if found is None or not issubclass(found, Match):
        raise UnsupportedFeatureError(unknown("match", family, name))
    return found


def find_target(family: int, name: str) -> type[Target]:
    """The target that `-j NAME` means. Raises UnsupportedFeatureError."""
    found = REGISTRY.get(("target", family, name))
    if found is None or not issubclass(found, Target):
        raise UnsupportedFeatureError(unknown("target", family, name))
    return found


def unknown(kind: Kind, family: int, name: str) -> str:
    """What to say of an extension that is not emulated."""
    other = REGISTRY.get((kind, 10 - family, name))
    if other is not None:
        return f"{kind} {name} exists only for IPv{10 - family}"
    return f"{kind} {name} is not emulated"
