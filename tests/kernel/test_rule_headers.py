"""The header part of rules and the ways through chains, compared with the kernel: which rules each packet hits."""

from __future__ import annotations

from collections.abc import Iterator

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.packet import Packet, Raw

from tests.kernel.table import KernelCase, check, each, local, rules, wire

BACKENDS = ("legacy", "nft")
# iptables-nft has only the chains that were named, but iptables-save prints all.
MANGLE = tuple(f"-t mangle -P {chain} ACCEPT" for chain in ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"))
HEADERS4 = (
    "-s 192.0.2.2", "! -s 192.0.2.2", "-s 192.0.2.0/30", "! -s 192.0.2.0/30", "-d 198.51.100.0/24", "-d 198.51.0.2/255.255.0.255",
    "! -d 198.0.100.2/255.0.255.255", "-s 192.0.2.3 -d 198.51.100.3", "! -s 192.0.2.3 ! -d 198.51.100.3", "-s 0.0.0.1/0.0.0.1",
    "-i eth0", "! -i eth0", "-i eth+", "! -i eth+", "-i et", "-i eth", "-i eth0+", "-o eth1", "! -o eth1", "-o eth+", "-i eth0 -o eth1",
    "-i eth1 -o eth0", "-i +", "-p tcp", "! -p tcp", "-p udp", "-p 17", "-p icmp", "! -p icmp", "-p 200", "! -p 200", "-p all", "-p gre",
    "-f", "! -f", "-f -p udp", "! -f -p udp", "-p udp -s 192.0.2.2 -i eth0 -o eth1", "! -p udp ! -s 192.0.2.2",
)
HEADERS6 = (
    "-s fd00:1::2", "! -s fd00:1::2", "-s fd00:1::/64", "! -s fd00:1::/64", "-d fd00:2::/126", "-d fd00::2/ffff::ffff", "-s ::1/::1",
    "! -d fd00:2::2 -s fd00:1::/16", "-s fd00:1::3 ! -d fd00:2::3", "-i eth0", "! -i eth0", "-o eth1", "! -o eth+", "-p tcp", "! -p tcp",
    "-p udp", "! -p udp", "-p ipv6-icmp", "-p 200", "! -p 200", "-p 44", "-p 59", "-p 60", "! -p 60", "-p esp",
)


def packets4() -> Iterator[Packet]:
    for source in ("192.0.2.2", "192.0.2.3", "192.0.2.6"):
        for destination in ("198.51.100.2", "198.51.100.3"):
            yield IP(src=source, dst=destination) / UDP(sport=1, dport=2) / b"x"
    for layer in (TCP(sport=1, dport=2, flags="A"), ICMP(type=0), Raw(b"abcd")):
        packet = IP(src="192.0.2.2", dst="198.51.100.2") / layer
        if isinstance(layer, Raw):
            packet.proto = 200
        yield packet
    for offset, more in ((0, 1), (3, 1), (4, 0)):
        yield IP(src="192.0.2.2", dst="198.51.100.2", id=9, frag=offset, flags=more, proto=17) / Raw(bytes([0, 1, 0, 2, 0, 50, 0, 0]) * 3)


def packets6() -> Iterator[Packet]:
    for source in ("fd00:1::2", "fd00:1::3"):
        for destination in ("fd00:2::2", "fd00:2::3"):
            yield IPv6(src=source, dst=destination) / UDP(sport=1, dport=2) / b"x"
    base = IPv6(src="fd00:1::2", dst="fd00:2::2")
    tcp, options = TCP(sport=1, dport=2, flags="A"), [PadN(optdata=b"\0" * 4)]
    yield base / tcp
    yield base / ICMPv6EchoRequest(id=1, seq=1)
    yield base / IPv6ExtHdrDestOpt(options=options) / tcp
    yield base / IPv6ExtHdrHopByHop(options=options) / IPv6ExtHdrDestOpt(options=options) / UDP(sport=1, dport=2)
    yield base / IPv6ExtHdrRouting(segleft=0, addresses=["fd00::9"]) / tcp
    yield base / IPv6ExtHdrFragment(offset=0, m=1, id=7, nh=17) / Raw(bytes([0, 1, 0, 2, 0, 50, 0, 0]) * 2)
    yield base / IPv6ExtHdrFragment(offset=4, m=0, id=8, nh=17) / Raw(b"abcdefgh")
    yield base / IPv6ExtHdrFragment(offset=4, m=0, id=9, nh=60) / Raw(b"abcdefgh")
    yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=59)
    yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=200) / Raw(b"abcd")
    yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=50) / Raw(bytes(24))
    # The chain of extension headers leads out of the packet.
    yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=60) / Raw(bytes([6, 9, 0, 0, 0, 0, 0, 0]))
    yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=60) / Raw(b"\6")


