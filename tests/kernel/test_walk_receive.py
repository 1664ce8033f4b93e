"""What a node does with what it receives, before and beside the rules: header checks, addresses, life time, size."""

from __future__ import annotations

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    HBHOptUnknown,
    ICMPv6DestUnreach,
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    Jumbo,
    PadN,
    RouterAlert,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from datapath.lab.masks import checksum
from tests.kernel.table import KernelCase, check, each, node, rules, wire

COUNT4 = rules("-t raw -A PREROUTING", "-t raw -A OUTPUT", "-A INPUT", "-A FORWARD", "-A OUTPUT")
COUNT6 = COUNT4


def udp(**fields: object) -> Packet:
    """A forwarded UDP packet with some fields of its IPv4 header changed."""
    return IP(**({"src": "192.0.2.2", "dst": "198.51.100.2", "id": 7} | fields)) / UDP(sport=1000, dport=2000) / b"payload"


def udp6(**fields: object) -> Packet:
    return IPv6(**({"src": "fd00:1::2", "dst": "fd00:2::2"} | fields)) / UDP(sport=1000, dport=2000) / b"payload"


def with_options(options: bytes, size: int = 8, **fields: object) -> Packet:
    """A UDP packet with these bytes as its IPv4 options; `size` of its payload."""
    packet = IP(bytes(udp(**fields) / Raw(b"o" * (size - 7))))
    header, rest = bytearray(bytes(packet)[:20]), bytes(packet)[20:]
    options = options.ljust((len(options) + 3) // 4 * 4, b"\0")
    header[0] = 0x45 + len(options) // 4
    header[2:4] = (20 + len(options) + len(rest)).to_bytes(2, "big")
    header[10:12] = b"\0\0"
    header[10:12] = checksum(bytes(header) + options).to_bytes(2, "big")
    return Ether(src="02:00:00:00:01:02", dst="02:00:00:00:00:01", type=0x800) / Raw(bytes(header) + options + rest)


def padded(packet: Packet, size: int = 60) -> bytes:
    data = bytes(Ether(src="02:00:00:00:01:02", dst="02:00:00:00:00:01") / packet)
    return data.ljust(size, b"\xaa")


def cut(packet: Packet, size: int) -> bytes:
    return bytes(Ether(src="02:00:00:00:01:02", dst="02:00:00:00:00:01") / packet)[:size]


HEADERS = [
    KernelCase(
        "lengths versions and checksums of IPv4",
        COUNT4,
        [
            wire("eth0", udp()),
            wire("eth0", udp(version=5)),
            wire("eth0", udp(ihl=4)),
            wire("eth0", udp(ihl=15)),
            wire("eth0", udp(chksum=0x1234)),
            wire("eth0", udp(len=19)),
            wire("eth0", udp(len=200)),
            wire("eth0", udp(len=24)),
            wire("eth0", padded(udp(), 100)),
            wire("eth0", cut(udp(), 30)),
        ],
    ),
    KernelCase(
        "lengths and versions of IPv6",
        "",
        [
            wire("eth0", udp6()),
            wire("eth0", udp6(version=4)),
            wire("eth0", udp6(plen=0)),
            wire("eth0", udp6(plen=300)),
            wire("eth0", udp6(plen=3)),
            wire("eth0", padded(udp6(), 120)),
            wire("eth0", cut(udp6(), 50)),
        ],
        rules6=COUNT6,
    ),
    KernelCase(
        "whom a frame is for",
        COUNT4,
        [
            wire("eth0", udp(), dst="02:00:00:00:00:77"),
            wire("eth0", udp(), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", udp(), dst="01:00:5e:00:00:05"),
            wire("eth0", udp(dst="192.0.2.255"), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", udp(dst="255.255.255.255"), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", udp(dst="192.0.2.1"), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", udp(dst="224.0.0.1"), dst="01:00:5e:00:00:01"),
            wire("eth0", udp(dst="224.0.0.5"), dst="01:00:5e:00:00:05"),
            wire("eth0", udp(dst="239.1.2.3"), dst="01:00:5e:01:02:03"),
        ],
    ),
    KernelCase(
        "whom a frame is for in IPv6",
        "",
        [
            wire("eth0", udp6(), dst="02:00:00:00:00:77"),
            wire("eth0", udp6(), dst="33:33:00:00:00:01"),
            wire("eth0", udp6(dst="ff02::1"), dst="33:33:00:00:00:01"),
            wire("eth0", udp6(dst="ff02::5"), dst="33:33:00:00:00:05"),
            wire("eth0", udp6(dst="ff01::1"), dst="33:33:00:00:00:01"),
            wire("eth0", udp6(dst="ff00::1"), dst="33:33:00:00:00:01"),
        ],
        rules6=COUNT6,
    ),
    KernelCase(
        "unicast in a broadcast frame when that is forbidden",
        COUNT4,
        [
            wire("eth0", udp(dst="192.0.2.1"), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", udp(dst="192.0.2.255"), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", udp6(dst="fd00:1::1"), dst="33:33:00:00:00:01"),
        ],
        rules6=COUNT6,
        node=node(sysctl={"net.ipv4.conf.all.drop_unicast_in_l2_multicast": "1", "net.ipv6.conf.eth0.drop_unicast_in_l2_multicast": "1"}),
    ),
    KernelCase(
        "sources that must not be",
        COUNT4,
        [
            wire("eth0", udp(src="127.0.0.1")),
            wire("eth0", udp(src="224.0.0.9")),
            wire("eth0", udp(src="255.255.255.255")),
            wire("eth0", udp(src="0.0.0.0")),
            wire("eth0", udp(src="0.0.0.0", dst="255.255.255.255"), dst="ff:ff:ff:ff:ff:ff"),
            wire("eth0", udp(src="192.0.2.1")),
            wire("eth0", udp(dst="127.0.0.1")),
            wire("eth0", udp(dst="0.0.0.0")),
            wire("eth0", udp(dst="240.1.1.1")),
            wire("eth0", udp(src="240.1.1.1")),
        ],
    ),
    KernelCase(
        "sources that must not be in IPv6",
        "",
        [
            wire("eth0", udp6(src="::1")),
            wire("eth0", udp6(src="ff02::9")),
            wire("eth0", udp6(src="::")),
            wire("eth0", udp6(dst="::1")),
            wire("eth0", udp6(dst="::")),
            wire("eth0", udp6(src="fe80::2")),
            wire("eth0", udp6(src="fd00:1::1")),
            wire("eth0", udp6(src="::ffff:192.0.2.2")),
        ],
        rules6=COUNT6,
    ),
]


@each(HEADERS)
def test_headers(case: KernelCase) -> None:
    check(case)


LIFE = [
    KernelCase(
        "the end of a packet's life",
        COUNT4,
        [
            wire("eth0", udp(ttl=1)),
            wire("eth0", udp(ttl=0)),
            wire("eth0", udp(ttl=2)),
            wire("eth0", udp(ttl=1, tos=0x1E)),
            wire("eth0", udp(ttl=1, tos=0xFF)),
            wire("eth0", udp(ttl=1, dst="192.0.2.1")),
            wire("eth0", udp(ttl=1, frag=100)),
            wire("eth0", udp(ttl=1, frag=0, flags="MF")),
            wire(
                "eth0",
                IP(src="192.0.2.2", dst="198.51.100.2", ttl=1) / ICMP(type=3, code=1) / IP(src="198.51.100.2", dst="192.0.2.2") / UDP(),
            ),
            wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", ttl=1) / ICMP(type=8) / b"x"),
            wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", ttl=1) / ICMP(type=40) / b"x"),
            wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", ttl=1, proto=1)),
            wire("eth0", udp(ttl=1) / Raw(b"q" * 800)),
            wire("eth0", udp(ttl=1), dst="ff:ff:ff:ff:ff:ff"),
        ],
    ),
    KernelCase(
        "the end of a packet's life in IPv6",
        "",
        [
            wire("eth0", udp6(hlim=1)),
            wire("eth0", udp6(hlim=0)),
            wire("eth0", udp6(hlim=2)),
            wire("eth0", udp6(hlim=1, tc=0xB8, fl=0x12345)),
            wire("eth0", udp6(hlim=1) / Raw(b"q" * 1400)),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2", hlim=1) / ICMPv6EchoRequest(data=b"x")),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2", hlim=1) / ICMPv6DestUnreach() / IPv6(src="fd00:2::2", dst="fd00:1::2")),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2", hlim=1, nh=58)),
            wire("eth0", udp6(hlim=1, src="fe80::2")),
        ],
        rules6=COUNT6,
    ),
    KernelCase(
        "no forwarding",
        COUNT4,
        [
            wire("eth0", udp()),
            wire("eth0", udp(dst="172.17.0.1")),
            wire("eth0", udp6()),
            wire("eth0", udp(dst="192.0.2.1")),
        ],
        rules6=COUNT6,
        node=node(sysctl={"net.ipv4.ip_forward": "0", "net.ipv6.conf.all.forwarding": "0"}),
    ),
    KernelCase(
        "routes that are errors",
        COUNT4,
        [
            *(wire("eth0", udp(dst=f"172.{16 + number}.0.9", src=f"192.0.2.{2 + number % 5}")) for number in range(1, 5)),
            *(wire("eth0", udp(dst="172.18.0.9")) for _ in range(7)),
        ],
        node=node(routes=["unreachable 172.17.0.0/16", "prohibit 172.18.0.0/16", "blackhole 172.19.0.0/16"]),
    ),
    KernelCase(
        "routes that are errors in IPv6",
        "",
        [
            *(wire("eth0", udp6(dst=f"fd00:{number}::9")) for number in (7, 8, 9, 10)),
        ],
        rules6=COUNT6,
        node=node(routes6=["unreachable fd00:7::/48", "prohibit fd00:8::/48", "blackhole fd00:9::/48"]),
    ),
]


@each(LIFE)
def test_life(case: KernelCase) -> None:
    check(case)


LSRR = b"\x83\x07\x04\xc6\x33\x64\x03"
OPTIONS = [
    KernelCase(
        "IPv4 options on the way",
        COUNT4,
        [
            wire("eth0", with_options(b"\x07\x0b\x04" + bytes(8))),
            wire("eth0", with_options(b"\x07\x07\x08\x09\x09\x09\x09")),
            wire("eth0", with_options(b"\x94\x04\0\0")),
            wire("eth0", with_options(b"\x01\x01\x01\x00")),
            wire("eth0", with_options(b"\x00\x01\x01\x01")),
            wire("eth0", with_options(b"\x07\x0b\x03" + b"\0" * 8)),
            wire("eth0", with_options(b"\x07\x02\x04\x00")),
            wire("eth0", with_options(b"\x07\x30\x04\x00")),
            wire("eth0", with_options(b"\x9e\x04\x00\x00")),
            wire("eth0", with_options(LSRR)),
            wire("eth0", with_options(b"\x07\x0b\x04" + bytes(8), dst="192.0.2.1")),
            wire("eth0", with_options(b"\x07\x0b\x04" + bytes(8), ttl=1)),
        ],
    ),
    KernelCase(
        "source routes that are followed",
        COUNT4,
        [
            wire("eth0", with_options(LSRR, dst="192.0.2.1")),
            wire("eth0", with_options(LSRR, dst="198.51.100.2")),
            wire("eth0", with_options(b"\x89" + LSRR[1:], dst="192.0.2.1")),
            wire("eth0", with_options(b"\x89" + LSRR[1:], dst="198.51.100.2")),
            wire("eth0", with_options(b"\x83\x0b\x04\xc0\x00\x02\x01\xc6\x33\x64\x04", dst="192.0.2.1")),
            wire("eth0", with_options(b"\x83\x07\x08\xc6\x33\x64\x03", dst="192.0.2.1")),
        ],
        node=node(sysctl={"net.ipv4.conf.all.accept_source_route": "1", "net.ipv4.conf.eth0.accept_source_route": "1"}),
    ),
    KernelCase(
        "timestamps that are full",
        COUNT4,
        [
            wire("eth0", with_options(b"\x44\x08\x09\x30\0\0\0\x07")),
            wire("eth0", with_options(b"\x44\x08\x09\xf0\0\0\0\0")),
            wire("eth0", with_options(b"\x44\x08\x04\x00\0\0\0\0")),
        ],
    ),
    KernelCase(
        "IPv6 options and routing headers",
        "",
        [
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2") / IPv6ExtHdrHopByHop(options=[RouterAlert()]) / UDP() / b"x"),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2") / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0\0\0\0")]) / UDP() / b"x"),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2") / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0\1\0\0")]) / UDP() / b"x"),
            *(
                wire(
                    "eth0",
                    IPv6(src="fd00:1::2", dst="fd00:2::2")
                    / IPv6ExtHdrHopByHop(options=[HBHOptUnknown(otype=kind, optdata=b"abcd")])
                    / UDP(),
                )
                for kind in (0x1E, 0x5E, 0x9E, 0xDE)
            ),
            *(
                wire(
                    "eth0",
                    IPv6(src="fd00:1::2", dst="ff02::1") / IPv6ExtHdrHopByHop(options=[HBHOptUnknown(otype=kind, optdata=b"abcd")]) / UDP(),
                    dst="33:33:00:00:00:01",
                )
                for kind in (0x1E, 0x5E, 0x9E, 0xDE)
            ),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2") / IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=70000)]) / UDP()),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2") / IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=100)]) / UDP()),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2", plen=0) / IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=70000)]) / UDP()),
            wire(
                "eth0",
                IPv6(src="fd00:1::2", dst="fd00:2::2") / IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x9E, optdata=b"abcd")]) / UDP(),
            ),
            *(
                wire(
                    "eth0",
                    IPv6(src="fd00:1::2", dst="fd00:1::1")
                    / IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=kind, optdata=b"abcd")])
                    / UDP(),
                )
                for kind in (0x1E, 0x5E, 0x9E, 0xDE)
            ),
            *(
                wire(
                    "eth0",
                    IPv6(src="fd00:1::2", dst="fd00:1::1") / IPv6ExtHdrRouting(type=kind, segleft=left, addresses=["fd00:2::2"]) / UDP(),
                )
                for kind in (0, 2, 5)
                for left in (0, 1)
            ),
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2") / IPv6ExtHdrRouting(type=0, segleft=1, addresses=["fd00:2::3"]) / UDP()),
        ],
        rules6=COUNT6,
    ),
]


