"""The commands in the lines of a table: `-A CHAIN ...` and the others that iptables-restore takes."""

from __future__ import annotations

from dataclasses import replace

from datapath.errors import RulesetError, RulesetSyntaxError, UnsupportedFeatureError
from datapath.extensions import REGISTRY
from datapath.model.digits import is_digits
from datapath.model.ruleset import Jump, Rule
from datapath.syntax.iptables_quick import QuickReader
from datapath.syntax.iptables_rule import OtherFamily
from datapath.syntax.iptables_table import OpenChain, OpenTable, parse_counters
from datapath.syntax.iptables_words import split_line

COMMANDS = {
    "-A": "A", "--append": "A", "-I": "I", "--insert": "I", "-D": "D", "--delete": "D", "-R": "R", "--replace": "R",
    "-F": "F", "--flush": "F", "-N": "N", "--new-chain": "N", "--new": "N", "-X": "X", "--delete-chain": "X",
    "-P": "P", "--policy": "P", "-Z": "Z", "--zero": "Z",
    "-E": "E", "--rename-chain": "E", "-C": "C", "--check": "C", "-L": "L", "--list": "L", "-S": "L", "--list-rules": "L",
}  # fmt: skip


class Commands:
    """The commands of a table's lines, as `iptables -t TABLE` would carry them out."""

    def __init__(self, table: OpenTable) -> None:
        self.table = table
        self.read = table.reader.read
        self.read_quickly = QuickReader(table.reader).read
        self.counters = table.settings.counters

    def run(self, line: str, number: int) -> None:
        """One line: `[PACKETS:BYTES] -A CHAIN ...` or another command."""
        packets = octets = 0
        if line[:1] == "[":
            counted, bracket, line = line.partition("]")
            counts = parse_counters(counted + bracket)
            if self.counters:
                packets, octets = counts
        words = split_line(line)
        if len(words) > 1 and words[0] == "-A":
            name = words[1]
            rule = self.quick(words, name, number, packets, octets)
            if rule is not None:
                (self.table.chains.get(name) or self.table.chain(name)).rules.append(rule)
                return
        self.command(words, number, line, (packets, octets))

    def quick(self, words: list[str], name: str, number: int, packets: int, octets: int) -> Rule | None:
        """A rule that is spelt as iptables-save spells it; None for any other and for one that is not emulated."""
        try:
            return self.read_quickly(words, name, number, packets, octets)
        except UnsupportedFeatureError:
            return None

    def command(self, words: list[str], number: int, line: str, counts: tuple[int, int]) -> None:
        """Any command, wherever in the line it stands."""
        at = next((i for i, word in enumerate(words) if word in COMMANDS), None)
        if at is None:
            raise RulesetSyntaxError(f"no command specified in {line.strip()[:40]!r}: expected -A, -I, -D, -R, -F, -N, -X, -P, -Z or -E")
        letter = COMMANDS[words.pop(at)]
        arguments: list[str] = []
        most = 2 if letter in "IDRPELZ" else 1
        while len(arguments) < most and at < len(words) and words[at][:1] not in ("-", "!"):
            arguments.append(words.pop(at))
        if letter in "ADIRC":
            self.rule_command(letter, arguments, words, number, line, counts)
        elif words:
            raise RulesetSyntaxError(f"illegal option {words[0]!r} with -{letter}")
        else:
            self.chain_command(letter, arguments, number)

    def rule_command(
        self, letter: str, arguments: list[str], words: list[str], number: int, line: str, counts: tuple[int, int]
    ) -> None:
        """-A, -I, -D, -R and -C."""
        if not arguments:
            raise RulesetSyntaxError(f"-{letter} requires a chain")
        chain = self.table.chain(arguments[0])
        place = rule_number(arguments[1]) if len(arguments) > 1 else None
        if letter == "D" and place is not None:
            if words:
                raise RulesetSyntaxError(f"illegal option {words[0]!r} with -D and a rule number")
            del chain.rules[existing(chain, place)]
            return
        try:
            rules = self.read(words, 0, chain.name, number, line)
        except OtherFamily:
            return
        if counts != (0, 0):
            rules = [replace(rule, packets=counts[0], bytes=counts[1]) for rule in rules]
        if letter == "A":
            chain.rules += rules
        elif letter == "I":
            place = 1 if place is None else place
            if place > len(chain.rules) + 1:
                raise RulesetError(f"index of insertion {place} too big: chain {chain.name} has {len(chain.rules)} rules")
            chain.rules[place - 1:place - 1] = rules
        elif letter == "R":
            if place is None:
                raise RulesetSyntaxError("-R requires a rule number")
            if len(rules) != 1:
                raise RulesetSyntaxError("replacement rule does not specify a unique address")
            chain.rules[existing(chain, place)] = rules[0]
        else:
            for rule in rules:
                self.find(letter, chain, rule)

    def find(self, letter: str, chain: OpenChain, rule: Rule) -> None:
        """-D and -C: the first rule that is the same, whatever its counters."""
        for i, other in enumerate(chain.rules):
            if (other.header, other.matches, other.target) == (rule.header, rule.matches, rule.target):
                if letter == "D":
                    del chain.rules[i]
                return
        raise RulesetError(f"bad rule: chain {chain.name} has no such rule")

    def chain_command(self, letter: str, arguments: list[str], number: int) -> None:
        """The commands that have no rule."""
        table = self.table
        chains = [table.chain(arguments[0])] if arguments and letter not in "NL" else list(table.chains.values())
        match letter:
            case "F":
                for chain in chains:
                    chain.rules.clear()
            case "Z":
                zero(chains, arguments[1:])
            case "N" if arguments:
                if ("target", table.settings.family, arguments[0]) in REGISTRY:
                    raise RulesetError(f"chain name {arguments[0]!r} may not clash with a target's name")
                table.new_chain(arguments[0], number)
            case "X":
                self.delete_chains([chain for chain in chains if arguments or chain.policy is None])
            case "P" if len(arguments) == 2:
                if table.name == "nat" and arguments[1] == "DROP":
                    raise RulesetError('the "nat" table is not intended for filtering: the use of DROP is inhibited')
                table.set_policy(arguments[0], arguments[1], None)
            case "E" if len(arguments) == 2:
                self.rename(arguments[0], arguments[1], number)
            case "L":
                pass
            case _:
                raise RulesetSyntaxError(f"-{letter} requires more arguments")

    def delete_chains(self, chains: list[OpenChain]) -> None:
        """-X: user chains that are empty and that no rule jumps to."""
        for chain in chains:
            if chain.policy is not None:
                raise RulesetError(f"cannot delete the base chain {chain.name}")
            if chain.rules:
                raise RulesetError(f"cannot delete chain {chain.name}: directory not empty")
            users = [other.name for other in self.table.chains.values() for rule in other.rules if jumps_to(rule, chain.name)]
            if users:
                raise RulesetError(f"cannot delete chain {chain.name}: chain {users[0]} refers to it")
            del self.table.chains[chain.name]

    def rename(self, old: str, new: str, number: int) -> None:
        """-E: jumps follow."""
        chain = self.table.chain(old)
        if chain.policy is not None:
            raise RulesetError(f"cannot rename the base chain {old}")
        self.table.new_chain(new, number)
        self.table.chains[new].rules = chain.rules
        del self.table.chains[old]
        for other in self.table.chains.values():
            other.rules = [renamed(rule, old, new) for rule in other.rules]


