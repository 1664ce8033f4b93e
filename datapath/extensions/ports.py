"""Port ranges as the tcp, udp, sctp and dccp matches spell them."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, number
from datapath.model.digits import is_digits

PORTS_NFT = struct.Struct("<4H4B")

@dataclass(frozen=True, slots=True)
class PortRange:
    """Ports low to high, both included."""

    low: int = 0
    high: int = 65535
    negated: bool = False

    @classmethod
    def given(cls, item: Given | None, protocol: str) -> Self:
        """From `PORT`, `LOW:HIGH`, `:HIGH` or `LOW:`; names of services are looked up."""
        if item is None:
            return cls()
        low, colon, high = item.argument.partition(":")
        if not colon:
            port = parse_port(low, protocol)
            return cls(port, port, item.negated)
        first = parse_port(low, protocol) if low else 0
        last = parse_port(high, protocol) if high else 65535
        if first > last:
            raise RulesetSyntaxError(f"invalid port range {item.argument!r}: expected LOW:HIGH")
        return cls(first, last, item.negated)

    @classmethod
    def resolved(cls, item: Given | None) -> Self:
        """As the newer extensions read it (xtopt_parse_mport): the order is not checked, a reversed range holds no port."""
        return cls() if item is None else cls(*resolve_ports(item.argument), item.negated)

    def words(self, option: str) -> list[str]:
        """As iptables-save prints it; nothing for all ports.

        iptables-save prints nothing for `! --dport 0:65535` either, which turns a rule that never matches
        into one that always does. That one is kept here.
        """
        if (self.low, self.high) == (0, 65535) and not self.negated:
            return []
        text = str(self.low) if self.low == self.high else f"{self.low}:{self.high}"
        return ["!"] * self.negated + [option, text]


ANY_PORT = PortRange()


def parse_port(text: str, protocol: str) -> int:
    """A port's number or its name in the services database."""
    if text[:1].isdigit():
        return number(text, 0, 65535, "port")
    try:
        return socket.getservbyname(text, protocol)
    except OSError:
        raise RulesetSyntaxError(f"invalid port {text!r}: expected a number or the name of a {protocol} service") from None


def resolve_ports(text: str) -> tuple[int, int]:
    """The first and last port of `PORT`, `LOW:HIGH`, `:HIGH` or `LOW:`, in any order."""
    low, colon, high = text.partition(":")
    first = resolve_port(low) if low else 0
    if not colon:
        return first, first
    return first, resolve_port(high) if high else 65535


def resolve_port(text: str) -> int:
    """A port's number or the name of a service of any protocol, as getaddrinfo reads it: decimal, the low 16 bits count."""
    if is_digits(text):
        return int(text) & 0xFFFF
    try:
        return socket.getservbyname(text)
    except OSError:
        raise RulesetSyntaxError(f"invalid port {text!r}: expected a number or the name of a service") from None


def ports_nft(source: PortRange, destination: PortRange, flags: tuple[int, int] = (0, 0), flags_negated: bool = False) -> bytes:
    """The struct PortsNft: ports as iptables-nft compares them (add_nft_tcpudp in iptables/nft.c).

    A range of all ports asks nothing, negated or not. Two single ports are compared together, so that of two negated
    ones it is enough when one differs.
    """
    single = all(ports.low and ports.low == ports.high for ports in (source, destination))
    together = single and source.negated and destination.negated
    asked = [bool(ports.low or ports.high < 65535) for ports in (source, destination)]
    inverted = source.negated | destination.negated << 1 | flags_negated << 2 | together << 3
    return PORTS_NFT.pack(source.low, source.high, destination.low, destination.high, *flags, inverted, asked[0] | asked[1] << 1)
