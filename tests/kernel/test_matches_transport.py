"""The matches on transport headers, compared with the kernel: which of the rules each packet hits.

The rules have no target: every packet passes all of them, so a table is packets times rules. Rules that look at
truncated headers drop the packet at once (hotdrop), which the drop reason and the rules behind show.
"""

from __future__ import annotations

from collections.abc import Iterator

from scapy.layers.inet import ICMP, TCP
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6Unknown, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, PadN
from scapy.layers.sctp import SCTP, SCTPChunkAbort, SCTPChunkData, SCTPChunkInit, SCTPChunkSACK, SCTPChunkShutdownComplete
from scapy.packet import Raw

from tests.kernel.match_packets import apart, forward, fragment4, icmp4, ip, lines, of_family, short, tcp, through, udp
from tests.kernel.table import KernelCase, check, each

TCP_RULES = lines("""
    -p tcp -m tcp --dport 80
    -p tcp -m tcp ! --dport 80
    -p tcp -m tcp --dport 80:90
    -p tcp -m tcp ! --dport 80:90
    -p tcp -m tcp --sport 0:999
    -p tcp -m tcp --sport 1000:65535
    -p tcp -m tcp --sport 65535
    -p tcp -m tcp --syn
    -p tcp -m tcp ! --syn
    -p tcp -m tcp --tcp-flags ALL NONE
    -p tcp -m tcp --tcp-flags ALL ALL
    -p tcp -m tcp --tcp-flags SYN,ACK ACK
    -p tcp -m tcp ! --tcp-flags FIN,RST NONE
    -p tcp -m tcp --tcp-option 2
    -p tcp -m tcp ! --tcp-option 2
    -p tcp -m tcp --tcp-option 8
    -p tcp -m tcp --tcp-option 1
    -p tcp
    ! -p tcp
    -p tcp -m tcp --sport 1000 --dport 80 --tcp-flags SYN SYN --tcp-option 4
    -p tcp -m ecn --ecn-tcp-ece
    -p tcp -m ecn ! --ecn-tcp-ece
    -p tcp -m ecn --ecn-tcp-cwr ! --ecn-tcp-ece
    -p tcp -m ecn ! --ecn-tcp-cwr
    -p tcp -m multiport --dports 22,80,443
    -p tcp -m multiport ! --dports 22,80,443
    -p tcp -m multiport --sports 1000:1002,65535
    -p tcp -m multiport --ports 80,1001:1003
    -p tcp -m multiport ! --ports 80,1001:1003
""")
PORT_EDGES = ((1000, 80), (999, 79), (1001, 81), (0, 90), (65535, 91), (1003, 65535), (1004, 0), (80, 1004), (22, 443))
FLAGS = ("S", "SA", "A", "FA", "R", "", "FSRPAUEC", "PA", "SEC", "AE", "AC")
OPTIONS = (
    [("MSS", 1460)],
    [("NOP", None), ("WScale", 7)],
    [("Timestamp", (1, 2)), ("SAckOK", b"")],
    [("SAckOK", b""), ("MSS", 536), ("EOL", None)],
)


def tcp_cases(family: int) -> Iterator[KernelCase]:
    packets = through(
        *(tcp(family, sport, dport, flags="A") for sport, dport in PORT_EDGES),
        *(tcp(family, flags=flags) for flags in FLAGS),
        *(tcp(family, flags="S", options=options) for options in OPTIONS),
        tcp(family, flags="S", dataofs=5) / Raw(b"\x02\x04\x05\xb4"),
        udp(family),
    )
    yield of_family(family, "ports, flags and options of TCP", forward(*TCP_RULES), packets)
    # A data offset that reaches behind the packet, or below the header: only rules that look at options care.
    odd = [tcp(family, flags="S", dataofs=15), tcp(family, flags="S", dataofs=4), tcp(family, flags="S")]
    looks = ("--tcp-option 2", "! --tcp-option 2", "--dport 81 --tcp-option 2", "--dport 80")
    yield apart(family, "wrong data offsets of TCP", [([f"-p tcp -m tcp {look}", "-p tcp"], odd) for look in looks])
    wordy = [bytes(options).ljust(4, b"\0") for options in ([2], [2, 0, 2, 4], [30, 255, 2, 4], [0, 0, 2, 4], [1, 1, 1, 2])]
    packets = through(*(tcp(family, flags="S", dataofs=6) / Raw(options) for options in wordy))
    looks = ("--tcp-option 2", "! --tcp-option 2", "--tcp-option 30")
    yield of_family(family, "options of TCP that make no sense", forward(*(f"-p tcp -m tcp {look}" for look in looks)), packets)


