"""Packets for the matches: whole ones, fragments, ones whose headers are cut short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Raw

from datapath.lab.case import CasePacket
from tests.kernel.table import KernelCase, rules, wire

CLIENT = {4: "192.0.2.2", 6: "fd00:1::2"}
SERVER = {4: "198.51.100.2", 6: "fd00:2::2"}
NODE = {4: "192.0.2.1", 6: "fd00:1::1"}


def ip(family: int, **fields: Any) -> Packet:
    """A header from the client to the server. `ttl`, `tos` and `proto` mean the like of IPv6 too."""
    if family == 4:
        return IP(**{"src": CLIENT[4], "dst": SERVER[4], "id": 1} | fields)
    names = {"ttl": "hlim", "tos": "tc", "proto": "nh"}
    return IPv6(**{"src": CLIENT[6], "dst": SERVER[6]} | {names.get(name, name): value for name, value in fields.items()})


def through(*packets: Packet | bytes, interface: str = "eth0") -> list[CasePacket]:
    """They come in one after the other."""
    return [wire(interface, packet) for packet in packets]


def tcp(family: int, sport: int = 1000, dport: int = 80, **fields: Any) -> Packet:
    return ip(family) / TCP(sport=sport, dport=dport, **fields)


def udp(family: int, sport: int = 1000, dport: int = 53, payload: bytes = b"x") -> Packet:
    return ip(family) / UDP(sport=sport, dport=dport) / payload


def icmp4(kind: int, code: int) -> Packet:
    return ip(4) / ICMP(type=kind, code=code) / b"abcdefgh"


def short(family: int, protocol: int, payload: bytes) -> Packet:
    """A packet that ends in the middle of its transport header."""
    return ip(family, proto=protocol) / Raw(payload)


def fragment4(protocol: int, offset: int, payload: bytes, more: bool = False) -> Packet:
    """A fragment; the offset in bytes."""
    return IP(src=CLIENT[4], dst=SERVER[4], proto=protocol, id=7, frag=offset // 8, flags="MF" if more else 0) / Raw(payload)


def forward(*lines: str, table: str = "filter") -> str:
    """Rules of FORWARD that only count."""
    return rules(*(f"-t {table} -A FORWARD {line}" for line in lines))


def prerouting(*lines: str, table: str = "mangle") -> str:
    """Rules of PREROUTING that only count."""
    return rules(*(f"-t {table} -A PREROUTING {line}" for line in lines))


def lines(text: str) -> list[str]:
    """The lines of a table of rules."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def of_family(family: int, name: str, given: str, packets: list[CasePacket], **more: Any) -> KernelCase:
    """A case whose rules are of one family."""
    texts = {"rules": given} if family == 4 else {"rules": "", "rules6": given}
    return KernelCase(f"{name} IPv{family}", packets=packets, **texts, **more)


def apart(family: int, name: str, trials: Sequence[tuple[Sequence[str], Sequence[Packet]]]) -> KernelCase:
    """Rules of which one may drop the packet at once, each with packets that only these rules see.

    Each trial has a source address of its own, which its rules insist on; the last rule counts what came through.
    """
    looks, packets = [], []
    for number, (given, of_trial) in enumerate(trials):
        source = f"10.9.{number // 250}.{number % 250 + 1}" if family == 4 else f"fd00:9::{number:x}"
        looks += [f"-s {source} {look}" for look in given]
        for packet in of_trial:
            moved = packet.copy()
            moved.src = source
            packets.append(moved)
    return of_family(family, name, forward(*looks, "-m length --length 0:65535"), through(*packets))
