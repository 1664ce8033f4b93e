"""Addresses with masks, and the names of protocols, as iptables reads and prints them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from functools import lru_cache

from datapath.errors import RulesetSyntaxError
from datapath.model.digits import is_digits
from datapath.model.ruleset import AddressMask

# What iptables prints: its own names first (xtables_chain_protos), then those of /etc/protocols.
PROTOCOL_NAMES: Mapping[int, str] = {
    1: "icmp", 2: "igmp", 3: "ggp", 4: "ipencap", 5: "st", 6: "tcp", 8: "egp", 9: "igp", 12: "pup", 17: "udp", 20: "hmp",
    22: "xns-idp", 27: "rdp", 29: "iso-tp4", 33: "dccp", 36: "xtp", 37: "ddp", 38: "idpr-cmtp", 41: "ipv6", 43: "ipv6-route",
    44: "ipv6-frag", 45: "idrp", 46: "rsvp", 47: "gre", 50: "esp", 51: "ah", 57: "skip", 58: "ipv6-icmp", 59: "ipv6-nonxt",
    60: "ipv6-opts", 73: "rspf", 81: "vmtp", 88: "eigrp", 89: "ospf", 93: "ax.25", 94: "ipip", 97: "etherip", 98: "encap",
    103: "pim", 108: "ipcomp", 112: "vrrp", 115: "l2tp", 124: "isis", 132: "sctp", 133: "fc", 135: "mobility-header",
    136: "udplite", 137: "mpls-in-ip", 138: "manet", 139: "hip", 140: "shim6", 141: "wesp", 142: "rohc", 143: "ethernet",
}  # fmt: skip
PROTOCOL_NUMBERS: Mapping[str, int] = {name: number for number, name in PROTOCOL_NAMES.items()} | {
    "all": 0, "ip": 0, "icmpv6": 58, "ipv6-mh": 135, "mh": 135,
}  # fmt: skip
WHOLE_MASKS = {4: b"\xff" * 4, 6: b"\xff" * 16}


@lru_cache(maxsize=1024)
def parse_protocol(text: str) -> int:
    """The number of a protocol given by number or name; 0 for all."""
    name = text.lower()
    if is_digits(name) or name.startswith("0x"):
        try:
            value = int(name, 0) if name.startswith("0x") else int(name, 8 if name.startswith("0") and name != "0" else 10)
        except ValueError:
            value = 256
        if value > 255:
            raise RulesetSyntaxError(f"bad protocol {text!r}: expected a number from 0 to 255 or a name")
        return value
    if name not in PROTOCOL_NUMBERS:
        raise RulesetSyntaxError(f"unknown protocol {text!r}: expected a number from 0 to 255 or a name")
    return PROTOCOL_NUMBERS[name]


def format_protocol(number: int) -> str:
    """The protocol's name, or its number when it has none."""
    return PROTOCOL_NAMES.get(number) or str(number)


@lru_cache(maxsize=1 << 16)
def parse_address(text: str, family: int) -> AddressMask:
    """`ADDRESS`, `ADDRESS/LENGTH` or `ADDRESS/MASK`. Names of hosts are not looked up."""
    address_text, slash, mask_text = text.partition("/")
    address = pack_address(address_text, family)
    if address is None:
        raise RulesetSyntaxError(f"bad address {text!r}: expected an IPv{family} address, with /LENGTH or /MASK if need be")
    whole = WHOLE_MASKS[family]
    mask = parse_mask(mask_text, family) if slash else whole
    if mask == whole:
        return AddressMask(address, whole)
    return AddressMask(bytes(a & m for a, m in zip(address, mask, strict=True)), mask)


def pack_address(text: str, family: int) -> bytes | None:
    """The address's bytes, None when it is not one. IPv4 may leave out zero bytes at the end (`10/8`), as in iptables."""
    try:
        return socket.inet_pton(socket.AF_INET if family == 4 else socket.AF_INET6, text)
    except (OSError, ValueError):
        parts = text.split(".")
    if family == 4 and len(parts) <= 4 and all(is_digits(part) and int(part) < 256 for part in parts):
        return bytes(int(part) for part in parts) + bytes(4 - len(parts))
    return None


@lru_cache(maxsize=1024)
def parse_mask(text: str, family: int) -> bytes:
    """A prefix length or a mask spelt as an address."""
    width = 4 if family == 4 else 16
    if is_digits(text) and int(text) <= 8 * width:
        bits = int(text)
        return ((1 << 8 * width) - (1 << 8 * width - bits)).to_bytes(width, "big")
    mask = pack_address(text, family) if "." in text or ":" in text else None
    if mask is None:
        raise RulesetSyntaxError(f"bad mask {text!r}: expected a length from 0 to {8 * width} or a mask")
    return mask


@lru_cache(maxsize=1024)
def mask_suffix(mask: bytes) -> str:
    """What iptables-save prints behind the slash."""
    bits = int.from_bytes(mask, "big")
    length = bits.bit_count()
    width = 8 * len(mask)
    if bits == (1 << width) - (1 << width - length):
        return str(length)
    return socket.inet_ntop(socket.AF_INET if width == 32 else socket.AF_INET6, mask)


def format_address(value: AddressMask) -> str:
    """`ADDRESS/LENGTH`, or `ADDRESS/MASK` when the mask has holes."""
    family = socket.AF_INET if len(value.address) == 4 else socket.AF_INET6
    return f"{socket.inet_ntop(family, value.address)}/{mask_suffix(value.mask)}"