def truncated_case(family: int) -> KernelCase:
    """Headers that end too early: the first rule that looks at them drops the packet."""
    looks = {
        "-p tcp -m tcp --dport 80": (6, 20),
        "-p udp -m udp --dport 53": (17, 8),
        "-p tcp -m multiport --dports 80": (6, 4),
        "-p sctp -m sctp --dport 80": (132, 12),
        "-p dccp -m dccp --dport 80": (33, 12),
        "-p esp -m esp --espspi 1": (50, 8),
        "-p tcp -m ecn --ecn-tcp-ece": (6, 20),
        "-p tcp -m ecn ! --ecn-tcp-ece": (6, 20),
        "-p sctp -m sctp --chunk-types any DATA": (132, 16),
        "-p sctp -m sctp ! --chunk-types any DATA": (132, 16),
        "-p sctp -m sctp --chunk-types only DATA": (132, 16),
        ("-p ah " if family == 4 else "") + "-m ah --ahspi 1": (51, 12),
        "-p icmp -m icmp --icmp-type 0" if family == 4 else "-p ipv6-icmp -m icmp6 --icmpv6-type 1": (1 if family == 4 else 58, 8),
    }
    trials = [
        ([look], [short(family, protocol, bytes(n)) for n in (0, 1, length - 1, length)]) for look, (protocol, length) in looks.items()
    ]
    return apart(family, "transport headers that are cut short", trials)


def fragment_cases() -> Iterator[KernelCase]:
    """Without conntrack fragments stay what they are: only the first has a transport header."""
    head = bytes(TCP(sport=1000, dport=80, flags="S"))
    for protocol, looks in (
        (6, TCP_RULES[:5]),
        (17, ("-p udp -m udp --dport 80", "-p udp -m multiport --dports 80")),
        (1, ("-p icmp -m icmp --icmp-type 3", "-p icmp -m icmp ! --icmp-type 3", "-p icmp -m icmp --icmp-type any")),
        (132, ("-p sctp -m sctp --dport 80", "-p sctp -m sctp ! --dport 80")),
    ):
        packets = through(fragment4(protocol, 0, head + bytes(4), more=True), *(fragment4(protocol, n, head) for n in (16, 64, 8)))
        yield KernelCase(f"fragments of protocol {protocol}", forward(*looks, "-f", "! -f", table="mangle"), packets)
    payload = bytes(range(13)) + b"\xc0" + bytes(10)
    yield KernelCase(
        "ecn reads the payload of later fragments",
        forward("-p tcp -m ecn --ecn-tcp-ece", "-p tcp -m ecn ! --ecn-tcp-cwr"),
        through(fragment4(6, 64, payload), fragment4(6, 64, bytes(24)), fragment4(6, 64, bytes(19))),
    )
    first = ip(6) / IPv6ExtHdrFragment(id=9, m=1, nh=6) / Raw(head + bytes(4))
    later = [ip(6) / IPv6ExtHdrFragment(id=9, offset=offset, nh=6) / Raw(head) for offset in (1, 2, 8)]
    yield KernelCase(
        "fragments of TCP over IPv6", "", through(first, *later), rules6=forward(*TCP_RULES[:9], "-p tcp -m ecn --ecn-tcp-ece")
    )


UDP_RULES = lines("""
    -p udp -m udp --dport 53
    -p udp -m udp ! --dport 53
    -p udp -m udp --sport 1000:2000 --dport 0:52
    -p udp -m udp --dport 9:8
    -p udp -m udp ! --dport 9:8
    -p udp -m udp ! --sport 1000
    -p udp -m multiport --ports 53,1000
    -p udp
""")


def udp_case(family: int) -> KernelCase:
    return of_family(
        family,
        "ports of UDP",
        forward(*UDP_RULES),
        through(
            *(udp(family, sport, dport) for sport, dport in ((1000, 53), (53, 1000), (2000, 52), (2001, 0), (999, 65535), (0, 54))),
            tcp(family),
        ),
    )


ICMP_RULES = lines("""
    --icmp-type any
    ! --icmp-type any
    --icmp-type 8
    ! --icmp-type 8
    --icmp-type 3/1
    ! --icmp-type 3/1
    --icmp-type destination-unreachable
    --icmp-type 11/0
""")
ICMP6_RULES = lines("""
    --icmpv6-type 1
    ! --icmpv6-type 1
    --icmpv6-type 1/4
    --icmpv6-type 128
    --icmpv6-type 255
    --icmpv6-type 200
""")