@each(OPTIONS)
def test_options(case: KernelCase) -> None:
    check(case)


SIZES = node(
    interfaces={
        "eth0": {"mac": "02:00:00:00:00:01", "addresses": ["192.0.2.1/24", "fd00:1::1/64"], "mtu": 1500},
        "eth1": {"mac": "02:00:00:00:00:02", "addresses": ["198.51.100.1/24", "fd00:2::1/64"], "mtu": 1300},
        "eth2": {"mac": "02:00:00:00:00:03", "addresses": ["203.0.113.1/24", "fd00:3::1/64"], "mtu": 1500},
    }
)


def sized(total: int, **fields: object) -> Packet:
    return (
        IP(**({"src": "192.0.2.2", "dst": "198.51.100.2", "id": 9} | fields))
        / UDP(sport=1000, dport=2000)
        / (b"0123456789abcdef" * 100)[: total - 28]
    )


def sized6(total: int, **fields: object) -> Packet:
    return (
        IPv6(**({"src": "fd00:1::2", "dst": "fd00:2::2"} | fields))
        / UDP(sport=1000, dport=2000)
        / (b"0123456789abcdef" * 100)[: total - 48]
    )


TOO_LARGE = [
    KernelCase(
        "larger than the way out",
        COUNT4,
        [
            wire("eth0", sized(1300)),
            wire("eth0", sized(1301)),
            wire("eth0", sized(1500)),
            wire("eth0", sized(1301, flags="DF")),
            wire("eth0", sized(1300, flags="DF")),
            wire("eth0", sized(1500, flags="MF")),
            wire("eth0", sized(1500, frag=50)),
            wire("eth0", sized(1500, flags="MF", frag=50)),
            wire("eth0", with_options(b"\x9e\x04\0\0\x1e\x04\0\0", 1464)),
            wire("eth0", with_options(b"\x07\x07\x04\0\0\0\0", 1464)),
            wire("eth0", sized(1400, dst="172.16.0.9", flags="DF")),
        ],
        node=SIZES,
    ),
    KernelCase(
        "larger than the way out in IPv6",
        "",
        [
            wire("eth0", sized6(1300)),
            wire("eth0", sized6(1301)),
            wire("eth0", sized6(1500)),
            wire("eth0", sized6(1500, src="fe80::2")),
        ],
        rules6=COUNT6,
        node=SIZES,
    ),
    KernelCase(
        "a route's own size",
        COUNT4,
        [
            wire("eth0", sized(1000, dst="172.16.0.9", flags="DF")),
            wire("eth0", sized(1000, dst="172.16.0.9")),
            wire("eth0", sized6(1400, dst="fd00:5::9")),
        ],
        rules6=COUNT6,
        node=node(routes=["172.16.0.0/16 via 198.51.100.3 mtu 800"], routes6=["fd00:5::/48 via fd00:2::3 mtu 1290"]),
    ),
    KernelCase(
        "a reset connection's size",
        COUNT4,
        [wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", flags="DF") / TCP() / (b"x" * 1300))],
        node=SIZES,
    ),
]


@each(TOO_LARGE)
def test_sizes(case: KernelCase) -> None:
    check(case)
