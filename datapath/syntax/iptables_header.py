"""The header part of a rule: -s, -d, -i, -o, -p and -f."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from datapath.errors import RulesetSyntaxError
from datapath.model.ruleset import ANY_HEADER, AddressMask, HeaderMatch
from datapath.syntax.addresses import parse_address, parse_protocol

SPELT = {"s": "-s", "d": "-d", "i": "-i", "o": "-o", "p": "-p", "f": "-f"}
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
        header = ANY_HEADER
        seen: set[str] = set()
        for i in range(0, len(key), 2):
            letter, argument, negated = key[i][-1], key[i + 1], key[i][0] == "!"
            if letter in seen:
                raise RulesetSyntaxError(f"multiple {SPELT[letter]} flags not allowed")
            seen.add(letter)
            match letter:
                case "s":
                    header = replace(header, source=self.address(argument, negated), source_negated=negated)
                case "d":
                    header = replace(header, destination=self.address(argument, negated), destination_negated=negated)
                case "i":
                    header = replace(header, in_interface=interface(argument, negated), in_negated=negated)
                case "o":
                    header = replace(header, out_interface=interface(argument, negated), out_negated=negated)
                case "p":
                    protocol = parse_protocol(argument)
                    if protocol == 0 and negated:
                        raise RulesetSyntaxError("rule would never match protocol")
                    header = replace(header, protocol=protocol, protocol_negated=negated)
                case _:
                    if self.family == 6:
                        raise RulesetSyntaxError("-f is not supported in IPv6, use -m frag instead")
                    header = replace(header, fragment=True, fragment_negated=negated)
        return header

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


def interface(name: str, negated: bool) -> str:
    """A name of at most 15 bytes; a lone + means any."""
    if not name:
        raise RulesetSyntaxError("an empty interface name is likely to be undesired")
    if len(name.encode()) > INTERFACE_MAX:
        raise RulesetSyntaxError(f"interface name {name!r} must be shorter than IFNAMSIZ (16)")
    return "" if name == "+" and not negated else name