def icmp_cases() -> Iterator[KernelCase]:
    kinds = ((8, 0), (0, 0), (3, 0), (3, 1), (3, 4), (3, 5), (11, 0), (11, 1), (255, 0), (255, 3), (17, 255))
    yield KernelCase(
        "ICMP types and codes",
        forward(*(f"-p icmp -m icmp {rule}" for rule in ICMP_RULES), "! -p icmp"),
        through(*(icmp4(*kind) for kind in kinds), ip(4) / ICMP(type=8), udp(4)),
    )
    errors = [ip(6) / ICMPv6DestUnreach(code=code) / Raw(bytes(48)) for code in (0, 1, 3, 4)]
    yield KernelCase(
        "ICMPv6 types and codes",
        "",
        through(
            *errors,
            ip(6) / ICMPv6EchoRequest(),
            ip(6) / ICMPv6Unknown(type=255, code=0) / Raw(bytes(4)),
            ip(6) / ICMPv6Unknown(type=200, code=3) / Raw(bytes(4)),
            ip(6) / IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))]) / ICMPv6EchoRequest(),
            udp(6),
        ),
        rules6=forward(*(f"-p ipv6-icmp -m icmp6 {rule}" for rule in ICMP6_RULES), "-p ipv6-icmp"),
    )


SCTP_RULES = lines("""
    --dport 80
    ! --dport 80
    --sport 1:1000
    ! --sport 1:1000
    --chunk-types any DATA
    --chunk-types any DATA,INIT
    --chunk-types all DATA,SACK
    --chunk-types only DATA
    --chunk-types only DATA,SACK
    ! --chunk-types any DATA
    ! --chunk-types all DATA,SACK
    ! --chunk-types only DATA
    --chunk-types any ALL
    --chunk-types all ALL
    --chunk-types only ALL
    --chunk-types any NONE
    --chunk-types all NONE
    --chunk-types only NONE
    --chunk-types any DATA:B
    --chunk-types any DATA:b
    --chunk-types all DATA:BE,SACK
    --chunk-types only DATA:Be
    --chunk-types any ABORT:T
    --chunk-types any ABORT:t
    --chunk-types any SHUTDOWN_COMPLETE:T
    --chunk-types any I_DATA:B
""")


def sctp_case(family: int) -> KernelCase:
    data = SCTPChunkData(data=b"hello", beginning=1, ending=1)
    middle = SCTPChunkData(data=b"more", beginning=0, ending=0)
    sack = SCTPChunkSACK()
    chunks = [
        data,
        data / sack,
        sack / data,
        middle / sack,
        middle / data,
        sack,
        SCTPChunkInit(),
        SCTPChunkAbort(TCB=1),
        SCTPChunkAbort(),
        SCTPChunkShutdownComplete(TCB=1),
        Raw(b"\x40\x02\x00\x08abcd"),
        Raw(b"\x40\x00\x00\x05a\0\0\0"),
        Raw(b"\x00\x03\x00\x13" + bytes(16)),
    ]
    packets = [ip(family, proto=132) / SCTP(sport=1000, dport=80) / chunk for chunk in chunks]
    edges = [ip(family, proto=132) / SCTP(sport=sport, dport=dport) / data for sport, dport in ((0, 79), (1, 81), (1001, 80))]
    return of_family(
        family, "ports and chunks of SCTP", forward(*(f"-p sctp -m sctp {rule}" for rule in SCTP_RULES)), through(*packets, *edges)
    )


def bad_chunk_case(family: int) -> KernelCase:
    chunks = (b"\x03\x00\x00\x00", b"\x03\x00\x00\x10abcd", b"\x03\x00\x00\x06abcd\x00", b"")
    packets = [ip(family, proto=132) / SCTP(sport=1000, dport=80) / Raw(chunk) for chunk in chunks]
    looks = ("--chunk-types any DATA", "! --chunk-types any DATA", "--chunk-types all SACK", "--dport 81 --chunk-types any DATA")
    return apart(family, "chunks of SCTP that are none", [([f"-p sctp -m sctp {look}", "-p sctp"], packets) for look in looks])


def dccp(family: int, kind: int, extended: bool, length: int, options: bytes = b"", sport: int = 1000, dport: int = 80) -> object:
    head = sport.to_bytes(2, "big") + dport.to_bytes(2, "big") + bytes([length, 0, 0, 0, kind << 1 | extended, 0, 0, 1])
    return ip(family, proto=33) / Raw(head + bytes(24)[: length * 4 - 12 - len(options)] + options)


