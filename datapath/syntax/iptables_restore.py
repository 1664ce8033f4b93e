"""What iptables-restore does with its text: tables, chain lines and commands, applied to the tables that are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from datapath.errors import InputError, RulesetError, RulesetSyntaxError, UnsupportedFeatureError
from datapath.extensions import find_target
from datapath.extensions.unknown import UnknownTarget
from datapath.model.ruleset import CHAIN_NAME_MAX, TABLE_CHAINS, Chain, Jump, Rule, Ruleset, Table
from datapath.syntax.iptables_quick import QuickReader
from datapath.syntax.iptables_rule import OtherFamily, RuleReader
from datapath.syntax.iptables_words import split_line

COMMANDS = {
    "-A": "A", "--append": "A", "-I": "I", "--insert": "I", "-D": "D", "--delete": "D", "-R": "R", "--replace": "R",
    "-F": "F", "--flush": "F", "-N": "N", "--new-chain": "N", "--new": "N", "-X": "X", "--delete-chain": "X",
    "-P": "P", "--policy": "P", "-Z": "Z", "--zero": "Z",
    "-E": "E", "--rename-chain": "E", "-C": "C", "--check": "C", "-L": "L", "--list": "L", "-S": "L", "--list-rules": "L",
}  # fmt: skip
POLICIES = ("ACCEPT", "DROP")


class OpenChain:
    """A chain while its table is being changed."""

    __slots__ = ("bytes", "line", "name", "packets", "policy", "rules")

    def __init__(self, name: str, policy: str | None, line: int | None = None) -> None:
        self.name, self.policy, self.line = name, policy, line
        self.rules: list[Rule] = []
        self.packets = self.bytes = 0

    @classmethod
    def of(cls, chain: Chain, with_rules: bool) -> OpenChain:
        """A chain that is loaded already."""
        found = cls(chain.name, chain.policy, chain.line)
        found.packets, found.bytes = chain.packets, chain.bytes
        if with_rules:
            found.rules = list(chain.rules)
        return found

    def closed(self) -> Chain:
        """The chain as the model keeps it."""
        return Chain(self.name, self.policy, tuple(self.rules), self.packets, self.bytes, self.line)


class OpenTable:
    """A table between its `*NAME` line and COMMIT."""

    def __init__(self, restore: Restore, name: str) -> None:
        if name not in TABLE_CHAINS:
            raise RulesetError(f"table {name!r} does not exist: expected {', '.join(TABLE_CHAINS)}")
        self.name, self.restore = name, restore
        self.reader = RuleReader(restore.family, name, restore.lenient)
        self.chains: dict[str, OpenChain] = {}
        loaded = restore.tables.get(name)
        if loaded is not None:
            for chain in loaded.chains.values():
                if restore.noflush or chain.policy:
                    self.chains[chain.name] = OpenChain.of(chain, restore.noflush)

    def chain(self, name: str) -> OpenChain:
        """A chain that exists; a base chain that no line has named yet comes into being."""
        found = self.chains.get(name)
        if found is None:
            if name not in TABLE_CHAINS[self.name]:
                raise RulesetError(f"chain {name!r} does not exist in table {self.name}")
            found = self.chains[name] = OpenChain(name, "ACCEPT")
        return found

    def chain_line(self, text: str, line: int) -> None:
        """`:NAME POLICY [PACKETS:BYTES]`."""
        words = text[1:].split()
        if len(words) < 2:
            raise RulesetSyntaxError("policy invalid: expected :CHAIN POLICY [PACKETS:BYTES]" if words else "chain name invalid")
        name, policy = words[0], words[1]
        if name in TABLE_CHAINS[self.name]:
            self.set_policy(name, policy, words[2] if len(words) > 2 else None)
            return
        if policy != "-":
            raise RulesetError(f"cannot set policy {policy} on {name}: only base chains have one")
        if name in self.chains and self.restore.noflush:
            self.chains[name].rules.clear()
            return
        self.new_chain(name, line)

    def set_policy(self, name: str, policy: str, counters: str | None) -> None:
        """The policy of a base chain; its counters begin anew."""
        if name not in TABLE_CHAINS[self.name]:
            raise RulesetError(f"cannot set policy {policy} on {name}: only base chains have one")
        chain = self.chain(name)
        if policy == "-":
            return
        if policy not in POLICIES:
            raise RulesetError(f"bad policy {policy!r} of chain {name}: expected ACCEPT or DROP")
        chain.policy = policy
        chain.packets = chain.bytes = 0
        if self.restore.counters and counters is not None:
            chain.packets, chain.bytes = parse_counters(counters)

    def new_chain(self, name: str, line: int) -> None:
        """A user chain."""
        if len(name.encode()) > CHAIN_NAME_MAX:
            raise RulesetError(f"chain name {name!r} too long: expected at most {CHAIN_NAME_MAX} characters")
        if name[0] in "-!":
            raise RulesetError(f"chain name {name!r} not allowed to start with {name[0]!r}")
        if name in self.chains or name in TABLE_CHAINS[self.name]:
            raise RulesetError(f"chain {name!r} already exists")
        self.chains[name] = OpenChain(name, None, line)

    def commit(self) -> Table:
        """The table, once every jump has found its chain."""
        for chain in self.chains.values():
            for i, rule in enumerate(chain.rules):
                if isinstance(rule.target, Jump) and rule.target.chain not in self.chains:
                    chain.rules[i] = self.missing_chain(rule, rule.target)
        base = [name for name in TABLE_CHAINS[self.name] if name in self.chains]
        users = [name for name in self.chains if name not in TABLE_CHAINS[self.name]]
        return Table(self.name, {name: self.chains[name].closed() for name in base + users})

    def missing_chain(self, rule: Rule, jump: Jump) -> Rule:
        """A jump to a name that is no chain: an error, or a target that is not emulated."""
        name = jump.chain
        if name in TABLE_CHAINS[self.name]:
            raise RulesetError(f"cannot jump to the base chain {name}").at(self.restore.name, rule.line)
        if not jump.goto and name.isupper() and "-" not in name:
            if self.restore.lenient:
                return replace(rule, target=UnknownTarget(name))
            try:
                find_target(self.restore.family, name)
            except UnsupportedFeatureError as error:
                message = f"{error.message}, and there is no chain of that name"
                raise UnsupportedFeatureError(message, self.restore.name, rule.line) from None
        raise RulesetError(f"chain {name!r} does not exist in table {self.name}").at(self.restore.name, rule.line)


class Restore:
    """One run of iptables-restore over the tables of a ruleset."""

    def __init__(self, base: Ruleset, noflush: bool, counters: bool, lenient: bool) -> None:
        self.family, self.name = base.family, base.source or "iptables-save"
        self.source = base.source
        self.tables: dict[str, Table] = dict(base.tables)
        self.noflush, self.counters, self.lenient = noflush, counters, lenient
        self.line = 0       # the one being read

    def run(self, text: str) -> Ruleset:
        """Apply the text; raises with the line at the first fault, and then nothing has changed."""
        try:
            self.apply_lines(text)
        except InputError as error:
            raise error.at(self.name, self.line) from None
        return Ruleset(self.family, self.tables, self.source)

    def apply_lines(self, text: str) -> None:
        """Every line in turn."""
        table: OpenTable | None = None
        add: Callable[[str, int], None] | None = None
        for number, line in enumerate(text.split("\n"), 1):
            self.line = number
            first = line[:1]
            if add is not None and (first == "-" or first == "["):
                add(line, number)
            elif not line.strip() or first == "#":
                continue
            elif table is None:
                if first != "*":
                    raise RulesetSyntaxError(f"expected *TABLE, found {line.strip()[:40]!r}")
                table = OpenTable(self, (line[1:].split() or [""])[0])
                add = Commands(table).run
            elif first == ":":
                table.chain_line(line, number)
            elif line.strip() == "COMMIT":
                self.tables[table.name] = table.commit()
                table = add = None
            else:
                assert add is not None
                add(line, number)
        if table is not None:
            raise RulesetSyntaxError(f"COMMIT expected at the end of table {table.name}")


class Commands:
    """The commands of a table's lines, as `iptables -t TABLE` would carry them out."""

    def __init__(self, table: OpenTable) -> None:
        self.table = table
        self.read = table.reader.read
        self.read_quickly = QuickReader(table.reader).read
        self.counters = table.restore.counters

    def run(self, line: str, number: int) -> None:
        """One line: `[PACKETS:BYTES] -A CHAIN ...` or another command."""
        packets = octets = 0
        if line[:1] == "[":
            counted, _, line = line.partition(" ")
            counts = parse_counters(counted)
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
        most = {"A": 1, "I": 2, "D": 2, "R": 2, "P": 2, "E": 2, "C": 1, "L": 2}.get(letter, 1)
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
                for chain in chains:
                    chain.packets = chain.bytes = 0
                    chain.rules = [replace(rule, packets=0, bytes=0) for rule in chain.rules]
            case "N" if arguments:
                table.new_chain(arguments[0], number)
            case "X":
                self.delete_chains([chain for chain in chains if arguments or chain.policy is None])
            case "P" if len(arguments) == 2:
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
    if not text.isdigit() or int(text) < 1:
        raise RulesetSyntaxError(f"invalid rule number {text!r}: expected a number from 1")
    return int(text)


def existing(chain: OpenChain, number: int) -> int:
    """The place of a rule that there is."""
    if number > len(chain.rules):
        raise RulesetError(f"index {number} too big: chain {chain.name} has {len(chain.rules)} rules")
    return number - 1


def parse_counters(text: str) -> tuple[int, int]:
    """`[PACKETS:BYTES]`."""
    packets, colon, octets = text[1:-1].partition(":")
    if not (text[:1] == "[" and text[-1:] == "]" and colon and packets.isdigit() and octets.isdigit()):
        raise RulesetSyntaxError(f"invalid counters {text[:40]!r}: expected [PACKETS:BYTES]")
    return int(packets), int(octets)


