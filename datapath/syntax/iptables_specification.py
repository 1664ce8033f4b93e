"""From the words of a match or target to its specification; equal words are parsed once."""

from __future__ import annotations

from datapath.extensions.base import Extension, Given, Option, RuleContext
from datapath.model.ruleset import HeaderMatch, Specification

ABSENT = "\0"       # stands for an argument that was left out: no word of a line can be this


class Loaded:
    """A match or target of the rule being read, with the words of its options so far."""

    __slots__ = ("extension", "name", "options", "words")

    def __init__(self, name: str, extension: type[Extension] | None, options: dict[str, Option]) -> None:
        self.name, self.extension, self.options = name, extension, options
        self.words: list[str] = []


class Specifications:
    """The specifications of one table's rules."""

    def __init__(self, family: int, table: str) -> None:
        self.family, self.table = family, table
        self.specifications: dict[tuple[object, ...], Specification] = {}
        self.options: dict[type[Extension], dict[str, Option]] = {}
        self.contexts: dict[tuple[int, bool, str, str], RuleContext] = {}

    def options_of(self, extension: type[Extension]) -> dict[str, Option]:
        """The extension's options by every spelling."""
        found = self.options.get(extension)
        if found is None:
            found = self.options[extension] = {name: option for option in extension.OPTIONS for name in option.names}
        return found

    def specification(self, loaded: Loaded, header: HeaderMatch, chain: str) -> Specification:
        """The match or target that the words describe."""
        assert loaded.extension is not None
        key = (loaded.extension, header.protocol, header.protocol_negated, *loaded.words)
        found = self.specifications.get(key)
        if found is None:
            found = self.specifications[key] = self.parse(loaded, header, chain)
        return found

    def parse(self, loaded: Loaded, header: HeaderMatch, chain: str) -> Specification:
        """As specification, not yet known. What an extension parses may depend on the protocol, not on the chain."""
        assert loaded.extension is not None
        key = (header.protocol, header.protocol_negated, header.in_interface, header.out_interface)
        context = self.contexts.get(key)
        if context is None:
            context = self.contexts[key] = RuleContext(self.family, self.table, chain, *key)
        return loaded.extension.parse(given_options(loaded), context)


def given_options(loaded: Loaded) -> list[Given]:
    """The options that were given, as extensions want them."""
    given: list[Given] = []
    words, options = loaded.words, loaded.options
    at, n = 0, len(words)
    while at < n:
        negated = words[at] == "!"
        if negated:
            at += 1
        option = options[words[at]]
        end = at + 1 + (1 if option.optional_argument else option.arguments)
        arguments = tuple(words[at + 1:end])
        given.append(Given(option, () if arguments == (ABSENT,) else arguments, negated))
        at = end
    return given
