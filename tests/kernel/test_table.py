"""The table of hand-written cases itself: what the kernel did comes back, a wrong answer is found."""

from __future__ import annotations

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6

from tests.kernel.table import KernelCase, check, each, local, rules, wire

FORWARDED = [
    KernelCase(
        "a dropped port beside one that passes",
        rules("-A FORWARD -p udp --dport 53 -j DROP"),
        [
            wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / UDP(sport=1000, dport=53) / b"x"),
            wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / UDP(sport=1000, dport=54) / b"x"),
        ],
    ),
    KernelCase(
        "a translated port answers",
        rules("-t nat -A PREROUTING -p udp --dport 53 -j DNAT --to-destination 198.51.100.2:5353"),
        [
            wire("eth0", IP(src="192.0.2.2", dst="192.0.2.1") / UDP(sport=1000, dport=53) / b"x"),
            wire("eth1", IP(src="198.51.100.2", dst="192.0.2.2") / UDP(sport=5353, dport=1000) / b"y"),
        ],
    ),
    KernelCase(
        "IPv6 passes",
        "",
        [
            wire("eth0", IPv6(src="fd00:1::2", dst="fd00:2::2") / UDP(sport=1000, dport=53) / b"x"),
            local(IPv6(src="fd00:1::1", dst="fd00:1::2") / UDP(sport=1000, dport=53) / b"x"),
        ],
        rules6=rules("-A FORWARD -p udp --dport 53", "-P OUTPUT DROP", "-A OUTPUT -j CHAIN", "-A CHAIN -o eth0 -j REJECT"),
    ),
]


@each(FORWARDED)
def test_forwarded(case: KernelCase) -> None:
    recording = check(case)
    assert recording.packets[-1].hits or recording.packets[-1].outputs


def test_rules_make_a_save_text() -> None:
    text = rules("-P FORWARD DROP", "-A FORWARD -j CHAIN", "-A CHAIN -p tcp", "-t nat -A POSTROUTING -j MASQUERADE")
    assert text == (
        "*filter\n:FORWARD DROP [0:0]\n:CHAIN - [0:0]\n-A FORWARD -j CHAIN\n-A CHAIN -p tcp\nCOMMIT\n"
        "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n"
    )
