"""What iptables or Linux refuses once a rule's chain and the hooks that lead to it are known."""

from __future__ import annotations

from datapath.errors import InputError, RulesetError
from datapath.extensions.base import Extension, RuleContext
from datapath.model.ruleset import Chain, HeaderMatch, Rule

NO_OUT_INTERFACE = ("PREROUTING", "INPUT")
NO_IN_INTERFACE = ("POSTROUTING", "OUTPUT")


class Checker:
    """Checks the rules of one table; what was found good in the same surroundings is not asked again."""

    def __init__(self, family: int, table: str, source: str | None) -> None:
        self.family, self.table, self.source = family, table, source
        self.good: dict[tuple[object, ...], tuple[RuleContext, set[int]]] = {}

    def chain(self, chain: Chain, hooks: frozenset[str]) -> None:
        """Every rule of a chain that is reached from these hooks. Raises RulesetError with the line."""
        base = chain.name if chain.policy else ""
        for rule in chain.rules:
            try:
                self.rule(rule, chain, hooks)
                if base and (rule.header.in_interface or rule.header.out_interface):
                    check_interfaces(rule.header, base)
            except InputError as error:
                raise error.at(self.source or "iptables-save", rule.line) from None

    def rule(self, rule: Rule, chain: Chain, hooks: frozenset[str]) -> None:
        """Ask each extension of the rule."""
        header = rule.header
        key = (header.protocol, header.protocol_negated, header.in_interface, header.out_interface, hooks)
        entry = self.good.get(key)
        if entry is None:
            entry = self.good[key] = (self.context(header, chain, hooks), set())
        good = entry[1]
        for match in rule.matches:
            if id(match) not in good:
                self.ask(match, header, chain, hooks)
                good.add(id(match))
        if isinstance(rule.target, Extension) and id(rule.target) not in good:
            self.ask(rule.target, header, chain, hooks)
            good.add(id(rule.target))

    def ask(self, extension: object, header: HeaderMatch, chain: Chain, hooks: frozenset[str]) -> None:
        """One extension."""
        if not isinstance(extension, Extension):
            raise TypeError(f"{extension!r} is neither a match nor a target")
        extension.check(self.context(header, chain, hooks))

    def context(self, header: HeaderMatch, chain: Chain, hooks: frozenset[str]) -> RuleContext:
        """The rule's surroundings."""
        return RuleContext(self.family, self.table, chain.name, header.protocol, header.protocol_negated,
                           header.in_interface, header.out_interface, hooks)


def check_interfaces(header: HeaderMatch, chain: str) -> None:
    """A base chain that has no such interface."""
    if header.out_interface and chain in NO_OUT_INTERFACE:
        raise RulesetError(f"can't use -o with {chain}")
    if header.in_interface and chain in NO_IN_INTERFACE:
        raise RulesetError(f"can't use -i with {chain}")
