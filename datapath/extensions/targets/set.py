"""The SET target: adds what the packet shows to an IP set, or takes it out.

Kernel: net/netfilter/xt_set.c, set_target_v2. Manual: iptables-extensions(8), section SET. `--map-set` is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError, UnsupportedFeatureError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each
from datapath.extensions.matches.set import LONGEST_NAME, parse_dimensions
from datapath.extensions.values import UINT32_MAX

LAYOUT = struct.Struct("<3Q5B3x")
EXIST = 16                      # enum SetFlag in ipset.pxd
OWN_TIMEOUT = (1 << 64) - 1     # of the set
LONGEST_TIMEOUT = UINT32_MAX // 1000

Reference = tuple[str, tuple[bool, ...]]        # a set's name, and for each dimension whether the source is meant


@dataclass(frozen=True, slots=True)
class Set(Target):
    """`-j SET`. `timeout` in seconds; None: the set's own."""

    NAME: ClassVar[str] = "SET"
    SUMMARY: ClassVar[str] = "adds what the packet shows to an IP set, or takes it out"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--add-set",), arguments=2),
        Option(("--exist",), arguments=0),
        Option(("--timeout",)),
        Option(("--del-set",), arguments=2),
        Option(("--map-set",), arguments=2),
    )

    added: Reference | None = None
    exist: bool = False
    timeout: int | None = None
    deleted: Reference | None = None

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("SET", given)
        if "--map-set" in found:
            raise UnsupportedFeatureError("SET: --map-set is not emulated")
        if not found.keys() & {"--add-set", "--del-set"}:
            raise RulesetSyntaxError("SET: you must specify either --add-set or --del-set")
        for name in ("--exist", "--timeout"):
            if name in found and "--add-set" not in found:
                raise RulesetSyntaxError(f"SET: {name} can be used with --add-set only")
        return cls(
            parse_reference(found.get("--add-set")), "--exist" in found,
            number(found["--timeout"].argument, 0, UINT32_MAX - 1, "--timeout") if "--timeout" in found else None,
            parse_reference(found.get("--del-set")))

    def format(self) -> str:
        words = []
        if self.added:
            words += ["--add-set", *format_reference(self.added)]
        words += ["--exist"] * self.exist
        if self.timeout is not None:
            words += ["--timeout", str(self.timeout)]
        if self.deleted:
            words += ["--del-set", *format_reference(self.deleted)]
        return " ".join(words)

    def lower(self) -> Op:
        timeout = OWN_TIMEOUT if self.timeout is None else min(self.timeout, LONGEST_TIMEOUT) * 1_000_000_000
        sides = [reference[1] if reference else () for reference in (self.added, self.deleted)]
        payload = LAYOUT.pack(
            0, 0, timeout, *map(len, sides), *(sum(source << bit for bit, source in enumerate(side)) for side in sides), EXIST * self.exist)
        references = [(offset, "set", reference[0]) for offset, reference in ((0, self.added), (8, self.deleted)) if reference]
        return Op("SET", payload, tuple(references))


def parse_reference(item: Given | None) -> Reference | None:
    """`NAME src|dst,...`."""
    if item is None:
        return None
    name, dimensions = item.arguments
    if len(name) > LONGEST_NAME:
        raise RulesetSyntaxError(f"SET: name {name!r} is too long: at most {LONGEST_NAME} characters")
    return name, parse_dimensions(dimensions)


def format_reference(reference: Reference) -> list[str]:
    """The name and the directions."""
    return [reference[0], ",".join("src" if source else "dst" for source in reference[1])]
