"""The targets that change or mark packets, compared with the kernel: bytes out, marks as later rules see them."""

from __future__ import annotations

from collections.abc import Iterator

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.packet import Packet

from datapath.lab.case import CasePacket
from tests.kernel.table import KernelCase, check, each, local, rules, wire

CLIENT, SERVER = "192.0.2.2", "198.51.100.2"
CLIENT6, SERVER6 = "fd00:1::2", "fd00:2::2"
FIELDS = (0, 1, 3, 0x0C, 0x10, 0x1E, 0x80, 0xB8, 0xBB, 0xFC, 0xFF)
TTLS = (2, 3, 5, 63, 64, 250, 254, 255)


def through(family: int, field: int = 0, ttl: int = 64, ident: int = 1) -> CasePacket:
    """A UDP packet from one network to another."""
    layer = UDP(sport=1000 + ident, dport=53) / b"data"
    packet: Packet = IP(src=CLIENT, dst=SERVER, tos=field, ttl=ttl, id=ident) / layer
    if family == 6:
        packet = IPv6(src=CLIENT6, dst=SERVER6, tc=field, hlim=ttl, fl=ident) / layer
    return wire("eth0", packet)


def case(name: str, family: int, backend: str, given: str, packets: list[CasePacket]) -> KernelCase:
    texts = {"rules": given} if family == 4 else {"rules": "", "rules6": given}
    return KernelCase(f"{name}, IPv{family}, {backend}", packets=packets, backend=backend, **texts)


def field_cases() -> Iterator[KernelCase]:
    options = ("TOS --set-tos 0x10", "TOS --set-tos 0x10/0x3f", "TOS --set-tos Minimize-Cost", "TOS --and-tos 0x0f", "TOS --or-tos 0x81",
               "TOS --xor-tos 0xff", "TOS --set-tos 0xff/0x0f", "DSCP --set-dscp 0x2e", "DSCP --set-dscp 0", "DSCP --set-dscp-class AF41")
    for family in (4, 6):
        for option in options:
            for chain in ("PREROUTING", "POSTROUTING"):
                yield case(f"{chain} {option}", family, "legacy", rules(f"-t mangle -A {chain} -j {option}"),
                           [through(family, field, ident=i) for i, field in enumerate(FIELDS)])


@each(field_cases())
def test_ds_field(case: KernelCase) -> None:
    check(case)


def ttl_cases() -> Iterator[KernelCase]:
    for family in (4, 6):
        name = "TTL --ttl" if family == 4 else "HL --hl"
        for change in ("set 1", "set 64", "set 255", "set 0", "inc 1", "inc 10", "inc 255", "dec 1", "dec 5", "dec 255"):
            for chain in ("PREROUTING", "FORWARD", "POSTROUTING"):
                yield case(f"{chain} {name}-{change}", family, "legacy", rules(f"-t mangle -A {chain} -j {name}-{change}"),
                           [through(family, ttl=ttl, ident=i) for i, ttl in enumerate(TTLS)])


@each(ttl_cases())
def test_ttl(case: KernelCase) -> None:
    check(case)


MARKS = ("--set-xmark 0xff/0x0f", "--set-mark 5", "--set-mark 0x10/0x30", "--and-mark 0xfe", "--or-mark 0x100", "--xor-mark 0x3")
SEEN = tuple(f"-t mangle -A POSTROUTING -m mark --mark {mark:#x}/{mark:#x}" for mark in (1, 2, 4, 8, 0x10, 0x20, 0x100, 0x80000000))
CONNMARKS = (
    "--set-mark 0x15", "--set-xmark 0x7/0x5", "--and-mark 0x3", "--or-mark 0x30", "--xor-mark 0xff", "--save-mark",
    "--save-mark --mask 0x3", "--save-mark --nfmask 0x3 --ctmask 0x30", "--restore-mark --nfmask 0xff --ctmask 0x3",
    "--set-mark 1 --left-shift-mark 4",
    "--save-mark --left-shift-mark 8", "--restore-mark --right-shift-mark 2", "--set-mark 0x100 --right-shift-mark 3",
)