def header_cases() -> Iterator[KernelCase]:
    for backend in BACKENDS:
        counting = [f"-t mangle -A FORWARD {header}" for header in HEADERS4]
        packets = [wire("eth0", packet) for packet in packets4()]
        yield KernelCase(f"IPv4 headers, {backend}", rules(*MANGLE, *counting), packets, backend=backend)
        for header in HEADERS6:     # one by one: a packet that cannot be followed is dropped by the first -p
            name = f"IPv6 {header}, {backend}"
            given = rules(*MANGLE, f"-t mangle -A FORWARD {header}", "-t mangle -A FORWARD")
            yield KernelCase(name, "", rules6=given, packets=[wire("eth0", packet) for packet in packets6()], backend=backend)
        yield KernelCase(
            f"interfaces where there are none, {backend}",
            rules(*MANGLE, "-t mangle -A PREROUTING ! -i eth1", "-t mangle -A OUTPUT ! -o eth1", "-t mangle -A OUTPUT -o eth+",
                  "-t mangle -A INPUT -i eth+", "-t mangle -A POSTROUTING -o eth0", "-t mangle -A u ! -i eth0",
                  "-t mangle -A u ! -o eth0", "-t mangle -A u -i eth0",
                  "-t mangle -A u -i eth+", "-t mangle -A OUTPUT -j u", "-t mangle -A PREROUTING -j u", "-t mangle -A INPUT -j u"),
            [wire("eth0", IP(src="192.0.2.2", dst="192.0.2.1") / ICMP(type=0)),
             local(IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2))],
            backend=backend)


@each(header_cases())
def test_headers(case: KernelCase) -> None:
    check(case)


WAYS = {
    "jump and fall back": ("FORWARD -j a", "FORWARD", "a -p udp -j b", "a", "b", "b -p tcp"),
    "return": ("FORWARD -j a", "FORWARD", "a", "a -j RETURN", "a"),
    "return from a base chain": ("FORWARD -p udp -j RETURN", "FORWARD -j DROP"),
    "goto": ("FORWARD -j a", "FORWARD", "a -g b", "a", "b", "b -p tcp"),
    "goto from a base chain": ("FORWARD -g a", "FORWARD -j DROP", "a", "a -p tcp"),
    "goto and return": ("FORWARD -j a", "FORWARD", "a -g b", "a", "b -p udp -j RETURN", "b -j DROP"),
    "goto, jump, return": ("FORWARD -g a", "FORWARD", "a -j b", "a -g c", "a", "b -j RETURN", "c -j d", "c", "d"),
    "accept deep inside": ("FORWARD -j a", "FORWARD", "a -j b", "b -j c", "c -j ACCEPT", "c"),
    "drop deep inside": ("FORWARD -j a", "FORWARD", "a -j b", "b -j c", "c -j DROP", "c"),
    "empty chains": ("FORWARD -j a", "FORWARD -g b", "FORWARD", "d -j a", "d -j b"),
    "twice the same chain": ("FORWARD -j a", "FORWARD -j a", "FORWARD -j b", "a", "b -j a", "b"),
    "a policy of DROP": ("FORWARD -p tcp", "FORWARD -j a", "a -j RETURN"),
}


