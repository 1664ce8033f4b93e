"""The walk where no kernel is asked: stacked devices, captures that were cut, bounds, the order of the hooks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

from datapath import Datapath, Host
from datapath.model.steps import HookEntered

NODE, PEER = "02:00:00:00:01:01", "02:00:00:00:01:02"
SECOND = 10**9
FLAGS = ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"]
LINKS: list[dict[str, Any]] = [
    {
        "ifindex": 1,
        "ifname": "lo",
        "flags": ["LOOPBACK", "UP", "LOWER_UP"],
        "mtu": 65536,
        "link_type": "loopback",
        "address": "00:00:00:00:00:00",
    },
    {"ifindex": 2, "ifname": "eth0", "flags": FLAGS, "mtu": 1500, "link_type": "ether", "address": NODE},
    {"ifindex": 3, "ifname": "eth1", "flags": FLAGS, "mtu": 1500, "link_type": "ether", "address": "02:00:00:00:02:01"},
]
ADDRESSES = {"lo": ["127.0.0.1/8"], "eth0": ["192.0.2.1/24"], "eth1": ["198.51.100.1/24"]}
NEIGHBOURS = {"192.0.2.2": "eth0", "198.51.100.2": "eth1"}


def vlan(name: str, index: int, lower: str, number: int, protocol: str = "802.1Q") -> dict[str, Any]:
    info = {"info_kind": "vlan", "info_data": {"protocol": protocol, "id": number, "flags": ["REORDER_HDR"]}}
    return {
        "ifindex": index,
        "ifname": name,
        "link": lower,
        "flags": FLAGS,
        "mtu": 1500,
        "link_type": "ether",
        "address": NODE,
        "linkinfo": info,
    }


def address(text: str) -> dict[str, Any]:
    local, length = text.split("/")
    return {"family": "inet", "local": local, "prefixlen": int(length), "scope": "host" if local.startswith("127.") else "global"}


def node(
    links: list[dict[str, Any]] | None = None,
    addresses: dict[str, list[str]] | None = None,
    neighbours: dict[str, str] | None = None,
    rules: str = "",
    sysctl: str = "",
    *,
    table: bool = True,
    **files: str,
) -> Datapath:
    """A router between 192.0.2.0/24 and 198.51.100.0/24 with further links; without `table` there is no ip-neigh.json."""
    every = LINKS + (links or [])
    listed = ADDRESSES | (addresses or {})
    texts = {
        "ip-link.json": json.dumps(every),
        "ip-addr.json": json.dumps([{**link, "addr_info": [address(item) for item in listed.get(link["ifname"], [])]} for link in every]),
        "sysctl.txt": "net.ipv4.ip_forward = 1\nnet.ipv4.icmp_ratelimit = 0\n" + sysctl,
        "uname.txt": "Linux node 6.18.1",
        "iptables-save.txt": rules,
    }  # fmt: skip
    if table:
        entries = [
            {"dst": ip, "dev": device, "lladdr": PEER, "state": ["PERMANENT"]} for ip, device in (NEIGHBOURS | (neighbours or {})).items()
        ]
        texts["ip-neigh.json"] = json.dumps(entries)
    return Datapath(Host.from_files(texts | files), seed=1)


def frame(packet: Packet, *tags: Packet, dst: str = NODE) -> bytes:
    built = Ether(src=PEER, dst=dst)
    for tag in tags:
        built /= tag
    return bytes(built / packet)


def udp(src: str, dst: str, size: int = 4) -> Packet:
    return IP(src=src, dst=dst, id=1) / UDP(sport=1, dport=2) / (b"abcd" * 400)[:size]


VLANS = [vlan("eth0.5", 4, "eth0", 5), vlan("eth0.6", 5, "eth0", 6, "802.1ad"), vlan("eth0.6.7", 6, "eth0.6", 7)]
VLAN_ADDRESSES = {"eth0.5": ["10.5.0.1/24"], "eth0.6": ["10.6.0.1/24"], "eth0.6.7": ["10.67.0.1/24"]}
VLAN_NEIGHBOURS = {"10.5.0.2": "eth0.5", "10.6.0.2": "eth0.6", "10.67.0.2": "eth0.6.7"}


@pytest.mark.parametrize(
    ("src", "tags"),
    [
        pytest.param("10.5.0.2", (Dot1Q(vlan=5),), id="802.1Q"),
        pytest.param("10.6.0.2", (Dot1AD(vlan=6),), id="802.1ad"),
        pytest.param("10.67.0.2", (Dot1AD(vlan=6), Dot1Q(vlan=7)), id="two tags"),
        pytest.param("192.0.2.2", (Dot1Q(vlan=0, prio=3),), id="only a priority"),
    ],
)
def test_a_tagged_frame_is_the_vlan_devices(src: str, tags: tuple[Packet, ...]) -> None:
    transit = node(VLANS, VLAN_ADDRESSES, VLAN_NEIGHBOURS).receive(frame(udp(src, "198.51.100.2"), *tags), "eth0")
    [(interface, out)] = transit.outputs
    assert (interface, Ether(out).type, Ether(out)[IP].ttl) == ("eth1", 0x800, 63)


@pytest.mark.parametrize(
    "tags",
    [
        pytest.param((Dot1Q(vlan=8),), id="no such device"),
        pytest.param((Dot1Q(vlan=6),), id="the other protocol"),
        pytest.param((Dot1AD(vlan=6), Dot1Q(vlan=9)), id="no such inner device"),
    ],
)
def test_a_tag_without_a_device_makes_the_frame_anothers(tags: tuple[Packet, ...]) -> None:
    transit = node(VLANS, VLAN_ADDRESSES, VLAN_NEIGHBOURS).receive(frame(udp("10.5.0.2", "198.51.100.2"), *tags), "eth0")
    assert (transit.outputs, transit.drop_reason) == ((), "OTHERHOST")


@pytest.mark.parametrize(
    ("dst", "expected"),
    [
        pytest.param("10.5.0.2", [(0x8100, 5)], id="802.1Q"),
        pytest.param("10.6.0.2", [(0x88A8, 6)], id="802.1ad"),
        pytest.param("10.67.0.2", [(0x88A8, 6), (0x8100, 7)], id="two tags"),
    ],
)
def test_what_leaves_by_a_vlan_device_is_tagged(dst: str, expected: list[tuple[int, int]]) -> None:
    transit = node(VLANS, VLAN_ADDRESSES, VLAN_NEIGHBOURS).receive(frame(udp("198.51.100.2", dst), dst="02:00:00:00:02:01"), "eth1")
    [(interface, out)] = transit.outputs
    at, tags = 12, []
    while int.from_bytes(out[at : at + 2], "big") in (0x8100, 0x88A8):
        tags.append((int.from_bytes(out[at : at + 2], "big"), int.from_bytes(out[at + 2 : at + 4], "big") & 0xFFF))
        at += 4
    assert (interface, tags, out[at : at + 2], out[:12]) == ("eth0", expected, b"\x08\x00", bytes.fromhex((PEER + NODE).replace(":", "")))


def test_arp_on_a_vlan_is_answered_with_its_tag() -> None:
    question = frame(ARP(op=1, hwsrc=PEER, psrc="10.5.0.9", pdst="10.5.0.1"), Dot1Q(vlan=5), dst="ff:ff:ff:ff:ff:ff")
    [(interface, out)] = node(VLANS, VLAN_ADDRESSES, VLAN_NEIGHBOURS).receive(question, "eth0").outputs
    assert (interface, Ether(out)[Dot1Q].vlan, Ether(out)[ARP].op, Ether(out)[ARP].psrc) == ("eth0", 5, 2, "10.5.0.1")


def test_a_dummy_device_swallows_what_it_is_given() -> None:
    dummy = {"ifindex": 4, "ifname": "dum0", "flags": ["BROADCAST", "NOARP", "UP", "LOWER_UP"], "mtu": 1500, "link_type": "ether",
             "address": "02:00:00:00:09:01", "linkinfo": {"info_kind": "dummy"}}  # fmt: skip
    transit = node([dummy], {"dum0": ["10.9.0.1/24"]}).receive(frame(udp("192.0.2.2", "10.9.0.7")), "eth0")
    assert (transit.outputs, transit.verdict.name) == ((), "FORWARDED")


def test_without_a_neighbour_table_every_neighbour_resolves() -> None:
    router = node(table=False)
    [(_, out)] = router.receive(frame(udp("192.0.2.2", "198.51.100.9")), "eth0").outputs
    assert Ether(out).dst == "02:ff:c6:33:64:09"
    router.receive(frame(ARP(op=2, hwsrc="02:00:00:00:02:99", psrc="198.51.100.9", pdst="198.51.100.1"), dst="02:00:00:00:02:01"), "eth1")
    [(_, out)] = router.receive(frame(udp("192.0.2.2", "198.51.100.9")), "eth0").outputs
    assert Ether(out).dst == "02:00:00:00:02:99"


def test_with_a_neighbour_table_a_stranger_is_asked_for() -> None:
    router = node()
    transit = router.receive(frame(udp("192.0.2.2", "198.51.100.9")), "eth0")
    assert transit.verdict.name == "QUEUED"
    assert Ether(transit.outputs[0][1])[ARP].pdst == "198.51.100.9"
    answer = frame(ARP(op=2, hwsrc="02:00:00:00:02:99", psrc="198.51.100.9", pdst="198.51.100.1"), dst="02:00:00:00:02:01")
    assert [Ether(out).dst for _, out in router.receive(answer, "eth1", SECOND // 2).outputs] == ["02:00:00:00:02:99"]
    assert router._core.packets_held == 0


def test_the_queue_of_a_neighbour_is_bounded() -> None:
    router = node()
    for number in range(2000):
        router.receive(frame(udp("192.0.2.2", "198.51.100.9", 1000)), "eth0", number)
    assert 0 < router._core.packets_held < 200  # net.ipv4.neigh.default.unres_qlen_bytes
    router.advance(10 * SECOND)
    assert router._core.packets_held == 0


def test_a_capture_that_was_cut_goes_as_far_as_it_can_be_read() -> None:
    whole = frame(udp("192.0.2.2", "198.51.100.2", 400))
    transit = node().receive(whole[:60], "eth0", wire_length=len(whole))
    [(interface, out)] = transit.outputs
    assert (interface, len(out), Ether(out)[IP].len, Ether(out)[IP].ttl) == ("eth1", 60, 428, 63)


@pytest.mark.parametrize("kept", range(34))
def test_a_capture_cut_in_its_headers_is_dropped(kept: int) -> None:
    whole = frame(udp("192.0.2.2", "198.51.100.2", 400))
    transit = node().receive(whole[:kept], "eth0", wire_length=len(whole))
    assert (transit.outputs, transit.drop_reason) == ((), "HDR_TRUNC")


def test_a_packet_that_runs_in_circles_through_lo_comes_to_an_end() -> None:
    router = node(**{"ip-route.json": json.dumps([
        {"dst": "192.0.2.0/24", "dev": "eth0", "scope": "link", "prefsrc": "192.0.2.1"},
        {"dst": "10.0.0.0/8", "dev": "lo", "scope": "link"},
        {"type": "local", "dst": "192.0.2.1", "dev": "eth0", "table": "local", "scope": "host", "prefsrc": "192.0.2.1"},
    ])}, sysctl="net.ipv4.conf.all.rp_filter = 0\nnet.ipv4.conf.lo.rp_filter = 0\n")  # fmt: skip
    transit = router.receive(frame(IP(src="192.0.2.2", dst="10.1.1.1", ttl=255) / UDP() / b"x"), "eth0")
    assert transit.drop_reason == "IP_INHDR"
    assert [Ether(out)[ICMP].type for _, out in transit.outputs] == [11]
    assert sum(step.hook == "PREROUTING" for step in transit.steps if isinstance(step, HookEntered)) == 255


def hooks(transit: Any) -> list[str]:
    return [step.hook for step in transit.steps if isinstance(step, HookEntered)]


def test_the_hooks_that_a_packet_passes() -> None:
    router = node()
    assert hooks(router.receive(frame(udp("192.0.2.2", "198.51.100.2")), "eth0")) == ["PREROUTING", "FORWARD", "POSTROUTING"]
    assert hooks(router.receive(frame(udp("192.0.2.2", "192.0.2.1")), "eth0")) == ["PREROUTING", "INPUT"]
    assert hooks(router.send(bytes(udp("192.0.2.1", "192.0.2.2")))) == ["OUTPUT", "POSTROUTING"]
    assert hooks(router.send(bytes(udp("192.0.2.1", "192.0.2.1")))) == ["OUTPUT", "POSTROUTING", "PREROUTING", "INPUT"]
    expired = IP(src="192.0.2.2", dst="198.51.100.2", ttl=1) / UDP()
    assert hooks(router.receive(frame(expired), "eth0")) == ["PREROUTING", "OUTPUT", "POSTROUTING"]


def test_time_never_runs_backwards() -> None:
    router = node()
    router.receive(frame(udp("192.0.2.2", "198.51.100.2")), "eth0", 5 * SECOND)
    router.receive(frame(udp("192.0.2.2", "198.51.100.2")), "eth0", 3 * SECOND)
    assert router._core.now_ns == 5 * SECOND


def test_fragments_that_never_come_are_given_up() -> None:
    router = node(rules="*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m conntrack --ctstate NEW\nCOMMIT\n")
    for number in range(50):
        part = IP(src="192.0.2.2", dst="198.51.100.2", id=number, flags="MF") / Raw(b"x" * 80)
        assert router.receive(frame(part), "eth0").verdict.name == "QUEUED"
    assert router._core.packets_held == 50
    router.advance(31 * SECOND)
    assert router._core.packets_held == 0


def test_fragments_do_not_take_more_memory_than_the_sysctl_says() -> None:
    router = node(
        rules="*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m conntrack --ctstate NEW\nCOMMIT\n",
        sysctl="net.ipv4.ipfrag_high_thresh = 100000\n",
    )
    for number in range(3000):
        router.receive(frame(IP(src="192.0.2.2", dst="198.51.100.2", id=number, flags="MF") / Raw(b"x" * 80)), "eth0")
    assert router._core.packets_held < 200


def test_ipv6_that_is_off_drops_its_packets() -> None:
    router = node(sysctl="net.ipv6.conf.eth0.disable_ipv6 = 1\n")
    transit = router.receive(frame(IPv6(src="fd00::2", dst="fd00::1") / UDP()), "eth0")
    assert transit.drop_reason == "IPV6DISABLED"
