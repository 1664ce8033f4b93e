"""What happens as time passes: neighbours that never answer, fragments that never come, limits that fill again."""

from __future__ import annotations

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.packet import Raw

from tests.kernel.table import KernelCase, check, each, local, node, rules, wire

COUNT = rules("-A INPUT", "-A FORWARD", "-A OUTPUT")
TRACKED = rules("-A INPUT -m conntrack --ctstate NEW", "-A FORWARD", "-A OUTPUT")
LATE = frozenset({"drops"})  # the kernel gives up from a timer, which nobody watches


def udp(dst: str, src: str, sport: int = 9) -> IP:
    return IP(src=src, dst=dst, id=4) / UDP(sport=sport, dport=9) / b"x"


def udp6(dst: str, src: str) -> IPv6:
    return IPv6(src=src, dst=dst) / UDP(sport=9, dport=9) / b"x"


QUICK = node(
    sysctl={f"net.{family}.neigh.{name}.retrans_time_ms": "300" for family in ("ipv4", "ipv6") for name in ("eth0", "eth1", "eth2")}
    | {"net.ipv4.ipfrag_time": "1", "net.ipv6.ip6frag_time": "1", "net.netfilter.nf_conntrack_frag6_timeout": "1"}
)


def halves(**fields: object) -> list[IP]:
    packet = {"src": "192.0.2.2", "dst": "192.0.2.1", "proto": 17} | fields
    return [IP(**packet, flags="MF") / Raw(b"a" * 800), IP(**packet, frag=100) / Raw(b"b" * 800)]


def halves6(**fields: object) -> list[IPv6]:
    packet = {"src": "fd00:1::2", "dst": "fd00:1::1"} | fields
    return [
        IPv6(**packet) / IPv6ExtHdrFragment(nh=17, id=5, m=1) / Raw(b"a" * 800),
        IPv6(**packet) / IPv6ExtHdrFragment(nh=17, id=5, offset=100) / Raw(b"b" * 800),
    ]


