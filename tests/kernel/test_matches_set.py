"""The set match, compared with the kernel: which of the rules each packet hits.

The kernel at hand knows no sets of type hash:ip,mark, hash:ip,mac, hash:mac, hash:net,net and hash:net,port,net;
tests/unit/test_ipset.py has those.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, PadN
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw

from datapath import Datapath
from datapath.errors import RulesetError
from tests.kernel.match_packets import CLIENT, NODE, SERVER, forward, fragment4, ip, lines, of_family, prerouting, short, through
from tests.kernel.table import KernelCase, check, each, local, rules, wire
from tests.unit.test_datapath import host

SETS = {
    4: """
        create ip hash:ip counters
        create net hash:net counters
        create masked hash:ip netmask 24
        create ipport hash:ip,port
        create netport hash:net,port
        create ipportip hash:ip,port,ip
        create ipportnet hash:ip,port,net
        create iface hash:net,iface
        create bitip bitmap:ip range 192.0.2.0-192.0.2.15
        create bitmac bitmap:ip,mac range 192.0.2.0/28
        create port bitmap:port range 50-2048
        create list list:set
        create empty hash:net
        add ip 192.0.2.2
        add ip 198.51.100.3
        add net 192.0.2.0/30
        add net 192.0.2.2/32 nomatch
        add net 198.51.0.0/16 nomatch
        add net 198.51.100.0/24
        add net 198.51.100.4/30 nomatch
        add masked 192.0.2.77
        add ipport 192.0.2.2,tcp:80
        add ipport 198.51.100.2,udp:53
        add ipport 192.0.2.2,icmp:8/0
        add ipport 192.0.2.2,sctp:80
        add ipport 192.0.2.2,99:0
        add netport 192.0.2.0/29,tcp:1000
        add netport 198.51.100.0/24,53
        add netport 198.51.100.2/31,udp:53
        add ipportip 192.0.2.2,tcp:80,198.51.100.2
        add ipportip 192.0.2.3,udp:53,198.51.100.2
        add ipportnet 192.0.2.2,tcp:80,198.51.100.0/30
        add ipportnet 192.0.2.2,tcp:80,198.51.100.2/32 nomatch
        add iface 192.0.2.0/24,eth0
        add iface 192.0.2.2/32,eth1
        add iface 198.51.100.0/24,eth
        add bitip 192.0.2.2
        add bitip 192.0.2.15
        add bitmac 192.0.2.2,02:00:00:00:01:02
        add bitmac 192.0.2.3
        add bitmac 192.0.2.4,02:00:00:00:01:09
        add port 80
        add port 53
        add port 1000
        add port 2048
        add list ip
        add list ipport
        add list iface
    """,
    6: """
        create ip hash:ip family inet6 counters
        create net hash:net family inet6 counters
        create masked hash:ip family inet6 netmask 64
        create ipport hash:ip,port family inet6
        create netport hash:net,port family inet6
        create ipportip hash:ip,port,ip family inet6
        create ipportnet hash:ip,port,net family inet6
        create iface hash:net,iface family inet6
        create port bitmap:port range 50-2048
        create list list:set
        create empty hash:net family inet6
        add ip fd00:1::2
        add ip fd00:2::3
        add net fd00:1::/126
        add net fd00:1::2 nomatch
        add net fd00:2::/32 nomatch
        add net fd00:2::/64
        add net fd00:2::4/126 nomatch
        add masked fd00:1::77
        add ipport fd00:1::2,tcp:80
        add ipport fd00:2::2,udp:53
        add ipport fd00:1::2,icmpv6:128/0
        add ipport fd00:1::2,sctp:80
        add ipport fd00:1::2,99:0
        add netport fd00:1::/125,tcp:1000
        add netport fd00:2::/64,53
        add netport fd00:2::2/127,udp:53
        add ipportip fd00:1::2,tcp:80,fd00:2::2
        add ipportip fd00:1::3,udp:53,fd00:2::2
        add ipportnet fd00:1::2,tcp:80,fd00:2::/126
        add ipportnet fd00:1::2,tcp:80,fd00:2::2/128 nomatch
        add iface fd00:1::/64,eth0
        add iface fd00:1::2/128,eth1
        add port 80
        add port 53
        add port 1000
        add port 2048
        add list ip
        add list ipport
        add list iface
    """,
}
DIMENSIONS = {
    "ip": 1, "net": 1, "masked": 1, "ipport": 2, "netport": 2, "ipportip": 3, "ipportnet": 3, "iface": 2, "bitip": 1, "bitmac": 2,
    "port": 1, "list": 2, "empty": 1,
}  # fmt: skip


def directions(n: int) -> list[str]:
    return ["src", "dst"] if n == 1 else [f"{first},{rest}" for first in ("src", "dst") for rest in directions(n - 1)]


def questions(family: int) -> list[str]:
    """Each set with every direction, with one too few and one too many, negated and with --return-nomatch."""
    names = [name for name in DIMENSIONS if f"create {name} " in SETS[family]]
    asked = [f"--match-set {name} {sides}" for name in names for sides in directions(DIMENSIONS[name])]
    asked += [f"--match-set {name} {sides} --return-nomatch" for name in ("net", "ipportnet") for sides in directions(DIMENSIONS[name])[:3]]
    asked += [
        "! --match-set ip src",
        "--match-set ip src,dst",
        "--match-set ipport src",
        "! --match-set ipport src",
        "--match-set list src",
    ]
    return [f"-m set {question}" for question in asked]


def packets(family: int) -> Iterator[Packet]:
    client, server = CLIENT[family][:-1], SERVER[family][:-1]
    for source in (2, 3, 4, 7):
        for destination in (2, 3, 4, 9):
            yield ip(family, src=f"{client}{source}", dst=f"{server}{destination}") / UDP(sport=1000, dport=53)
        yield ip(family, src=f"{client}{source}") / TCP(sport=1000, dport=80)
        yield ip(family, src=f"{client}{source}") / TCP(sport=80, dport=49)
    yield ip(family, proto=132) / SCTP(sport=80, dport=80)
    yield ip(family, proto=136) / Raw(bytes([0, 53, 0, 53, 0, 8, 0, 0]))
    yield ip(family, proto=99) / Raw(bytes(20))
    yield ip(family) / (ICMP(type=8) if family == 4 else ICMPv6EchoRequest())
    yield ip(family) / UDP(sport=2048, dport=2049)
    yield short(family, 6, bytes(19))
    yield short(family, 17, bytes([0, 53, 0, 53]))
    if family == 4:
        yield fragment4(6, 0, bytes(TCP(sport=1000, dport=80)) + bytes(4), more=True)
        yield fragment4(6, 64, bytes(TCP(sport=1000, dport=80)))
        yield fragment4(99, 64, bytes(20))
    else:
        yield ip(6) / IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))]) / TCP(sport=1000, dport=80)
        yield ip(6) / IPv6ExtHdrFragment(id=9, offset=8, nh=6) / Raw(bytes(20))


def type_cases(family: int) -> Iterator[KernelCase]:
    sets = "\n".join(lines(SETS[family])) + "\n"
    wildcard = sets.replace("add iface 198.51.100.0/24,eth\n", "add iface 198.51.100.0/24,eth wildcard\n")
    asked = questions(family)
    yield of_family(family, "types of sets", forward(*asked), through(*packets(family)), ipsets=wildcard)
    moved = [
        wire("eth0", ip(family) / UDP(), src="02:00:00:00:01:09"),
        wire("eth0", ip(family, src=f"{CLIENT[family][:-1]}3") / UDP(), src="02:00:00:00:01:09"),
        wire("eth0", ip(family, src=f"{CLIENT[family][:-1]}3") / UDP()),
    ]
    yield of_family(family, "sets before routing", prerouting(*asked), [*through(*packets(family)), *moved], ipsets=sets)
    out = [local(ip(family, src=NODE[family], dst=CLIENT[family]) / UDP(), mark=mark) for mark in (0, 5, 0x105, 0x205)]
    yield of_family(
        family, "sets of what the node sends", rules(*(f"-t mangle -A OUTPUT {question}" for question in asked)), out, ipsets=sets
    )


COUNTERS = """
    -m set --match-set ip src
    -m set --match-set ip src --packets-eq 3
    -m set --match-set ip src ! --packets-eq 3
    -m set --match-set ip src --packets-gt 5 ! --update-counters
    -m set --match-set ip src --bytes-lt 200 ! --update-counters
    -m set --match-set ip src --bytes-gt 300 --packets-lt 12
    -m set --match-set ip src --bytes-eq 87
    -m set --match-set net dst --packets-gt 1 --return-nomatch
    -m set --match-set list src,dst --packets-gt 1
    -m set --match-set list src,dst ! --update-counters
    -m set --match-set list src,dst ! --update-subcounters
