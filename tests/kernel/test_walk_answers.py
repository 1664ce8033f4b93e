"""A node that answers: no process listens on it, the kernel does what it does by itself."""

from __future__ import annotations

from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.packet import Packet, Raw

from datapath.lab.case import CasePacket
from tests.kernel.table import KernelCase, check, each, node, rules, wire

COUNT = rules("-t mangle -A PREROUTING", "-A INPUT", "-A FORWARD", "-A OUTPUT")


def v4(packet: Packet, **fields: Any) -> CasePacket:
    return wire("eth0", IP(**({"src": "192.0.2.2", "dst": "192.0.2.1", "id": 6, "tos": 0x28} | fields)) / packet)


def v6(packet: Packet, **fields: Any) -> CasePacket:
    return wire("eth0", IPv6(**({"src": "fd00:1::2", "dst": "fd00:1::1", "tc": 0x28} | fields)) / packet)


SEGMENTS = [
    TCP(sport=9, dport=8, flags=flags, seq=77, ack=99) / data for flags in ("S", "A", "PA", "F", "R", "SA") for data in (b"", b"data")
]
ANSWERS = [
    KernelCase(
        "a node that answers",
        COUNT,
        [
            v4(ICMP(id=5, seq=6) / b"payload"),
            v4(ICMP(id=5, seq=6, chksum=7) / b"payload"),
            v4(ICMP(id=5, seq=6, code=3) / b"payload"),
            v4(ICMP(type=0, id=5, seq=6) / b"payload"),
            v4(ICMP(id=5, seq=6) / b"payload", dst="198.51.100.1"),
            v4(ICMP(id=5, seq=6) / b"payload", dst="192.0.2.255"),
            v4(UDP(sport=9, dport=8) / b"x"),
            v4(UDP(sport=9, dport=8, chksum=7) / b"x"),
            v4(UDP(sport=9, dport=8, chksum=0) / b"x"),
            v4(UDP(sport=9, dport=8) / b"x", dst="192.0.2.255"),
            v4(Raw(b"abcdefgh"), proto=200),
            *(v4(segment) for segment in SEGMENTS),
            v4(TCP(sport=9, dport=8, chksum=7)),
        ],
        node=node(answers=True),
        skip=frozenset({"drops"}),  # sockets give reasons of their own
    ),
    KernelCase(
        "a node that answers IPv6",
        "",
        [
            v6(ICMPv6EchoRequest(id=5, seq=6, data=b"payload")),
            v6(ICMPv6EchoRequest(id=5, seq=6, data=b"payload", cksum=7)),
            v6(ICMPv6EchoRequest(id=5, seq=6, data=b"payload"), dst="fd00:2::1"),
            v6(ICMPv6EchoRequest(id=5, seq=6, data=b"payload"), fl=0x12345),
            v6(UDP(sport=9, dport=8) / b"x"),
            v6(UDP(sport=9, dport=8, chksum=7) / b"x"),
            v6(Raw(b"abcdefgh"), nh=200),
            v6(Raw(b"abcdefgh"), nh=59),
            v6(IPv6ExtHdrDestOpt() / Raw(b"abcdefgh"), nh=60),
            v6(IPv6ExtHdrFragment(nh=17) / UDP(sport=9, dport=8)),
            *(v6(segment) for segment in SEGMENTS),
        ],
        rules6=COUNT,
        node=node(answers=True),
        skip=frozenset({"drops"}),  # sockets give reasons of their own
    ),
]


@each(ANSWERS)
def test_answers(case: KernelCase) -> None:
    check(case)
