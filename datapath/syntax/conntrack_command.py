"""The options of `conntrack -D` (conntrack-tools 1.4.7)."""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Iterator

from datapath.errors import InputError, UnsupportedFeatureError
from datapath.model.conntrack import ICMP_PROTOCOLS, PORT_PROTOCOLS, PROTOCOL_NAMES, SCTP_STATES, TCP_STATES
from datapath.model.conntrack_filter import Address, ConntrackFilter, Network, TupleFilter
from datapath.model.digits import is_digits

SHORT = {"s": "src", "d": "dst", "r": "reply-src", "q": "reply-dst", "p": "protonum", "f": "family", "t": "timeout", "u": "status",
         "m": "mark", "w": "zone", "n": "src-nat", "g": "dst-nat", "o": "output", "b": "buffer-size", "l": "label", "c": "secmark",
         "j": "any-nat"}
ALIASES = {"orig-src": "src", "orig-dst": "dst", "proto": "protonum", "orig-port-src": "sport", "orig-port-dst": "dport",
           "icmpv6-type": "icmp-type", "icmpv6-code": "icmp-code", "icmpv6-id": "icmp-id"}
OPTIONAL_ARGUMENT = ("src-nat", "dst-nat", "any-nat")
NO_EFFECT = ("timeout", "output", "buffer-size")    # understood by -D, but they select nothing
UNSUPPORTED = ("label", "secmark", "event-mask")
PORT_OPTIONS = ("sport", "dport", "reply-port-src", "reply-port-dst")
ICMP_OPTIONS = ("icmp-type", "icmp-code", "icmp-id")
STATUS = ("ASSURED", "SEEN_REPLY", "FIXED_TIMEOUT", "EXPECTED", "OFFLOAD", "UNSET")
KNOWN = {*SHORT.values(), *PORT_OPTIONS, *ICMP_OPTIONS, "state", "orig-zone", "reply-zone", "mask-src", "mask-dst", "srckey", "dstkey"}

Given = dict[str, str | None]


def parse_conntrack_delete(text: str) -> ConntrackFilter:
    """What the options after `conntrack -D` select.

    Raises InputError for what the tool refuses, and for numbers that it would take for 0.
    """
    given = dict(_options(text))
    for name in UNSUPPORTED:
        if name in given:
            raise UnsupportedFeatureError(f"conntrack: --{name} is not emulated")
    if "any-nat" in given:
        raise InputError("conntrack: Illegal option `--any-nat' with this command")
    protocol = _protocol(given["protonum"]) if "protonum" in given else None
    _check_protocol_options(given, protocol)
    family = _family(given)
    mark, mask = _mark(given.get("mark"))
    return ConntrackFilter(
        family=family,
        protocol=protocol,
        state=_state(given["state"], protocol) if "state" in given else None,
        original=_original(given),
        reply=TupleFilter(src=_network(given, "reply-src"), dst=_network(given, "reply-dst"), sport=_port(given, "reply-port-src"),
                          dport=_port(given, "reply-port-dst"), zone=_zone(given, "reply-zone")),
        mark=mark,
        mark_mask=mask,
        status=_status(given["status"]) if "status" in given else frozenset(),
        source_nat=_nat(given, "src-nat"),
        destination_nat=_nat(given, "dst-nat"),
    )


def _options(text: str) -> Iterator[tuple[str, str | None]]:
    """(long name, argument) in the order given: a later one replaces an earlier.

    Words that are no options are passed over, as getopt does.
    """
    words = shlex.split(text)
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        argument: str | None = None
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            name, argument = ALIASES.get(name, name), value if equals else None
        elif word.startswith("-") and len(word) > 1:
            name = SHORT.get(word[1], word[1])
            argument = word[2:] or None
        else:
            continue
        if name not in KNOWN:
            raise InputError(f"conntrack: unknown option `{word}'")
        if argument is None and place < len(words) and not (name in OPTIONAL_ARGUMENT and words[place].startswith("-")):
            argument = words[place]
            place += 1
        if argument is None and name not in OPTIONAL_ARGUMENT:
            raise InputError(f"conntrack: option `{word}' requires an argument")
        yield name, argument


