"""ARP, neighbour discovery, packets that wait, redirects."""

from __future__ import annotations

from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet

from datapath.lab.case import CasePacket
from tests.kernel.table import KernelCase, check, each, local, node, peer_mac, rules, wire

COUNT = rules("-A INPUT", "-A FORWARD", "-A OUTPUT")
EVERYBODY = "ff:ff:ff:ff:ff:ff"


def who_has(target: str, sender: str, interface: str = "eth0", **fields: Any) -> CasePacket:
    packet = ARP(op=1, hwsrc=peer_mac(interface, 9), psrc=sender, pdst=target, **fields)
    return wire(interface, packet, src=peer_mac(interface, 9), dst=EVERYBODY)


def is_at(sender: str, target: str, interface: str = "eth0", mac: str | None = None, dst: str | None = None) -> CasePacket:
    mac = mac or peer_mac(interface, 9)
    return wire(interface, ARP(op=2, hwsrc=mac, psrc=sender, pdst=target, hwdst="02:00:00:00:00:01"), src=mac, dst=dst)


def to(dst: str, src: str = "192.0.2.2", sport: int = 1000) -> Packet:
    return IP(src=src, dst=dst, id=5) / UDP(sport=sport, dport=9) / b"x"


def to6(dst: str, src: str = "fd00:1::2") -> Packet:
    return IPv6(src=src, dst=dst) / UDP(sport=1000, dport=9) / b"x"


SLOW = node(
    sysctl={f"net.{family}.neigh.{name}.retrans_time_ms": "60000" for family in ("ipv4", "ipv6") for name in ("eth0", "eth1", "eth2")}
)
REQUESTS = [
    who_has("192.0.2.1", "192.0.2.9"),
    who_has("192.0.2.1", "192.0.2.1"),
    who_has("192.0.2.1", "0.0.0.0"),
    who_has("192.0.2.8", "0.0.0.0"),
    who_has("198.51.100.1", "192.0.2.9"),
    who_has("198.51.100.1", "198.51.100.9"),
    who_has("192.0.2.8", "192.0.2.9"),
    who_has("198.51.100.7", "192.0.2.9"),
    who_has("172.16.0.1", "192.0.2.9"),
    who_has("127.0.0.1", "192.0.2.9"),
    who_has("224.0.0.1", "192.0.2.9"),
    who_has("192.0.2.255", "192.0.2.9"),
    who_has("192.0.2.1", "203.0.113.9"),
    who_has("203.0.113.1", "203.0.113.9", "eth2"),
]


def asked(**sysctls: str) -> dict[str, Any]:
    return node(sysctl={f"net.ipv4.conf.{name.replace('__', '.')}": value for name, value in sysctls.items()})


