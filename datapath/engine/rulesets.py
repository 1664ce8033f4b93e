"""The rule sets of a node, by family and back end, and what loading and restoring do with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from datapath.compiler.program import CompiledRuleset, compile_ruleset
from datapath.model.host import Host
from datapath.model.ruleset import Chain, Ruleset, Table
from datapath.syntax.iptables_save import parse_ruleset, restore

# Both back ends run on many nodes; Linux runs the tables of both. (file, family, legacy)
FILES = (
    ("iptables-save.txt", 4, False),
    ("iptables-legacy-save.txt", 4, True),
    ("ip6tables-save.txt", 6, False),
    ("ip6tables-legacy-save.txt", 6, True),
)
Counters = Mapping[str, tuple[int, int]]


class Rulesets:
    """The models that the loaded programs were made from."""

    def __init__(self, lenient: bool, check: Callable[[CompiledRuleset, str], None]) -> None:
        """`check` refuses compiled rules that the node has not what they refer to for; it is told the file's name."""
        self._lenient, self._check = lenient, check
        self._models: dict[tuple[int, bool], Ruleset] = {}

    def load(self, host: Host) -> list[CompiledRuleset]:
        """Everything that the host's files hold, counters included."""
        compiled = []
        for file, family, legacy in FILES:
            if file in host.texts:
                model = parse_ruleset(host.texts[file], family, file, lenient=self._lenient)
                self._models[family, legacy] = model
                compiled.append(compile_ruleset(model, counters=True, legacy=legacy))
                self._check(compiled[-1], file)
        return compiled

    def restore(self, text: str, family: int, *, noflush: bool, counters: bool, live: Counters) -> CompiledRuleset:
        """What iptables-restore would load now: only the tables that the text names. `live` are the counters as they stand."""
        before = self._models.get((family, False), Ruleset(family))
        base = with_counters(before, live) if noflush else before
        after = restore(base, text, noflush=noflush, counters=counters, source="restore", lenient=self._lenient)
        changed = {name: table for name, table in after.tables.items() if base.tables.get(name) is not table}
        compiled = compile_ruleset(replace(after, tables=changed), counters=noflush or counters)
        self._check(compiled, "restore")
        self._models[family, False] = after
        return compiled

    def of(self, family: int, legacy: bool = False) -> Ruleset:
        """The model of one family's rules."""
        return self._models.get((family, legacy), Ruleset(family))


def with_counters(ruleset: Ruleset, live: Counters) -> Ruleset:
    """The rule set with its counters as they stand on the node."""
    return replace(ruleset, tables={name: _table_with(table, live) for name, table in ruleset.tables.items()})


def _table_with(table: Table, live: Counters) -> Table:
    return Table(table.name, {name: _chain_with(table.name, chain, live) for name, chain in table.chains.items()})


def _chain_with(table: str, chain: Chain, live: Counters) -> Chain:
    rules = []
    for number, rule in enumerate(chain.rules, 1):
        packets, octets = live.get(f"{table}/{chain.name}/{number}", (rule.packets, rule.bytes))
        rules.append(replace(rule, packets=packets, bytes=octets))
    packets, octets = live.get(f"{table}/{chain.name}/policy", (chain.packets, chain.bytes))
    return replace(chain, rules=tuple(rules), packets=packets, bytes=octets)
