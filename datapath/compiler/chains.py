"""Which hooks lead to a chain, and whether chains jump in circles (mark_source_chains in ip_tables.c)."""

from __future__ import annotations

from collections.abc import Mapping

from datapath.errors import RulesetError
from datapath.model.ruleset import Chain, Jump, Table

NO_HOOKS: frozenset[str] = frozenset()


def hooks_of_chains(table: Table, source: str | None) -> Mapping[str, frozenset[str]]:
    """For each chain the hooks from which a packet can reach it; none for a chain that nothing refers to.

    Raises RulesetError for a loop. As in Linux only what a base chain leads to is followed; a loop among chains that
    nothing reaches is accepted.
    """
    targets = {chain.name: jumps_of(chain) for chain in table.chains.values()}
    for name, jumps in targets.items():
        for target, line in jumps.items():
            if table.chains[target].policy:
                raise RulesetError(f"chain {name} of table {table.name} jumps to {target}: a base chain is no target", source, line)
    order = reachable_in_order(table, targets, source)
    hooks: dict[str, frozenset[str]] = dict.fromkeys(table.chains, NO_HOOKS)
    shared: dict[frozenset[str], frozenset[str]] = {}
    for name in order:
        own = hooks[name] | {name} if table.chains[name].policy else hooks[name]
        hooks[name] = own = shared.setdefault(own, own)
        for target in targets[name]:
            if not own <= hooks[target]:
                hooks[target] = hooks[target] | own
    return hooks


def jumps_of(chain: Chain) -> dict[str, int | None]:
    """The chains that a chain jumps or goes to, each with the line of its first jump."""
    found: dict[str, int | None] = {}
    for rule in chain.rules:
        target = rule.target
        if isinstance(target, Jump) and target.chain not in found:
            found[target.chain] = rule.line
    return found


def reachable_in_order(table: Table, targets: Mapping[str, Mapping[str, int | None]], source: str | None) -> list[str]:
    """What the base chains reach, each chain before those that it jumps to."""
    done: set[str] = set()
    finished: list[str] = []
    for base in [chain.name for chain in table.chains.values() if chain.policy]:
        if base in done:
            continue
        open_chains = [(base, iter(targets[base].items()))]
        on_way = {base: None}
        while open_chains:
            name, jumps = open_chains[-1]
            for target, line in jumps:
                if target in on_way:
                    circle = [*list(on_way)[list(on_way).index(target):], target]
                    raise RulesetError(f"loop between chains of table {table.name}: {' -> '.join(circle)}", source, line)
                if target not in done:
                    open_chains.append((target, iter(targets[target].items())))
                    on_way[target] = None
                    break
            else:
                open_chains.pop()
                del on_way[name]
                done.add(name)
                finished.append(name)
    return finished[::-1]
