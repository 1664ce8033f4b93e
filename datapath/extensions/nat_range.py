"""To what the NAT targets translate: addresses, ports and how one of them is chosen (struct nf_nat_range2).

Followed: extensions/libxt_NAT.c of iptables 1.8.9, parse_to, parse_ports and sprint_range.
"""

from __future__ import annotations

import re
import socket
import struct
from dataclasses import dataclass, replace
from typing import Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Option, RuleContext
from datapath.extensions.values import format_address, parse_address

MAP_IPS, PROTO_SPECIFIED, PROTO_RANDOM, PERSISTENT, PROTO_RANDOM_FULLY, PROTO_OFFSET = 1, 2, 4, 8, 16, 32
LAYOUT = struct.Struct("<II16s16sHHH2x")    # NatRange in src_cython/datapath/_core/nat_binding.pxd
PROTOCOLS_WITH_PORTS = frozenset({6, 17, 132, 33, 1})   # iptables lets ICMP have them: they are its ids

RANDOM = Option(("--random",), arguments=0)
RANDOM_FULLY = Option(("--random-fully",), arguments=0)
PERSISTENT_OPTION = Option(("--persistent",), arguments=0)
TO_PORTS = Option(("--to-ports",))


@dataclass(frozen=True, slots=True)
class NatRange:
    """Addresses `low` to `high` (empty: the address stays) and ports `ports` (None: any that is free).

    With `base`, the port `base` + n becomes the n-th of the range.
    """

    low: bytes = b""
    high: bytes = b""
    ports: tuple[int, int] | None = None
    base: int | None = None
    random: bool = False
    random_fully: bool = False
    persistent: bool = False

    def to(self, text: str, rule: RuleContext) -> Self:
        """With the addresses and ports of `[ADDRESS[-ADDRESS]][:PORT[-PORT[/PORT]]]`; IPv6 in brackets before a port."""
        bracket = text.find("[")
        if bracket < 0:
            colon = text.find(":")
            if colon >= 0 and ":" in text[colon + 1:]:
                colon = -1      # the address is an IPv6 one
            addresses = text if colon < 0 else text[:colon]
        else:
            end = text.find("]", bracket)
            if end < 0 or rule.family == 4:
                raise RulesetSyntaxError(f"invalid address format {text!r}: expected ADDRESS[-ADDRESS][:PORT[-PORT]]")
            colon = text.find(":", end + 1)
            addresses = text[bracket + 1:end]
        ports, base = self.ports_of(text[colon + 1:], rule) if colon >= 0 else (self.ports, self.base)
        if colon in (0, 2):     # ":80" or "[]:80"
            return replace(self, ports=ports, base=base)
        low, dash, high = addresses.partition("-")
        first = parse_address(low, rule.family)
        last = parse_address(high, rule.family) if dash else first
        return type(self)(first, last, ports, base, self.random, self.random_fully, self.persistent)

    def to_ports(self, text: str, rule: RuleContext) -> Self:
        """With the ports of `PORT[-PORT[/PORT]]`; the first may be the name of a service."""
        ports, base = self.ports_of(text, rule)
        return replace(self, ports=ports, base=base)

    def ports_of(self, text: str, rule: RuleContext) -> tuple[tuple[int, int], int | None]:
        """The ports and the base that a text gives."""
        if rule.protocol not in PROTOCOLS_WITH_PORTS:
            raise RulesetSyntaxError("Need TCP, UDP, SCTP or DCCP with port specification")
        first, rest = leading_port(text, 0)
        if first is None:
            return (service(text),) * 2, self.base
        if not rest:
            return (first, first), self.base
        if rest[0] == ":":
            raise RulesetSyntaxError(f"invalid ports {text!r}: expected LOW-HIGH with a dash")
        if rest[0] != "-":
            raise RulesetSyntaxError(f"garbage after port value: {rest!r}")
        last, rest = leading_port(rest[1:], 0)
        if last is None:
            raise RulesetSyntaxError(f"invalid port range {text!r}: expected LOW-HIGH, numbers from 0 to 65535")
        if last < first:
            raise RulesetSyntaxError(f"invalid port range {text!r}: the first port is above the last")
        if not rest:
            return (first, last), self.base
        if rest[0] != "/":
            raise RulesetSyntaxError(f"garbage after port range: {rest!r}")
        base, _ = leading_port(rest[1:], 1)
        return (first, last), service(rest[1:]) if base is None else base

    def without_base(self) -> Self:
        """As the targets keep it whose struct has no place for a base: the shift stays, its base is 0."""
        return self if self.base is None else replace(self, base=0)

    def given(self, found: dict[str, Given]) -> Self:
        """With what the options that choose among the range say."""
        random, random_fully, persistent = "--random" in found, "--random-fully" in found, "--persistent" in found
        if not (random or random_fully or persistent):
            return self
        return replace(self, random=random, random_fully=random_fully, persistent=persistent)

    def words(self, option: str) -> list[str]:
        """As iptables-save prints it."""
        text = self.text()
        if option == "--to-ports":
            text = text.removeprefix(":")
        words = [option, text] if text else []
        words += ["--random"] * self.random + ["--random-fully"] * self.random_fully
        return words + ["--persistent"] * self.persistent

    def text(self) -> str:
        """Addresses and ports."""
        text = ""
        if self.low:
            text = format_address(self.low)
            if self.high != self.low:
                text += "-" + format_address(self.high)
            if len(self.low) == 16 and self.ports is not None:
                text = f"[{text}]"
        if self.ports is not None:
            low, high = self.ports
            text += f":{low}" if low == high else f":{low}-{high}"
            if self.base is not None:
                text += f"/{self.base}"
        return text

    @property
    def flags(self) -> int:
        """NF_NAT_RANGE_*."""
        return (
            MAP_IPS * bool(self.low) | PROTO_SPECIFIED * (self.ports is not None) | PROTO_OFFSET * (self.base is not None)
            | PROTO_RANDOM * self.random | PROTO_RANDOM_FULLY * self.random_fully | PERSISTENT * self.persistent)

    def pack(self) -> bytes:
        """The core's struct."""
        low, high = self.ports or (0, 0)
        return LAYOUT.pack(self.flags, 0, self.low, self.high, low, high, self.base or 0)


def leading_port(text: str, least: int) -> tuple[int | None, str]:
    """The number that a text begins with (decimal, hexadecimal, octal) and what follows; None: there is no port."""
    match = re.match(r"\s*\+?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", text)
    if match is None:
        return None, text
    digits = match[1]
    value = int(digits, 16 if digits[1:2] in ("x", "X") else 8 if digits[0] == "0" else 10)
    return (value, text[match.end():]) if least <= value <= 65535 else (None, text)


def service(name: str) -> int:
    """The port of a service of any protocol."""
    try:
        return socket.getservbyname(name)
    except OSError:
        raise RulesetSyntaxError(f"port {name!r} not valid: expected a number from 0 to 65535 or the name of a service") from None
