"""Words of a line as iptables-restore splits it (add_param_to_argv in xshared.c)."""

from __future__ import annotations

import re

from datapath.errors import RulesetSyntaxError

RAW_WORD = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^\s"])+')


def split_line(line: str) -> list[str]:
    """The words of a line. Raises RulesetSyntaxError for a quote that is not closed."""
    if not line.isascii():      # str.split knows more kinds of space than iptables
        return split_slowly(line)
    if '"' not in line:
        return line.split()
    if "\\" not in line:
        pieces = line.split('"')
        if len(pieces) % 2 and all(pieces[1::2]):
            return join_pieces(pieces) or split_slowly(line)
    return split_slowly(line)


def join_pieces(pieces: list[str]) -> list[str] | None:
    """Words of a line that was cut at its quotes; None where a quote touches a word."""
    words = pieces[0].split()
    if pieces[0][-1:].strip():
        return None
    for i in range(1, len(pieces), 2):
        words.append(pieces[i])
        after = pieces[i + 1]
        if after:
            if not after[0].isspace() or (i + 2 < len(pieces) and not after[-1].isspace()):
                return None
            words += after.split()
        elif i + 2 < len(pieces):
            return None
    return words


def split_slowly(line: str) -> list[str]:
    """As split_line, one character at a time: a backslash escapes inside quotes, and a closing quote ends a word."""
    words: list[str] = []
    word: list[str] = []
    in_quotes = escaped = False
    for char in line:
        if in_quotes:
            if escaped:
                word.append(char)
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_quotes = False
                words.append("".join(word))
                word = []
            else:
                word.append(char)
        elif char == '"':
            in_quotes = True
        elif char in " \t\n":
            if word:
                words.append("".join(word))
                word = []
        else:
            word.append(char)
    if in_quotes:
        raise RulesetSyntaxError('a quote is not closed: expected another "')
    if word:
        words.append("".join(word))
    return words



def raw_words(line: str) -> list[str]:
    """The words of a line with their quotes, for printing back unchanged."""
    return RAW_WORD.findall(line)
