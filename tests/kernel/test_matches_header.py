"""The matches on link and IP headers and on marks, compared with the kernel: which of the rules each packet hits."""

from __future__ import annotations

from collections.abc import Iterator

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    Pad1,
    PadN,
    RouterAlert,
)
from scapy.packet import Packet, Raw

from tests.kernel.match_packets import CLIENT, NODE, SERVER, apart, forward, ip, lines, of_family, prerouting, tcp, through, udp
from tests.kernel.table import KernelCase, check, each, local, node, rules, wire

QUIET = ICMP(type=0)  # what nobody answers


def field_cases(family: int) -> Iterator[KernelCase]:
    looks = lines("""
        --tos 0x10/0xff
        ! --tos 0x10/0xff
        --tos 0x00/0x1e
        --tos Minimize-Delay
        --tos 0xff/0x0f
        ! --tos 3/3
    """)
    dscps = ("--dscp 46", "! --dscp 46", "--dscp-class AF41", "--dscp 0", "--dscp 63")
    ecns = ("--ecn-ip-ect 0", "! --ecn-ip-ect 0", "--ecn-ip-ect 3", "! --ecn-ip-ect 1")
    given = [*(f"-m tos {rule}" for rule in looks), *(f"-m dscp {rule}" for rule in dscps), *(f"-m ecn {rule}" for rule in ecns)]
    fields = (0, 1, 2, 3, 0x10, 0x11, 0x12, 0x1E, 0x20, 0x88, 0x8B, 0xB8, 0xB9, 0xBA, 0xBB, 0xFC, 0xFF)
    yield of_family(family, "TOS, DSCP and ECN", prerouting(*given), through(*(ip(family, tos=tos) / UDP() for tos in fields)))
    name = "ttl" if family == 4 else "hl"
    hops = [
        f"-m {name} {rule}"
        for rule in (f"--{name}-eq 64", f"! --{name}-eq 64", f"--{name}-lt 64", f"--{name}-gt 64", f"--{name}-gt 0", f"--{name}-lt 255")
    ]
    text = rules(*(f"-t mangle -A {chain} {rule}" for chain in ("PREROUTING", "FORWARD") for rule in hops))
    yield of_family(
        family,
        "time to live before and after forwarding",
        text,
        through(*(ip(family, ttl=ttl) / UDP() for ttl in (2, 63, 64, 65, 66, 255))),
    )
    lengths = [
        f"-m length {rule}"
        for rule in lines("""
        --length 100
        ! --length 100
        --length 0:99
        --length 101:65535
        --length 99:101
        --length 101:99
        ! --length :99
    """)
    ]
    head = 28 if family == 4 else 48
    padded = [
        wire("eth0", bytes(one.data) + bytes(10)) for one in through(udp(family, payload=bytes(100 - head)))
    ]  # bytes behind the IP packet
    yield of_family(
        family,
        "length of the packet",
        prerouting(*lengths),
        [*through(*(udp(family, payload=bytes(n - head)) for n in (99, 100, 101, 1400))), *padded],
    )


RANGES = {
    4: lines("""
        --src-range 192.0.2.2-192.0.2.4
        ! --src-range 192.0.2.2-192.0.2.4
        --src-range 192.0.2.3
        --dst-range 198.51.100.2-198.51.100.3
        --src-range 192.0.2.4-192.0.2.2
        ! --src-range 192.0.2.4-192.0.2.2
        --src-range 0.0.0.0-255.255.255.255
        --src-range 192.0.2.5-192.0.2.255 ! --dst-range 198.51.100.2-198.51.100.3
        --src-range 192.0.1.255-192.0.2.2
    """),
    6: lines("""
        --src-range fd00:1::2-fd00:1::4
        ! --src-range fd00:1::2-fd00:1::4
        --src-range fd00:1::3
        --dst-range fd00:2::2-fd00:2::3
        --src-range fd00:1::4-fd00:1::2
        ! --src-range fd00:1::4-fd00:1::2
        --src-range ::-ffff:ffff::
        --src-range fd00:1::5-fd00:1:1:: ! --dst-range fd00:2::2-fd00:2::3
        --src-range fd00:0:ffff::-fd00:1::2
    """),
}


