"""The matches on connections and those with a memory, compared with the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Packet, Raw

from datapath.lab.case import CasePacket
from tests.kernel.match_packets import CLIENT, NODE, SERVER, forward, ip, lines, of_family, prerouting, through, udp
from tests.kernel.table import KernelCase, check, each, local, node, rules, wire

EVERY_STATE = """
    --ctstate NEW
    ! --ctstate NEW
    --ctstate ESTABLISHED
    --ctstate RELATED,ESTABLISHED
    --ctstate INVALID
    ! --ctstate INVALID
    --ctstate UNTRACKED
    ! --ctstate UNTRACKED
    --ctstate SNAT
    ! --ctstate SNAT
    --ctstate DNAT
    ! --ctstate DNAT
    --ctstate NEW,DNAT
    --ctstatus NONE
    ! --ctstatus NONE
    --ctstatus EXPECTED
    --ctstatus SEEN_REPLY
    ! --ctstatus SEEN_REPLY
    --ctstatus ASSURED
    ! --ctstatus ASSURED
    --ctstatus CONFIRMED
    ! --ctstatus CONFIRMED,ASSURED
    --ctdir ORIGINAL
    --ctdir REPLY
    --ctproto 6
    ! --ctproto 6
    --ctproto 17
    --ctexpire 0
    ! --ctexpire 0
    --ctexpire 100:200
    --ctexpire 25:35
    ! --ctexpire 25:35
    --ctorigsrcport 1000
    --ctorigsrcport 1000:1001
    ! --ctorigsrcport 1000
    --ctorigdstport 80
    ! --ctorigdstport 80
    --ctorigdstport 8:7
    --ctreplsrcport 8080
    ! --ctreplsrcport 8080
    --ctrepldstport 999:1000
    --ctorigdstport 2048
    --ctstate NEW --ctproto 6 --ctdir ORIGINAL --ctorigdstport 80 --ctstatus NONE
    --ctstate INVALID --ctproto 6
    --ctstate UNTRACKED ! --ctdir
    --ctstate ESTABLISHED --ctdir REPLY --ctproto 17
"""
TUPLES = {
    4: """
    --ctorigsrc 192.0.2.2
    ! --ctorigsrc 192.0.2.2
    --ctorigsrc 192.0.0.0/16
    --ctorigdst 192.0.2.1
    ! --ctorigdst 198.51.100.0/24
    --ctreplsrc 198.51.100.2
    ! --ctreplsrc 198.51.100.2
    --ctrepldst 192.0.2.2/31
    ! --ctrepldst 192.0.2.2
    --ctorigsrc 0.0.0.0/0 --ctorigdst 192.0.2.77/24
""",
    6: """
    --ctorigsrc fd00:1::2
    ! --ctorigsrc fd00:1::2
    --ctorigsrc fd00:1::/32
    --ctorigdst fd00:1::1
    ! --ctorigdst fd00:2::/64
    --ctreplsrc fd00:2::2
    ! --ctreplsrc fd00:2::2
    --ctrepldst fd00:1::2/127
    ! --ctrepldst fd00:1::2
    --ctorigsrc ::/0 --ctorigdst fd00:1::77/64
