"""Values that several extensions take as arguments, spelled as libxtables spells them."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import number
from datapath.model.digits import is_digits

UINT32_MAX = 0xFFFFFFFF
# The first name of a pair is what iptables-save prints; /etc/protocols may know more, and differs between machines.
PROTOCOLS = {
    "all": 0, "icmp": 1, "igmp": 2, "ipencap": 4, "tcp": 6, "udp": 17, "dccp": 33, "ipv6": 41, "gre": 47, "esp": 50,
    "ah": 51, "icmpv6": 58, "ipv6-icmp": 58, "ospf": 89, "ipip": 94, "sctp": 132, "mh": 135, "ipv6-mh": 135, "udplite": 136,
}


def number_range(text: str, high: int, what: str) -> tuple[int, int]:
    """`A`, `A:B`, `A:` or `:B`: the first and the last number. The order is not checked, as in iptables."""
    low_text, colon, high_text = text.partition(":")
    low = number(low_text, 0, high, what) if low_text else 0
    if not colon:
        return low, low
    return low, number(high_text, 0, high, what) if high_text else high


def format_range(low: int, high: int) -> str:
    """A range as iptables-save prints it."""
    return str(low) if low == high else f"{low}:{high}"


def parse_protocol(text: str) -> int:
    """A protocol's number or name."""
    if text[:1].isdigit():
        return number(text, 0, 255, "protocol")
    if text in PROTOCOLS:
        return PROTOCOLS[text]
    try:
        return socket.getprotobyname(text)
    except OSError:
        raise RulesetSyntaxError(f"unknown protocol {text!r}") from None


@dataclass(frozen=True, slots=True)
class Masked:
    """`VALUE[/MASK]` of a packet or connection mark."""

    value: int
    mask: int = UINT32_MAX

    @classmethod
    def parse(cls, text: str, what: str) -> Self:
        """From decimal, octal or hexadecimal numbers."""
        value, slash, mask = text.partition("/")
        return cls(number(value, 0, UINT32_MAX, what), number(mask, 0, UINT32_MAX, f"mask of {what}") if slash else UINT32_MAX)

    def __str__(self) -> str:
        return f"{self.value:#x}" if self.mask == UINT32_MAX else f"{self.value:#x}/{self.mask:#x}"


@dataclass(frozen=True, slots=True)
class MaskedAddress:
    """`ADDRESS[/MASK]`, both in network byte order, 4 or 16 bytes. The address's other bits are kept."""

    address: bytes
    mask: bytes

    @classmethod
    def parse(cls, text: str, family: int) -> Self:
        """The mask is a prefix length or an address; iptables takes one with holes for a full one. No names are looked up."""
        address, slash, mask = text.partition("/")
        packed = parse_address(address, family)
        bits = len(packed) * 8
        if not slash:
            return cls(packed, b"\xff" * len(packed))
        if is_digits(mask) and int(mask) <= bits:
            return cls(packed, prefix_mask(number(mask, 0, bits, "prefix length"), bits))
        given = parse_mask(mask, family)
        whole = prefix_mask(int.from_bytes(given, "big").bit_count(), bits)
        return cls(packed, given if given == whole else prefix_mask(bits, bits))

    def __str__(self) -> str:
        length = int.from_bytes(self.mask, "big").bit_count()
        return format_address(self.address) + (f"/{length}" if length < len(self.mask) * 8 else "")


def parse_mask(text: str, family: int) -> bytes:
    """A mask that is no prefix length: an address, for IPv4 in any of inet_aton's forms."""
    try:
        return socket.inet_aton(text) if family == 4 else parse_address(text, 6)
    except OSError:
        raise RulesetSyntaxError(f"bad mask {text!r}: expected a prefix length or a mask") from None


def prefix_mask(length: int, bits: int) -> bytes:
    """The mask of a prefix length in an address of so many bits."""
    return (((1 << length) - 1) << (bits - length)).to_bytes(bits // 8, "big")


def parse_address(text: str, family: int) -> bytes:
    """A numeric address: 4 or 16 bytes."""
    try:
        return socket.inet_pton(socket.AF_INET if family == 4 else socket.AF_INET6, text)
    except OSError:
        raise RulesetSyntaxError(f"bad address {text!r}: expected an IPv{family} address") from None


def format_address(packed: bytes) -> str:
    """The usual text of 4 or 16 bytes."""
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


def quoted(text: str) -> str:
    """A string as iptables-save prints it: in quotes unless it is made of letters, digits, `_` and `-`."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", text):
        return text
    return '"' + re.sub(r"([\"\\'])", r"\\\1", text) + '"'


def negation(negated: bool) -> list[str]:
    """The word that stands before a negated option."""
    return ["!"] if negated else []