"""


def other_cases() -> Iterator[KernelCase]:
    counting = "create ip hash:ip counters\nadd ip 192.0.2.2 packets 1 bytes 3\nadd ip 192.0.2.3\ncreate net hash:net counters\n"
    counting += "add net 198.51.100.0/24\ncreate list list:set counters\nadd list ip\n"
    yield KernelCase(
        "counters of elements",
        forward(*lines(COUNTERS)),
        through(*(ip(4, src=f"192.0.2.{n}") / UDP() for n in (2, 3, 2, 2, 3, 4))),
        ipsets=counting,
    )
    timed = "create ip hash:ip timeout 2\nadd ip 192.0.2.2\nadd ip 192.0.2.3 timeout 0\nadd ip 192.0.2.4 timeout 5\n"
    moments = [wire("eth0", ip(4, src=f"192.0.2.{n}") / UDP(), at=at) for at in (0, 0.5, 3) for n in (2, 3, 4)]
    yield KernelCase("elements that run out", forward("-m set --match-set ip src", "-m set ! --match-set ip src"), moments, ipsets=timed)
    yield KernelCase(
        "a set of the other family never matches",
        forward("-m set --match-set list src", "-m set ! --match-set list src"),
        through(ip(4) / UDP(), ip(6) / UDP()),
        rules6=forward("-m set --match-set list src", "-m set ! --match-set list src"),
        ipsets="create four hash:ip\nadd four 192.0.2.2\ncreate list list:set\nadd list four\n",
    )
    yield KernelCase(
        "hundreds of elements",
        forward("-m set --match-set many src,src"),
        through(*(IP(src=f"192.0.{n % 3}.{n}", dst=SERVER[4]) / UDP(sport=n) for n in range(1, 250, 7))),
        ipsets="create many hash:ip,port\n" + "".join(f"add many 192.0.{n % 3}.{n},udp:{n}\n" for n in range(1, 250)),
    )


CASES = [*type_cases(4), *type_cases(6), *other_cases()]


@each(CASES)
def test_sets(case: KernelCase) -> None:
    check(case)


def test_a_set_that_is_not_there_is_refused_with_the_line() -> None:
    with pytest.raises(RulesetError, match=r"^iptables-save.txt:2: set nosuch does not exist$"):
        Datapath(host("*filter\n-A FORWARD -m set --match-set nosuch src\nCOMMIT\n"))


def test_a_set_of_the_other_family_is_refused_with_the_line() -> None:
    files = {"ipset-save.txt": "create six hash:ip family inet6\n"}
    with pytest.raises(RulesetError, match=r"^iptables-save.txt:2: the protocol family of set six is IPv6, which is not applicable$"):
        Datapath(host("*filter\n-A FORWARD -m set --match-set six src\nCOMMIT\n", **files))


def adding_cases() -> Iterator[KernelCase]:
    """What the SET target adds and takes out, seen by rules behind it and by later packets."""
    sets = (
        "create seen hash:ip timeout 2 counters\ncreate once hash:ip timeout 1\ncreate few hash:ip maxelem 2\n"
        "create nets hash:net\nadd nets 10.0.0.0/28\n"
        "create flows hash:ip,port,ip\ncreate ports bitmap:port range 1-100\n"
        "create macs bitmap:ip,mac range 192.0.2.0/24\ncreate list list:set\n"
        "add list few\nadd list seen\n"
    )
    given = rules(
        "-A FORWARD -m set --match-set seen src",
        "-A FORWARD -m set --match-set seen src --packets-gt 1 ! --update-counters",
        "-A FORWARD -m set --match-set once src",
        "-A FORWARD -m set --match-set few src",
        "-A FORWARD -m set --match-set nets src",
        "-A FORWARD -m set --match-set flows src,dst,dst",
        "-A FORWARD -m set --match-set ports dst",
        "-A FORWARD -m set --match-set macs src,src",
        "-A FORWARD -m set --match-set list dst",
        "-A FORWARD -p udp --dport 53 -j SET --add-set seen src --exist",
        "-A FORWARD -p udp --dport 53 -j SET --add-set once src --timeout 3",
        "-A FORWARD -p udp --dport 53 -j SET --add-set few src",
        "-A FORWARD -p udp --dport 53 -j SET --add-set nets src",
        "-A FORWARD -j SET --add-set flows src,dst,dst",
        "-A FORWARD -p tcp -j SET --add-set ports dst",
        "-A FORWARD -p tcp -j SET --add-set macs src,src",
        "-A FORWARD -p tcp -j SET --add-set list dst",
        "-A FORWARD -p udp --dport 54 -j SET --del-set seen src",
        "-A FORWARD -p udp --dport 54 -j SET --add-set few dst --del-set few src",
        "-A FORWARD -p udp --dport 54 -j SET --del-set nets src",
    )
    plan = [
        (0, 2, 53),
        (0, 3, 53),
        (0, 4, 53),
        (0, 2, 53),
        (0, 2, 54),
        (0, 2, 53),
        (0, 3, 54),
        (1.5, 2, 53),
        (2.7, 3, 53),
        (2.7, 2, 55),
        (3.4, 2, 55),
        (4.5, 2, 55),
    ]
    packets = [wire("eth0", ip(4, src=f"192.0.2.{host_}") / UDP(dport=dport), at=at) for at, host_, dport in plan]
    packets += [wire("eth0", ip(4, src=f"192.0.2.{n}") / TCP(dport=dport), at=4.6) for n in (2, 2, 3) for dport in (80, 101, 80)]
    yield KernelCase("the SET target", given, packets, ipsets=sets)


@each(adding_cases())
def test_set_target(case: KernelCase) -> None:
    check(case)
