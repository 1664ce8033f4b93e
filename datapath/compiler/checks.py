"""What iptables or Linux refuses once a rule's chain and the hooks that lead to it are known."""

from __future__ import annotations

from dataclasses import replace

from datapath.errors import InputError, UnsupportedFeatureError
from datapath.extensions.base import Extension, RuleContext
from datapath.model.ruleset import Chain, HeaderMatch, Jump

MATCHES_MAX = 255   # the counter of struct Rule


class Surroundings:
    """Rules with the same protocol, interfaces and hooks: what extensions look at."""

    __slots__ = ("context", "good")

    def __init__(self, context: RuleContext) -> None:
        self.context = context
        self.good: set[int] = set()     # ids of the matches and targets that are right here


class Checker:
    """Checks the rules of one table; what was found good in the same surroundings is not asked again."""

    def __init__(self, family: int, table: str, source: str | None) -> None:
        self.family, self.table, self.source = family, table, source
        self.known: dict[tuple[object, ...], Surroundings] = {}
        self.by_header: dict[tuple[int, int], Surroundings] = {}     # by id of header and hooks, both of which are shared

    def chain(self, chain: Chain, hooks: frozenset[str]) -> None:
        """Every rule of a chain that is reached from these hooks. Raises RulesetError with the line."""
        for rule in chain.rules:
            header = rule.header
            entry = self.by_header.get((id(header), id(hooks))) or self.surroundings(header, chain, hooks)
            good = entry.good
            try:
                if len(rule.matches) > MATCHES_MAX:
                    raise UnsupportedFeatureError(f"a rule of {len(rule.matches)} matches is not emulated: at most {MATCHES_MAX}")
                for match in rule.matches:
                    if id(match) not in good:
                        self.ask(match, entry, chain)
                target = rule.target
                if target is not None and id(target) not in good and not isinstance(target, Jump):
                    self.ask(target, entry, chain)
            except InputError as error:
                raise error.at(self.source or "iptables-save", rule.line) from None

    def surroundings(self, header: HeaderMatch, chain: Chain, hooks: frozenset[str]) -> Surroundings:
        """Those of a rule."""
        key = (header.protocol, header.protocol_negated, header.in_interface, header.out_interface, hooks)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Surroundings(self.context(header, chain, hooks))
        self.by_header[id(header), id(hooks)] = found
        return found

    def ask(self, extension: object, entry: Surroundings, chain: Chain) -> None:
        """One extension. Its complaint names the rule's own chain."""
        if not isinstance(extension, Extension):
            raise TypeError(f"{extension!r} is neither a match nor a target")
        try:
            extension.check(entry.context)
        except InputError:
            extension.check(replace(entry.context, chain=chain.name))
            raise
        entry.good.add(id(extension))

    def context(self, header: HeaderMatch, chain: Chain, hooks: frozenset[str]) -> RuleContext:
        """The rule's surroundings."""
        return RuleContext(self.family, self.table, chain.name, header.protocol, header.protocol_negated,
                           header.in_interface, header.out_interface, hooks)