ARP_CASES = [
    KernelCase("who answers for an address", COUNT, REQUESTS),
    *(KernelCase(f"arp_ignore {mode}", COUNT, REQUESTS, node=asked(all__arp_ignore=str(mode))) for mode in (1, 2, 3, 8)),
    KernelCase("arp_filter", COUNT, REQUESTS, node=asked(all__arp_filter="1")),
    KernelCase(
        "proxy_arp",
        COUNT,
        [
            wire("eth0", ARP(op=1, hwsrc=peer_mac("eth0", 9), psrc="192.0.2.9", pdst=target), src=peer_mac("eth0", 9))
            for target in ("198.51.100.7", "172.16.0.1", "192.0.2.8", "172.17.0.1", "192.0.2.1")
        ],
        node=asked(eth0__proxy_arp="1"),
    ),
    KernelCase(
        "proxy_arp_pvlan",
        COUNT,
        [
            wire("eth0", ARP(op=1, hwsrc=peer_mac("eth0", 9), psrc="192.0.2.9", pdst=target), src=peer_mac("eth0", 9))
            for target in ("198.51.100.7", "192.0.2.8", "192.0.2.9")
        ],
        node=asked(eth0__proxy_arp_pvlan="1"),
    ),
    KernelCase("reverse path and ARP", COUNT, REQUESTS, node=asked(all__rp_filter="1")),
    KernelCase(
        "broken ARP",
        COUNT,
        [
            who_has("192.0.2.1", "192.0.2.9", hwtype=6),
            who_has("192.0.2.1", "192.0.2.9", hwtype=7),
            who_has("192.0.2.1", "192.0.2.9", ptype=0x806),
            who_has("192.0.2.1", "192.0.2.9", hwlen=8),
            wire("eth0", ARP(op=3, psrc="192.0.2.9", pdst="192.0.2.1"), dst=EVERYBODY),
            wire("eth0", ARP(op=1, psrc="192.0.2.9", pdst="192.0.2.1"), dst="02:00:00:00:00:99"),
            wire("eth0", bytes(Ether(dst=EVERYBODY, src=peer_mac("eth0", 9)) / ARP(psrc="192.0.2.9", pdst="192.0.2.1"))[:38]),
        ],
    ),
    KernelCase(
        "packets wait for an unknown neighbour",
        COUNT,
        [
            wire("eth1", to("192.0.2.9", src="198.51.100.2", sport=1)),
            wire("eth1", to("192.0.2.9", src="198.51.100.2", sport=2)),
            local(to("192.0.2.9", src="192.0.2.1", sport=3)),
            local(to("192.0.2.10", src="192.0.2.1", sport=3)),
            is_at("192.0.2.8", "192.0.2.1"),
            is_at("192.0.2.9", "192.0.2.1"),
            wire("eth1", to("192.0.2.9", src="198.51.100.2", sport=4)),
            is_at("192.0.2.9", "192.0.2.1", mac="02:00:00:00:01:77"),
            wire("eth1", to("192.0.2.9", src="198.51.100.2", sport=5)),
            who_has("192.0.2.1", "192.0.2.10"),
        ],
        node=SLOW,
    ),
    *(
        KernelCase(
            f"arp_announce {mode}",
            COUNT,
            [
                wire("eth1", to("192.0.2.9", src="198.51.100.2")),
                local(to("192.0.2.10", src="192.0.2.1")),
                local(to("192.0.2.11", src="198.51.100.1")),
                local(to("192.0.2.12", src="192.0.2.100")),
            ],
            node=SLOW
            | {
                "sysctl": SLOW["sysctl"] | {"net.ipv4.conf.all.arp_announce": str(mode)},
                "interfaces": {
                    **SLOW["interfaces"],
                    "eth0": {"mac": "02:00:00:00:00:01", "addresses": ["192.0.2.1/24", "192.0.2.100/24", "fd00:1::1/64"]},
                },
            },
        )
        for mode in (0, 1, 2)
    ),
    KernelCase(
        "a gateway that is asked for",
        COUNT,
        [
            wire("eth0", to("172.18.0.1")),
            is_at("198.51.100.9", "198.51.100.1", "eth1"),
            wire("eth0", to("172.18.0.2")),
        ],
        node=SLOW | {"routes": ["172.18.0.0/16 via 198.51.100.9"]},
    ),
    KernelCase(
        "gratuitous ARP for a known neighbour",
        COUNT,
        [
            wire("eth0", ARP(op=1, hwsrc="02:00:00:00:01:55", psrc="192.0.2.9", pdst="192.0.2.1"), src="02:00:00:00:01:55", dst=EVERYBODY),
            wire("eth1", to("192.0.2.9", src="198.51.100.2")),
            wire("eth0", ARP(op=1, hwsrc="02:00:00:00:01:66", psrc="192.0.2.9", pdst="192.0.2.9"), src="02:00:00:00:01:66", dst=EVERYBODY),
            wire("eth1", to("192.0.2.9", src="198.51.100.2")),
            wire("eth0", ARP(op=1, hwsrc="02:00:00:00:01:77", psrc="192.0.2.2", pdst="192.0.2.2"), src="02:00:00:00:01:77", dst=EVERYBODY),
            wire("eth1", to("192.0.2.2", src="198.51.100.2")),
        ],
        node=SLOW,
    ),
]


@each(ARP_CASES)
def test_arp(case: KernelCase) -> None:
    check(case)


def ns(target: str, src: str = "fd00:1::9", dst: str | None = None, link: bool = True, **fields: Any) -> CasePacket:
    group = "ff02::1:ff" + target.split(":")[-1].rjust(6, "0")[:2] + ":" + target.split(":")[-1].rjust(4, "0")[-4:]
    packet = IPv6(src=src, dst=dst or group, hlim=255, **fields) / ICMPv6ND_NS(tgt=target)
    if link:
        packet /= ICMPv6NDOptSrcLLAddr(lladdr=peer_mac("eth0", 9))
    mac = "33:33:ff:00:00:01" if dst is None else "02:00:00:00:00:01"
    return wire("eth0", packet, src=peer_mac("eth0", 9), dst=mac)