def range_case(family: int) -> KernelCase:
    client, server = CLIENT[family][:-1], SERVER[family][:-1]
    packets = through(*(ip(family, src=f"{client}{src}", dst=f"{server}{dst}") / UDP() for src in (2, 3, 4, 5) for dst in (2, 3, 4)))
    return of_family(family, "ranges of addresses", forward(*(f"-m iprange {rule}" for rule in RANGES[family])), packets)


def mac_cases() -> Iterator[KernelCase]:
    looks = ("--mac-source 02:00:00:00:01:02", "! --mac-source 02:00:00:00:01:02", "--mac-source 02:00:00:00:01:03")
    types = ("unicast", "broadcast", "multicast", "otherhost")
    chains = [f"-t mangle -A {chain} -m mac {rule}" for chain in ("PREROUTING", "INPUT", "FORWARD") for rule in looks]
    chains += [
        f"-t mangle -A {chain} -m pkttype {sign}--pkt-type {kind}"
        for chain in ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")
        for kind in types
        for sign in ("", "! ")
    ]
    packets = [
        wire("eth0", udp(4)),
        wire("eth0", udp(4), src="02:00:00:00:01:03"),
        wire("eth0", IP(src=CLIENT[4], dst=NODE[4]) / UDP()),
        wire("eth0", IP(src=CLIENT[4], dst="192.0.2.255") / UDP(dport=7), dst="ff:ff:ff:ff:ff:ff"),
        wire("eth0", IP(src=CLIENT[4], dst="255.255.255.255") / UDP(dport=7), dst="ff:ff:ff:ff:ff:ff"),
        wire("eth0", IP(src=CLIENT[4], dst="224.0.0.1") / UDP(dport=7), dst="01:00:5e:00:00:01"),
        wire("eth0", IP(src=CLIENT[4], dst=NODE[4]) / UDP(dport=7), dst="ff:ff:ff:ff:ff:ff"),
        wire("eth0", udp(4), dst="02:00:00:00:99:99"),
        wire("eth0", udp(4), dst="01:00:5e:00:00:01"),
        local(IP(src=NODE[4], dst=CLIENT[4]) / UDP()),
        local(IP(src="127.0.0.1", dst="127.0.0.1") / QUIET),
        local(IP(src=NODE[4], dst=NODE[4]) / QUIET),
        local(IP(src=NODE[4], dst="192.0.2.255") / UDP()),
    ]
    yield KernelCase("MAC addresses and packet types", rules(*chains), packets)
    packets6 = [
        wire("eth0", udp(6)),
        wire("eth0", IPv6(src=CLIENT[6], dst=NODE[6]) / UDP(), src="02:00:00:00:01:03"),
        wire("eth0", IPv6(src=CLIENT[6], dst="ff02::1") / UDP(), dst="33:33:00:00:00:01"),
        local(IPv6(src=NODE[6], dst=CLIENT[6]) / UDP()),
        local(IPv6(src="::1", dst="::1") / ICMPv6EchoReply()),
    ]
    yield KernelCase("MAC addresses and packet types of IPv6", "", packets6, rules6=rules(*chains))


TYPES = lines("""
    UNSPEC
    UNICAST
    LOCAL
    BROADCAST
    ANYCAST
    MULTICAST
    BLACKHOLE
    UNREACHABLE
    PROHIBIT
    THROW
""")
TYPES6 = lines("""
    UNSPEC
    UNICAST
    LOCAL
    ANYCAST
    MULTICAST
    UNREACHABLE
    UNICAST,LOCAL
    LOCAL,UNREACHABLE
    MULTICAST,UNICAST
""")


