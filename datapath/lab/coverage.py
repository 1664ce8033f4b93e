"""What a campaign has covered: rules that were hit, by match and target; states of connections."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from datapath.lab.case import Case

MATCH_OR_TARGET = re.compile(r"(-m|-j|-g) (\S+)")
TCP_STATE = re.compile(r" (SYN_SENT|SYN_RECV|ESTABLISHED|FIN_WAIT|CLOSE_WAIT|LAST_ACK|TIME_WAIT|CLOSE|SYN_SENT2) ")
EXTENSION = re.compile(r"^[a-z0-9]+$|^[A-Z0-9]+$")


@dataclass
class Coverage:
    """Counts over all cases."""

    rules: int = 0
    rules_hit: int = 0
    extensions: Counter[str] = field(default_factory=Counter)  # rules that were hit, by what they contain
    places: Counter[str] = field(default_factory=Counter)  # packets that rules of a table and hook saw
    states: Counter[str] = field(default_factory=Counter)
    drops: Counter[str] = field(default_factory=Counter)
    outputs: int = 0

    def add(self, case: Case) -> None:
        """Count one case that was recorded."""
        assert case.recording is not None
        for family, text in case.rules.items():
            for name, rule in numbered_rules(text):
                packets = case.recording.counters.get(case.counter_key(family, name), (0, 0))[0]
                self.rules += 1
                if packets:
                    self.rules_hit += 1
                    self.extensions.update(_extensions(rule))
                    self.places["/".join(name.split("/")[:2]).split("-")[0]] += packets
        for happened in case.recording.packets:
            self.outputs += len(happened.outputs)
            self.drops.update(happened.drops or [])
        for line in case.recording.conntrack:
            found = TCP_STATE.search(line)
            self.states[found[1] if found else line.split()[2]] += 1
            self.states.update(word for word in ("UNREPLIED", "ASSURED") if f"[{word}]" in line)

    def report(self) -> str:
        """Some lines for a reader."""
        return "\n".join(
            (
                f"{self.rules_hit} of {self.rules} rules were hit, {self.outputs} frames left",
                "rules hit by match and target: " + _listed(self.extensions),
                "connections at the end of rounds: " + _listed(self.states),
                "drop reasons: " + _listed(self.drops),
            )
        )


def _extensions(rule: str) -> set[str]:
    return {f"{option} {name}" for option, name in MATCH_OR_TARGET.findall(rule) if EXTENSION.match(name)}


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "none"


def numbered_rules(text: str) -> list[tuple[str, str]]:
    """(table/chain/number, rule) of a save text."""
    found, table, numbers = [], "", Counter[str]()
    for line in text.splitlines():
        if line.startswith("*"):
            table, numbers = line[1:].strip(), Counter()
        elif line.startswith("-A "):
            chain = line.split()[1]
            numbers[chain] += 1
            found.append((f"{table}/{chain}/{numbers[chain]}", line))
    return found
