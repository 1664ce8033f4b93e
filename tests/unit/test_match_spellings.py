"""Every spelling of the matches: parsed, printed back, lowered, or refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from datapath._core.match_table import MATCH_KINDS
from datapath.compiler.program import compile_ruleset
from datapath.errors import DatapathError
from datapath.extensions import MATCHES
from datapath.syntax.iptables_save import format_ruleset, parse_ruleset
from tests.unit import extension_examples as examples


def save_text(line: str) -> str:
    """A file of iptables-save with one rule; see extension_examples."""
    table = "filter"
    if line.startswith("-t "):
        _, table, line = line.split(" ", 2)
    rule = line if line.startswith("-A ") else f"-A INPUT {line}"
    chain = rule.split()[1]
    return f"*{table}\n:{chain} ACCEPT [0:0]\n{rule}\nCOMMIT\n"


def printed_lines(family: int) -> Iterator[str]:
    for of_family in (examples.MATCHES, examples.MATCHES_IPV4 if family == 4 else examples.MATCHES_IPV6):
        for lines in of_family.values():
            yield from lines


def spellings(family: int) -> dict[str, str]:
    return examples.SPELLINGS | (examples.SPELLINGS_IPV4 if family == 4 else examples.SPELLINGS_IPV6)


def refused_lines(family: int) -> tuple[str, ...]:
    return examples.REFUSED + (examples.REFUSED_IPV4 if family == 4 else examples.REFUSED_IPV6)


def both(lines: object) -> list[object]:
    return [pytest.param(family, line, id=f"{family}: {line}") for family in (4, 6) for line in lines(family)]  # type: ignore[operator]


@pytest.mark.parametrize(("family", "line"), both(printed_lines))
def test_what_iptables_save_prints_comes_back(family: int, line: str) -> None:
    text = save_text(line)
    assert format_ruleset(parse_ruleset(text, family)) == text


@pytest.mark.parametrize(("family", "line"), both(spellings))
def test_other_spellings_print_as_iptables_save_does(family: int, line: str) -> None:
    printed = spellings(family)[line]
    assert format_ruleset(parse_ruleset(save_text(line), family)).splitlines()[2] == save_text(printed).splitlines()[2]


@pytest.mark.parametrize(("family", "line"), both(refused_lines))
def test_bad_lines_are_refused_with_their_place(family: int, line: str) -> None:
    with pytest.raises(DatapathError) as refusal:
        compile_ruleset(parse_ruleset(save_text(line), family, "rules.txt"))
    assert str(refusal.value).startswith("rules.txt:3: ")


@pytest.mark.parametrize("family", [4, 6])
def test_payloads_have_the_size_that_the_core_expects(family: int) -> None:
    for line in printed_lines(family):
        for table in parse_ruleset(save_text(line), family).tables.values():
            for chain in table.chains.values():
                for match in chain.rules[0].matches if chain.rules else ():
                    op = match.lower()
                    assert len(op.payload) == MATCH_KINDS[op.kind][1], line


def test_every_match_and_option_has_an_example() -> None:
    lines = {family: [line.split() for line in (*printed_lines(family), *spellings(family))] for family in (4, 6)}
    for match in MATCHES:
        for family in match.FAMILIES:
            mine = [words for words in lines[family] if match.NAME in words]
            for option in match.OPTIONS:
                if match.NAME == "ah" and family == 4 and option.names[0] != "--ahspi":
                    continue    # exist for IPv6 only
                assert any(set(option.names) & set(words) for words in mine), f"{match.NAME} {option.names[0]} IPv{family}"
                if option.negatable:
                    negated = [words for words in mine for name in option.names if f"! {name}" in " ".join(words)]
                    assert negated, f"{match.NAME} ! {option.names[0]} IPv{family}"
