"""What iptables-restore does with its text, line by line, applied to the tables that are there."""

from __future__ import annotations

from collections.abc import Callable

from datapath.errors import InputError, RulesetSyntaxError
from datapath.model.ruleset import Ruleset, Table
from datapath.syntax.iptables_commands import Commands
from datapath.syntax.iptables_table import OpenTable, Settings


class Restore:
    """One run of iptables-restore over the tables of a ruleset."""

    def __init__(self, base: Ruleset, settings: Settings) -> None:
        self.settings, self.source = settings, base.source
        self.tables: dict[str, Table] = dict(base.tables)
        self.line = 0       # the one being read

    def run(self, text: str) -> Ruleset:
        """Apply the text; raises with the line at the first fault, and then nothing has changed."""
        try:
            self.apply_lines(text)
        except InputError as error:
            raise error.at(self.settings.source, self.line) from None
        return Ruleset(self.settings.family, self.tables, self.source)

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
                name = (line[1:].split() or [""])[0]
                table = OpenTable(name, self.settings, self.tables.get(name))
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
