"""Changes of a node while packets pass: what holds for the next packet, and what is kept."""

from __future__ import annotations

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether

from datapath import Datapath
from tests.unit.test_fib import host_of

RULES = "*filter\n-A FORWARD -m conntrack --ctstate NEW\nCOMMIT\n"


def frame(dst: str, sport: int = 1000) -> bytes:
    return bytes(Ether(src="02:00:00:00:01:02", dst="02:00:00:00:00:02") / IP(src="192.0.2.2", dst=dst) / UDP(sport=sport, dport=53) / b"x")


def new_node() -> Datapath:
    node = Datapath(host_of(["route add default via 198.51.100.9"]))
    node.restore(RULES)
    return node


def leaves_by(node: Datapath, dst: str, sport: int = 1000) -> list[str]:
    """Where the packet leaves; ICMP errors and redirects are left out."""
    return [interface for interface, out in node.receive(frame(dst, sport), "eth0").outputs if UDP in Ether(out) and ICMP not in Ether(out)]


def test_a_route_holds_for_the_next_packet_and_connections_are_kept() -> None:
    node = new_node()
    assert leaves_by(node, "8.8.8.8") == ["eth1"]
    assert len(node.conntrack()) == 1
    node.ip("route add blackhole 8.8.8.0/24")
    assert leaves_by(node, "8.8.8.8") == []
    assert leaves_by(node, "8.8.4.4") == ["eth1"]
    assert len(node.conntrack()) == 2
    node.ip("route del 8.8.8.0/24")
    assert leaves_by(node, "8.8.8.8") == ["eth1"]
    assert node.counters()["filter/FORWARD/1"] == (3, 3 * 29)   # the first two packets of a connection without a reply are NEW


def test_forwarding_off_and_on() -> None:
    node = new_node()
    node.sysctl("net.ipv4.ip_forward", 0)
    assert leaves_by(node, "8.8.8.8") == []
    node.sysctl("net.ipv4.ip_forward", 1)
    assert leaves_by(node, "8.8.8.8") == ["eth1"]


def test_an_address_makes_packets_local_and_a_device_that_is_down_takes_none() -> None:
    node = new_node()
    assert leaves_by(node, "198.51.100.77") == ["eth1"]
    node.ip("addr add 198.51.100.77/24 dev eth1")
    assert str(node.receive(frame("198.51.100.77"), "eth0").verdict) == "DELIVERED"
    node.ip("addr del 198.51.100.77/24 dev eth1")
    node.ip("link set eth1 down")
    assert leaves_by(node, "198.51.100.77") == []


def test_a_policy_rule_with_a_mark() -> None:
    node = new_node()
    node.ip("route add default via 192.0.2.9 table 7")
    node.ip("rule add fwmark 1 lookup 7")
    node.restore("*mangle\n-A PREROUTING -p udp --sport 2000 -j MARK --set-mark 1\nCOMMIT\n", noflush=True)
    assert leaves_by(node, "8.8.8.8", 2000) == ["eth0"]
    assert leaves_by(node, "8.8.8.8", 2001) == ["eth1"]
