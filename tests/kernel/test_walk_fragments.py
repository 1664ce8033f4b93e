"""Fragments: put together where conntrack or delivery needs it, cut again on the way out, given up in time."""

from __future__ import annotations

import itertools
from typing import Any

from scapy.layers.inet import ICMP, IP, UDP, IPOption
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN
from scapy.packet import Raw

from datapath.lab.case import CasePacket
from tests.kernel.table import KernelCase, check, each, local, node, rules, wire

DATA = bytes(itertools.islice(itertools.cycle(range(256)), 3000))
COUNT = rules("-A INPUT", "-A FORWARD", "-A OUTPUT", "-t mangle -A PREROUTING", "-t mangle -A POSTROUTING")
TRACKED = rules(
    "-A FORWARD -m conntrack --ctstate NEW", "-A FORWARD", "-A INPUT", "-A OUTPUT", "-t mangle -A PREROUTING", "-t mangle -A POSTROUTING"
)
NATTED = rules(
    "-t nat -A PREROUTING -p udp --dport 2000 -j DNAT --to-destination 198.51.100.5:2001",
    "-t nat -A POSTROUTING -o eth1 -j MASQUERADE",
    "-A FORWARD",
    "-t mangle -A POSTROUTING",
)
NATTED6 = rules(
    "-t nat -A PREROUTING -p udp --dport 2000 -j DNAT --to-destination [fd00:2::5]:2001",
    "-t nat -A POSTROUTING -o eth1 -j MASQUERADE",
    "-A FORWARD",
    "-t mangle -A POSTROUTING",
)
SMALL = node(
    interfaces={
        "eth0": {"mac": "02:00:00:00:00:01", "addresses": ["192.0.2.1/24", "fd00:1::1/64"], "mtu": 1500},
        "eth1": {"mac": "02:00:00:00:00:02", "addresses": ["198.51.100.1/24", "fd00:2::1/64"], "mtu": 1300},
        "eth2": {"mac": "02:00:00:00:00:03", "addresses": ["203.0.113.1/24", "fd00:3::1/64"], "mtu": 1500},
    }
)


def datagram(size: int) -> bytes:
    """A UDP datagram of that size with a right checksum between 192.0.2.2 and 198.51.100.2."""
    return bytes(IP(src="192.0.2.2", dst="198.51.100.2") / UDP(sport=1000, dport=2000) / DATA[: size - 8])[20:]


