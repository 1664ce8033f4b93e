"""The text of iptables-save and iptables-restore, of either family.

`parse_ruleset` reads what iptables-save printed, `format_ruleset` prints it: they are inverses. `restore` does what
iptables-restore would do to tables that are loaded already.
"""

from __future__ import annotations

from collections.abc import Mapping

from datapath.extensions.unknown import UnknownMatch, UnknownTarget
from datapath.model.ruleset import Chain, HeaderMatch, Jump, Rule, Ruleset, Specification
from datapath.syntax.addresses import format_address, format_protocol
from datapath.syntax.iptables_restore import Restore
from datapath.syntax.iptables_table import Settings


def parse_ruleset(text: str, family: int = 4, source: str | None = None, *, lenient: bool = False) -> Ruleset:
    """The ruleset that a text of iptables-save describes, counters included.

    `source` is the file's name for messages. Raises RulesetSyntaxError, RulesetError and UnsupportedFeatureError with the
    line; with `lenient` matches and targets that are not emulated become UnknownMatch and UnknownTarget.
    """
    settings = Settings(family, source or "iptables-save", counters=True, lenient=lenient)
    return Restore(Ruleset(family, {}, source), settings).run(text)


def restore(
    base: Ruleset,
    text: str,
    *,
    noflush: bool = False,
    counters: bool = False,
    legacy: bool = False,
    source: str = "restore",
    lenient: bool = False,
) -> Ruleset:
    """What iptables-restore makes of the tables of `base`; the tables that the text does not name stay.

    Without `counters` the counters in the text are not taken. With `noflush` rules are added to what is there, and a
    `:CHAIN` line empties a user chain that exists. `legacy`: as iptables-legacy-restore, which keeps the policies of base
    chains that the text does not name but zeroes their counters. Raises as parse_ruleset.
    """
    return Restore(base, Settings(base.family, source, noflush, counters, lenient, legacy)).run(text)


def format_ruleset(ruleset: Ruleset, *, counters: bool = False) -> str:
    """The text that iptables-save (-c with `counters`) would print, without its comment lines."""
    lines: list[str] = []
    for table in ruleset.tables.values():
        lines.append(f"*{table.name}")
        lines += [
            f":{chain.name} {chain.policy or '-'} [{chain.packets}:{chain.bytes}]" if counters or chain.policy
            else f":{chain.name} - [0:0]" for chain in table.chains.values()
        ]  # fmt: skip
        for chain in table.chains.values():
            lines += chain_lines(chain, counters)
        lines.append("COMMIT")
    return "".join(line + "\n" for line in lines)


def chain_lines(chain: Chain, counters: bool) -> list[str]:
    """The -A lines of a chain."""
    if counters:
        return [f"[{rule.packets}:{rule.bytes}] {rule_text(rule, chain.name)}" for rule in chain.rules]
    return [rule_text(rule, chain.name) for rule in chain.rules]


def rule_text(rule: Rule, chain: str) -> str:
    """A rule as iptables-save prints it."""
    return " ".join([f"-A {chain}", *header_words(rule.header), *map(match_text, rule.matches), *target_words(rule)])


def header_words(header: HeaderMatch) -> list[str]:
    """The words of a header part, in iptables-save's order."""
    words: list[str] = []
    if header.source:
        words += negated(header.source_negated, "-s", format_address(header.source))
    if header.destination:
        words += negated(header.destination_negated, "-d", format_address(header.destination))
    if header.in_interface:
        words += negated(header.in_negated, "-i", header.in_interface)
    if header.out_interface:
        words += negated(header.out_negated, "-o", header.out_interface)
    if header.protocol:
        words += negated(header.protocol_negated, "-p", format_protocol(header.protocol))
    if header.fragment:
        words += ["!"] * header.fragment_negated + ["-f"]
    return words


def negated(yes: bool, option: str, argument: str) -> list[str]:
    """An option of the header part."""
    return ["!", option, argument] if yes else [option, argument]


def match_text(match: Specification) -> str:
    """`-m NAME` and the match's options."""
    name = match.name if isinstance(match, UnknownMatch) else match.NAME
    options = match.format()
    return f"-m {name} {options}" if options else f"-m {name}"


def target_words(rule: Rule) -> list[str]:
    """`-j TARGET` with its options, a jump, or nothing."""
    target = rule.target
    if target is None:
        return []
    if isinstance(target, Jump):
        return ["-g" if target.goto else "-j", target.chain]
    name = target.name if isinstance(target, UnknownTarget) else target.NAME
    options = target.format()
    return ["-j", name, options] if options else ["-j", name]


def counters_of(ruleset: Ruleset) -> Mapping[str, tuple[int, int]]:
    """The counters in the model, named as the node names its own: {"filter/FORWARD/1": (packets, bytes), ...}."""
    counters: dict[str, tuple[int, int]] = {}
    for table in ruleset.tables.values():
        for chain in table.chains.values():
            for number, rule in enumerate(chain.rules, 1):
                counters[f"{table.name}/{chain.name}/{number}"] = (rule.packets, rule.bytes)
            if chain.policy:
                counters[f"{table.name}/{chain.name}/policy"] = (chain.packets, chain.bytes)
    return counters