def way_cases() -> Iterator[KernelCase]:
    for backend in BACKENDS:
        for name, lines in WAYS.items():
            given = [f"-A {line}" for line in lines]
            given += ["-P FORWARD DROP"] * (name == "a policy of DROP") + ["-N a", "-N b"] * ("empty" in name)
            packets = [wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / UDP(sport=1, dport=2) / bytes(size)) for size in (0, 99)]
            yield KernelCase(f"{name}, {backend}", rules(*given), packets, backend=backend)


@each(way_cases())
def test_ways(case: KernelCase) -> None:
    check(case)


# iptables-nft asks for ports and flags with expressions of nft: what is cut short does not match, and is not dropped.
PORTS = (
    "-p udp -m udp --dport 2", "-p udp -m udp ! --dport 2", "-p udp -m udp --sport 1", "-p udp -m udp ! --sport 1 ! --dport 2",
    "-p udp -m udp ! --sport 1 ! --dport 9", "-p udp -m udp --sport 1:5 --dport 2:9", "-p udp -m udp ! --sport 0:5 ! --dport 9:99",
    "-p udp -m udp ! --sport 0 ! --dport 2", "-p udp -m udp", "-p tcp -m tcp --dport 2", "-p tcp -m tcp ! --dport 2:3",
    "-p tcp -m tcp --sport 1", "-p tcp -m tcp ! --sport 1 ! --dport 2", "-p tcp -m tcp ! --sport 1 ! --dport 9", "-p tcp -m tcp --syn",
    "-p tcp -m tcp ! --syn", "-p tcp -m tcp --tcp-flags ALL NONE", "-p tcp -m tcp --dport 2 --tcp-flags SYN,ACK SYN",
    "-p tcp -m tcp --tcp-option 2", "-p tcp -m tcp",
)


def port_packets(family: int) -> Iterator[Packet]:
    """Whole headers, headers cut short, fragments."""
    whole = {17: bytes(UDP(sport=1, dport=2, len=12) / b"data"), 6: bytes(TCP(sport=1, dport=2, flags="S") / b"data")}
    for protocol, header in whole.items():
        for length in (0, 1, 2, 3, 4, 7, 8, 13, 14, 19, 24):
            cut = header[:length]
            if family == 4:
                yield IP(src="192.0.2.2", dst="198.51.100.2", proto=protocol) / Raw(cut)
            else:
                yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=protocol) / Raw(cut)
        for offset in (0, 1, 2):
            if family == 4:
                yield IP(src="192.0.2.2", dst="198.51.100.2", proto=protocol, id=9, frag=offset, flags="MF") / Raw((header * 2)[:16])
            else:
                fragment = IPv6ExtHdrFragment(nh=protocol, offset=offset, m=1, id=9)
                yield IPv6(src="fd00:1::2", dst="fd00:2::2") / fragment / Raw((header * 2)[:16])


def port_cases() -> Iterator[KernelCase]:
    for backend in BACKENDS:
        for family in (4, 6):
            for match in PORTS:
                given = rules(*MANGLE, f"-t mangle -A FORWARD {match}", "-t mangle -A FORWARD")
                texts = {"rules": given} if family == 4 else {"rules": "", "rules6": given}
                yield KernelCase(f"IPv{family} {match}, {backend}", packets=[wire("eth0", packet) for packet in port_packets(family)],
                                 backend=backend, **texts)


@each(port_cases())
def test_ports(case: KernelCase) -> None:
    check(case)


@each([
    KernelCase(f"limit {limit}, {backend}", rules(*MANGLE, f"-t mangle -A FORWARD -m limit {limit}"),
               [wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / UDP(sport=1, dport=2), at=at) for at in moments], backend=backend)
    for backend in BACKENDS
    for limit, moments in (
        ("--limit 2/sec --limit-burst 3", [0, 0, 0, 0, 0, 0.6, 0.6, 1.8, 1.8, 1.8]),
        ("--limit 60/min --limit-burst 1", [0, 0, 0.5, 1.1, 1.2, 2.3]),
        ("--limit 1/hour", [0] * 8),
    )
])
def test_limit(case: KernelCase) -> None:
    check(case)
