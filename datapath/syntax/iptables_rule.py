"""One rule as iptables reads it (do_parse in xshared.c): options in any order, matches loaded by name or by -p."""

from __future__ import annotations

from datapath.errors import RulesetSyntaxError, UnsupportedFeatureError
from datapath.extensions import REGISTRY, missing
from datapath.extensions.base import Option
from datapath.extensions.unknown import UnknownMatch, UnknownTarget
from datapath.model.digits import COUNTER_MAX, is_digits
from datapath.model.ruleset import ANY_HEADER, HeaderMatch, Jump, Rule, Specification
from datapath.syntax.addresses import parse_protocol
from datapath.syntax.iptables_header import HeaderReader, check_interfaces, one_address_each
from datapath.syntax.iptables_specification import ABSENT, Loaded, Specifications
from datapath.syntax.iptables_words import raw_words

HEADER_OPTIONS = {
    "-s": "s", "--source": "s", "--src": "s", "-d": "d", "--destination": "d", "--dst": "d", "-i": "i", "--in-interface": "i",
    "-o": "o", "--out-interface": "o", "-p": "p", "--protocol": "p", "--proto": "p", "-f": "f", "--fragment": "f", "--fragments": "f",
    "-m": "m", "--match": "m", "-j": "j", "--jump": "j", "-g": "g", "--goto": "g", "-c": "c", "--set-counters": "c",
    "-4": "4", "--ipv4": "4", "-6": "6", "--ipv6": "6", "-t": "t", "--table": "t", "!": "!",
    "-v": "v", "--verbose": "v",
}  # fmt: skip
IMPLICIT_MATCHES = {6: "tcp", 17: "udp", 1: "icmp", 58: "icmp6", 132: "sctp", 33: "dccp", 50: "esp", 51: "ah", 135: "mh"}
MATCH_ALIASES = {"icmpv6": "icmp6", "ipv6-icmp": "icmp6", "mobility-header": "mh", "ipv6-mh": "mh"}

class OtherFamily(Exception):  # noqa: N818 - not an error: iptables-restore passes over such a line
    """The rule says -4 in a file of IPv6, or the reverse."""


class RuleReader:
    """Reads the rules of one table. What many rules have in common is read once."""

    def __init__(self, family: int, table: str, lenient: bool = False) -> None:
        self.family, self.lenient = family, lenient
        self.headers = HeaderReader(family)
        self.specifications = Specifications(family, table)

    def read(self, words: list[str], start: int, chain: str, line: int | None = None, text: str = "") -> list[Rule]:
        """The rule whose options begin at words[start]; more than one when it gives lists of addresses.

        `text` is the line, for what has to be printed back as it stands. Raises RulesetSyntaxError,
        UnsupportedFeatureError and OtherFamily.
        """
        reading = Reading(self, words, start, chain, text)
        reading.read_words()
        key = reading.header_key
        check_interfaces(key, chain)
        if not any("," in word for word in key):
            return [reading.rule(tuple(key), line)]
        return [reading.rule(one, line) for one in one_address_each(key)]


