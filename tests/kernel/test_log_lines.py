"""The lines of LOG and TRACE, compared with the kernel's log word by word."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_RR
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoRequest,
    ICMPv6ND_NS,
    ICMPv6PacketTooBig,
    ICMPv6ParamProblem,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    PadN,
)
from scapy.layers.ipsec import AH, ESP
from scapy.packet import Packet, Raw

from datapath import Datapath, Host
from datapath.lab.case import Case, CasePacket
from datapath.lab.compare import play
from datapath.lab.kernel import record_case
from datapath.model.steps import Logged
from tests.kernel.table import local, node, rules, wire

pytestmark = pytest.mark.kernel

ALL_NAMESPACES = Path("/proc/sys/net/netfilter/nf_log_all_netns")
SERIAL = itertools.count()


@pytest.fixture(autouse=True)
def every_namespace_logs() -> Iterator[None]:
    before = ALL_NAMESPACES.read_text()
    ALL_NAMESPACES.write_text("1")
    yield
    ALL_NAMESPACES.write_text(before)


def kernel_log() -> list[str]:
    """The lines of the kernel's log, without their times."""
    lines = subprocess.run(["dmesg"], text=True, capture_output=True, check=True).stdout.splitlines()
    return [re.sub(r"^\[[ 0-9.]*\] ", "", line) for line in lines]


def both(tmp_path: Path, texts: dict[int, str], packets: list[CasePacket], word: str) -> tuple[list[str], list[str]]:
    """The lines with a word in them: the kernel's, the emulator's."""
    before = sum(word in line for line in kernel_log())
    case = Case("log", node(), texts, packets)
    record_case(case, tmp_path / "host")
    theirs = [line for line in kernel_log() if word in line][before:]
    emulated = Datapath(Host.load(tmp_path / "host"), answer=False)
    ours = [step.text for packet in case.packets for step in play(emulated, packet).steps if isinstance(step, Logged) and word in step.text]
    return [line.rstrip() for line in theirs], [line.rstrip() for line in ours]


def ipv4_packets() -> Iterator[Packet]:
    base = IP(src="192.0.2.2", dst="198.51.100.2", id=7, tos=0xB8)
    yield base / UDP(sport=1, dport=2) / b"data"
    yield base / TCP(sport=1, dport=2, flags="SEC", seq=4000000000, ack=5, window=9, urgptr=3, options=[("MSS", 1460), ("WScale", 7)])
    yield base / TCP(sport=1, dport=2, flags="FRPAU", reserved=5)
    yield base / ICMP(type=8, id=3, seq=4)
    yield base / ICMP(type=3, code=4, nexthopmtu=1400) / IP(src="198.51.100.2", dst="192.0.2.2", id=1) / UDP(sport=5, dport=6) / b"xx"
    yield base / ICMP(type=11, code=0) / IP(src="198.51.100.2", dst="192.0.2.2") / ICMP(type=3) / Raw(b"0123456789012345678901234567")
    yield base / ICMP(type=5, code=1, gw="192.0.2.9") / IP(src="198.51.100.2", dst="192.0.2.2") / TCP()
    yield base / ICMP(type=12, ptr=5) / IP(src="198.51.100.2", dst="192.0.2.2") / TCP()
    yield base / ICMP(type=13)
    yield base / ICMP(type=3) / Raw(b"short")
    yield IP(src="192.0.2.2", dst="198.51.100.2", proto=1) / Raw(b"\x08\0\0")
    yield IP(src="192.0.2.2", dst="198.51.100.2", proto=6) / Raw(b"abcdef")
    yield IP(src="192.0.2.2", dst="198.51.100.2", proto=17, frag=5, flags="MF", id=9) / Raw(b"abcdefgh")
    yield IP(src="192.0.2.2", dst="198.51.100.2", proto=6, frag=5, flags=0, id=9) / Raw(b"abcdefgh")
    yield IP(src="192.0.2.2", dst="198.51.100.2", flags="DF", proto=200) / Raw(b"abcd")
    yield base / AH(spi=0x1234, icv=bytes(12)) / Raw(b"x")
    yield base / ESP(spi=0xABCD, seq=1, data=b"encrypted")
    yield IP(src="192.0.2.2", dst="198.51.100.2", proto=136) / UDP(sport=8, dport=9)
    yield IP(src="192.0.2.2", dst="198.51.100.2", options=[IPOption_RR(pointer=4, routers=["0.0.0.0"] * 2)]) / UDP(sport=1, dport=2)


