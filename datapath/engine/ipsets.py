"""The IP sets of a node: loading them, and the commands that change them."""

from __future__ import annotations

from datapath._core.net import NetNamespace
from datapath.compiler.program import CompiledRuleset
from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.matches.set import Set as SetMatch
from datapath.extensions.targets.set import Set as SetTarget
from datapath.model.host import Host
from datapath.model.ipset import IpSet
from datapath.model.ruleset import Rule
from datapath.syntax.ipset_save import parse_add, parse_create, parse_ipset_save, split_words

FILE = "ipset-save.txt"


class IpSets:
    """The sets of one node. They are loaded before the rules that refer to them."""

    def __init__(self, core: NetNamespace, host: Host) -> None:
        """Take over those of the host's ipset-save.txt. Raises InputError for a line that makes no sense."""
        self._core = core
        self._sets: dict[str, IpSet] = {}
        for ipset in parse_ipset_save(host.texts.get(FILE, ""), FILE):
            self.create(ipset)
            core.add_to_set(ipset.name, [element.row(ipset.compares_mac) for element in ipset.elements])

    def create(self, ipset: IpSet) -> None:
        """A new, empty set."""
        if ipset.name in self._sets:
            raise RulesetError(f"set {ipset.name} exists already")
        self._core.create_set(ipset.compiled())
        self._sets[ipset.name] = ipset

    def command(self, text: str) -> None:
        """`create`, `add`, `del`, `flush`, `destroy` with their arguments. Raises InputError."""
        words = split_words(text)
        command, arguments = words[0] if words else "", [word for word in words[1:] if word not in ("-exist", "-!")]
        if command == "create" and len(arguments) >= 2:
            self.create(parse_create(arguments))
        elif command in ("add", "del") and len(arguments) >= 2:
            ipset = self.existing(arguments[0])
            rows = [element.row(ipset.compares_mac) for element in parse_add(ipset, arguments[1:])]
            if command == "add":
                self._core.add_to_set(ipset.name, rows)
            elif self._core.delete_from_set(ipset.name, rows) != len(rows) and "-exist" not in words:
                raise RulesetError(f"element {arguments[1]} is not in set {ipset.name}")
        elif command == "flush" and len(arguments) == 1:
            self._core.flush_set(self.existing(arguments[0]).name)
        elif command == "destroy" and len(arguments) == 1:
            self.destroy(self.existing(arguments[0]).name)
        else:
            raise RulesetSyntaxError(f"ipset {text}: expected create, add, del, flush or destroy with its arguments")

    def check(self, compiled: CompiledRuleset, source: str) -> None:
        """Refuse rules that refer to a set which is not there or of the other family. Raises RulesetError with the line."""
        for table in compiled.tables:
            for chain in table.model.chains.values():
                for rule in chain.rules:
                    for name in references_of(rule):
                        self.check_reference(name, compiled.family, source, rule.line)

    def check_reference(self, name: str, family: int, source: str, line: int | None) -> None:
        """One rule's reference."""
        ipset = self._sets.get(name)
        if ipset is None:
            raise RulesetError(f"set {name} does not exist", source, line)
        if ipset.family not in (0, family):
            raise RulesetError(f"the protocol family of set {name} is IPv{ipset.family}, which is not applicable", source, line)

    def destroy(self, name: str) -> None:
        """Take a set away that nothing refers to."""
        try:
            self._core.destroy_set(name)
        except ValueError as error:
            raise RulesetError(str(error)) from None
        del self._sets[name]

    def existing(self, name: str) -> IpSet:
        """The set of this name."""
        if name not in self._sets:
            raise RulesetError(f"set {name} does not exist")
        return self._sets[name]


def references_of(rule: Rule) -> list[str]:
    """The names of the sets that a rule refers to."""
    names = [match.name for match in rule.matches if isinstance(match, SetMatch)]
    if isinstance(rule.target, SetTarget):
        names += [reference[0] for reference in (rule.target.added, rule.target.deleted) if reference]
    return names
