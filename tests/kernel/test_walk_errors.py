"""Packets that the kernel makes: REJECT in every form, errors with options, errors that must not be."""

from __future__ import annotations

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.packet import Packet, Raw

from datapath.lab.case import CasePacket
from tests.kernel.table import KernelCase, check, each, local, node, rules, wire

TYPES4 = (
    "icmp-net-unreachable",
    "icmp-host-unreachable",
    "icmp-proto-unreachable",
    "icmp-port-unreachable",
    "icmp-net-prohibited",
    "icmp-host-prohibited",
    "icmp-admin-prohibited",
)
TYPES6 = (
    "icmp6-no-route",
    "icmp6-adm-prohibited",
    "icmp6-addr-unreachable",
    "icmp6-port-unreachable",
    "icmp6-policy-fail",
    "icmp6-reject-route",
)


def ip(**fields: object) -> Packet:
    return IP(**({"src": "192.0.2.2", "dst": "198.51.100.2", "id": 3} | fields))


def ip6(**fields: object) -> Packet:
    return IPv6(**({"src": "fd00:1::2", "dst": "fd00:2::2"} | fields))


def ports(protocol: int, hook: str, types: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"-A {hook} -p udp --dport {100 + number} -j REJECT --reject-with {name}" for number, name in enumerate(types))


SEGMENTS: list[Packet] = [
    TCP(sport=1000, dport=80, flags="S", seq=100),
    TCP(sport=1000, dport=80, flags="A", seq=100, ack=7),
    TCP(sport=1000, dport=80, flags="PA", seq=100, ack=7) / b"data",
    TCP(sport=1000, dport=80, flags="F", seq=0xFFFFFFFF),
    TCP(sport=1000, dport=80, flags="SF", seq=5) / b"data",
    TCP(sport=1000, dport=80, flags="R", seq=5),
    TCP(sport=1000, dport=80, flags="", seq=5) / b"x",
    TCP(sport=1000, dport=80, flags="S", seq=5, chksum=1),
    TCP(sport=1000, dport=80, flags="S", seq=5, options=[("MSS", 1460), ("WScale", 7)]),
    TCP(sport=1000, dport=80, flags="S", seq=5, dataofs=15),
]
RESETS = rules(
    "-t mangle -A PREROUTING",
    "-t mangle -A OUTPUT",
    "-t mangle -A POSTROUTING",
    "-A FORWARD -p tcp -j REJECT --reject-with tcp-reset",
    "-A INPUT -p tcp -j REJECT --reject-with tcp-reset",
    "-A OUTPUT -p tcp --tcp-flags RST NONE -j REJECT --reject-with tcp-reset",
)