def piece(
    start: int, end: int, *, size: int = 1600, more: bool | None = None, number: int = 77, df: bool = False, at: float = 0, **fields: Any
) -> CasePacket:
    """Bytes [start, end) of the datagram as a fragment; the last one has no MF."""
    more = end < size if more is None else more
    flags = ("MF" if more else "") + ("+DF" if df and more else "DF" if df else "")
    packet = IP(**({"src": "192.0.2.2", "dst": "198.51.100.2", "id": number, "proto": 17} | fields), flags=flags, frag=start // 8)
    return wire("eth0", packet / Raw(datagram(size)[start:end]), at=at)


def datagram6(size: int) -> bytes:
    return bytes(IPv6(src="fd00:1::2", dst="fd00:2::2") / UDP(sport=1000, dport=2000) / DATA[: size - 8])[40:]


def piece6(
    start: int, end: int, *, size: int = 1600, more: bool | None = None, number: int = 77, before: Any = None, at: float = 0, **fields: Any
) -> CasePacket:
    more = end < size if more is None else more
    packet = IPv6(**({"src": "fd00:1::2", "dst": "fd00:2::2"} | fields))
    if before is not None:
        packet /= before
    return wire(
        "eth0", packet / IPv6ExtHdrFragment(nh=17, id=number, m=int(more), offset=start // 8) / Raw(datagram6(size)[start:end]), at=at
    )


WHOLE = [piece(0, 800), piece(800, 1600)]
WAYS = {
    "in order": WHOLE,
    "backwards": WHOLE[::-1],
    "in three": [piece(1200, 1600), piece(0, 400), piece(400, 1200)],
    "with duplicates": [piece(0, 800), piece(0, 800), piece(80, 160), piece(800, 1600), piece(800, 1600)],
    "overlapping": [piece(0, 800), piece(400, 1600), piece(800, 1600), piece(0, 800)],
    "overlapping in front": [piece(800, 1600), piece(0, 808), piece(0, 800)],
    "around a hole": [piece(0, 400), piece(800, 1600), piece(0, 800), piece(400, 800)],
    "two ends": [piece(800, 1600), piece(800, 1200, size=1200), piece(0, 800)],
    "behind the end": [piece(800, 1200, size=1200), piece(1200, 1600, more=True), piece(0, 800)],
    "of no length": [piece(0, 800), piece(800, 800, more=True), piece(800, 1600)],
    "not of eights": [piece(0, 803, more=True), piece(800, 1600)],
    "of two packets": [piece(0, 800), piece(800, 1600, number=78), piece(0, 800, number=78), piece(800, 1600)],
    "of other protocols": [piece(0, 800), piece(800, 1600, proto=6), piece(800, 1600)],
    "all with DF": [piece(0, 800, df=True), piece(800, 1600, df=True)],
    "some with DF": [piece(0, 800, df=True), piece(800, 1600)],
    "small with DF": [piece(0, 400, df=True), piece(400, 1600)],
    "with congestion": [piece(0, 800, tos=2), piece(800, 1600, tos=3)],
    "with congestion that does not fit": [piece(0, 800, tos=0), piece(800, 1600, tos=3)],
    "of other life": [piece(0, 800, ttl=9, tos=4), piece(800, 1600, ttl=30, tos=8)],
    "tiny": [piece(at, min(at + 8, 64), size=64) for at in range(0, 64, 8)],
    "one alone": [piece(0, 800, more=True), wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / UDP(dport=9))],
    "with options": [
        wire(
            "eth0",
            IP(src="192.0.2.2", dst="198.51.100.2", id=5, flags="MF", proto=17, options=IPOption(b"\x94\x04\0\0\x1e\x04\0\0"))
            / Raw(datagram(1600)[:800]),
        ),
        wire(
            "eth0",
            IP(src="192.0.2.2", dst="198.51.100.2", id=5, frag=100, proto=17, options=IPOption(b"\x94\x04\0\0"))
            / Raw(datagram(1600)[800:]),
        ),
    ],
    "too long together": [piece(at, at + 1400, size=70000, more=True, number=9) for at in (0,)]
    + [wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", id=9, frag=8189, proto=17) / Raw(b"z" * 40))],
}
IPV4 = [
    *(KernelCase(f"fragments {name}", TRACKED, packets) for name, packets in WAYS.items()),
    *(
        KernelCase(f"fragments {name} without conntrack", COUNT, WAYS[name])
        for name in ("in order", "overlapping", "with options", "all with DF")
    ),
    *(
        KernelCase(f"fragments {name} for a smaller way", TRACKED, packets, node=SMALL)
        for name, packets in {
            "that fit": [piece(0, 1200), piece(1200, 1600)],
            "that do not fit": [piece(0, 1400), piece(1400, 1600)],
            "that do not fit and have DF": [piece(0, 1400, df=True), piece(1400, 1600, df=True)],
            "whole with DF": [piece(0, 800, df=True), piece(800, 1600, df=True)],
        }.items()
    ),
    *(
        KernelCase(f"fragments {name} for a smaller way without conntrack", COUNT, packets, node=SMALL)
        for name, packets in {
            "that do not fit": [piece(0, 1400), piece(1400, 1600)],
            "that do not fit and have DF": [piece(0, 1400, df=True), piece(1400, 1600, df=True)],
        }.items()
    ),
    KernelCase("fragments that are translated", NATTED, [*WHOLE, *WHOLE[::-1]]),
    KernelCase(
        "fragments that are not tracked",
        rules("-t raw -A PREROUTING -j CT --notrack", "-A FORWARD -f", "-A FORWARD", "-A FORWARD -m conntrack --ctstate UNTRACKED"),
        WHOLE,
    ),
    KernelCase(
        "fragments for the node",
        COUNT,
        [
            piece(0, 800, dst="192.0.2.1"),
            piece(800, 1600, dst="192.0.2.1"),
            piece(800, 1600, dst="192.0.2.1", number=5),
            piece(0, 800, dst="192.0.2.1", number=5),
            piece(0, 800, dst="192.0.2.1", number=6),
            piece(400, 1600, dst="192.0.2.1", number=6),
        ],
    ),
    KernelCase(
        "fragments of a process",
        TRACKED,
        [
            local(IP(src="192.0.2.1", dst="198.51.100.2", id=7, flags="MF", proto=17) / Raw(datagram(1600)[:800])),
            local(IP(src="192.0.2.1", dst="198.51.100.2", id=7, frag=100, proto=17) / Raw(datagram(1600)[800:])),
            local(IP(src="192.0.2.1", dst="192.0.2.1", id=8, flags="MF", proto=17) / Raw(datagram(1600)[:800])),
            local(IP(src="192.0.2.1", dst="192.0.2.1", id=8, frag=100, proto=17) / Raw(datagram(1600)[800:])),
        ],
    ),
    KernelCase(
        "a ping in fragments that is refused",
        rules("-A FORWARD -m conntrack --ctstate NEW -j REJECT"),
        [
            wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", id=7, flags="MF", proto=1) / Raw(bytes(ICMP() / DATA[:1592])[:800])),
            wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", id=7, frag=100, proto=1) / Raw(bytes(ICMP() / DATA[:1592])[800:])),
        ],
    ),
]


@each(IPV4)
def test_ipv4(case: KernelCase) -> None:
    check(case)


WHOLE6 = [piece6(0, 800), piece6(800, 1600)]
WAYS6: dict[str, list[CasePacket]] = {
    "in order": WHOLE6,
    "backwards": WHOLE6[::-1],
    "in three": [piece6(1200, 1600), piece6(0, 400), piece6(400, 1200)],
    "with duplicates": [piece6(0, 800), piece6(0, 800), piece6(80, 160), piece6(800, 1600), piece6(800, 1600)],
    "overlapping": [piece6(0, 800), piece6(400, 1600), piece6(800, 1600), piece6(0, 800)],
    "two ends": [piece6(800, 1600), piece6(800, 1200, size=1200), piece6(0, 800)],
    "behind the end": [piece6(800, 1200, size=1200), piece6(1200, 1600, more=True), piece6(0, 800)],
    "of no length": [piece6(0, 800), piece6(800, 800, more=True), piece6(800, 1600)],
    "not of eights": [piece6(0, 803, more=True), piece6(800, 1600)],
    "of two packets": [piece6(0, 800), piece6(800, 1600, number=78), piece6(0, 800, number=78), piece6(800, 1600)],
    "atomic": [piece6(0, 100, size=100), piece6(0, 1400, size=1400)],
    "with congestion": [piece6(0, 800, tc=2), piece6(800, 1600, tc=3)],
    "with congestion that does not fit": [piece6(0, 800, tc=0), piece6(800, 1600, tc=3)],
    "cut before the ports": [piece6(0, 0, size=16, more=True), piece6(0, 8, size=16, more=True), piece6(8, 16, size=16)],
    "behind hop-by-hop options": [
        piece6(0, 800, before=IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0\0\0\0")])),
        piece6(800, 1600, before=IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0\0\0\0")])),
    ],
    "behind destination options": [
        piece6(0, 800, before=IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0\0\0\0")])),
        piece6(800, 1600, before=IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0\0\0\0")])),
    ],
    "one alone": [piece6(0, 800, more=True), wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2") / UDP(dport=9))],
    "large": [piece6(0, 1448), piece6(1448, 1600)],
}
IPV6 = [
    *(KernelCase(f"IPv6 fragments {name}", "", packets, rules6=TRACKED) for name, packets in WAYS6.items()),
    *(
        KernelCase(f"IPv6 fragments {name} without conntrack", "", WAYS6[name], rules6=COUNT)
        for name in ("in order", "overlapping", "atomic", "not of eights")
    ),
    *(
        KernelCase(f"IPv6 fragments {name} for a smaller way", "", packets, rules6=TRACKED, node=SMALL)
        for name, packets in {
            "that fit": [piece6(0, 1200), piece6(1200, 1600)],
            "that do not fit": [piece6(0, 1400), piece6(1400, 1600)],
            "of 1280": [piece6(0, 1232), piece6(1232, 1600)],
        }.items()
    ),
    KernelCase("IPv6 fragments that are translated", "", [*WHOLE6, *WHOLE6[::-1]], rules6=NATTED6),
    *(
        KernelCase(
            f"IPv6 fragments for the node {name}",
            "",
            [
                *(
                    piece6(start, end, dst="fd00:1::1", number=number, size=size)
                    for number, start, end, size in (
                        (1, 0, 800, 1600),
                        (1, 800, 1600, 1600),
                        (2, 800, 1600, 1600),
                        (2, 0, 800, 1600),
                        (3, 0, 800, 1600),
                        (3, 400, 1600, 1600),
                        (4, 0, 100, 100),
                        (5, 0, 804, 1600),
                        (6, 65528, 65540, 1600),
                    )
                ),
            ],
            rules6=text,
        )
        for name, text in (("tracked", TRACKED), ("not tracked", COUNT))
    ),
    KernelCase(
        "IPv6 fragments of a process",
        "",
        [
            local(IPv6(src="fd00:1::1", dst="fd00:2::2") / IPv6ExtHdrFragment(nh=17, id=5, m=1) / Raw(datagram6(1600)[:800])),
            local(IPv6(src="fd00:1::1", dst="fd00:2::2") / IPv6ExtHdrFragment(nh=17, id=5, offset=100) / Raw(datagram6(1600)[800:])),
        ],
        rules6=TRACKED,
    ),
]


@each(IPV6)
def test_ipv6(case: KernelCase) -> None:
    check(case)
