"""Rules as iptables-save prints them: parsed, printed back, lowered; other spellings of them; what is refused, and how."""

from __future__ import annotations

import pytest

from datapath._core.net import NetNamespace
from datapath.compiler.program import compile_ruleset
from datapath.errors import DatapathError
from datapath.syntax.iptables_save import format_ruleset, parse_ruleset
from tests.unit import rule_examples as examples


def save_text(*lines: str) -> str:
    """A file of iptables-save with these rules, all of one table."""
    table, rules = "filter", []
    for line in lines:
        if line.startswith("-t "):
            _, table, line = line.split(" ", 2)
        rules.append(line)
    return "\n".join([f"*{table}", ":FORWARD ACCEPT [0:0]", ":foo - [0:0]", *rules, "COMMIT", ""]).replace(
        ":FORWARD", ":PREROUTING" if table == "raw" else ":FORWARD")


def printed(family: int) -> tuple[str, ...]:
    return examples.PRINTED + (examples.PRINTED_IPV4 if family == 4 else examples.PRINTED_IPV6)


def spellings(family: int) -> dict[str, tuple[str, ...]]:
    return examples.SPELLINGS | (examples.SPELLINGS_IPV4 if family == 4 else examples.SPELLINGS_IPV6)


@pytest.mark.parametrize(("family", "line"), [(family, line) for family in (4, 6) for line in printed(family)])
def test_what_iptables_save_prints_comes_back(family: int, line: str) -> None:
    text = save_text(line)
    ruleset = parse_ruleset(text, family)
    assert format_ruleset(ruleset) == text
    assert parse_ruleset(format_ruleset(ruleset), family) == ruleset


@pytest.mark.parametrize(("family", "line"), [(family, line) for family in (4, 6) for line in spellings(family)])
def test_other_spellings_print_as_iptables_save_does(family: int, line: str) -> None:
    ours = format_ruleset(parse_ruleset(save_text(line), family), counters=True).splitlines()
    wanted = save_text(*[(line.split("-A")[0] if line.startswith("-t") else "") + rule for rule in spellings(family)[line]])
    assert [rule.removeprefix("[0:0] ") for rule in ours] == wanted.splitlines()


@pytest.mark.parametrize("family", [4, 6])
def test_all_lower_into_one_program(family: int) -> None:
    for line in printed(family):
        node = NetNamespace()
        node.load_program(family, compile_ruleset(parse_ruleset(save_text(line), family)))
        table = line.split()[1] if line.startswith("-t") else "filter"
        chain = "PREROUTING" if table == "raw" else "FORWARD"
        assert node.counters(family)[f"{table}/{chain}/1"] == (0, 0)


@pytest.mark.parametrize("text", [*examples.REFUSED, *examples.REFUSED_BY_LEGACY])
def test_refusals_say_where_and_why(text: str) -> None:
    with pytest.raises(DatapathError) as refusal:
        compile_ruleset(parse_ruleset(text.replace("|", "\n") + "\n", 4, "f"))
    assert (examples.REFUSED | examples.REFUSED_BY_LEGACY)[text] in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", examples.ACCEPTED)
def test_strange_but_accepted(text: str) -> None:
    compile_ruleset(parse_ruleset(text.replace("|", "\n") + "\n", 4, "f"))
