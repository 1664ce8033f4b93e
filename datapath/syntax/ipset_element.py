"""Elements of IP sets as ipset(8) spells them: `192.0.2.0/24,tcp:80-90`."""

from __future__ import annotations

import ipaddress
import itertools
import re
import socket
from collections.abc import Iterator

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import number
from datapath.extensions.matches.icmp_types import ICMP, ICMPV6, parse_type
from datapath.extensions.values import parse_address, parse_protocol
from datapath.model.ipset import Interface, IpSet, Network, Port, Value

MOST_ELEMENTS = 1 << 20     # that one add command may stand for


def parse_elements(ipset: IpSet, text: str, wildcard: bool = False) -> Iterator[tuple[Value, ...]]:
    """The values by dimension of every element that the text stands for."""
    family = ipset.family or 4
    words = text.split(",", len(ipset.dimensions) - 1)
    if len(words) != len(ipset.dimensions) and not (ipset.compares_mac and len(words) == 1):
        raise RulesetSyntaxError(f"bad element {text!r} of set {ipset.name}: expected {','.join(ipset.dimensions)}")
    choices: list[list[Value]] = []
    for kind, word in zip(ipset.dimensions, words, strict=False):
        choices.append(parse_values(kind, word.strip("[]") if ":" in word and word[:1] == "[" else word, ipset, family, wildcard))
    if ipset.compares_mac and len(words) == 1:
        choices.append([None])
    return itertools.product(*choices)


def parse_values(kind: str, text: str, ipset: IpSet, family: int, wildcard: bool) -> list[Value]:
    """The values that one word of an element stands for."""
    match kind:
        case "ip":
            return [Network(masked(address, ipset), 0) for address in parse_addresses(text, family)]
        case "net":
            return list(parse_networks(text, family))
        case "port" | "bare port":
            return list(parse_ports(text, kind == "bare port"))
        case "mac":
            if not re.fullmatch(r"[0-9A-Fa-f]{1,2}(:[0-9A-Fa-f]{1,2}){5}", text):
                raise RulesetSyntaxError(f"bad MAC address {text!r}")
            return [bytes(int(part, 16) for part in text.split(":"))]
        case "iface":
            return [Interface(text.removeprefix("physdev:"), text.startswith("physdev:"), wildcard)]
        case "mark":
            return [number(text, 0, 0xFFFFFFFF, "mark") & ipset.mark_mask]
        case _:
            return [text]


def masked(address: bytes, ipset: IpSet) -> bytes:
    """What the set's mask leaves of an address."""
    return bytes(byte & mask for byte, mask in zip(address, ipset.mask, strict=False))


def parse_addresses(text: str, family: int) -> list[bytes]:
    """`ADDRESS`, `ADDRESS-ADDRESS` or `ADDRESS/LENGTH`, one by one."""
    first, dash, last = text.partition("-")
    if not dash and "/" not in text:
        return [parse_address(text, family)]
    if dash:
        low, high = (int.from_bytes(parse_address(word, family), "big") for word in (first, last))
    else:
        network = parse_network(text, family)
        low, high = int(network.network_address), int(network.broadcast_address)
    if not 0 <= high - low < MOST_ELEMENTS:
        raise RulesetSyntaxError(f"bad range {text!r}: expected FIRST-LAST with at most {MOST_ELEMENTS} addresses")
    return [value.to_bytes(4 if family == 4 else 16, "big") for value in range(low, high + 1)]


def parse_network(text: str, family: int) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """`ADDRESS[/LENGTH]`."""
    address, slash, length = text.partition("/")
    packed = parse_address(address, family)
    bits = len(packed) * 8
    size = number(length, 0, bits, "prefix length") if slash else bits
    return ipaddress.ip_network((packed, size), strict=False)


def parse_networks(text: str, family: int) -> Iterator[Network]:
    """A network, or the networks that make up a range."""
    first, dash, last = text.partition("-")
    if not dash:
        network = parse_network(text, family)
        yield Network(network.network_address.packed, network.prefixlen)
    elif family == 4:
        low, high = (ipaddress.IPv4Address(parse_address(word, 4)) for word in (first, last))
        yield from (Network(part.network_address.packed, part.prefixlen) for part in ipaddress.summarize_address_range(low, high))
    else:
        raise RulesetSyntaxError(f"bad network {text!r}: a range of networks exists for IPv4 only")


def parse_ports(text: str, bare: bool) -> Iterator[Port]:
    """`[PROTOCOL:]PORT[-PORT]`, or `icmp:TYPE/CODE`."""
    name, colon, rest = text.rpartition(":")
    protocol = parse_protocol(name) if colon else 6
    if protocol in (1, 58) and not bare:
        kind, code, last = parse_type(rest, ICMP if protocol == 1 else ICMPV6)
        yield Port(protocol, kind << 8 | (code if code == last else 0))
        return
    low, dash, high = rest.partition("-")
    first = parse_port(low)
    for port in range(first, (parse_port(high) if dash else first) + 1):
        yield Port(0 if bare else protocol, port)


def parse_port(text: str) -> int:
    """A port's number or name."""
    if text[:1].isdigit():
        return number(text, 0, 65535, "port")
    try:
        return socket.getservbyname(text)
    except OSError:
        raise RulesetSyntaxError(f"bad port {text!r}") from None