def ipv6_packets() -> Iterator[Packet]:
    base = IPv6(src="fd00:1::2", dst="fd00:2::2", tc=0x21, fl=0xABCDE, hlim=9)
    inner = IPv6(src="fd00:2::2", dst="fd00:1::2") / UDP(sport=5, dport=6) / b"x"
    pad = [PadN(optdata=b"\0" * 4)]
    yield base / UDP(sport=1, dport=2) / b"data"
    yield base / TCP(sport=1, dport=2, flags="S", options=[("MSS", 1440)])
    yield base / ICMPv6EchoRequest(id=3, seq=4)
    yield base / ICMPv6DestUnreach(code=4) / inner
    yield base / ICMPv6PacketTooBig(mtu=1280) / inner
    yield base / ICMPv6ParamProblem(code=1, ptr=6) / inner
    yield base / ICMPv6ND_NS(tgt="fd00:2::9")
    yield base / IPv6ExtHdrHopByHop(options=pad) / IPv6ExtHdrDestOpt(options=pad) / UDP(sport=1, dport=2)
    yield base / IPv6ExtHdrFragment(offset=0, m=1, id=0x1234ABCD, nh=17) / Raw(bytes(UDP(sport=1, dport=2, len=16)))
    yield base / IPv6ExtHdrFragment(offset=5, m=0, id=7, nh=6) / Raw(b"abcdefgh")
    yield base / IPv6ExtHdrFragment(offset=5, m=0, id=7, nh=60) / Raw(b"abcdefgh")
    yield base / AH(spi=0x1234, icv=bytes(12)) / Raw(b"x")
    yield base / ESP(spi=0xABCD, seq=1, data=b"encrypted")
    yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=6) / Raw(b"abcdef")
    yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=200) / Raw(b"abcd")
    yield IPv6(src="fd00:1::2", dst="fd00:2::2", nh=59)


OPTIONS = ("", "--log-tcp-sequence", "--log-tcp-options", "--log-ip-options", "--log-uid", "--log-macdecode",
           "--log-tcp-sequence --log-tcp-options --log-ip-options --log-uid --log-macdecode")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("family", [4, 6])
def test_log(tmp_path: Path, family: int, options: str) -> None:
    word = f"dp{os.getpid()}-{next(SERIAL)}: "
    given = [f'-t mangle -A {chain} -j LOG --log-prefix "{word}" {options}' for chain in ("PREROUTING", "FORWARD", "POSTROUTING")]
    given += ["-t mangle -A FORWARD -p udp -j MARK --set-mark 0x17"]
    packets = ipv4_packets() if family == 4 else ipv6_packets()
    theirs, ours = both(tmp_path, {family: rules(*given)}, [wire("eth0", packet) for packet in packets], word)
    assert len(theirs) > 20
    assert ours == theirs


@pytest.mark.parametrize("options", ["", "--log-uid"])
def test_log_of_local_packets(tmp_path: Path, options: str) -> None:
    word = f"dp{os.getpid()}-{next(SERIAL)}: "
    given = rules(f'-A OUTPUT -j LOG --log-prefix "{word}" {options}', f'-A INPUT -j LOG --log-prefix "{word}" {options}')
    packets = [
        local(IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2), uid=1234, gid=5),
        local(IP(src="192.0.2.1", dst="198.51.100.2") / ICMP(type=0), mark=3),
        local(IP(src="192.0.2.1", dst="192.0.2.1") / UDP(sport=1, dport=2)),
        wire("eth0", IP(src="192.0.2.2", dst="192.0.2.1") / UDP(sport=1, dport=2)),
    ]
    theirs, ours = both(tmp_path, {4: given}, packets, word)
    assert len(theirs) >= 4
    assert ours == theirs


def test_trace(tmp_path: Path) -> None:
    given = rules("-t raw -A PREROUTING -p udp -j TRACE", "-t raw -A PREROUTING -j MARK --set-mark 9", "-t mangle -A FORWARD -p tcp",
                  "-t mangle -A FORWARD -j a", "-t mangle -A FORWARD -j RETURN", "-t mangle -A a -p udp -g b", "-t mangle -A b -j RETURN",
                  "-t mangle -A POSTROUTING -j c", "-t mangle -A c -p tcp", "-A FORWARD -p udp -j ACCEPT")
    port = 20000 + os.getpid() % 40000
    packets = [wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / UDP(sport=port, dport=next(SERIAL) + 2) / b"x")]
    theirs, ours = both(tmp_path, {4: given}, packets, f"SPT={port} ")
    assert [line.split(" IN=")[0] for line in ours] == [line.split(" IN=")[0] for line in theirs]
    assert ours == theirs
    assert len(ours) >= 8


