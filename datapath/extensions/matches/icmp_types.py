"""Names, numbers and code ranges of ICMP and ICMPv6 types, as the icmp and icmp6 matches read them."""

from __future__ import annotations

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import number

Types = dict[str, tuple[int, int, int]]     # name: type, first code, last code

ICMP: Types = {
    "any": (255, 0, 255),
    "echo-reply": (0, 0, 255),
    "pong": (0, 0, 255),
    "destination-unreachable": (3, 0, 255),
    "network-unreachable": (3, 0, 0),
    "host-unreachable": (3, 1, 1),
    "protocol-unreachable": (3, 2, 2),
    "port-unreachable": (3, 3, 3),
    "fragmentation-needed": (3, 4, 4),
    "source-route-failed": (3, 5, 5),
    "network-unknown": (3, 6, 6),
    "host-unknown": (3, 7, 7),
    "network-prohibited": (3, 9, 9),
    "host-prohibited": (3, 10, 10),
    "TOS-network-unreachable": (3, 11, 11),
    "TOS-host-unreachable": (3, 12, 12),
    "communication-prohibited": (3, 13, 13),
    "host-precedence-violation": (3, 14, 14),
    "precedence-cutoff": (3, 15, 15),
    "source-quench": (4, 0, 255),
    "redirect": (5, 0, 255),
    "network-redirect": (5, 0, 0),
    "host-redirect": (5, 1, 1),
    "TOS-network-redirect": (5, 2, 2),
    "TOS-host-redirect": (5, 3, 3),
    "echo-request": (8, 0, 255),
    "ping": (8, 0, 255),
    "router-advertisement": (9, 0, 255),
    "router-solicitation": (10, 0, 255),
    "time-exceeded": (11, 0, 255),
    "ttl-exceeded": (11, 0, 255),
    "ttl-zero-during-transit": (11, 0, 0),
    "ttl-zero-during-reassembly": (11, 1, 1),
    "parameter-problem": (12, 0, 255),
    "ip-header-bad": (12, 0, 0),
    "required-option-missing": (12, 1, 1),
    "timestamp-request": (13, 0, 255),
    "timestamp-reply": (14, 0, 255),
    "address-mask-request": (17, 0, 255),
    "address-mask-reply": (18, 0, 255),
}

ICMPV6: Types = {
    "destination-unreachable": (1, 0, 255),
    "no-route": (1, 0, 0),
    "communication-prohibited": (1, 1, 1),
    "beyond-scope": (1, 2, 2),
    "address-unreachable": (1, 3, 3),
    "port-unreachable": (1, 4, 4),
    "failed-policy": (1, 5, 5),
    "reject-route": (1, 6, 6),
    "packet-too-big": (2, 0, 255),
    "time-exceeded": (3, 0, 255),
    "ttl-exceeded": (3, 0, 255),
    "ttl-zero-during-transit": (3, 0, 0),
    "ttl-zero-during-reassembly": (3, 1, 1),
    "parameter-problem": (4, 0, 255),
    "bad-header": (4, 0, 0),
    "unknown-header-type": (4, 1, 1),
    "unknown-option": (4, 2, 2),
    "echo-request": (128, 0, 255),
    "ping": (128, 0, 255),
    "echo-reply": (129, 0, 255),
    "pong": (129, 0, 255),
    "router-solicitation": (133, 0, 255),
    "router-advertisement": (134, 0, 255),
    "neighbour-solicitation": (135, 0, 255),
    "neighbor-solicitation": (135, 0, 255),
    "neighbour-advertisement": (136, 0, 255),
    "neighbor-advertisement": (136, 0, 255),
    "redirect": (137, 0, 255),
}


def parse_type(text: str, types: Types) -> tuple[int, int, int]:
    """(type, first code, last code) of a name, of an unambiguous beginning of one, or of `TYPE[/CODE[:CODE]]`."""
    names = [name for name in types if name.lower().startswith(text.lower())]
    if len(names) > 1:
        raise RulesetSyntaxError(f"ambiguous ICMP type {text!r}: {' or '.join(names)}?")
    if names:
        return types[names[0]]
    kind, slash, code = text.partition("/")
    kind, colon, other = kind.partition(":")
    value = number(kind, 0, 255, "ICMP type")
    if colon and number(other, 0, 255, "ICMP type") != value:
        raise RulesetSyntaxError(f"bad ICMP type {text!r}: a range of types is not supported")
    if not slash:
        return value, 0, 255
    first, colon, last = code.partition(":")
    low = number(first, 0, 255, "ICMP code")
    return value, low, number(last, 0, 255, "ICMP code") if colon else low