REJECTS = [
    KernelCase(
        "every unreachable of IPv4",
        rules(*ports(17, "FORWARD", TYPES4), *ports(17, "INPUT", TYPES4), "-A OUTPUT"),
        [
            wire("eth0", ip(dst=target) / UDP(sport=1, dport=100 + number) / b"x")
            for target in ("198.51.100.2", "192.0.2.1")
            for number in range(len(TYPES4))
        ],
    ),
    KernelCase(
        "every unreachable of IPv6",
        "",
        [
            wire("eth0", ip6(dst=target) / UDP(sport=1, dport=100 + number) / b"x")
            for target in ("fd00:2::2", "fd00:1::1")
            for number in range(len(TYPES6))
        ],
        rules6=rules(*ports(17, "FORWARD", TYPES6), *ports(17, "INPUT", TYPES6), "-A OUTPUT"),
    ),
    KernelCase(
        "resets of IPv4",
        RESETS,
        [
            *(wire("eth0", ip() / segment) for segment in SEGMENTS),
            *(wire("eth0", ip(dst="192.0.2.1", tos=0xB8, ttl=9) / segment) for segment in SEGMENTS),
            *(local(ip(src="192.0.2.1") / segment) for segment in SEGMENTS),
            wire("eth0", ip(frag=10) / SEGMENTS[0]),
            wire("eth0", ip(flags="MF") / SEGMENTS[1]),
            wire("eth0", ip() / Raw(bytes(SEGMENTS[0])[:16])),
        ],
    ),
    KernelCase(
        "resets of IPv6",
        "",
        [
            *(wire("eth0", ip6() / segment) for segment in SEGMENTS),
            *(wire("eth0", ip6(dst="fd00:1::1", tc=0xB8, hlim=9, fl=77) / segment) for segment in SEGMENTS),
            *(local(ip6(src="fd00:1::1") / segment) for segment in SEGMENTS),
            wire("eth0", ip6() / IPv6ExtHdrDestOpt() / SEGMENTS[0]),
            wire("eth0", ip6() / IPv6ExtHdrFragment(offset=10) / SEGMENTS[0]),
            wire("eth0", ip6() / IPv6ExtHdrFragment(m=1) / SEGMENTS[0]),
        ],
        rules6=RESETS,
    ),
    KernelCase(
        "what an unreachable is not sent for",
        rules("-A FORWARD -j REJECT", "-A INPUT -j REJECT", "-A OUTPUT -o lo -j ACCEPT"),
        [
            wire("eth0", ip() / UDP(dport=9, chksum=0) / b"x"),
            wire("eth0", ip() / UDP(dport=9, chksum=77) / b"x"),
            wire("eth0", ip() / TCP(chksum=77)),
            wire("eth0", ip() / ICMP(chksum=77)),
            wire("eth0", ip() / ICMP()),
            wire("eth0", ip() / ICMP(type=3, code=3) / ip(src="198.51.100.2", dst="192.0.2.2") / UDP()),
            wire("eth0", ip() / ICMP(type=5) / ip(src="198.51.100.2", dst="192.0.2.2") / UDP()),
            wire("eth0", ip() / ICMP(type=9)),
            wire("eth0", ip(proto=47) / b"\0\0\x08\0abcd"),
            wire("eth0", ip(proto=132) / b"abcdefgh1234"),
            wire("eth0", ip(proto=200) / b"abcdefgh"),
            wire("eth0", ip(proto=200) / bytes(8)),
            wire("eth0", ip(frag=10) / b"abcdefgh"),
            wire("eth0", ip(flags="MF") / UDP(dport=9) / b"abcdefgh"),
            wire("eth0", ip(dst="192.0.2.255") / UDP(dport=9), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", ip(dst="192.0.2.1") / UDP(dport=9), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", ip(dst="224.0.0.1") / UDP(dport=9), dst="01:00:5e:00:00:01"),
            wire("eth0", ip() / UDP(dport=9) / (b"long" * 300)),
            wire("eth0", ip(src="10.9.9.9") / UDP(dport=9)),
        ],
    ),
    KernelCase(
        "what an unreachable of IPv6 is not sent for",
        "",
        [
            wire("eth0", ip6() / UDP(dport=9, chksum=77) / b"x"),
            wire("eth0", ip6() / TCP(chksum=77)),
            wire("eth0", ip6() / ICMPv6EchoRequest(cksum=77)),
            wire("eth0", ip6() / ICMPv6EchoRequest()),
            wire("eth0", ip6() / ICMPv6DestUnreach() / ip6(src="fd00:2::2", dst="fd00:1::2") / UDP()),
            wire("eth0", ip6(nh=47) / b"\0\0\x08\0abcd"),
            wire("eth0", ip6(nh=200) / b"abcdefgh"),
            wire("eth0", ip6(nh=59) / b"abcdefgh"),
            wire("eth0", ip6() / IPv6ExtHdrFragment(offset=10, nh=17) / b"abcdefgh"),
            wire("eth0", ip6() / IPv6ExtHdrFragment(m=1, nh=17) / UDP(dport=9) / b"abcdefgh"),
            wire("eth0", ip6(dst="ff02::1") / UDP(dport=9), dst="33:33:00:00:00:01"),
            wire("eth0", ip6(src="fe80::2") / UDP(dport=9)),
            wire("eth0", ip6() / UDP(dport=9) / (b"long" * 320)),
            wire("eth0", ip6(src="2001:db8::9") / UDP(dport=9)),
        ],
        rules6=rules("-A FORWARD -j REJECT", "-A INPUT -j REJECT", "-A OUTPUT -o lo -j ACCEPT"),
    ),
    KernelCase(
        "refused in OUTPUT",
        rules("-A OUTPUT -p udp -j REJECT", "-A OUTPUT -p tcp -j DROP", "-A INPUT", "-t mangle -A PREROUTING", "-t mangle -A POSTROUTING"),
        [
            local(ip(src="192.0.2.1") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1") / TCP()),
            local(ip(src="192.0.2.1") / ICMP()),
            local(ip(src="192.0.2.1", dst="192.0.2.1") / UDP(dport=9) / b"x"),
            local(ip6(src="fd00:1::1") / UDP(dport=9) / b"x"),
            local(ip6(src="fd00:1::1", dst="fd00:1::1") / UDP(dport=9) / b"x"),
        ],
        rules6=rules("-A OUTPUT -p udp -j REJECT", "-A INPUT", "-t mangle -A PREROUTING", "-t mangle -A POSTROUTING"),
    ),
    KernelCase(
        "refused after translation",
        rules(
            "-t nat -A PREROUTING -p udp -j DNAT --to-destination 198.51.100.2:53",
            "-A FORWARD -j REJECT",
            "-t nat -A PREROUTING -p tcp -j DNAT --to-destination 198.51.100.2:80",
            "-t mangle -A FORWARD -p tcp --dport 81 -j ACCEPT",
        ),
        [
            wire("eth0", ip(dst="192.0.2.1") / UDP(sport=5, dport=99) / b"x"),
            wire("eth0", ip(dst="192.0.2.1") / TCP(sport=5, dport=99)),
        ],
    ),
    KernelCase(
        "an error from the address that the packet came to",
        rules("-A FORWARD -j REJECT", "-A OUTPUT"),
        [
            wire("eth0", ip(src="8.8.8.8") / UDP(dport=9)),
            wire("eth1", ip(src="172.16.0.9", dst="192.0.2.2") / UDP(dport=9)),
            wire("eth0", ip(ttl=1, src="8.8.8.8") / UDP(dport=9)),
        ],
        node=node(sysctl={"net.ipv4.icmp_errors_use_inbound_ifaddr": "1"}),
    ),
    KernelCase(
        "the mark of an error",
        rules("-t mangle -A PREROUTING -j MARK --set-mark 7", "-A FORWARD -j REJECT", "-A OUTPUT -m mark --mark 7", "-A OUTPUT"),
        [
            wire("eth0", ip() / UDP(dport=9)),
            wire("eth0", ip6() / UDP(dport=9)),
        ],
        rules6=rules("-t mangle -A PREROUTING -j MARK --set-mark 7", "-A FORWARD -j REJECT", "-A OUTPUT -m mark --mark 7", "-A OUTPUT"),
        node=node(sysctl={"net.ipv4.fwmark_reflect": "1", "net.ipv6.fwmark_reflect": "1"}),
    ),
]


@each(REJECTS)
def test_refused(case: KernelCase) -> None:
    check(case)


def to_self(packet: Packet) -> CasePacket:
    return local(packet)


EVERYWHERE = rules(
    *(
        f"-t {table} -A {hook}"
        for table, hooks in {
            "raw": ("PREROUTING", "OUTPUT"),
            "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
            "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
            "filter": ("INPUT", "FORWARD", "OUTPUT"),
            "security": ("INPUT", "FORWARD", "OUTPUT"),
        }.items()
        for hook in hooks
    ),
    "-A INPUT -m conntrack --ctstate NEW",
)
LOOPS = [
    KernelCase(
        "a packet to the node itself",
        EVERYWHERE,
        [
            local(ip(src="192.0.2.1", dst="192.0.2.1") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1", dst="198.51.100.1") / UDP(dport=9) / b"x"),
            local(ip(src="127.0.0.1", dst="127.0.0.1") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1", dst="127.0.0.5") / UDP(dport=9) / b"x"),
            local(ip6(src="fd00:1::1", dst="fd00:1::1") / UDP(dport=9) / b"x"),
            local(ip6(src="::1", dst="::1") / UDP(dport=9) / b"x"),
        ],
        rules6=EVERYWHERE,
    ),
    KernelCase(
        "a packet turned to the node itself",
        rules(
            "-t nat -A OUTPUT -p udp --dport 53 -j DNAT --to-destination 192.0.2.1:5353",
            "-t nat -A OUTPUT -p udp --dport 54 -j REDIRECT --to-ports 5354",
            "-t nat -A PREROUTING -i lo -p udp --dport 5353 -j DNAT --to-destination 198.51.100.2",
            "-A INPUT",
            "-A FORWARD",
            "-t nat -A PREROUTING -p udp --dport 55 -j DNAT --to-destination 127.0.0.1",
        ),
        [
            local(ip(src="192.0.2.1", dst="198.51.100.2") / UDP(dport=53) / b"x"),
            local(ip(src="192.0.2.1", dst="198.51.100.2") / UDP(dport=54) / b"x"),
            local(ip(src="192.0.2.1", dst="192.0.2.1") / UDP(dport=54) / b"x"),
            wire("eth0", ip(dst="192.0.2.1") / UDP(dport=55) / b"x"),
        ],
    ),
    KernelCase(
        "broadcasts and multicasts of the node",
        EVERYWHERE,
        [
            local(ip(src="192.0.2.1", dst="192.0.2.255") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1", dst="255.255.255.255") / UDP(dport=9) / b"x", device="eth0"),
            local(ip(src="192.0.2.1", dst="224.0.0.1") / UDP(dport=9) / b"x", device="eth0"),
            local(ip(src="192.0.2.1", dst="239.1.1.1") / UDP(dport=9) / b"x", device="eth0"),
            local(ip6(src="fd00:1::1", dst="ff02::1") / UDP(dport=9) / b"x", device="eth0"),
            local(ip6(src="fd00:1::1", dst="ff02::99") / UDP(dport=9) / b"x", device="eth0"),
            local(ip6(src="fd00:1::1", dst="ff01::1") / UDP(dport=9) / b"x", device="eth0"),
        ],
        rules6=EVERYWHERE,
    ),
    KernelCase(
        "what a process is refused",
        EVERYWHERE,
        [
            local(ip(src="192.0.2.1", dst="172.17.0.9") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1", dst="172.18.0.9") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1", dst="172.19.0.9") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1") / UDP(dport=9) / (b"x" * 1480)),
            local(ip(src="0.0.0.0") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1", id=0, flags="DF") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1", len=7, chksum=7) / UDP(dport=9) / b"x"),
            local(ip(src="9.9.9.9") / UDP(dport=9) / b"x"),
            local(ip6(src="fd00:1::1", dst="fd00:6::9") / UDP(dport=9) / b"x"),
            local(ip6(src="fd00:1::1") / UDP(dport=9) / (b"x" * 1480)),
            local(ip6(src="2001:db8::9") / UDP(dport=9) / b"x"),
        ],
        rules6=EVERYWHERE,
        node=node(routes=["default via 203.0.113.2", "blackhole 172.17.0.0/16", "unreachable 172.18.0.0/16", "prohibit 172.19.0.0/16"]),
    ),
    KernelCase(
        "a mark that reroutes",
        rules(
            "-t mangle -A OUTPUT -p udp --dport 9 -j MARK --set-mark 5",
            "-t mangle -A OUTPUT -p udp --dport 10 -j TOS --set-tos 0x10",
            "-t mangle -A POSTROUTING",
            "-A OUTPUT",
            "-A OUTPUT -o eth1",
            "-t mangle -A POSTROUTING -o eth0",
        ),
        [
            local(ip(src="192.0.2.1", dst="8.8.8.8") / UDP(dport=9) / b"x"),
            local(ip(src="192.0.2.1", dst="8.8.8.8") / UDP(dport=10) / b"x"),
            local(ip(src="192.0.2.1", dst="8.8.8.8") / UDP(dport=11) / b"x"),
            wire("eth1", ip(src="198.51.100.2", dst="8.8.8.8") / UDP(dport=9) / b"x"),
        ],
        node=node(
            rules=["priority 100 fwmark 5 lookup 100", "priority 101 tos 0x10 lookup 101"],
            routes=["default via 203.0.113.2", "default via 192.0.2.3 table 100", "default via 198.51.100.4 table 101"],
        ),
    ),
]


@each(LOOPS)
def test_local(case: KernelCase) -> None:
    check(case)
