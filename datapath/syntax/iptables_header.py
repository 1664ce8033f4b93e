"""The header part of a rule: -s, -d, -i, -o, -p and -f."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.model.ruleset import AddressMask, HeaderMatch
from datapath.syntax.addresses import parse_address, parse_protocol

FIELDS = {"s": "source", "d": "destination", "i": "in_interface", "o": "out_interface", "p": "protocol", "f": "fragment"}
NEGATIONS = {
    "s": "source_negated", "d": "destination_negated", "i": "in_negated", "o": "out_negated", "p": "protocol_negated",
    "f": "fragment_negated",
}  # fmt: skip
WRONG_INTERFACES = {"PREROUTING": "o", "INPUT": "o", "OUTPUT": "i", "POSTROUTING": "i"}
INTERFACE_MAX = 15

Key = tuple[str, ...]   # pairs of a letter, with ! in front when negated, and an argument


class HeaderReader:
    """Reads the header parts of one family's rules. What many rules have in common is read once."""

    def __init__(self, family: int) -> None:
        self.family = family
        self.headers: dict[Key, HeaderMatch] = {}

    def header(self, key: Key) -> HeaderMatch:
        """The header part from pairs of a letter (with ! in front when negated) and an argument."""
        found = self.headers.get(key)
        if found is None:
            found = self.headers[key] = self.read_header(key)
        return found

    def read_header(self, key: Key) -> HeaderMatch:
        """As header, not yet known."""
        parts: dict[str, Any] = {}
        for i in range(0, len(key), 2):
            letter = key[i]
            negated = len(letter) > 1
            if negated:
                letter = letter[1]
                parts[NEGATIONS[letter]] = True
            name = FIELDS[letter]
            if name in parts:
                raise RulesetSyntaxError(f"multiple -{letter} flags not allowed")
            parts[name] = self.part(letter, key[i + 1], negated)
        return HeaderMatch(**parts)

    def part(self, letter: str, argument: str, negated: bool) -> AddressMask | str | int | bool | None:
        """The value of one option."""
        match letter:
            case "s" | "d":
                return self.address(argument, negated)
            case "i" | "o":
                return interface(argument, negated)
            case "p":
                protocol = parse_protocol(argument)
                if protocol == 0 and negated:
                    raise RulesetSyntaxError("rule would never match protocol")
                return protocol
        if self.family == 6:
            raise RulesetSyntaxError("-f is not supported in IPv6, use -m frag instead")
        return True

    def address(self, text: str, negated: bool) -> AddressMask | None:
        """An address; None for one that means any."""
        value = parse_address(text, self.family)
        return value if negated or any(value.mask) else None


def one_address_each(key: Sequence[str]) -> list[Key]:
    """The headers that a rule with `-s A,B` or `-d A,B` stands for, in the order in which iptables makes them."""
    choices = [argument.split(",") if letter[-1] in "sd" else [argument] for letter, argument in zip(key[::2], key[1::2], strict=True)]
    if any(len(choice) > 1 and key[2 * i][0] == "!" for i, choice in enumerate(choices)):
        raise RulesetSyntaxError("! not allowed with multiple source or destination IP addresses")
    # Sources vary slowest, whatever the order in which the rule names them.
    order = sorted(range(len(choices)), key=lambda i: key[2 * i][-1] != "s")
    headers: list[Key] = []
    for picked in product(*(choices[i] for i in order)):
        chosen = dict(zip(order, picked, strict=True))
        headers.append(tuple(word for i in range(len(choices)) for word in (key[2 * i], chosen[i])))
    return headers


def check_interfaces(key: Sequence[str], chain: str) -> None:
    """Refuse an interface that packets in a base chain do not have."""
    wrong = WRONG_INTERFACES.get(chain)
    if wrong is not None and any(letter[-1] == wrong for letter in key[::2]):
        raise RulesetError(f"can't use -{wrong} with {chain}")


def interface(name: str, negated: bool) -> str:
    """A name of at most 15 bytes; a lone + means any."""
    if not name:
        raise RulesetSyntaxError("an empty interface name is likely to be undesired")
    if len(name.encode()) > INTERFACE_MAX:
        raise RulesetSyntaxError(f"interface name {name!r} must be shorter than IFNAMSIZ (16)")
    return "" if name == "+" and not negated else name
