"""Rules that the kernel's own tool refuses, or that have something that is not emulated, taken out of a random rule set."""

from __future__ import annotations

import re

from datapath.errors import UnsupportedFeatureError
from datapath.extensions import find_match, find_target
from datapath.lab.errors import LabError
from datapath.lab.namespace import Namespace
from datapath.lab.node import tool

FAILED_LINE = re.compile(r"line:? (\d+)|line (\d+) failed")
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
        for _ in range(100):
            try:
                namespace.run(f"{tool(family)}-{backend}-restore", text=rules)
            except LabError as error:
                rules = _without_failed(rules, str(error))
            else:
                return rules
        raise LabError("a rule set without a rule that is accepted")
    finally:
        namespace.close()


def _without_failed(rules: str, complaint: str) -> str:
    found = FAILED_LINE.findall(complaint)
    lines = rules.splitlines()
    number = int(next((text for text in found[-1] if text), "0")) if found else 0
    if not 1 <= number <= len(lines):
        raise LabError(f"the restore command refuses a rule set: {complaint}")
    if not lines[number - 1].startswith("-A"):
        # At COMMIT the kernel refuses a table as a whole: which rule was wrong it does not say.
        start = max(index for index in range(number) if lines[index].startswith("*"))
        rule = next((index for index in range(number - 1, start, -1) if lines[index].startswith("-A")), None)
        if rule is None:
            raise LabError(f"the restore command refuses an empty table: {complaint}")
        number = rule + 1
    del lines[number - 1]
    return "\n".join(lines) + "\n"
