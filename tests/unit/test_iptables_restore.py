"""What iptables-restore makes of tables: commands, counters, policies, --noflush. tests/kernel/test_restore.py asks the tools the same."""

from __future__ import annotations

import pytest

from datapath.errors import RulesetError, RulesetSyntaxError, UnsupportedFeatureError
from datapath.extensions.unknown import UnknownMatch, UnknownTarget
from datapath.model.ruleset import Jump, Ruleset
from datapath.syntax.iptables_save import counters_of, format_ruleset, parse_ruleset, restore

BASE = """\
*filter
:INPUT ACCEPT [1:100]
:FORWARD DROP [2:200]
:OUTPUT ACCEPT [3:300]
:foo - [0:0]
:bar - [0:0]
[4:400] -A INPUT -j foo
[5:500] -A FORWARD -s 192.0.2.0/24 -j ACCEPT
[6:600] -A foo -p tcp -j RETURN
COMMIT
*nat
:PREROUTING ACCEPT [7:700]
COMMIT
"""
POLICIES = ":INPUT ACCEPT [1:100]\n:FORWARD DROP [2:200]\n:OUTPUT ACCEPT [3:300]\n"
ZEROED = ":INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n"
REST = (":foo - [0:0]\n:bar - [0:0]\n[4:400] -A INPUT -j foo\n[5:500] -A FORWARD -s 192.0.2.0/24 -j ACCEPT\n"
        "[6:600] -A foo -p tcp -j RETURN")


def both(rest: str) -> dict[str, str]:
    """The base chains of BASE as both back ends leave them, and the rest."""
    return {"nft": POLICIES + rest, "legacy": ZEROED + rest}


# What is restored over BASE, with --noflush or not, with -c or not; the table filter then, by back end. A base chain that
# nft does not have (it prints it as empty and accepting) is not in the model.
RESTORES: dict[str, tuple[str, bool, bool, dict[str, str]]] = {
    "a flush": (
        "*filter\n-A INPUT -j DROP\nCOMMIT\n", False, False,
        {"nft": ":INPUT ACCEPT [0:0]\n[0:0] -A INPUT -j DROP", "legacy": ZEROED + "[0:0] -A INPUT -j DROP"}),
    "a chain line sets the policy and zeroes its counters": (
        "*filter\n:INPUT DROP [9:9]\nCOMMIT\n", False, False,
        {"nft": ":INPUT DROP [0:0]", "legacy": ":INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]"}),
    "with counters they are taken from the text": (
        "*filter\n:INPUT DROP [9:90]\n[8:80] -A INPUT -j DROP\nCOMMIT\n", False, True,
        {"nft": ":INPUT DROP [9:90]\n[8:80] -A INPUT -j DROP",
         "legacy": ":INPUT DROP [9:90]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n[8:80] -A INPUT -j DROP"}),
    "noflush appends": (
        "*filter\n-A INPUT -j DROP\nCOMMIT\n", True, False, both(
            ":foo - [0:0]\n:bar - [0:0]\n[4:400] -A INPUT -j foo\n[0:0] -A INPUT -j DROP\n"
            "[5:500] -A FORWARD -s 192.0.2.0/24 -j ACCEPT\n[6:600] -A foo -p tcp -j RETURN")),
    "noflush and a chain line of a user chain empty it": (
        "*filter\n:foo - [0:0]\n-A foo -j DROP\nCOMMIT\n", True, False, both(
            ":foo - [0:0]\n:bar - [0:0]\n[4:400] -A INPUT -j foo\n[5:500] -A FORWARD -s 192.0.2.0/24 -j ACCEPT\n[0:0] -A foo -j DROP")),
    "noflush and a chain line of a base chain": (
        "*filter\n:INPUT DROP [9:9]\nCOMMIT\n", True, False, {
            "nft": both("")["nft"].replace(":INPUT ACCEPT [1:100]", ":INPUT DROP [0:0]") + REST,
            "legacy": both("")["legacy"].replace(":INPUT ACCEPT", ":INPUT DROP") + REST}),
    "noflush: insert, replace, delete, new chain, delete chain": (
        "*filter\n-N new\n-I INPUT -j new\n-R FORWARD 1 -j DROP\n-D foo -p tcp -j RETURN\n-X bar\nCOMMIT\n", True, False, both(
            ":foo - [0:0]\n:new - [0:0]\n[0:0] -A INPUT -j new\n[4:400] -A INPUT -j foo\n[0:0] -A FORWARD -j DROP")),
}


def filter_table(ruleset: Ruleset) -> list[str]:
    """The lines of table filter, sorted: the order of chains is nobody's promise."""
    text = format_ruleset(Ruleset(4, {"filter": ruleset.tables["filter"]}), counters=True)
    return sorted(text.splitlines()[1:-1])


@pytest.mark.parametrize("backend", ["nft", "legacy"])
@pytest.mark.parametrize("name", RESTORES)
def test_restore(name: str, backend: str) -> None:
    text, noflush, counters, wanted = RESTORES[name]
    after = restore(parse_ruleset(BASE), text, noflush=noflush, counters=counters, legacy=backend == "legacy")
    assert filter_table(after) == sorted(wanted[backend].splitlines())


def test_tables_that_the_text_does_not_name_stay() -> None:
    before = parse_ruleset(BASE)
    after = restore(before, "*filter\nCOMMIT\n")
    assert after.tables["nat"] is before.tables["nat"]
    assert after.tables["filter"].chains == {}


