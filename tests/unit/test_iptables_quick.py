"""The short cut for rules as iptables-save prints them: it gives the rule that the long way gives, or nothing."""

from __future__ import annotations

import random

import pytest

from datapath.errors import DatapathError
from datapath.model.ruleset import Jump, Rule
from datapath.syntax.iptables_quick import QuickReader
from datapath.syntax.iptables_rule import OtherFamily, RuleReader
from datapath.syntax.iptables_save import parse_ruleset
from datapath.syntax.iptables_words import split_line
from tests.unit import extension_examples, rule_examples
from tests.unit.test_match_spellings import printed_lines, save_text, spellings

TABLES = ("filter", "mangle", "raw", "nat")


def example_words(family: int, table: str) -> list[list[str]]:
    """The words of every example of a table, right or wrong."""
    lines = [*printed_lines(family), *spellings(family), *extension_examples.REFUSED]
    lines += [*rule_examples.PRINTED, *rule_examples.PRINTED_IPV4, *rule_examples.PRINTED_IPV6, *rule_examples.SPELLINGS]
    found = []
    for line in lines:
        of_table = line.split()[1] if line.startswith("-t ") else "filter"
        if of_table == table:
            rule = line.removeprefix(f"-t {table} ")
            found.append(split_line(rule if "-A " in rule else save_text(line).splitlines()[2]))
    return found


def variations(words: list[str], draw: random.Random, others: list[str]) -> list[str]:
    """The words with one of them replaced by a word of another rule."""
    changed = list(words)
    changed[draw.randrange(1, len(words))] = draw.choice(others)
    return changed


def outcome(read: object, *arguments: object) -> object:
    try:
        return read(*arguments)  # type: ignore[operator]
    except (DatapathError, OtherFamily) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("family", [4, 6])
def test_it_agrees_with_the_long_way(family: int, table: str) -> None:
    draw = random.Random(family)
    examples = [words for words in example_words(family, table) if words[0] == "-A"]
    everything = [word for words in examples for word in words]
    tried = examples * 2 + [variations(words, draw, everything) for words in examples for _ in range(20)]
    draw.shuffle(tried)
    quick = QuickReader(RuleReader(family, table))
    answered = 0
    for words in tried:
        short = outcome(quick.read, words, words[1], 1, 0, 0)
        if isinstance(short, Rule):
            answered += 1
            assert outcome(RuleReader(family, table).read, list(words), 2, words[1]) == [short], words
    assert answered > len(tried) // 10


def test_a_chain_and_a_target_are_told_apart() -> None:
    lines = ["*filter", ":LOGDROP - [0:0]", "-A INPUT -j LOGDROP", "-A LOGDROP -j DROP", "-A LOGDROP -j LOG", "-A LOGDROP -g LOGDROP2",
             ":LOGDROP2 - [0:0]", "COMMIT", ""]
    chains = parse_ruleset("\n".join(lines)).tables["filter"].chains
    assert chains["INPUT"].rules[0].target == Jump("LOGDROP")
    assert [type(rule.target).__name__ for rule in chains["LOGDROP"].rules] == ["Drop", "Log", "Jump"]


def test_the_protocol_belongs_to_the_shape() -> None:
    lines = ["-A INPUT -p tcp -m multiport --dports 80", "-A INPUT -p udp -m multiport --dports 80"]
    reader = QuickReader(RuleReader(4, "filter"))
    tcp, udp = (reader.read(split_line(line), "INPUT", 1, 0, 0) for line in lines)
    assert tcp is not None and udp is not None
    assert (tcp.header.protocol, udp.header.protocol) == (6, 17)