class Reading:
    """One rule on its way from words to a Rule."""

    def __init__(self, reader: RuleReader, words: list[str], start: int, chain: str, text: str) -> None:
        self.reader, self.words, self.at, self.chain, self.text = reader, words, start, chain, text
        self.header_key: list[str] = []
        self.matches: list[Loaded] = []
        self.loaded: list[Loaded] = []      # the matches and the target, in the order in which they were named
        self.target: Loaded | None = None
        self.goto: str | None = None
        self.packets = self.bytes = 0
        self.negated = False

    def read_words(self) -> None:
        """Sort the words into the header part, the matches and the target."""
        words, header_key = self.words, self.header_key
        n = len(words)
        while self.at < n:
            word = words[self.at]
            letter = HEADER_OPTIONS.get(word)
            if letter is None:
                self.extension_option(word)
                n = len(words)      # a word may have been cut in two
            elif letter == "m":
                self.load_match()
            elif letter in "sdiop":
                if self.at + 1 >= n:
                    raise RulesetSyntaxError(f"option {word} requires an argument")
                argument = words[self.at + 1]
                self.at += 2
                if argument == "!" and self.at < n and not self.negated:     # as iptables before 1.4 printed it
                    self.negated, argument = True, words[self.at]
                    self.at += 1
                header_key += ("!" + letter if self.negated else letter, argument)
                self.negated = False
            else:
                self.other_option(letter)
        if self.negated:
            raise RulesetSyntaxError("nothing appropriate following !")

    def rule(self, header_key: tuple[str, ...], line: int | None) -> Rule:
        """The rule of what was read, with this header part."""
        header = self.reader.headers.header(header_key) if header_key else ANY_HEADER
        matches = tuple([self.specification(match, header) for match in self.matches])
        target: Specification | Jump | None = None
        if self.goto is not None:
            target = Jump(self.goto, goto=True)
        elif self.target is not None:
            if self.target.extension is None and not self.target.words:
                target = Jump(self.target.name)
            else:
                target = self.specification(self.target, header)
        return Rule(header, matches, target, self.packets, self.bytes, line)

    def specification(self, loaded: Loaded, header: HeaderMatch) -> Specification:
        """The specification; in lenient mode an unknown one where the options are not emulated."""
        is_target = loaded is self.target
        if loaded.extension is None:
            return UnknownTarget(loaded.name, " ".join(loaded.words)) if is_target else UnknownMatch(loaded.name, " ".join(loaded.words))
        try:
            return self.reader.specifications.specification(loaded, header, self.chain)
        except UnsupportedFeatureError:
            if not self.reader.lenient:
                raise
            text = " ".join(loaded.words)
            return UnknownTarget(loaded.name, text) if is_target else UnknownMatch(loaded.name, text)

    def argument(self) -> str:
        """The argument of the option at hand, which is passed over."""
        if self.at + 1 >= len(self.words):
            raise RulesetSyntaxError(f"option {self.words[self.at]} requires an argument")
        self.at += 2
        return self.words[self.at - 1]

    def load_match(self) -> None:
        """-m NAME."""
        name = self.argument()
        if self.negated:
            raise RulesetSyntaxError("unexpected ! flag before -m")
        self.load(MATCH_ALIASES.get(name, name))

    def load(self, name: str) -> Loaded:
        """Enter a match into the rule."""
        extension = REGISTRY.get(("match", self.reader.family, name))
        if extension is None:
            missing("match", self.reader.family, name, lenient=self.reader.lenient)
        match = Loaded(name, extension, self.reader.specifications.options_of(extension) if extension else {})
        self.matches.append(match)
        self.loaded.append(match)
        return match

    def other_option(self, letter: str) -> None:
        """The options that are rarer, and those that end most rules."""
        if letter == "!":
            if self.negated:
                raise RulesetSyntaxError("multiple consecutive ! not allowed")
            self.negated = True
            self.at += 1
            return
        if letter == "f":
            self.at += 1
            self.header_key += ("!f" if self.negated else "f", "")
            self.negated = False
            return
        if self.negated:
            raise RulesetSyntaxError(f"cannot have ! before {self.words[self.at]}")
        match letter:
            case "j" | "g":
                self.jump(letter)
            case "c":
                self.counters()
            case "v":
                self.at += 1
            case "4" | "6":
                self.at += 1
                if int(letter) != self.reader.family:
                    raise OtherFamily
            case _:
                raise RulesetSyntaxError("the -t option cannot be used in iptables-restore")

    def jump(self, letter: str) -> None:
        """-j TARGET, -j CHAIN or -g CHAIN. A name that is no target is a chain's; whether it exists is seen at the table's end."""
        name = self.argument()
        if self.target is not None or self.goto is not None:
            raise RulesetSyntaxError("multiple -j flags not allowed")
        if letter == "g":
            self.goto = name
            return
        extension = REGISTRY.get(("target", self.reader.family, name))
        self.target = Loaded(name, extension, self.reader.specifications.options_of(extension) if extension else {})
        self.loaded.append(self.target)

    def counters(self) -> None:
        """-c PACKETS BYTES or -c PACKETS,BYTES."""
        first, comma, second = self.argument().partition(",")
        if not comma:
            if self.at >= len(self.words):
                raise RulesetSyntaxError("-c requires packet and byte counter")
            second = self.words[self.at]
            self.at += 1
        if not (is_digits(first) and is_digits(second)):
            raise RulesetSyntaxError("-c packet or byte counter not numeric")
        self.packets, self.bytes = min(int(first), COUNTER_MAX), min(int(second), COUNTER_MAX)

    def extension_option(self, word: str) -> None:
        """An option of the latest extension that has it; else of the protocol's match, which it loads."""
        for loaded in reversed(self.loaded):
            option = loaded.options.get(word)
            if option is not None:
                self.take_option(loaded, option)
                return
        if self.respell(word):
            return
        if self.loaded and self.loaded[-1].extension is None and word.startswith("-"):
            self.take_unknown(self.loaded[-1])
            return
        name, options = self.implicit_match()
        if word in options:
            loaded = self.load(name)
            self.take_option(loaded, options[word])
            return
        if not word.startswith("-"):
            raise RulesetSyntaxError(f"bad argument {word!r}: expected an option")
        raise RulesetSyntaxError(f"unknown option {word!r}: no match or target of the rule has it")

    def implicit_match(self) -> tuple[str, dict[str, Option]]:
        """The match that -p brings along and its options, unless the rule has it already."""
        for i in range(0, len(self.header_key), 2):
            if self.header_key[i][-1] == "p":
                name = IMPLICIT_MATCHES.get(parse_protocol(self.header_key[i + 1]), "")
                extension = REGISTRY.get(("match", self.reader.family, name))
                if extension is not None and not any(match.name == name for match in self.matches):
                    return name, self.reader.specifications.options_of(extension)
        return "", {}

    def respell(self, word: str) -> bool:
        """Put a word that getopt would understand into its full form: -iDEV, --opt=VALUE, an unambiguous abbreviation."""
        if word[:2] in HEADER_OPTIONS and word[:1] == "-" and word[1:2] != "-" and len(word) > 2:
            self.words[self.at:self.at + 1] = [word[:2], word[2:]]
            return True
        name, equals, value = word.partition("=")
        if not name.startswith("--") or len(name) < 3:
            return False
        known = self.known_options()
        if name not in known:
            candidates = {spelling for spelling in known if spelling.startswith(name)}
            if len({id(known[spelling]) for spelling in candidates}) != 1:
                return False
            name = min(candidates)
        elif not equals:
            return False
        self.words[self.at:self.at + 1] = [name, value] if equals else [name]
        return True

    def known_options(self) -> dict[str, object]:
        """Every long option that the rule may have at this point."""
        known: dict[str, object] = {name: letter for name, letter in HEADER_OPTIONS.items() if name.startswith("--")}
        known.update(self.implicit_match()[1])
        for loaded in self.loaded:
            known.update(loaded.options)
        return known

    def take_option(self, loaded: Loaded, option: Option) -> None:
        """Pass over an option and its arguments, and keep their words for the extension."""
        words, at, n = self.words, self.at, len(self.words)
        if self.negated:
            if not option.negatable:
                raise RulesetSyntaxError(f"{loaded.name}: option {words[at]} cannot be inverted")
            loaded.words.append("!")
            self.negated = False
        elif option.negatable and option.arguments and at + 1 < n and words[at + 1] == "!":
            loaded.words.append("!")
            del words[at + 1]
            n -= 1
        loaded.words.append(option.names[0])
        at += 1
        if option.optional_argument:
            if at < n and words[at][:1] not in ("-", "!"):
                loaded.words.append(words[at])
                at += 1
            else:
                loaded.words.append(ABSENT)
        elif option.arguments:
            if at + option.arguments > n:
                raise RulesetSyntaxError(f"{loaded.name}: option {option.names[0]} requires {plural(option.arguments, 'argument')}")
            loaded.words += words[at:at + option.arguments]
            at += option.arguments
        self.at = at

    def take_unknown(self, loaded: Loaded) -> None:
        """Keep the words up to the next option of iptables itself, as they stand in the line."""
        if loaded is self.target:
            missing("target", self.reader.family, loaded.name, lenient=self.reader.lenient)
        raw = raw_words(self.text)
        shift = len(raw) - len(self.words)
        at = self.at
        if self.negated:
            loaded.words.append("!")
            self.negated = False
        while at < len(self.words):
            word = self.words[at]
            following = self.words[at + 1] if at + 1 < len(self.words) else ""
            if HEADER_OPTIONS.get(word, "!") != "!" or (word == "!" and HEADER_OPTIONS.get(following, "!") != "!"):
                break
            loaded.words.append(raw[at + shift] if 0 <= at + shift < len(raw) else word)
            at += 1
        self.at = at


def plural(n: int, noun: str) -> str:
    """`an argument`, `2 arguments`."""
    return f"an {noun}" if n == 1 else f"{n} {noun}s"

