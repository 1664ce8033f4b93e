"""Splitting a line into words as iptables-restore does it (add_param_to_argv in xshared.c)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datapath.errors import RulesetSyntaxError
from datapath.syntax.iptables_words import raw_words, split_line, split_slowly


@pytest.mark.parametrize(("line", "words"), [
    pytest.param("-A INPUT  -j\tDROP", ["-A", "INPUT", "-j", "DROP"], id="spaces and tabs"),
    pytest.param('--comment "a b" -j X', ["--comment", "a b", "-j", "X"], id="quotes hold a word together"),
    pytest.param('--comment ""', ["--comment", ""], id="an empty word"),
    pytest.param(r'--comment "a \"b\" \\ \'c"', ["--comment", r'a "b" \ ' + "'c"], id="a backslash escapes in quotes"),
    pytest.param(r"--comment a\b", ["--comment", r"a\b"], id="and not outside"),
    pytest.param('"a"b c', ["a", "b", "c"], id="a closing quote ends the word"),
    pytest.param('x"a b"c', ["xa b", "c"], id="an opening quote does not begin one"),
    pytest.param("--comment 'a b'", ["--comment", "'a", "b'"], id="single quotes are letters"),
    pytest.param('"a" "b"', ["a", "b"], id="two in a row"),
    pytest.param("a\u00a0b", ["a\u00a0b"], id="a no-break space is a letter"),
])
def test_words(line: str, words: list[str]) -> None:
    assert split_line(line) == words


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(RulesetSyntaxError, match="a quote is not closed"):
        split_line('--comment "a b')


@given(st.text(alphabet='ab "\\\t', max_size=20))
def test_the_short_cuts_change_nothing(line: str) -> None:
    try:
        wanted = split_slowly(line)
    except RulesetSyntaxError:
        with pytest.raises(RulesetSyntaxError):
            split_line(line)
    else:
        assert split_line(line) == wanted


def test_raw_words_keep_their_quotes() -> None:
    line = r'-m string --string "a \"b" --algo bm'
    assert raw_words(line) == ["-m", "string", "--string", r'"a \"b"', "--algo", "bm"]