def addrtype_cases() -> Iterator[KernelCase]:
    recipe = node(
        routes=["default via 203.0.113.2", "blackhole 172.17.0.0/16", "unreachable 172.18.0.0/16", "prohibit 172.19.0.0/16"],
        routes6=["default via fd00:3::2", "blackhole fd00:6::/48", "unreachable fd00:7::/48", "prohibit fd00:8::/48"],
    )
    addresses = lines("""
        192.0.2.1
        192.0.2.2
        192.0.2.255
        192.0.2.0
        198.51.100.1
        127.0.0.1
        224.0.0.1
        255.255.255.255
        172.17.0.1
        172.18.0.1
        172.19.0.1
        8.8.8.8
        0.0.0.0
    """)
    for side in ("dst", "src"):
        looks = [f"-m addrtype {sign}--{side}-type {kind}" for kind in TYPES for sign in ("", "! ")] + [
            f"-m addrtype --{side}-type LOCAL,BROADCAST,MULTICAST"
        ]
        limited = [
            f"-m addrtype {sign}--{side}-type {kind} --limit-iface-in" for kind in ("UNICAST", "LOCAL", "BROADCAST") for sign in ("", "! ")
        ]
        packets = [wire("eth0", IP(**({"src": CLIENT[4], "dst": SERVER[4]} | {side: address})) / UDP()) for address in addresses]
        yield KernelCase(f"types of {side} addresses", prerouting(*looks, *limited), packets, node=recipe)
        looks6 = [
            f"-m addrtype {sign}--{side}-type {kind}{limit}"
            for kind in TYPES6
            for sign in ("", "! ")
            for limit in ("", " --limit-iface-in")
        ]
        addresses6 = lines("""
            fd00:1::1
            fd00:1::2
            fd00:2::1
            fd00:1::
            ::1
            ff02::1
            ff0e::5
            fd00:6::1
            fd00:7::1
            fd00:8::1
            2001:db8::1
            fe80::1
            ::
            ::ffff:1.2.3.4
        """)
        packets = [wire("eth0", IPv6(**({"src": CLIENT[6], "dst": SERVER[6]} | {side: address})) / UDP()) for address in addresses6]
        yield KernelCase(f"types of {side} addresses of IPv6", "", packets, rules6=prerouting(*looks6), node=recipe)
    out = [
        f"-m addrtype {sign}--{side}-type {kind} {limit}"
        for side in ("src", "dst")
        for kind in ("UNICAST", "LOCAL")
        for sign in ("", "! ")
        for limit in ("--limit-iface-out", "--limit-iface-in", "")
    ]
    yield KernelCase(
        "types of addresses on one interface",
        forward(*out),
        through(udp(4), IP(src="203.0.113.5", dst=SERVER[4]) / UDP(), IP(src="198.51.100.6", dst="203.0.113.9") / UDP()),
        node=recipe,
    )
    yield KernelCase(
        "types of addresses on one interface of IPv6",
        "",
        through(udp(6), IPv6(src="fd00:3::5", dst=SERVER[6]) / UDP()),
        rules6=forward(*out),
        node=recipe,
    )


def mark_cases(family: int) -> Iterator[KernelCase]:
    looks = lines("""
        --mark 0x1
        ! --mark 0x1
        --mark 0x0
        --mark 0x4000/0x4000
        ! --mark 0x4000/0x4000
        --mark 0xff/0xf
        --mark 0x0/0x0
    """)
    text = rules(*(f"-t mangle -A OUTPUT -m mark {rule}" for rule in looks))
    yield of_family(
        family,
        "marks of sockets",
        text,
        [
            local(ip(family, src=NODE[family], dst=CLIENT[family]) / UDP(), mark=mark)
            for mark in (0, 1, 2, 0x4000, 0x4001, 0xF, 0xFF, 0x7FFFFFFF)
        ],
    )


OWNER_RULES = lines("""
    --uid-owner 0
    ! --uid-owner 0
    --uid-owner 1000-1999
    ! --uid-owner 1000-1999
    --gid-owner 0
    ! --gid-owner 5-6
    --socket-exists
    ! --socket-exists
    --uid-owner 1000 --gid-owner 7
    --uid-owner 1000 ! --gid-owner 7
    ! --uid-owner 1000 ! --gid-owner 7
    ! --uid-owner 1000 ! --socket-exists
""")


def owner_case(family: int) -> KernelCase:
    text = rules(
        *(f"-t mangle -A {chain} -m owner {rule}" for chain in ("OUTPUT", "POSTROUTING") for rule in OWNER_RULES),
        "-A FORWARD -p udp --dport 9 -j REJECT",
        "-A FORWARD -p tcp -j REJECT --reject-with tcp-reset",
    )
    ids = ((0, 0), (1000, 7), (1000, 8), (1999, 5), (2000, 6), (999, 7), (0, 7))
    packets = [local(ip(family, src=NODE[family], dst=CLIENT[family]) / UDP(), uid=uid, gid=gid) for uid, gid in ids]
    packets += through(udp(family), udp(family, dport=9), tcp(family))
    return of_family(family, "owners of sockets, of forwarded packets and of what the kernel sends", text, packets)


