"""A table while iptables-restore changes it: between its `*NAME` line and COMMIT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from datapath.errors import RulesetError, RulesetSyntaxError, UnsupportedFeatureError
from datapath.extensions import missing
from datapath.extensions.unknown import UnknownTarget
from datapath.model.digits import COUNTER_MAX, is_digits
from datapath.model.ruleset import CHAIN_NAME_MAX, TABLE_CHAINS, Chain, Jump, Rule, Table
from datapath.syntax.iptables_rule import RuleReader

POLICIES = ("ACCEPT", "DROP")
STANDARD_TARGETS = ("ACCEPT", "DROP", "QUEUE", "RETURN")


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for a whole run. `source` is the text's name in messages."""

    family: int
    source: str
    noflush: bool = False
    counters: bool = False
    lenient: bool = False
    legacy: bool = False


class OpenChain:
    """A chain while its table is being changed."""

    __slots__ = ("bytes", "line", "name", "packets", "policy", "rules")

    def __init__(self, name: str, policy: str | None, line: int | None = None) -> None:
        self.name, self.policy, self.line = name, policy, line
        self.rules: list[Rule] = []
        self.packets = self.bytes = 0

    @classmethod
    def of(cls, chain: Chain, settings: Settings) -> OpenChain:
        """A chain that is loaded already. Any change of a legacy table zeroes the counters of its policies."""
        found = cls(chain.name, chain.policy, chain.line)
        if not settings.legacy:
            found.packets, found.bytes = chain.packets, chain.bytes
        if settings.noflush:
            found.rules = list(chain.rules)
        return found

    def closed(self) -> Chain:
        """The chain as the model keeps it."""
        return Chain(self.name, self.policy, tuple(self.rules), self.packets, self.bytes, self.line)


class OpenTable:
    """A table between its `*NAME` line and COMMIT."""

    def __init__(self, name: str, settings: Settings, loaded: Table | None) -> None:
        if name not in TABLE_CHAINS:
            raise RulesetError(f"table {name!r} does not exist: expected {', '.join(TABLE_CHAINS)}")
        self.name, self.settings = name, settings
        self.reader = RuleReader(settings.family, name, settings.lenient)
        self.chains: dict[str, OpenChain] = {}
        for chain in loaded.chains.values() if loaded is not None else ():
            # A flush leaves base chains and their policies to legacy tables; those of nft go altogether.
            if settings.noflush or (settings.legacy and chain.policy):
                self.chains[chain.name] = OpenChain.of(chain, settings)

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
        if name in self.chains and self.settings.noflush:
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
        if self.settings.counters and counters is not None:
            chain.packets, chain.bytes = parse_counters(counters)

    def new_chain(self, name: str, line: int) -> None:
        """A user chain."""
        if len(name.encode()) > CHAIN_NAME_MAX:
            raise RulesetError(f"chain name {name!r} too long: expected at most {CHAIN_NAME_MAX} characters")
        if name in STANDARD_TARGETS:
            raise RulesetError(f"chain name {name!r} may not clash with a target's name")
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
            raise RulesetError(f"cannot jump to the base chain {name}").at(self.settings.source, rule.line)
        if not jump.goto and name.isupper() and "-" not in name:
            try:
                missing("target", self.settings.family, name, lenient=self.settings.lenient)
            except UnsupportedFeatureError as error:
                message = f"{error.message}, and there is no chain of that name"
                raise UnsupportedFeatureError(message, self.settings.source, rule.line) from None
            except RulesetError as error:
                raise error.at(self.settings.source, rule.line) from None
            return replace(rule, target=UnknownTarget(name))
        raise RulesetError(f"chain {name!r} does not exist in table {self.name}").at(self.settings.source, rule.line)


def parse_counters(text: str) -> tuple[int, int]:
    """`[PACKETS:BYTES]`."""
    packets, colon, octets = text[1:-1].partition(":")
    if not (text[:1] == "[" and text[-1:] == "]" and colon and is_digits(packets) and is_digits(octets)):
        raise RulesetSyntaxError(f"invalid counters {text[:40]!r}: expected [PACKETS:BYTES]")
    return min(int(packets), COUNTER_MAX), min(int(octets), COUNTER_MAX)


