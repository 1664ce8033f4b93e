"""The text of `ipset save` and the arguments of ipset's create and add commands (ipset(8))."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from datapath.errors import InputError, RulesetSyntaxError
from datapath.extensions.base import number
from datapath.extensions.values import parse_address
from datapath.model.ipset import TYPES, Element, IpSet
from datapath.syntax.ipset_element import parse_elements

BOTH_FAMILIES = ("hash:mac", "bitmap:port", "list:set")
WITHOUT_VALUE = ("counters", "comment", "skbinfo", "forceadd")
MEMORY_ONLY = ("hashsize", "maxelem", "bucketsize", "initval", "probes", "resize", "gc", "size")
SKB_OPTIONS = ("skbmark", "skbprio", "skbqueue")
LONGEST_TIMEOUT = 2147483


def parse_ipset_save(text: str, source: str = "ipset-save.txt") -> list[IpSet]:
    """The sets in the order in which they were created, with their elements. Raises InputError with the line."""
    sets: dict[str, IpSet] = {}
    elements: dict[str, list[Element]] = {}
    for line_number, line in enumerate(text.splitlines(), 1):
        try:
            read_line(line, sets, elements)
        except InputError as error:
            raise error.at(source, line_number) from None
    return [replace(made, elements=tuple(elements[name])) for name, made in sets.items()]


def read_line(line: str, sets: dict[str, IpSet], elements: dict[str, list[Element]]) -> None:
    """One command of the file."""
    words = split_words(line)
    if not words or words[0].startswith("#"):
        return
    command, *rest = words
    if command in ("create", "-N") and len(rest) >= 2:
        made = parse_create(rest)
        if made.name in sets:
            raise RulesetSyntaxError(f"set {made.name} is created twice")
        sets[made.name], elements[made.name] = made, []
    elif command in ("add", "-A") and len(rest) >= 2:
        if rest[0] not in sets:
            raise RulesetSyntaxError(f"set {rest[0]} does not exist")
        elements[rest[0]] += parse_add(sets[rest[0]], rest[1:])
    else:
        raise RulesetSyntaxError(f"expected create NAME TYPE ... or add NAME ELEMENT ..., not {line.strip()!r}")


def split_words(line: str) -> list[str]:
    """The words of a line; only comments are quoted."""
    try:
        return shlex.split(line) if '"' in line else line.split()
    except ValueError:
        raise RulesetSyntaxError(f"a quote that does not end: {line.strip()!r}") from None


def parse_create(words: list[str]) -> IpSet:
    """`NAME TYPE [option value]...`."""
    name, kind, *rest = words
    if kind not in TYPES:
        raise RulesetSyntaxError(f"unknown set type {kind!r}: expected {', '.join(TYPES)}")
    if len(name) > 31:
        raise RulesetSyntaxError(f"set name {name!r} is too long: at most 31 characters")
    given, kept = options_of(rest)
    family = 0 if kind in BOTH_FAMILIES else 6 if given.get("family") in ("inet6", "-6") else 4
    return IpSet(
        name, kind, family, parse_range(given["range"], kind) if "range" in given else None, parse_mask(given, family),
        number(given["markmask"], 0, 0xFFFFFFFF, "markmask") if "markmask" in given else 0xFFFFFFFF,
        number(given["timeout"], 0, LONGEST_TIMEOUT, "timeout") if "timeout" in given else None,
        "counters" in given, "comment" in given, "skbinfo" in given, kept)


def options_of(words: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The options by name, and those that decide nothing but memory, as they stand."""
    given: dict[str, str] = {}
    kept: list[str] = []
    rest = iter(words)
    for option in rest:
        if option in WITHOUT_VALUE:
            given[option] = ""
            continue
        value = next(rest, None)
        if value is None:
            raise RulesetSyntaxError(f"option {option} needs a value")
        if option in MEMORY_ONLY:
            number(value, 0, 0xFFFFFFFF, option)
            kept += [option, value]
        elif option in ("family", "range", "netmask", "bitmask", "markmask", "timeout"):
            given[option] = value
        else:
            raise RulesetSyntaxError(f"unknown option {option!r} of a set")
    return given, tuple(kept)


def parse_range(text: str, kind: str) -> tuple[int, int]:
    """`FIRST-LAST` or `NETWORK/LENGTH` of a bitmap."""
    if kind == "bitmap:port":
        low, _, high = text.partition("-")
        return number(low, 0, 65535, "port"), number(high, 0, 65535, "port")
    low, dash, high = text.partition("-")
    if dash:
        return int.from_bytes(parse_address(low, 4), "big"), int.from_bytes(parse_address(high, 4), "big")
    address, _, length = text.partition("/")
    size = 1 << 32 - number(length, 0, 32, "prefix length")
    first = int.from_bytes(parse_address(address, 4), "big") & ~(size - 1)
    return first, first + size - 1


def parse_mask(given: dict[str, str], family: int) -> bytes:
    """What a netmask (a prefix length) or a bitmask (an address) leaves of addresses."""
    bits = 32 if family == 4 else 128
    if "bitmask" in given:
        return parse_address(given["bitmask"], family or 4)
    length = number(given["netmask"], 1, bits, "netmask") if "netmask" in given else bits
    return (((1 << length) - 1) << bits - length).to_bytes(bits // 8, "big")


def parse_add(ipset: IpSet, words: list[str]) -> Iterator[Element]:
    """`ELEMENT [option value]...`: the elements that Linux would add, more than one for ranges."""
    text, *rest = words
    timeout, packets, octets, comment, skb = ipset.timeout, 0, 0, None, []
    nomatch = wildcard = False
    options = iter(rest)
    for option in options:
        if option == "nomatch":
            nomatch = True
        elif option == "wildcard":
            wildcard = True
        else:
            value = next(options, None)
            if value is None:
                raise RulesetSyntaxError(f"option {option} needs a value")
            if option == "timeout":
                timeout = number(value, 0, LONGEST_TIMEOUT, "timeout")
            elif option == "packets":
                packets = number(value, 0, (1 << 64) - 1, "packets")
            elif option == "bytes":
                octets = number(value, 0, (1 << 64) - 1, "bytes")
            elif option == "comment":
                comment = value
            elif option in SKB_OPTIONS:
                skb += [option, value]
            else:
                raise RulesetSyntaxError(f"unknown option {option!r} of an element")
    if nomatch and "net" not in ipset.dimensions:
        raise RulesetSyntaxError(f"nomatch: elements of {ipset.type} are no networks")
    for values in parse_elements(ipset, text, wildcard):
        yield Element(values, nomatch, timeout, packets, octets, comment, tuple(skb))