def rpfilter_case(family: int) -> KernelCase:
    looks = [
        " ".join(filter(None, ("-m rpfilter", loose, local_, invert)))
        for loose in ("", "--loose")
        for local_ in ("", "--accept-local")
        for invert in ("", "--invert")
    ]
    looks.append("-m rpfilter --validmark")
    sources = {
        4: lines("""
        192.0.2.5
        198.51.100.5
        203.0.113.5
        8.8.8.8
        192.0.2.1
        198.51.100.1
        172.17.0.5
        172.16.0.9
        0.0.0.0
    """),
        6: lines("""
                   fd00:1::5
                   fd00:2::5
                   fd00:3::5
                   2001:db8::1
                   fd00:1::1
                   fd00:2::1
                   fd00:6::5
                   fd00:5::9
                   fe80::7
                   ::
               """),
    }[family]
    packets = [wire(interface, ip(family, src=source) / UDP()) for interface in ("eth0", "eth1", "eth2") for source in sources]
    if family == 4:
        packets.append(wire("eth0", IP(src="0.0.0.0", dst="255.255.255.255") / UDP(), dst="ff:ff:ff:ff:ff:ff"))
    packets.append(local(ip(family, src=NODE[family], dst=NODE[family]) / (QUIET if family == 4 else ICMPv6EchoReply())))
    return of_family(family, "reverse paths", prerouting(*looks), packets)


IPV6_RULES = (
    *(f"-m frag {rule}" for rule in ("", *lines("""
        --fragid 9
        ! --fragid 9
        --fragid 8:10
        --fragres
        --fragfirst
        --fragmore
        --fraglast
        --fragid 9 --fragfirst --fragmore
    """))),
    *(f"-m hbh {rule}" for rule in ("", *lines("""
        --hbh-len 8
        ! --hbh-len 8
        --hbh-len 16
        --hbh-opts 5
        --hbh-opts 5:2
        --hbh-opts 5:3
        --hbh-opts 5:2,1:0
        --hbh-opts 0,0,1:2
        --hbh-opts 1
        ! --hbh-len 8 --hbh-opts 1
        --hbh-opts 1:4,5
    """))),
    *(f"-m dst {rule}" for rule in ("", "--dst-len 8", "! --dst-len 8", "--dst-opts 1:4", "--dst-opts 1,1", "--dst-opts 1:4 --dst-len 16")),
    *(f"-m rt {rule}" for rule in ("", *lines("""
        --rt-type 0
        ! --rt-type 0
        --rt-type 2
        --rt-segsleft 0
        --rt-segsleft 1:2
        ! --rt-segsleft 1:255
        --rt-len 24
        ! --rt-len 24
        --rt-type 0 --rt-0-res
        --rt-type 0 --rt-0-addrs 2001:db8::1,2001:db8::2
        --rt-type 0 --rt-0-addrs 2001:db8::1
        --rt-type 0 --rt-0-addrs 2001:db8::2 --rt-0-not-strict
        --rt-type 0 --rt-0-addrs 2001:db8::2,2001:db8::1 --rt-0-not-strict
        --rt-type 0 --rt-0-addrs 2001:db8::1,2001:db8::2 --rt-0-not-strict
    """))),
    *(f"-m ipv6header {rule}" for rule in lines("""
        --header frag
        ! --header frag
        --header frag --soft
        ! --header frag --soft
        --header hop,prot
        --header hop,dst,prot
        --header none
        --header esp
        --header auth,prot
        --header dst --soft
        --header route,prot
        --header prot
        ! --header hop,dst --soft
        --header prot,frag
    """)),
    "-p udp", "-p tcp", "-p ipv6-icmp", "! -p udp", "-p esp", "-p 59",
)  # fmt: skip