def zero(chains: list[OpenChain], numbers: list[str]) -> None:
    """-Z: the counters of chains or of one rule."""
    for chain in chains:
        which = [existing(chain, rule_number(numbers[0]))] if numbers else range(len(chain.rules))
        for i in which:
            chain.rules[i] = replace(chain.rules[i], packets=0, bytes=0)
        if not numbers:
            chain.packets = chain.bytes = 0


def jumps_to(rule: Rule, name: str) -> bool:
    """Whether the rule jumps or goes to a chain."""
    return isinstance(rule.target, Jump) and rule.target.chain == name


def renamed(rule: Rule, old: str, new: str) -> Rule:
    """The rule once the chain `old` is called `new`."""
    if isinstance(rule.target, Jump) and rule.target.chain == old:
        return replace(rule, target=Jump(new, rule.target.goto))
    return rule


def rule_number(text: str) -> int:
    """A rule's number, from 1."""
    if not is_digits(text) or int(text) < 1:
        raise RulesetSyntaxError(f"invalid rule number {text!r}: expected a number from 1")
    return int(text)


def existing(chain: OpenChain, number: int) -> int:
    """The place of a rule that there is."""
    if number > len(chain.rules):
        raise RulesetError(f"index {number} too big: chain {chain.name} has {len(chain.rules)} rules")
    return number - 1