""",
}


def segment(family: int, src: str, dst: str, sport: int, dport: int, flags: str, seq: int = 0, ack: int = 0) -> Packet:
    return ip(family, src=src, dst=dst) / TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack, window=8000)


def traffic(family: int) -> list[CasePacket]:
    """TCP that is translated, UDP that is not, what is invalid or not tracked, echoes, and errors about some of it."""
    client, server, virtual = CLIENT[family], SERVER[family], NODE[family]
    question = ip(family) / UDP(sport=1000, dport=53) / b"q"
    quoted = bytes(ip(family) / UDP(sport=1000, dport=53) / b"q")
    packets = [
        wire("eth0", segment(family, client, virtual, 1000, 80, "S", 100)),
        wire("eth1", segment(family, server, client, 8080, 1000, "SA", 500, 101)),
        wire("eth0", segment(family, client, virtual, 1000, 80, "A", 101, 501)),
        wire("eth0", segment(family, client, virtual, 1000, 80, "A", 90000000, 501)),
        wire("eth1", segment(family, server, client, 8081, 1001, "SA", 500, 101)),
        wire("eth1", segment(family, server, client, 8082, 1002, "R", 500)),
        wire("eth0", question),
        wire("eth0", question),
        wire("eth1", ip(family, src=server, dst=client) / UDP(sport=53, dport=1000) / b"a"),
        wire("eth0", question),
        wire("eth1", ip(family, src=server, dst=client) / UDP(sport=53, dport=1000) / b"a"),
        wire("eth0", ip(family) / UDP(sport=1000, dport=7) / b"not tracked"),
        wire("eth0", ip(family, proto=99) / Raw(bytes(20))),
        wire("eth1", ip(family, src=server, dst=client, proto=99) / Raw(bytes(20))),
        local(ip(family, src=virtual, dst=client) / UDP(sport=1000, dport=53)),
    ]
    if family == 4:
        packets += [
            wire("eth1", IP(src=server, dst=client) / ICMP(type=3, code=3) / Raw(quoted)),
            wire("eth1", IP(src=server, dst=client) / ICMP(type=3, code=3) / Raw(quoted[:20])),
            wire("eth0", IP(src=client, dst=server) / ICMP(type=8, id=1000) / b"echo"),
            wire("eth1", IP(src=server, dst=client) / ICMP(type=0, id=1000) / b"echo"),
            wire("eth1", IP(src=server, dst=client) / ICMP(type=0, id=77) / b"nobody asked"),
        ]
    return packets


def conntrack_cases(family: int) -> Iterator[KernelCase]:
    server = SERVER[family] if family == 4 else f"[{SERVER[family]}]"
    nat = (
        f"-t nat -A PREROUTING -p tcp --dport 80 -j DNAT --to-destination {server}:8080",
        "-t nat -A POSTROUTING -p udp -o eth0 -j MASQUERADE",
        "-t raw -A PREROUTING -p udp --dport 7 -j CT --notrack",
    )
    looks = [
        *(f"-m conntrack {rule}" for rule in lines(EVERY_STATE + TUPLES[family]) if "! --ctdir" not in rule),
        *(
            f"-m state {rule}"
            for rule in lines("""
                 --state NEW
                 ! --state NEW
                 --state INVALID
                 --state RELATED,ESTABLISHED
                 --state UNTRACKED
                 ! --state UNTRACKED
             """)
        ),
    ]
    for chain, table in (("FORWARD", "filter"), ("PREROUTING", "mangle"), ("POSTROUTING", "mangle")):
        text = rules(*nat, *(f"-t {table} -A {chain} {rule}" for rule in looks))
        yield of_family(family, f"connections as {table} {chain} sees them", text, traffic(family))
    before = [
        f"-t raw -A PREROUTING -m conntrack {rule}"
        for rule in ("--ctstate INVALID", "--ctstate NEW", "--ctstate UNTRACKED", "--ctproto 17", "! --ctproto 17")
    ]
    text = rules(
        "-t raw -A PREROUTING -p udp --dport 7 -j CT --notrack",
        *before,
        "-t raw -A PREROUTING -m connmark --mark 0",
        "-t raw -A PREROUTING -m connmark ! --mark 0",
    )
    yield of_family(family, "raw sees packets before conntrack does", text, traffic(family))


def connmark_case(family: int) -> KernelCase:
    looks = lines("""
        --mark 0x1
        ! --mark 0x1
        --mark 0x0
        ! --mark 0x0
        --mark 0x10/0xf0
        ! --mark 0x10/0xf0
    """)
    text = rules(
        "-t raw -A PREROUTING -p udp --dport 7 -j CT --notrack",
        "-t mangle -A PREROUTING -p tcp -m conntrack --ctstate NEW -j CONNMARK --set-mark 0x11",
        "-t mangle -A PREROUTING -p udp --sport 53 -j CONNMARK --set-mark 0x1",
        *(f"-A FORWARD -m connmark {rule}" for rule in looks),
    )
    return of_family(family, "marks of connections", text, traffic(family))


def connbytes_case(family: int) -> KernelCase:
    ranges = lines("""
        --connbytes 2
        --connbytes 2:3
        ! --connbytes 2:3
        --connbytes 0:1
        --connbytes 60:100
        ! --connbytes 0:59
        --connbytes 29
    """)
    looks = [
        f"-m connbytes {span} --connbytes-mode {mode} --connbytes-dir {direction}"
        for span in ranges
        for mode in ("packets", "bytes", "avgpkt")
        for direction in ("original", "reply", "both")
    ]
    question, answer = (
        udp(family, payload=b"q" * 20),
        ip(family, src=SERVER[family], dst=CLIENT[family]) / UDP(sport=53, dport=1000) / bytes(90),
    )
    packets = [
        wire("eth0", question),
        wire("eth0", question),
        wire("eth1", answer),
        wire("eth1", answer),
        wire("eth0", question),
        wire("eth0", udp(family, sport=7)),
        *traffic(family)[-4:],
    ]
    return of_family(family, "what connections have carried", forward(*looks), packets)


def memory_cases() -> Iterator[KernelCase]:
    looks = lines("""
        -m statistic --mode nth --every 3 --packet 0
        -m statistic --mode nth --every 3 --packet 1
        -m statistic --mode nth --every 3 --packet 2
        -m statistic --mode nth ! --every 3 --packet 0
        -m statistic --mode nth --every 1 --packet 0
        -m statistic --mode random --probability 0
        -m statistic --mode random --probability 1
        -m statistic --mode random ! --probability 1
        -m quota --quota 100
        -m quota ! --quota 100
        -m quota --quota 29
        -m quota --quota 0
        -m limit --limit 1/hour --limit-burst 3
        -m limit --limit 3/hour
        -p tcp -m statistic --mode nth --every 2 --packet 0
    """)
    packets = through(*(udp(4) for _ in range(8)), ip(4) / TCP(), udp(4, payload=bytes(200)), ip(4) / TCP(), *(udp(4) for _ in range(3)))
    yield KernelCase("matches that count", forward(*looks), packets)
    yield KernelCase(
        "a token bucket fills with time",
        forward(
            "-m limit --limit 4/sec --limit-burst 2", "-m limit --limit 1/sec --limit-burst 1", "-m limit --limit 100/sec --limit-burst 1"
        ),
        [wire("eth0", udp(4), at=at) for at in (0, 0.02, 0.04, 0.4, 0.42, 0.9, 0.92, 1.2, 2.5, 2.52, 2.54, 2.56)],
    )


def recent_cases(family: int) -> Iterator[KernelCase]:
    mask = "255.255.255.0" if family == 4 else "ffff:ffff:ffff:ffff::"
    looks = lines(f"""
        -m recent --name a --rcheck
        -m recent --name a ! --rcheck
        -m recent --name a --rcheck --hitcount 3
        -m recent --name a --rcheck --rttl
        -m recent --name a --rcheck --seconds 1
        -m recent --name a --rcheck --seconds 1 --hitcount 2
        -m recent --name b --update
        -m recent --name b ! --update
        -m recent --name b --update --hitcount 4
        -m recent --name b --rcheck --rdest
        -m recent --name net --set --mask {mask}
        -m recent --name net --rcheck --hitcount 2
        -m recent --name reap --rcheck --seconds 1 --reap
        -m recent --name reap --update --seconds 1 --reap --hitcount 2
        -m recent --name shared --rcheck --hitcount 2
        -p udp --dport 1 -m recent --name a --set
        -p udp --dport 1 -m recent --name reap ! --set
        -p udp --dport 2 -m recent --name b --set --rdest
        -p udp --dport 3 -m recent --name a --remove
        -p udp --dport 3 -m recent --name a ! --remove
        -p udp --dport 4 -m recent --name b --set
        -m recent --name b --update --rdest --rttl
    """)
    prefix, server = CLIENT[family][:-1], SERVER[family]
    plan = [
        (0, 2, 9, 64),
        (0, 2, 1, 64),
        (0, 2, 1, 64),
        (0, 2, 9, 64),
        (0, 2, 9, 63),
        (0, 3, 1, 64),
        (0, 3, 2, 64),
        (0, 2, 4, 64),
        (0, 2, 9, 64),
        (0, 2, 9, 64),
        (0.3, 2, 1, 60),
        (0.3, 2, 9, 60),
        (0.3, 3, 3, 64),
        (0.3, 3, 3, 64),
        (0.3, 3, 1, 64),
        (1.6, 2, 9, 64),
        (1.6, 2, 1, 64),
        (1.6, 4, 1, 64),
        (1.6, 4, 9, 64),
        (3.2, 4, 9, 64),
        (3.2, 2, 9, 64),
        (3.2, 2, 3, 64),
        (3.2, 2, 9, 64),
    ]
    packets = [
        wire("eth0", ip(family, src=f"{prefix}{host}", dst=server, ttl=ttl) / UDP(dport=dport), at=at) for at, host, dport, ttl in plan
    ]
    yield of_family(
        family,
        "recently seen addresses",
        rules(*(f"-A FORWARD {rule}" for rule in looks), "-t mangle -A PREROUTING -p udp --dport 9 -m recent --name shared --set"),
        packets,
    )
    hits = through(*(udp(family, dport=1) for _ in range(12)))
    counts = [f"-m recent --name many --rcheck --hitcount {n}" for n in (1, 2, 3, 7, 8)] + ["-m recent --name many --set"]
    yield of_family(family, "hits in a ring of eight stamps", forward(*counts), hits)
    crowd = [
        wire("eth0", ip(family, src=f"192.0.{3 + n // 250}.{n % 250}" if family == 4 else f"fd00:9::{n:x}") / UDP())
        for n in (*range(104), 0, 3, 4, 5, 103)
    ]
    yield of_family(
        family, "a list holds a hundred addresses", forward("-m recent --name full --rcheck", "-m recent --name full --set"), crowd
    )
    yield of_family(
        family,
        "a list in OUTPUT and POSTROUTING",
        rules(
            "-t mangle -A OUTPUT -m recent --name o --set --rdest",
            "-t mangle -A POSTROUTING -m recent --name o --rcheck --rdest --rttl",
            "-A FORWARD -m recent --name o --rcheck --rdest --rttl",
        ),
        [
            local(ip(family, src=NODE[family], dst=SERVER[family], ttl=64) / UDP()),
            *through(ip(family, ttl=64) / UDP(), ip(family, ttl=65) / UDP(), ip(family, ttl=63) / UDP()),
        ],
    )


def untracked_cases() -> Iterator[KernelCase]:
    """No rule that needs conntrack: nothing is tracked, fragments pass as they are."""
    yield KernelCase("nothing is tracked without a rule that needs it", prerouting("-m mark --mark 0"), through(udp(4), udp(4)))
    yield KernelCase(
        "tracking for a chain that nothing refers to",
        rules("-t mangle -A UNUSED -m conntrack --ctstate NEW", "-t mangle -A PREROUTING -m mark --mark 0"),
        through(udp(4)),
    )


CASES = [
    *(case for family in (4, 6) for make in (conntrack_cases, recent_cases) for case in make(family)),
    *(make(family) for family in (4, 6) for make in (connmark_case, connbytes_case)),
    *memory_cases(),
    *untracked_cases(),
    KernelCase(
        "the seconds that a connection has left",
        forward(*(f"-m conntrack {rule}" for rule in ("--ctexpire 3", "--ctexpire 2", "--ctexpire 1", "! --ctexpire 2:3", "--ctexpire 0"))),
        [wire("eth0", udp(4), at=at) for at in (0, 0.4, 1.3, 1.4)],
        node=node(sysctl={"net.netfilter.nf_conntrack_udp_timeout": "3"}),
    ),
]


@each(CASES)
def test_state(case: KernelCase) -> None:
    check(case)
