"""From the model of a ruleset to the flat form that the core runs (program.pxd describes its structs).

`compile_ruleset` resolves chains, refuses what Linux or iptables refuses once all chains are known, and packs.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from datapath.compiler.chains import hooks_of_chains
from datapath.compiler.checks import Checker
from datapath.compiler.packing import Packer
from datapath.model.ruleset import TABLE_CHAINS, Chain, Rule, Ruleset, Table
from datapath.model.verdicts import Hook, RuleVerdict, TableId
from datapath.syntax.collector import collector_paused

CHAIN = struct.Struct("<iiiiQQQ")
BACKENDS = ("nft", "legacy")
LEGACY_TABLE = 8
NEED_CONNTRACK, NEED_NAT, NEED_ACCOUNTING = 1, 2, 4
POLICIES = {"ACCEPT": RuleVerdict.ACCEPT, "DROP": RuleVerdict.DROP}


@dataclass(frozen=True, slots=True, eq=False)
class CompiledTable:
    """One table as the core loads it (program_tables.pyx). `model` is what it was made from, for reports."""

    family: int
    model: Table
    backend: int
    rules: bytes
    chains: bytes
    ops: bytes
    wide: bytes
    interfaces: bytes
    entry: tuple[int, ...]
    chain_names: tuple[str, ...]
    references: tuple[tuple[int, str, str], ...]
    needs: int
    nft: bool

    @property
    def name(self) -> str:
        """The table's name."""
        return self.model.name

    @property
    def table(self) -> int:
        """Its TableId."""
        return TableId[self.model.name.upper()]

    @property
    def number(self) -> int:
        """Its number in steps."""
        return self.table | (LEGACY_TABLE if self.backend else 0)

    @property
    def label(self) -> str:
        """Its name in counters and reports."""
        return f"legacy/{self.name}" if self.backend else self.name

    def rule(self, chain: int, number: int) -> Rule:
        """A rule by its chain's number and its own, from 1."""
        return self.model.chains[self.chain_names[chain]].rules[number - 1]


@dataclass(frozen=True, slots=True)
class CompiledRuleset:
    """Tables of one family, ready to be loaded together."""

    family: int
    tables: tuple[CompiledTable, ...]


def compile_ruleset(ruleset: Ruleset, *, counters: bool = False, legacy: bool = False) -> CompiledRuleset:
    """Check and lower every table of a ruleset.

    With `counters` the counters of the model are loaded, else all begin at zero. `legacy` makes tables that stand
    beside those of iptables-nft. Raises RulesetError with the line for what iptables or Linux refuses.
    """
    with collector_paused():
        tables = [compile_table(ruleset, table, counters=counters, backend=int(legacy)) for table in ruleset.tables.values()]
    return CompiledRuleset(ruleset.family, tuple(tables))


def compile_table(ruleset: Ruleset, table: Table, *, counters: bool, backend: int) -> CompiledTable:
    """One table."""
    numbers = {name: number for number, name in enumerate(table.chains)}
    hooks = hooks_of_chains(table, ruleset.source)
    checker = Checker(ruleset.family, table.name, ruleset.source)
    packer = Packer(ruleset.family, numbers, counters=counters, nft=ruleset.nft)
    chains: list[bytes] = []
    for chain in table.chains.values():
        chains.append(pack_chain(chain, packer.count, counters))
        checker.chain(chain, hooks[chain.name])
        for rule in chain.rules:
            packer.rule(rule)
    return CompiledTable(
        family=ruleset.family, model=table, backend=backend, rules=b"".join(packer.rules), chains=b"".join(chains),
        ops=b"".join(packer.ops), wide=b"".join(packer.wide), interfaces=b"".join(packer.interfaces),
        entry=entry_points(table.name, numbers), chain_names=tuple(numbers), references=tuple(packer.references),
        needs=needs_of(table), nft=ruleset.nft)


def pack_chain(chain: Chain, first: int, counters: bool) -> bytes:
    """Struct Chain."""
    policy = POLICIES[chain.policy] if chain.policy else -1
    hook = Hook[chain.name] if chain.policy else -1
    packets, octets = (chain.packets, chain.bytes) if counters else (0, 0)
    return CHAIN.pack(first, len(chain.rules), policy, hook, packets, octets, 0)


def entry_points(table: str, numbers: Mapping[str, int]) -> tuple[int, ...]:
    """The base chain's number by hook, -1 where the table has none."""
    return tuple(numbers.get(hook.name, -1) if hook.name in TABLE_CHAINS[table] else -1 for hook in Hook)


def needs_of(table: Table) -> int:
    """NEED_CONNTRACK when some rule depends on connections, reachable or not; NEED_NAT for a nat table, even an empty one.

    NEED_ACCOUNTING when some rule depends on what connections have carried.
    An empty nat table does not switch conntrack on; where something else does, it gives every connection a binding.
    """
    seen: set[type] = set()
    for chain in table.chains.values():
        for rule in chain.rules:
            seen.update(map(type, rule.matches))
            seen.add(type(rule.target))
    needs = NEED_CONNTRACK if any(getattr(kind, "NEEDS_CONNTRACK", False) for kind in seen) else 0
    if any(getattr(kind, "NEEDS_ACCOUNTING", False) for kind in seen):
        needs |= NEED_ACCOUNTING
    return needs | (NEED_NAT if table.name == "nat" else 0)