def test_an_error_changes_nothing() -> None:
    before = parse_ruleset(BASE)
    with pytest.raises(RulesetError, match="restore:3: chain 'nosuch' does not exist"):
        restore(before, "*filter\n-A INPUT -j DROP\n-A nosuch -j DROP\nCOMMIT\n")
    assert format_ruleset(before, counters=True) == BASE


def test_counters_by_name() -> None:
    assert counters_of(parse_ruleset(BASE)) == {
        "filter/INPUT/1": (4, 400), "filter/INPUT/policy": (1, 100), "filter/FORWARD/1": (5, 500), "filter/FORWARD/policy": (2, 200),
        "filter/OUTPUT/policy": (3, 300), "filter/foo/1": (6, 600), "nat/PREROUTING/policy": (7, 700),
    }


def test_a_chain_may_be_used_before_it_is_defined() -> None:
    ruleset = parse_ruleset("*filter\n-A INPUT -j late\n:late - [0:0]\n-A late -j DROP\nCOMMIT\n")
    assert ruleset.tables["filter"].chains["INPUT"].rules[0].target == Jump("late")


def test_several_tables_and_comments_of_a_real_file() -> None:
    when = "on Tue Dec  1 12:00:00 2026\n"
    text = f"# Generated by iptables-save v1.8.9 (nf_tables) {when}{BASE}# Completed {when}"
    assert format_ruleset(parse_ruleset(text), counters=True) == BASE


def test_rules_know_their_line_and_are_equal_without_it() -> None:
    first, second = parse_ruleset("*filter\n-A INPUT -j DROP\n-A INPUT -j DROP\nCOMMIT\n").tables["filter"].chains["INPUT"].rules
    assert (first.line, second.line) == (2, 3)
    assert first == second


def test_a_rule_of_the_other_family_is_passed_over() -> None:
    ruleset = parse_ruleset("*filter\n-A INPUT -6 -j DROP\n-A INPUT -4 -j ACCEPT\nCOMMIT\n")
    assert len(ruleset.tables["filter"].chains["INPUT"].rules) == 1


def test_what_is_not_emulated_is_refused_by_name_and_line() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"save\.txt:2: match hashlimit is not emulated"):
        parse_ruleset("*filter\n-A INPUT -m hashlimit --hashlimit-upto 5/min\nCOMMIT\n", 4, "save.txt")
    with pytest.raises(UnsupportedFeatureError, match=r"save\.txt:2: target HMARK is not emulated"):
        parse_ruleset("*filter\n-A INPUT -j HMARK --hmark-mod 1\nCOMMIT\n", 4, "save.txt")


def test_lenient_keeps_it_verbatim() -> None:
    text = (
        "*filter\n:INPUT ACCEPT [0:0]\n"
        '-A INPUT -p tcp -m hashlimit ! --hashlimit-upto 5/min --hashlimit-name "a b" -m tcp --dport 80 -j DROP\n'
        "-A INPUT -m foo -j HMARK --hmark-tuple src,dst --hmark-mod 1\n"
        "-A INPUT -j IDLETIMER\n"
        '-A INPUT -m string --string "a \\"b" --algo bm -m comment --comment c\n'
        "COMMIT\n"
    )
    ruleset = parse_ruleset(text, lenient=True)
    assert format_ruleset(ruleset) == text
    rules = ruleset.tables["filter"].chains["INPUT"].rules
    assert rules[0].matches[0] == UnknownMatch("hashlimit", '! --hashlimit-upto 5/min --hashlimit-name "a b"')
    assert rules[1].target == UnknownTarget("HMARK", "--hmark-tuple src,dst --hmark-mod 1")
    assert rules[2].target == UnknownTarget("IDLETIMER", "")


def test_lenient_is_not_lenient_with_errors() -> None:
    with pytest.raises(RulesetSyntaxError, match=":2: unknown option '--dport'"):
        parse_ruleset("*filter\n-A INPUT --dport 80\nCOMMIT\n", lenient=True)
    with pytest.raises(RulesetError, match=":2: chain 'nosuch' does not exist"):
        parse_ruleset("*filter\n-A INPUT -j nosuch\nCOMMIT\n", lenient=True)


@pytest.mark.parametrize("rule", ["-c N 0", "[N:0]", "-s 192.0.2.0/N", "-s N.0.2.1", "-m limit --limit N/sec"])
@pytest.mark.parametrize("number", ["\u00b2", "9" * 5000])
def test_what_python_alone_takes_for_a_digit_is_refused(rule: str, number: str) -> None:
    words = rule.replace("N", number)
    line = f"{words} -A INPUT" if words[0] == "[" else f"-A INPUT {words}"
    with pytest.raises(RulesetSyntaxError):
        parse_ruleset(f"*filter\n:INPUT ACCEPT [0:0]\n{line}\nCOMMIT\n")


def test_counters_stop_where_the_tools_stop() -> None:
    big = "9" * 30
    ruleset = parse_ruleset(f"*filter\n:INPUT ACCEPT [{big}:0]\n[0:{big}] -A INPUT -c 1 {big}\nCOMMIT\n")
    assert counters_of(ruleset)["filter/INPUT/policy"] == (2**64 - 1, 0)
    assert counters_of(ruleset)["filter/INPUT/1"][1] == 2**64 - 1
