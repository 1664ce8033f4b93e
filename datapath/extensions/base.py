"""What every match and every target is made of.

An extension is one file with the same five blocks: (1) a docstring that names the kernel module, the man page
section and the kernel function followed; (2) a frozen dataclass, the specification; (3) its options as iptables
spells them; (4) `parse`, `format`, `check` and `lower`; (5) nothing else: the class is entered in the one table
in `datapath/extensions/__init__.py`.

`parse` and `format` are inverses: what iptables-save prints is parsed and printed back unchanged. `check` refuses
what iptables or the kernel refuses, for the same reason. `lower` packs the payload struct that the extension's
`.pxd` in `src_cython/datapath/_core/matches` or `.../targets` declares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

from datapath.errors import RulesetError, RulesetSyntaxError

HOOK_NAMES = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")
BOTH_FAMILIES = frozenset({4, 6})


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its spellings (the one that iptables-save prints first) and how many arguments follow."""

    names: tuple[str, ...]
    arguments: int = 1
    negatable: bool = False
    optional_argument: bool = False     # the argument may be missing (`--name` or `--name X`)
    repeatable: bool = False


class Given(NamedTuple):     # a large ruleset has many; a tuple is made fastest
    """One occurrence of an option in a rule."""

    option: Option
    arguments: tuple[str, ...] = ()
    negated: bool = False

    @property
    def name(self) -> str:
        """The option's first spelling."""
        return self.option.names[0]

    @property
    def argument(self) -> str:
        """Its only argument."""
        return self.arguments[0]


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The surroundings of an extension in its rule, for `check` and for spellings that depend on them.

    `hooks` are the hooks from which the rule's chain can be reached (filled after all chains are known; empty when
    the chain is not reachable). `protocol` is the number after `-p`, 0 for any; `protocol_negated` for `! -p`.
    """

    family: int
    table: str
    chain: str
    protocol: int = 0
    protocol_negated: bool = False
    in_interface: str = ""
    out_interface: str = ""
    hooks: frozenset[str] = frozenset()

    def require_protocol(self, extension: str, *protocols: int) -> None:
        """Refuse unless the rule says `-p` with one of these."""
        if self.protocol not in protocols or self.protocol_negated:
            raise RulesetError(f"{extension} needs -p {' or '.join(map(str, protocols))}")


@dataclass(frozen=True, slots=True)
class Op:
    """A lowered match or target: the kind that the core knows it by, and its packed payload."""

    kind: str
    payload: bytes = b""
    # Names that the core resolves when the program is built (recent lists, sets, interfaces, log texts):
    # (offset of a 64-bit slot in the payload, namespace, name).
    references: tuple[tuple[int, str, str], ...] = ()


class Extension(ABC):
    """What matches and targets have in common. Subclasses are frozen dataclasses: equal when they mean the same."""

    NAME: ClassVar[str]
    FAMILIES: ClassVar[frozenset[int]] = BOTH_FAMILIES
    OPTIONS: ClassVar[tuple[Option, ...]] = ()
    TABLES: ClassVar[frozenset[str] | None] = None      # None: every table
    HOOKS: ClassVar[frozenset[str] | None] = None       # None: every hook
    NEEDS_CONNTRACK: ClassVar[bool] = False             # loading such a rule switches conntrack on for the family
    NEEDS_ACCOUNTING: ClassVar[bool] = False            # loading such a rule switches net.netfilter.nf_conntrack_acct on
    SUMMARY: ClassVar[str] = ""                         # one line for docs/supported.md

    @classmethod
    @abstractmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        """The specification from the options of one rule. Raises RulesetSyntaxError."""

    @abstractmethod
    def format(self) -> str:
        """The options as iptables-save prints them, without `-m NAME` or `-j NAME`, no space around."""

    def check(self, rule: RuleContext) -> None:
        """Refuse (RulesetError) what iptables or Linux refuses here. The base class checks table and hooks."""
        if self.TABLES is not None and rule.table not in self.TABLES:
            raise RulesetError(f"{self.NAME} is only valid in the {' or '.join(sorted(self.TABLES))} table, not {rule.table}")
        if self.HOOKS is not None and not rule.hooks <= self.HOOKS:
            wrong = ", ".join(sorted(rule.hooks - self.HOOKS))
            raise RulesetError(f"{self.NAME} is only valid in {', '.join(sorted(self.HOOKS))}; chain {rule.chain} is reached from {wrong}")

    @abstractmethod
    def lower(self) -> Op:
        """The packed form for the core."""

    def lower_nft(self) -> Op:
        """The same in a table of iptables-nft. It translates a few matches into expressions of nft, which differ at the edges."""
        return self.lower()


class Match(Extension):
    """A condition: `-m NAME ...`."""


class Target(Extension):
    """An action: `-j NAME ...`."""


def one_of_each(extension: str, given: Sequence[Given]) -> dict[str, Given]:
    """The given options by name; an option that stands twice is refused, as iptables does."""
    found: dict[str, Given] = {}
    for item in given:
        if item.name in found and not item.option.repeatable:
            raise RulesetSyntaxError(f"{extension}: option {item.name} can only be used once")
        found[item.name] = item
    return found


def number(text: str, low: int, high: int, what: str) -> int:
    """An unsigned integer as iptables reads it (decimal, 0x hexadecimal, 0 octal)."""
    try:
        value = int(text, 16 if text.lower().startswith("0x") else 8 if len(text) > 1 and text.startswith("0") else 10)
    except ValueError:
        value = -1
    if not low <= value <= high or text.startswith(("+", "-", " ")):
        raise RulesetSyntaxError(f"bad {what} {text!r}: expected a number from {low} to {high}")
    return value