def na(target: str, interface: str = "eth0", solicited: int = 1, override: int = 1, mac: str | None = None) -> CasePacket:
    prefix = {"eth0": "fd00:1::1", "eth1": "fd00:2::1"}[interface]
    packet = IPv6(src=target, dst=prefix, hlim=255) / ICMPv6ND_NA(tgt=target, R=0, S=solicited, O=override)
    packet /= ICMPv6NDOptDstLLAddr(lladdr=mac or peer_mac(interface, 9))
    return wire(interface, packet, src=peer_mac(interface, 9))


ND_CASES = [
    KernelCase(
        "who answers a solicitation",
        "",
        [
            ns("fd00:1::1"),
            ns("fd00:1::1", dst="fd00:1::1"),
            ns("fd00:1::1", link=False),
            ns("fd00:1::1", dst="fd00:1::1", link=False, src="fd00:1::2"),
            ns("fd00:1::1", src="::", link=False),
            ns("fd00:1::1", src="::"),
            ns("fd00:1::8"),
            ns("fd00:2::1"),
            wire("eth0", IPv6(src="fd00:1::9", dst="fd00:1::1", hlim=64) / ICMPv6ND_NS(tgt="fd00:1::1")),
            wire("eth0", IPv6(src="fd00:1::9", dst="fd00:1::1", hlim=255) / ICMPv6ND_NS(tgt="fd00:1::1", code=1)),
            wire("eth0", IPv6(src="fd00:1::9", dst="fd00:1::1", hlim=255) / ICMPv6ND_NS(tgt="fd00:1::1", cksum=7)),
            wire("eth0", IPv6(src="fd00:1::9", dst="fd00:1::1", hlim=255) / ICMPv6ND_NS(tgt="ff02::1")),
            wire("eth0", IPv6(src="fd00:1::9", dst="fd00:1::1", hlim=255) / ICMPv6ND_NS(tgt="fd00:1::1") / b"\1\0\0\0\0\0\0\0"),
        ],
        rules6=COUNT,
        node=SLOW,
    ),
    KernelCase(
        "packets wait for an unknown IPv6 neighbour",
        "",
        [
            wire("eth1", to6("fd00:1::9", src="fd00:2::2")),
            wire("eth1", to6("fd00:1::9", src="fd00:2::3")),
            local(to6("fd00:1::9", src="fd00:1::1")),
            local(to6("fd00:1::a", src="fd00:1::1")),
            na("fd00:1::8"),
            na("fd00:1::9"),
            wire("eth1", to6("fd00:1::9", src="fd00:2::2")),
            na("fd00:1::9", override=0, mac="02:00:00:00:01:55"),
            wire("eth1", to6("fd00:1::9", src="fd00:2::2")),
            na("fd00:1::9", override=1, mac="02:00:00:00:01:66"),
            wire("eth1", to6("fd00:1::9", src="fd00:2::2")),
        ],
        rules6=COUNT,
        node=SLOW,
    ),
    KernelCase(
        "redirects of IPv6",
        "",
        [
            wire("eth0", to6("fd00:1::5")),
            wire("eth0", to6("fd00:1::9")),
            *(wire("eth0", to6("fd00:1::6")) for _ in range(9)),
            wire("eth2", to6("2001:db8::1", src="fd00:3::5")),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:1::7") / UDP(sport=1, dport=2) / (b"r" * 1300)),
        ],
        rules6=COUNT,
        node=SLOW,
    ),
]


@each(ND_CASES)
def test_neighbour_discovery(case: KernelCase) -> None:
    check(case)


REDIRECTS = [
    KernelCase(
        "redirects of IPv4",
        COUNT,
        [
            wire("eth0", to("192.0.2.5")),
            wire("eth0", to("192.0.2.6", src="192.0.2.3")),
            wire("eth2", to("8.8.8.8", src="203.0.113.5")),
            wire("eth2", to("8.8.8.8", src="198.51.100.5")),
            wire("eth0", to("192.0.2.5")),
        ],
        node=node(sysctl={f"net.ipv4.conf.{name}.send_redirects": "1" for name in ("all", "eth0", "eth1", "eth2")}),
    ),
]


@each(REDIRECTS)
def test_redirects(case: KernelCase) -> None:
    check(case)