DCCP_RULES = lines("""
    --dport 80
    ! --dport 80
    --sport 1:1000
    --dccp-types REQUEST
    ! --dccp-types REQUEST
    --dccp-types DATA,RESET
    --dccp-types INVALID
""")
DCCP_LENGTHS = {(0, 1): 20, (0, 0): 16, (1, 1): 28, (2, 0): 12, (2, 1): 16, (3, 1): 24, (7, 1): 28, (8, 0): 20, (10, 1): 28, (15, 0): 24}


def dccp_cases(family: int) -> Iterator[KernelCase]:
    plain = [dccp(family, kind, bool(extended), length // 4) for (kind, extended), length in DCCP_LENGTHS.items()]
    options = [
        dccp(family, kind, bool(extended), length // 4 + 2, options)
        for (kind, extended), length in DCCP_LENGTHS.items()
        for options in (bytes([1, 4, 0, 0, 32, 2, 0, 0]), bytes([32, 9, 4, 0, 0, 0, 0, 0]), bytes([0, 0, 0, 0, 0, 0, 0, 4]))
    ]
    edges = [dccp(family, 0, True, 5, sport=sport, dport=dport) for sport, dport in ((0, 79), (1001, 81), (1, 80))]
    yield of_family(
        family, "ports and types of DCCP", forward(*(f"-p dccp -m dccp {rule}" for rule in DCCP_RULES)), through(*plain, *edges)
    )
    yield of_family(
        family,
        "options of DCCP",
        forward(*(f"-p dccp -m dccp {rule}" for rule in ("--dccp-option 4", "! --dccp-option 4", "--dccp-option 32"))),
        through(*options, *plain),
    )
    heads = [bytes([3, 232, 0, 80, length, 0, 0, 0, 1, 0, 0, 1]) + bytes(8) for length in (1, 4, 60)]
    packets = [ip(family, proto=33) / Raw(head) for head in heads]
    looks = ("--dccp-option 4", "! --dccp-option 4")
    yield apart(family, "wrong data offsets of DCCP", [([f"-p dccp -m dccp {look}", "-p dccp"], packets) for look in looks])


def ipsec_case(family: int) -> KernelCase:
    looks = [f"-p esp -m esp {rule}" for rule in ("", "--espspi 5", "! --espspi 5", "--espspi 5:4294967295", "--espspi :4", "--espspi 5")]
    looks += [
        ("-p ah " if family == 4 else "") + f"-m ah {rule}"
        for rule in ("", "--ahspi 5", "! --ahspi 5", "--ahspi 5:4294967295", "! --ahspi :4")
    ]
    if family == 6:
        looks += [f"-m ah {rule}" for rule in ("--ahlen 24", "! --ahlen 24", "--ahres", "--ahlen 16 --ahres", "--ahlen 0")]
    esp = [ip(family, proto=50) / Raw(spi.to_bytes(4, "big") + bytes(12)) for spi in (0, 4, 5, 6, 0xFFFFFFFF)]
    ah = [
        ip(family, proto=51) / Raw(bytes([17, length, 0, reserved]) + spi.to_bytes(4, "big") + bytes(length * 4) + bytes(16))
        for spi, length, reserved in ((0, 4, 0), (4, 4, 1), (5, 2, 0), (6, 4, 0), (0xFFFFFFFF, 2, 9))
    ]
    return of_family(family, "SPIs of ESP and AH", forward(*looks), through(*esp, *ah, udp(family)))


CASES = [
    *(case for family in (4, 6) for make in (tcp_cases, dccp_cases) for case in make(family)),
    *(make(family) for family in (4, 6) for make in (truncated_case, bad_chunk_case, udp_case, sctp_case, ipsec_case)),
    *fragment_cases(),
    *icmp_cases(),
    KernelCase(
        "udplite ports",
        forward("-p udplite -m multiport --dports 53", "-p udplite -m multiport ! --sports 1:999"),
        through(
            *(
                ip(4, proto=136) / Raw(sport.to_bytes(2, "big") + dport.to_bytes(2, "big") + bytes(8))
                for sport, dport in ((1, 53), (1000, 54))
            )
        ),
    ),
    KernelCase(
        "AH between IPv6 headers that is cut",
        "",
        through(
            ip(6, proto=51) / Raw(bytes([17, 9, 0, 0, 0, 0, 0, 5])), ip(6, proto=51) / Raw(bytes([17, 9, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0]))
        ),
        rules6=forward("-m ah --ahspi 5", "-m length --length 0:65535"),
    ),
]


@each(CASES)
def test_transport(case: KernelCase) -> None:
    check(case)