def _check_protocol_options(given: Given, protocol: int | None) -> None:
    allowed = {"sport": PORT_PROTOCOLS, "dport": PORT_PROTOCOLS, "reply-port-src": PORT_PROTOCOLS, "reply-port-dst": PORT_PROTOCOLS,
               "icmp-type": ICMP_PROTOCOLS, "icmp-code": ICMP_PROTOCOLS, "icmp-id": ICMP_PROTOCOLS, "state": (6, 132),
               "srckey": (47,), "dstkey": (47,)}
    for name in given:
        if name in allowed and protocol not in allowed[name]:
            raise InputError(f"conntrack: unknown option `--{name}' (it belongs to a protocol that -p has to name)")


def _protocol(text: str | None) -> int:
    numbers = {name: number for number, name in PROTOCOL_NAMES.items()}
    word = (text or "").lower()
    if word in numbers:
        return numbers[word]
    if is_digits(word) and int(word) <= 255:
        return int(word)
    raise InputError(f"conntrack: `{text}' unsupported protocol")


def _family(given: Given) -> int | None:
    """-f, or the family of the addresses, which must agree."""
    found: set[int] = set()
    if "family" in given:
        if given["family"] not in ("ipv4", "ipv6"):
            raise InputError(f"conntrack: `{given['family']}' unsupported protocol")
        found.add(6 if given["family"] == "ipv6" else 4)
    for name in ("src", "dst", "reply-src", "reply-dst", "src-nat", "dst-nat"):
        text = given.get(name)
        if text is not None:
            found.add(_any_network(text).version)
    if len(found) > 1:
        raise InputError("conntrack: mismatched address family")
    return found.pop() if found else None


def _original(given: Given) -> TupleFilter:
    zone = _zone(given, "orig-zone")
    return TupleFilter(
        src=_network(given, "src", "mask-src"),
        dst=_network(given, "dst", "mask-dst"),
        sport=_port(given, "sport") if "sport" in given else _port(given, "srckey"),
        dport=_port(given, "dport") if "dport" in given else _port(given, "dstkey"),
        icmp_type=_number(given, "icmp-type", 255),
        icmp_code=_number(given, "icmp-code", 255),
        icmp_id=_port(given, "icmp-id"),
        zone=_zone(given, "zone") if zone is None else zone,
    )


def _network(given: Given, name: str, mask_name: str | None = None) -> Network | None:
    text = given.get(name)
    if text is None:
        return None
    mask = given.get(mask_name) if mask_name else None
    if mask is None:
        return _any_network(text)
    bits = int(_any_address(mask))
    wanted = int(_any_address(text)) & bits
    width = _any_address(text).max_prefixlen
    length = bits.bit_count()
    if bits != (1 << width) - (1 << (width - length)):
        raise UnsupportedFeatureError(f"conntrack: a mask with holes ({mask}) is not emulated")
    return _any_network(f"{type(_any_address(text))(wanted)}/{length}")


def _any_network(text: str) -> Network:
    address, slash, length = text.partition("/")
    whole = _any_address(address)
    if slash and not (is_digits(length) and int(length) <= whole.max_prefixlen):
        raise InputError("conntrack: Invalid netmask")
    return ipaddress.ip_network(text, strict=False)


def _any_address(text: str) -> Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        raise InputError(f"conntrack: Invalid IP address `{text}'") from None


def _nat(given: Given, name: str) -> bool | Address:
    if name not in given:
        return False
    text = given[name]
    return True if text is None else _any_address(text)


def _mark(text: str | None) -> tuple[int | None, int]:
    if text is None:
        return None, 0xFFFFFFFF
    value, slash, mask = text.partition("/")
    try:
        return int(value, 0) & 0xFFFFFFFF, int(mask, 0) & 0xFFFFFFFF if slash else 0xFFFFFFFF
    except ValueError:
        raise InputError(f"conntrack: bad mark `{text}': expected VALUE or VALUE/MASK") from None


def _status(text: str | None) -> frozenset[str]:
    names = (text or "").split(",")
    for name in names:
        if name not in STATUS:
            raise InputError(f"conntrack: Bad parameter `{name}'")
    return frozenset(names)


def _state(text: str | None, protocol: int | None) -> str:
    states = TCP_STATES if protocol == 6 else SCTP_STATES
    if text == "LISTEN":
        return "SYN_SENT2"
    if text is None or text not in states:
        raise InputError(f"conntrack: unknown state `{text}': expected one of {', '.join(states)}")
    return text


def _port(given: Given, name: str) -> int | None:
    return _number(given, name, 0xFFFF)


def _zone(given: Given, name: str) -> int | None:
    return _number(given, name, 0xFFFF)


def _number(given: Given, name: str, most: int) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value <= most:
        raise InputError(f"conntrack: bad --{name} `{text}': expected a number up to {most}")
    return value
