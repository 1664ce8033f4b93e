"""A short cut for rules as iptables-save prints them, by far the most: header part, matches one by one, target.

`QuickReader.read` gives the same rule as `RuleReader.read`, or None where it does not know its way: the words are in
another order, spelt otherwise, or wrong. The rules of a large ruleset are of a few shapes: a shape is a rule's words without
the arguments. It is learnt from the first rule that has it; for the others it says where each argument stands, and equal
arguments of a match are parsed once.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from datapath.extensions import REGISTRY
from datapath.extensions.base import Option
from datapath.model.ruleset import ANY_HEADER, HeaderMatch, Jump, Rule, Specification
from datapath.syntax.iptables_header import WRONG_INTERFACES, check_interfaces
from datapath.syntax.iptables_rule import RuleReader
from datapath.syntax.iptables_specification import Loaded

LETTERS = {"-s": "s", "-d": "d", "-i": "i", "-o": "o", "-p": "p", "-m": "m", "-j": "j", "-g": "g", "!": "!"}
MOST_SHAPES = 32        # of rules with equally many words; more are not worth a search
Options = dict[str, Option]
Getter = Callable[[list[str]], Any]


class Part:
    """A match or target of a shape: its words are words[at:end], of which those at `arguments` vary."""

    __slots__ = ("arguments", "at", "end", "known", "pick")

    def __init__(self, at: int, end: int, arguments: list[int]) -> None:
        self.at, self.end, self.arguments = at, end, arguments
        self.pick: Getter | None = itemgetter(*arguments) if arguments else None
        self.known: dict[Any, Specification] = {}


class Shape:
    """The words that all rules of a shape share, and where the others stand."""

    __slots__ = ("fixed", "header", "header_known", "header_pick", "jump", "matches", "pick", "target")

    def __init__(self, words: list[str], header: dict[int, str], matches: list[Part], target: Part | None, jump: int) -> None:
        self.header = header            # places of the arguments of -s, -d, -i, -o and -p; the letter, with ! when negated
        self.matches, self.target, self.jump = matches, target, jump    # jump: the place of -j or -g before a chain's name, 0
        self.header_pick: Getter | None = itemgetter(*header) if header else None
        self.header_known: dict[Any, HeaderMatch] = {}
        varying = {1, *header, *(place for part in matches for place in part.arguments)}
        varying.update(target.arguments if target else ())
        if jump:
            varying.add(jump + 1)
        # The protocol decides how matches are read, so it belongs to the shape.
        varying -= {place for place in header if words[place - 1] == "-p"}
        fixed = [place for place in range(len(words)) if place not in varying]
        self.pick: Getter = itemgetter(*fixed, 0)
        self.fixed = self.pick(words)


class QuickReader:
    """Reads the rules of one table."""

    def __init__(self, reader: RuleReader) -> None:
        self.reader = reader
        self.shapes: dict[int, list[Shape]] = {}    # by number of words
        self.jumps: dict[tuple[str, str], Jump] = {}
        self.options: dict[tuple[str, str], Options] = {
            ("m" if kind == "match" else "j", name): reader.specifications.options_of(extension)
            for (kind, family, name), extension in REGISTRY.items() if family == reader.family
        }
        self.target_names = {name for letter, name in self.options if letter == "j"}

    def read(self, words: list[str], chain: str, line: int, packets: int, octets: int) -> Rule | None:
        """The rule of `-A CHAIN ...`. Raises what an extension says of its options."""
        for shape in self.shapes.get(len(words), ()):
            if shape.pick(words) == shape.fixed and not (shape.jump and words[shape.jump + 1] in self.target_names):
                break
        else:
            learnt = self.learn(words)
            if learnt is None:
                return None
            shape = learnt
        header = ANY_HEADER
        if shape.header_pick is not None:
            found = shape.header_known.get(shape.header_pick(words)) or self.header(shape, words)
            if found is None:
                return None
            header = found
            if chain in WRONG_INTERFACES:
                check_interfaces([word for letter in shape.header.values() for word in (letter, "")], chain)
        matches = []
        for part in shape.matches:
            key = part.pick(words) if part.pick is not None else None
            match = part.known.get(key) or self.specification(part, key, words, header, chain)
            if match is None:
                return None
            matches.append(match)
        target: Specification | Jump | None = None
        part_of_target = shape.target
        if part_of_target is not None:
            key = part_of_target.pick(words) if part_of_target.pick is not None else None
            target = part_of_target.known.get(key) or self.specification(part_of_target, key, words, header, chain)
            if target is None:
                return None
        elif shape.jump:
            name = words[shape.jump + 1]
            target = self.jumps.get((words[shape.jump], name)) or self.new_jump(words[shape.jump], name)
        return Rule(header, tuple(matches), target, packets, octets, line)

    def new_jump(self, word: str, name: str) -> Jump:
        """-j or -g to a chain; equal ones are one object."""
        found = self.jumps[word, name] = Jump(name, word == "-g")
        return found

    def header(self, shape: Shape, words: list[str]) -> HeaderMatch | None:
        """A header part that was not met before; None for lists of addresses."""
        key: list[str] = []
        for place, letter in shape.header.items():
            word = words[place]
            if "," in word or word == "!":
                return None
            key += (letter, word)
        found = self.reader.headers.header(tuple(key))
        assert shape.header_pick is not None
        shape.header_known[shape.header_pick(words)] = found
        return found

    def specification(self, part: Part, key: object, words: list[str], header: HeaderMatch, chain: str) -> Specification | None:
        """A match or target that was not met before; None where an argument may be the ! of the older spelling."""
        if any(words[place] == "!" for place in part.arguments):
            return None
        letter, name = LETTERS[words[part.at]], words[part.at + 1]
        loaded = Loaded(name, REGISTRY["match" if letter == "m" else "target", self.reader.family, name], self.options[letter, name])
        loaded.words = words[part.at + 2:part.end]
        found = part.known[key] = self.reader.specifications.parse(loaded, header, chain)
        return found

    def learn(self, words: list[str]) -> Shape | None:
        """The shape of a rule; None when it is not spelt as iptables-save spells it."""
        header: dict[int, str] = {}
        matches: list[Part] = []
        target: Part | None = None
        jump = 0
        at, n, negated = 2, len(words), False
        while at < n:
            letter = LETTERS.get(words[at])
            if letter is None or at + 1 >= n:
                return None
            if letter in "sdiop":
                header[at + 1] = "!" + letter if negated else letter
                at += 2
                negated = False
                continue
            if negated or (letter in "jg" and (target is not None or jump)):
                return None
            if letter == "!":
                negated = True
                at += 1
                continue
            options = self.options.get((letter, words[at + 1]))
            if options is None:
                if letter == "m":
                    return None
                jump = at
                at += 2
                continue
            part = part_of(words, at, n, options)
            if part is None:
                return None
            if letter == "m":
                matches.append(part)
            else:
                target = part
            at = part.end
        if negated:
            return None
        shape = Shape(words, header, matches, target, jump)
        of_length = self.shapes.setdefault(n, [])
        if len(of_length) < MOST_SHAPES:
            of_length.append(shape)
        return shape


def part_of(words: list[str], start: int, n: int, options: Options) -> Part | None:
    """The match or target that begins at `start`; None where its options are not spelt as iptables-save spells them."""
    at = start + 2
    arguments: list[int] = []
    while at < n:
        word = words[at]
        option = options.get(word)
        if option is None:
            option = options.get(words[at + 1]) if word == "!" and at + 1 < n else None
            if option is None or not option.negatable:
                break
            at += 1
        if option.optional_argument or at + option.arguments >= n or (option.negatable and option.arguments and words[at + 1] == "!"):
            return None
        arguments += range(at + 1, at + 1 + option.arguments)
        at += 1 + option.arguments
    return Part(start, at, arguments)
