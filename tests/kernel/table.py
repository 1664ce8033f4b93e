"""Hand-written cases for the kernel: a few rules, a few packets, compared with the emulator packet by packet.

    CASES = [
        KernelCase("a dropped port", rules("-A FORWARD -p udp --dport 53 -j DROP"),
                   [wire("eth0", IP(src="192.0.2.2", dst="198.51.100.2") / UDP(dport=53))]),
    ]

    @each(CASES)
    def test_udp(case):
        check(case)

Frames out, rule hits, drop reasons per packet; counters and conntrack entries at the end. tests/README.md tells more.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from datapath.lab.case import Case, CasePacket, Recording
from datapath.lab.compare import Comparison, compare
from datapath.lab.kernel import record_case
from datapath.lab.show import show_difference

BUILT_IN = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")
NETWORKS = {"eth0": ("192.0.2", "fd00:1:"), "eth1": ("198.51.100", "fd00:2:"), "eth2": ("203.0.113", "fd00:3:")}
NODE_MACS = {"eth0": "02:00:00:00:00:01", "eth1": "02:00:00:00:00:02", "eth2": "02:00:00:00:00:03"}


def peer_mac(interface: str, number: int) -> str:
    """The MAC address of the neighbour .number of an interface."""
    return f"02:00:00:00:0{int(interface[3:]) + 1}:{number:02x}"


def node(**changes: Any) -> dict[str, Any]:
    """The recipe of the usual node, with some of its keys changed (`sysctl` is added to, not replaced).

    eth0 192.0.2.1 fd00:1::1, eth1 198.51.100.1 fd00:2::1, eth2 203.0.113.1 fd00:3::1, all /24 and /64; neighbours .2 to .7
    on each; default routes by 203.0.113.2 and fd00:3::2; 172.16.0.0/16 by 198.51.100.3; forwarding on; rp_filter off.
    """
    neighbours = {}
    for interface, (v4, v6) in NETWORKS.items():
        for number in range(2, 8):
            neighbours[f"{v4}.{number}"] = neighbours[f"{v6}:{number}"] = [peer_mac(interface, number), interface]
    recipe: dict[str, Any] = {
        "ipv6": True,
        "interfaces": {name: {"mac": NODE_MACS[name], "addresses": [f"{v4}.1/24", f"{v6}:1/64"]} for name, (v4, v6) in NETWORKS.items()},
        "routes": ["default via 203.0.113.2", "172.16.0.0/16 via 198.51.100.3", "blackhole 172.17.0.0/16"],
        "routes6": ["default via fd00:3::2", "fd00:5::/48 via fd00:2::3", "blackhole fd00:6::/48"],
        "neighbours": neighbours,
        "sysctl": {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1", "net.ipv4.conf.all.rp_filter": "0"},
    }
    for key, value in changes.items():
        recipe[key] = recipe[key] | value if key == "sysctl" else value
    return recipe


def rules(*lines: str) -> str:
    """A save text from rules as the iptables command takes them (`-t TABLE`, filter when missing; -A, -P, -N).

    Chains that are not built in are made by themselves.
    """
    tables: dict[str, list[str]] = {}
    for line in lines:
        table, rest = "filter", line
        if line.startswith("-t "):
            _, table, rest = line.split(" ", 2)
        tables.setdefault(table, []).append(rest)
    return "".join(_table(name, content) for name, content in tables.items())


def _table(name: str, lines: list[str]) -> str:
    policies = {words[1]: words[2] for words in (line.split() for line in lines) if words[0] == "-P"}
    chains = dict.fromkeys(line.split()[1] for line in lines if line.split()[0] in ("-A", "-N"))
    declared = [f":{chain} {policy} [0:0]" for chain, policy in policies.items()]
    declared += [f":{chain} {'ACCEPT' if chain in BUILT_IN else '-'} [0:0]" for chain in chains if chain not in policies]
    return "\n".join([f"*{name}", *declared, *(line for line in lines if line.startswith("-A ")), "COMMIT", ""])


def wire(interface: str, packet: Packet | bytes, *, at: float = 0, src: str | None = None, dst: str | None = None) -> CasePacket:
    """A packet that arrives on an interface at second `at`; an Ethernet header is added unless there is one."""
    if isinstance(packet, Packet) and not isinstance(packet, Ether):
        packet = Ether(src=src or peer_mac(interface, 2), dst=dst or NODE_MACS[interface]) / packet
    return CasePacket(bytes(packet), interface, round(at * 1e9))


def local(
    packet: Packet | bytes, *, at: float = 0, uid: int | None = None, gid: int | None = None, mark: int = 0, device: str | None = None
) -> CasePacket:
    """An IP packet that a process of the node sends at second `at`."""
    return CasePacket(bytes(packet), None, round(at * 1e9), uid, gid, mark, device)


@dataclass
class KernelCase:
    """A name (the sentence that it shows), rules of IPv4 and of IPv6, packets; the node and ipsets where they matter.

    `skip`: what not to compare ("outputs", "hits", "drops", "counters", "conntrack"), with a reason beside it.
    `backend`: legacy or nft. `seconds`: by how many seconds at most the time left of conntrack entries may differ.
    """

    name: str
    rules: str
    packets: list[CasePacket]
    rules6: str = ""
    node: dict[str, Any] = field(default_factory=node)
    ipsets: str = ""
    backend: str = "legacy"
    skip: frozenset[str] = frozenset()
    seconds: int | None = 2


TRIES_OF_TIMED_CASES = 3


def check(kernel_case: KernelCase) -> Recording:
    """Play a case on the kernel and in the emulator; fails with the first difference. What the kernel did is returned.

    A busy machine sends packets later than a case says: one with times gets another try.
    """
    tries = TRIES_OF_TIMED_CASES if any(packet.time_ns for packet in kernel_case.packets) else 1
    for _ in range(tries):
        recording, comparison = _play(kernel_case)
        differences = [item for item in comparison.differences if item.what not in kernel_case.skip]
        if not differences:
            return recording
    raise AssertionError(show_difference(differences[0]))


def _play(kernel_case: KernelCase) -> tuple[Recording, Comparison]:
    texts = {family: text for family, text in ((4, kernel_case.rules), (6, kernel_case.rules6)) if text}
    recipe = copy.deepcopy(kernel_case.node) | {"backend": kernel_case.backend}
    case = Case(kernel_case.name, recipe, texts, list(kernel_case.packets), kernel_case.ipsets)
    with tempfile.TemporaryDirectory(prefix="datapath-lab-") as directory:
        recording = record_case(case, Path(directory) / "host", drops=True)
        return recording, compare(case, all_differences=True, seconds_slack=kernel_case.seconds)


def each(cases: Iterable[KernelCase]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a test that takes `case`: one test per case, which needs the kernel."""
    parameters = [pytest.param(case, id=case.name.replace(" ", "-")) for case in cases]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        return pytest.mark.kernel(pytest.mark.parametrize("case", parameters)(function))

    return decorate
