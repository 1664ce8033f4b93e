"""Rules that the kernel's own tool refuses, or that have something that is not emulated, taken out of a random rule set."""

from __future__ import annotations

import re

from datapath.errors import UnsupportedFeatureError
from datapath.extensions import find_match, find_target
from datapath.lab.errors import LabError
from datapath.lab.namespace import Namespace
from datapath.lab.node import tool

EXTENSION = re.compile(r"-(m|j) ([A-Za-z0-9]+)(?: |$)")


def emulated_rules(rules: str, family: int) -> str:
    """The rule set without the rules that name a match or target that is not emulated."""
    return "".join(f"{line}\n" for line in rules.splitlines() if not line.startswith("-A") or _is_emulated(line, family))


def _is_emulated(line: str, family: int) -> bool:
    chain = line.split()[1]
    try:
        for option, name in EXTENSION.findall(line.removeprefix(f"-A {chain}")):
            if option == "m":
                find_match(family, name)
            elif name not in ("ACCEPT", "DROP", "RETURN") and name.isupper():
                find_target(family, name)
    except UnsupportedFeatureError:
        return False
    return True


def accepted_rules(rules: str, family: int, sets: str = "", backend: str = "legacy") -> str:
    """The rule set without the lines that the restore command refuses."""
    namespace = Namespace()
    try:
        if sets:
            namespace.run("ipset", "restore", text=sets)
        return "".join(_accepted_table(namespace, f"{tool(family)}-{backend}-restore", table) for table in split_tables(rules))
    finally:
        namespace.close()


def split_tables(rules: str) -> list[str]:
    """The text of each table, from its `*` line to its COMMIT."""
    return [part + "COMMIT\n" for part in rules.split("COMMIT\n") if part.strip()]


def _accepted_table(namespace: Namespace, command: str, table: str) -> str:
    """One table without its refused rules. Which one the kernel refused is found by leaving out the last ones, by halves."""
    lines = table.splitlines()
    head, rules = [line for line in lines if not line.startswith("-A")][:-1], [line for line in lines if line.startswith("-A")]

    def loads(count: int) -> bool:
        try:
            namespace.run(command, text="\n".join([*head, *rules[:count], "COMMIT", ""]))
        except LabError:
            return False
        return True

    while not loads(len(rules)):
        good, bad = 0, len(rules)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if loads(middle) else (good, middle)
        if bad == 0:
            raise LabError(f"the restore command refuses an empty table: {head[0]}")
        del rules[bad - 1]
    return "\n".join([*head, *rules, "COMMIT", ""])
