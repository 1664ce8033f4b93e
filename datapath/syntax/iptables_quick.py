"""A short cut for rules as iptables-save prints them, by far the most: header part, matches one by one, target.

`QuickReader.read` gives the same rule as `RuleReader.read`, or None where it does not know its way: the words are in
another order, spelt otherwise, or wrong. What follows a match's name up to the next option of iptables itself is looked
up as a whole, so that equal matches of a large ruleset are parsed once.
"""

from __future__ import annotations

from datapath.extensions import REGISTRY
from datapath.extensions.base import Option
from datapath.model.ruleset import ANY_HEADER, HeaderMatch, Jump, Rule, Specification
from datapath.syntax.iptables_header import WRONG_INTERFACES, check_interfaces
from datapath.syntax.iptables_rule import RuleReader
from datapath.syntax.iptables_specification import Loaded

LETTERS = {"-s": "s", "-d": "d", "-i": "i", "-o": "o", "-p": "p", "-m": "m", "-j": "j", "-g": "g", "!": "!"}
Options = dict[str, Option]


class QuickReader:
    """Reads the rules of one table."""

    def __init__(self, reader: RuleReader) -> None:
        self.reader = reader
        self.specifications: dict[tuple[str, ...], Specification] = {}     # by protocol and words, `-m NAME` or `-j NAME` first
        self.jumps: dict[tuple[str, str], Jump] = {}
        self.options: dict[tuple[str, str], Options] = {
            ("m" if kind == "match" else "j", name): reader.specifications.options_of(extension)
            for (kind, family, name), extension in REGISTRY.items() if family == reader.family
        }

    def read(self, words: list[str], chain: str, line: int, packets: int, octets: int) -> Rule | None:
        """The rule of `-A CHAIN ...`. Raises what an extension says of its options."""
        key: list[str] = []
        matches: list[tuple[int, int]] = []     # from where to where in words
        jump: Jump | None = None
        target_at = target_end = 0
        protocol = sign = ""
        at, n = 2, len(words)
        while at < n:
            letter = LETTERS.get(words[at])
            if letter is None or at + 1 >= n:
                return None
            name = words[at + 1]
            if letter in "sdiop":
                if name == "!":
                    return None
                key += (sign + letter, name)
                if letter == "p":
                    protocol = sign + name
                sign = ""
                at += 2
                continue
            if letter == "!":
                if sign:
                    return None
                sign = "!"
                at += 1
                continue
            if sign or (letter != "m" and (jump is not None or target_end)):
                return None
            options = self.options.get((letter, name))
            if options is None:
                if letter == "m":
                    return None
                jump = self.jump(letter, name)
                at += 2
                continue
            end = end_of_options(words, at + 2, n, options)
            if not end:
                return None
            if letter == "m":
                matches.append((at, end))
            else:
                target_at, target_end = at, end
            at = end
        header = self.header(key)
        if header is None or sign:
            return None
        if chain in WRONG_INTERFACES:
            check_interfaces(key, chain)
        known = self.specifications
        found = [known.get((protocol, *words[at:end])) or self.specification(words, at, end, protocol, header, chain)
                 for at, end in matches]
        target: Specification | Jump | None = jump
        if target_end:
            target = (known.get((protocol, *words[target_at:target_end]))
                      or self.specification(words, target_at, target_end, protocol, header, chain))
        return Rule(header, tuple(found), target, packets, octets, line)

    def jump(self, letter: str, name: str) -> Jump:
        """-j or -g to a chain; equal ones are one object."""
        found = self.jumps.get((letter, name))
        if found is None:
            found = self.jumps[letter, name] = Jump(name, letter == "g")
        return found

    def header(self, key: list[str]) -> HeaderMatch | None:
        """The header part; None for lists of addresses."""
        if not key:
            return ANY_HEADER
        whole = tuple(key)
        found = self.reader.headers.headers.get(whole)
        if found is None and not any("," in word for word in key):
            return self.reader.headers.header(whole)
        return found

    def specification(self, words: list[str], at: int, end: int, protocol: str, header: HeaderMatch, chain: str) -> Specification:
        """A match or target that was not met before."""
        letter, name = LETTERS[words[at]], words[at + 1]
        loaded = Loaded(name, REGISTRY["match" if letter == "m" else "target", self.reader.family, name], self.options[letter, name])
        loaded.words = words[at + 2:end]
        found = self.specifications[protocol, *words[at:end]] = self.reader.specifications.parse(loaded, header, chain)
        return found


def end_of_options(words: list[str], at: int, n: int, options: Options) -> int:
    """Where the options of an extension end; 0 where they are not spelt as iptables-save spells them."""
    while at < n:
        word = words[at]
        option = options.get(word)
        if option is None:
            option = options.get(words[at + 1]) if word == "!" and at + 1 < n else None
            if option is None or not option.negatable:
                return at
            at += 1
        if option.optional_argument or at + option.arguments >= n or (option.negatable and option.arguments and words[at + 1] == "!"):
            return 0
        at += 1 + option.arguments
    return at
