"""What a ruleset is: tables of chains of rules, as iptables means them, for one family.

Two rulesets are equal when Linux would do the same with them: the places where rules were read are not compared,
and neither is the order of chains, which iptables-save sorts as it likes. Counters are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

TABLES = ("raw", "mangle", "nat", "filter", "security")
# The hooks of each table, in the order in which iptables-save lists their chains.
TABLE_CHAINS: Mapping[str, tuple[str, ...]] = {
    "raw": ("PREROUTING", "OUTPUT"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "security": ("INPUT", "FORWARD", "OUTPUT"),
}
CHAIN_NAME_MAX = 28     # XT_EXTENSION_MAXNAMELEN - 1


class Specification(Protocol):
    """A match or a target as the model sees it; `datapath.extensions.base.Extension` is one."""

    NAME: ClassVar[str]

    def format(self) -> str:
        """Its options as iptables-save prints them."""


@dataclass(frozen=True, slots=True)
class AddressMask:
    """An address and a mask of 4 or 16 bytes; the mask may have holes. Bits outside the mask are zero."""

    address: bytes
    mask: bytes


@dataclass(frozen=True, slots=True)
class HeaderMatch:
    """What a rule says outside of its matches (struct ipt_ip, struct ip6t_ip6).

    An address of None, an empty interface and protocol 0 mean any. Interfaces may end in `+`. `fragment` is -f:
    second and further fragments.
    """

    source: AddressMask | None = None
    source_negated: bool = False
    destination: AddressMask | None = None
    destination_negated: bool = False
    in_interface: str = ""
    in_negated: bool = False
    out_interface: str = ""
    out_negated: bool = False
    protocol: int = 0
    protocol_negated: bool = False
    fragment: bool = False
    fragment_negated: bool = False


ANY_HEADER = HeaderMatch()


@dataclass(frozen=True, slots=True)
class Jump:
    """`-j CHAIN` or `-g CHAIN`: a user chain of the same table."""

    chain: str
    goto: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `target` None: it only counts. `line` is where it was read, None: nowhere."""

    header: HeaderMatch = ANY_HEADER
    matches: tuple[Specification, ...] = ()
    target: Specification | Jump | None = None
    packets: int = 0
    bytes: int = 0
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain. `policy` is ACCEPT or DROP for a base chain and None for a user chain; the counters are the policy's."""

    name: str
    policy: str | None = None
    rules: tuple[Rule, ...] = ()
    packets: int = 0
    bytes: int = 0
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its chains by name, base chains first."""

    name: str
    chains: Mapping[str, Chain]


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The tables of one family (4 or 6) by name. `source` is the file they come from.

    `nft`: they are iptables-nft's, which evaluates a few conditions with expressions of nft. Where a text does not say
    whose it is, it is taken for iptables-legacy's.
    """

    family: int
    tables: Mapping[str, Table] = field(default_factory=dict)
    source: str | None = field(default=None, compare=False)
    nft: bool = field(default=False, compare=False)

    @property
    def rules(self) -> int:
        """How many rules there are."""
        return sum(len(chain.rules) for table in self.tables.values() for chain in table.chains.values())