CASES = [
    KernelCase(
        "a neighbour that never answers",
        COUNT,
        [
            wire("eth0", udp("198.51.100.9", "192.0.2.2", 1)),
            wire("eth0", udp("198.51.100.9", "192.0.2.3", 2)),
            wire("eth0", udp("198.51.100.2", "192.0.2.3"), at=0.45),
            wire("eth0", udp("198.51.100.2", "192.0.2.3"), at=0.75),
            wire("eth0", udp("198.51.100.2", "192.0.2.3"), at=1.2),
            wire("eth0", udp("198.51.100.9", "192.0.2.3", 2), at=1.4),
            wire("eth0", udp("198.51.100.2", "192.0.2.3"), at=2.8),
        ],
        node=QUICK,
        skip=LATE,
    ),
    KernelCase(
        "a neighbour that never answers a process",
        COUNT,
        [
            local(udp("198.51.100.9", "198.51.100.1")),
            local(udp("198.51.100.2", "198.51.100.1"), at=1.3),
        ],
        node=QUICK,
        skip=LATE,
    ),
    KernelCase(
        "an IPv6 neighbour that never answers",
        "",
        [
            wire("eth0", udp6("fd00:2::9", "fd00:1::2")),
            wire("eth0", udp6("fd00:2::2", "fd00:1::2"), at=0.45),
            wire("eth0", udp6("fd00:2::2", "fd00:1::2"), at=1.3),
            local(udp6("fd00:2::a", "fd00:2::1"), at=1.4),
            local(udp6("fd00:2::2", "fd00:2::1"), at=2.8),
        ],
        rules6=COUNT,
        node=QUICK,
        skip=LATE,
    ),
    KernelCase(
        "fragments that never come for the node",
        COUNT,
        [
            wire("eth0", halves(id=5)[0]),
            wire("eth0", halves(id=6)[1]),
            wire("eth0", udp("192.0.2.1", "192.0.2.3"), at=1.6),
            wire("eth0", halves(id=5)[1], at=1.8),
            wire("eth0", udp("192.0.2.1", "192.0.2.3"), at=3.2),
        ],
        node=QUICK,
        skip=LATE,
    ),
    KernelCase(
        "fragments that never come with conntrack",
        TRACKED,
        [
            wire("eth0", halves(id=5)[0]),
            wire("eth0", halves(id=6, dst="198.51.100.2")[0], at=0.1),
            wire("eth0", udp("192.0.2.1", "192.0.2.3"), at=1.6),
        ],
        node=QUICK,
        skip=LATE,
    ),
    KernelCase(
        "IPv6 fragments that never come for the node",
        "",
        [
            wire("eth0", halves6()[0]),
            wire("eth0", halves6(src="fd00:1::3")[1]),
            wire("eth0", udp6("fd00:1::1", "fd00:1::2"), at=1.6),
        ],
        rules6=COUNT,
        node=QUICK,
        skip=LATE,
    ),
    KernelCase(
        "IPv6 fragments that never come with conntrack",
        "",
        [
            wire("eth0", halves6()[0]),
            wire("eth0", halves6(dst="fd00:2::2")[0], at=0.1),
            wire("eth0", udp6("fd00:1::1", "fd00:1::2"), at=1.6),
        ],
        rules6=TRACKED,
        node=QUICK,
        skip=LATE,
    ),
    KernelCase(
        "the rate of errors to one host",
        COUNT,
        [
            *(wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", ttl=1) / UDP()) for _ in range(8)),
            *(wire("eth0", IP(src="192.0.2.3", dst="198.51.100.2", ttl=1) / UDP()) for _ in range(2)),
            *(wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", ttl=1) / UDP(), at=1.5) for _ in range(2)),
            *(wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", ttl=1) / UDP(), at=3.4) for _ in range(3)),
            *(wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / UDP() / (b"x" * 1400), at=3.5) for _ in range(2)),
        ],
        node=node(sysctl={"net.ipv4.icmp_ratelimit": "1000"}),
    ),
    KernelCase(
        "the rate of errors to one host of IPv6",
        "",
        [
            *(wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2", hlim=1) / UDP()) for _ in range(8)),
            *(wire("eth0", IPv6(src="fd00:1::3", dst="fd00:2::2", hlim=1) / UDP()) for _ in range(2)),
            *(wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2", hlim=1) / UDP(), at=1.4) for _ in range(3)),
        ],
        rules6=COUNT,
        node=node(sysctl={"net.ipv6.icmp.ratelimit": "1000"}),
    ),
    KernelCase(
        "the rate of errors of a mask",
        COUNT,
        [
            *(wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2", ttl=1) / UDP()) for _ in range(9)),
            *(wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / ICMP()) for _ in range(2)),
        ],
        node=node(sysctl={"net.ipv4.icmp_ratelimit": "1000", "net.ipv4.icmp_ratemask": "8"}),
    ),
    KernelCase(
        "no errors at all",
        COUNT,
        [
            *(wire("eth0", IP(src=f"192.0.2.{2 + number}", dst="198.51.100.2", ttl=1) / UDP()) for number in range(3)),
        ],
        node=node(sysctl={"net.ipv4.icmp_msgs_per_sec": "0", "net.ipv4.icmp_msgs_burst": "0"}),
    ),
    KernelCase(
        "errors of routes and their rate",
        COUNT,
        [
            *(wire("eth0", IP(src="192.0.2.2", dst="172.18.0.1") / UDP()) for _ in range(7)),
            *(wire("eth0", IP(src="192.0.2.2", dst="172.18.0.1") / UDP(), at=1.5) for _ in range(2)),
        ],
        node=node(routes=["prohibit 172.18.0.0/16"], sysctl={"net.ipv4.icmp_ratelimit": "0"}),
    ),
    KernelCase(
        "redirects that nobody follows",
        COUNT,
        [
            *(wire("eth0", IP(src="192.0.2.2", dst="192.0.2.5") / UDP(), at=at) for at in (0, 0, 0.1, 0.1, 0.5, 0.9, 1.5)),
        ],
        node=node(sysctl={f"net.ipv4.conf.{name}.send_redirects": "1" for name in ("all", "eth0", "eth1", "eth2")}),
    ),
]


@each(CASES)
def test_time(case: KernelCase) -> None:
    check(case)