def mark_cases() -> Iterator[KernelCase]:
    for family in (4, 6):
        packets = [through(family, ident=i) for i in range(3)]
        for backend in ("legacy", "nft"):
            for option in MARKS:
                given = ["-t mangle -A PREROUTING -j MARK --set-mark 0x80000035", f"-t mangle -A FORWARD -j MARK {option}", *SEEN]
                yield case(f"MARK {option}", family, backend, rules(*given), packets)
            for option in CONNMARKS:
                given = ["-t mangle -A PREROUTING -j MARK --set-mark 0x27", "-t mangle -A PREROUTING -j CONNMARK --set-mark 0x33",
                         f"-t mangle -A FORWARD -j CONNMARK {option}", *SEEN]
                yield case(f"CONNMARK {option}", family, backend, rules(*given), packets)


@each(mark_cases())
def test_marks(case: KernelCase) -> None:
    check(case)


def echo(source: str, target: str, kind: int) -> Packet:
    return IP(src=source, dst=target) / ICMP(type=kind, id=7, seq=1)


def notrack_cases() -> Iterator[KernelCase]:
    states = tuple(f"-A FORWARD -m conntrack --ctstate {state}" for state in ("NEW", "ESTABLISHED", "INVALID", "UNTRACKED"))
    for backend in ("legacy", "nft"):
        for target in ("CT --notrack", "NOTRACK"):
            yield KernelCase(
                f"{target} for one direction, {backend}", rules(f"-t raw -A PREROUTING -i eth1 -j {target}", *states),
                [wire("eth0", echo(CLIENT, SERVER, 8)), wire("eth1", echo(SERVER, CLIENT, 0)), wire("eth1", echo(SERVER, CLIENT, 8))],
                backend=backend)
        yield KernelCase(
            f"NOTRACK in OUTPUT, {backend}",
            rules("-t raw -A OUTPUT -p udp -j CT --notrack", *(state.replace("FORWARD", "OUTPUT") for state in states)),
            [local(IP(src="192.0.2.1", dst=CLIENT) / UDP(sport=1, dport=2)), local(echo("192.0.2.1", CLIENT, 8))], backend=backend)
    yield KernelCase("CT --notrack alone leaves conntrack off", rules("-t raw -A PREROUTING -j CT --notrack"), [through(4)])


@each(notrack_cases())
def test_notrack(case: KernelCase) -> None:
    check(case)


# What is written about a packet changes nothing of its way.
LOGS = ("LOG", 'LOG --log-prefix "a b: " --log-level 7 --log-uid', "NFLOG --nflog-group 3 --nflog-prefix x", "MARK --set-mark 1")


@each([
    *(case(f"{target} goes on", family, backend, rules(f"-A FORWARD -j {target}", "-A FORWARD -p udp -j ACCEPT"), [through(family)])
      for family in (4, 6) for backend in ("legacy", "nft") for target in LOGS),
    KernelCase("TRACE goes on", rules("-t raw -A PREROUTING -j TRACE", "-t raw -A PREROUTING -j ACCEPT"), [through(4)]),
    KernelCase("NFQUEUE drops where nobody listens", rules("-A FORWARD -j NFQUEUE --queue-num 7"), [through(4)],
               # In the emulator the packet waits for user space: no drop.
               skip=frozenset({"drops"})),
])
def test_targets_that_go_on(case: KernelCase) -> None:
    check(case)


@each([
    KernelCase("a mark in OUTPUT is seen in POSTROUTING, TCP", rules("-t mangle -A OUTPUT -j MARK --set-mark 0x5", *SEEN),
               [local(IP(src="192.0.2.1", dst=CLIENT) / TCP(sport=1, dport=2)), local(IP(src="192.0.2.1", dst=CLIENT) / UDP(), mark=0x30)]),
    KernelCase("IPv6 echo through HL and MARK", "",
               rules6=rules("-t mangle -A FORWARD -j HL --hl-dec 3", "-t mangle -A FORWARD -j MARK --or-mark 8"),
               packets=[wire("eth0", IPv6(src=CLIENT6, dst=SERVER6, hlim=9) / ICMPv6EchoRequest(id=1, seq=2))]),
])
def test_more(case: KernelCase) -> None:
    check(case)