def ipv6_packets() -> list[Packet]:
    """Chains of extension headers; those of an unknown kind or broken ones apart."""
    end = UDP(sport=1000, dport=53) / b"abcd"
    alert, pad4 = RouterAlert(), PadN(optdata=bytes(4))
    first, second = "2001:db8::1", "2001:db8::2"
    bodies = [
        end,
        ICMPv6EchoRequest(),
        IPv6ExtHdrHopByHop(options=[alert]) / end,
        IPv6ExtHdrHopByHop(options=[pad4]) / end,
        IPv6ExtHdrHopByHop(options=[Pad1(), Pad1(), PadN(optdata=bytes(2))]) / end,
        IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(4)), RouterAlert(), PadN(optdata=b"")]) / IPv6ExtHdrDestOpt(options=[pad4]) / end,
        IPv6ExtHdrDestOpt(options=[pad4]) / end,
        IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(12))]) / end,
        IPv6ExtHdrDestOpt(options=[PadN(optdata=b""), PadN(optdata=b"\0\0")]) / end,
        *(
            IPv6ExtHdrRouting(type=kind, segleft=left, addresses=addresses) / end
            for kind in (0, 2)
            for left, addresses in ((0, [first]), (1, [first, second]), (2, [second, first]), (0, []))
        ),
        IPv6ExtHdrRouting(type=0, reserved=7, addresses=[first]) / end,
        *(
            IPv6ExtHdrFragment(id=number, m=more, offset=offset, res1=res, nh=17) / Raw(bytes(end))
            for number, more, offset, res in ((9, 1, 0, 0), (9, 0, 2, 0), (8, 1, 5, 0), (10, 0, 0, 0), (11, 0, 0, 1), (9, 1, 0, 255))
        ),
        IPv6ExtHdrDestOpt(options=[pad4]) / IPv6ExtHdrFragment(id=9, m=0, offset=3, nh=60) / Raw(bytes(16)),
        IPv6ExtHdrFragment(id=9, m=0, offset=3, nh=59) / Raw(bytes(16)),
        Raw(bytes(8)),
        IPv6ExtHdrDestOpt(options=[pad4], nh=59),
        IPv6ExtHdrDestOpt(options=[pad4], nh=50) / Raw(bytes(16)),
    ]
    packets = [IPv6(src=CLIENT[6], dst=SERVER[6]) / body for body in bodies]
    return [
        *packets,
        IPv6(src=CLIENT[6], dst=SERVER[6], nh=59),
        IPv6(src=CLIENT[6], dst=SERVER[6], nh=51) / Raw(bytes([17, 1, 0, 0]) + bytes(8) + bytes(end)),
    ]


def broken_ipv6_case() -> KernelCase:
    """Headers that end too early, and those whose own length says more than there is."""
    bodies = {
        "hop": (0, b"\x11"),
        "hop longer than the packet": (0, bytes([17, 5, 5, 2, 0, 0, 1, 0])),
        "dst": (60, b""),
        "dst longer than the packet": (60, bytes([17, 9, 1, 4, 0, 0, 0, 0])),
        "routing": (43, bytes([17, 0])),
        "routing longer than the packet": (43, bytes([17, 4, 0, 0, 0, 0, 0, 0])),
        "fragment": (44, bytes([17, 0])),
        "half a fragment header": (44, bytes([17, 0, 0, 1])),
        "auth": (51, bytes([17])),
        "auth longer than the packet": (51, bytes([17, 4, 0, 0])),
        "dst behind a dst that is cut": (60, bytes([60, 0, 1, 4, 0, 0, 0, 0, 17])),
        "a fragment of a fragment": (44, bytes([44, 0, 0, 16, 0, 0, 0, 9]) + bytes(16)),
        "esp of one byte": (50, b"a"),
    }
    looks = lines("""
        -m frag
        -m hbh
        -m dst
        -m rt
        -m ah
        -m ipv6header --header frag --soft
        -m ipv6header ! --header prot
        -p udp
        ! -p udp
        -m hbh --hbh-opts 5,1
    """)
    packets = [IPv6(src=CLIENT[6], dst=SERVER[6], nh=header) / Raw(body) for header, body in bodies.values()]
    return apart(6, "IPv6 extension headers that are broken", [([look], packets) for look in looks])


CASES = [
    *(case for family in (4, 6) for make in (field_cases, mark_cases) for case in make(family)),
    *(make(family) for family in (4, 6) for make in (range_case, owner_case, rpfilter_case)),
    *mac_cases(),
    *addrtype_cases(),
    KernelCase("IPv6 extension headers", "", through(*ipv6_packets()), rules6=forward(*IPV6_RULES)),
    KernelCase("IPv6 extension headers before routing", "", through(*ipv6_packets()), rules6=prerouting(*IPV6_RULES)),
    broken_ipv6_case(),
    KernelCase(
        "a comment always matches",
        forward('-m comment --comment "any text"', "-m comment --comment x -m length --length 1"),
        through(udp(4)),
    ),
]


@each(CASES)
def test_headers(case: KernelCase) -> None:
    check(case)
