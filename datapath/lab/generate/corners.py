"""Corners: policy rules and further tables, small MTUs, neighbours that are not known, ARP, ipsets."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Any

from datapath.lab.case import CasePacket, Happened
from datapath.lab.generate.build import UDP, Header, ip_packet, udp
from datapath.lab.generate.nodes import MACS, peer_mac
from datapath.lab.generate.traffic import Traffic
from datapath.lab.generate.world import INTERFACES, World

ARP = b"\x08\x06"
BROADCAST_MAC = "ff:ff:ff:ff:ff:ff"
ROUTES4 = (
    "default via 198.51.100.3 table 100", "192.0.2.0/24 via 203.0.113.4 table 100", "default via 192.0.2.5 table 101",
    "unreachable 8.8.8.0/24 table 102", "172.18.0.0/16 via 203.0.113.3 metric 50", "172.18.0.0/16 via 198.51.100.4 metric 20",
    "prohibit 10.96.0.0/24 table 101", "throw 172.16.0.0/16 table 100", "blackhole default table 103 metric 9",
)  # fmt: skip
RULES4 = (
    "from 192.0.2.0/28 lookup 100", "fwmark 0x1 lookup 101", "fwmark 0x2/0x3 lookup 100", "iif eth0 lookup 102", "tos 0x10 lookup 100",
    "to 8.8.8.0/24 lookup 101", "iif eth1 to 10.96.0.0/16 prohibit", "from 198.51.100.1 lookup 100", "fwmark 0x4000/0x4000 unreachable",
    "iif lo lookup 101", "ipproto udp lookup 100", "ipproto tcp dport 80 lookup 101", "not from 192.0.2.0/24 lookup 102",
    "iif eth2 blackhole", "to 172.16.0.0/16 lookup 103",
)  # fmt: skip
SETS4 = """\
create hosts hash:ip family inet
add hosts 198.51.100.3
add hosts 192.0.2.4
add hosts 10.96.0.10
add hosts 203.0.113.6
create nets hash:net family inet
add nets 192.0.2.0/29
add nets 192.0.2.4/30 nomatch
add nets 10.96.0.0/16
create services hash:ip,port family inet
add services 192.0.2.7,tcp:80
add services 203.0.113.6,udp:53
add services 192.0.2.4,tcp:443
add services 198.51.100.2,tcp:8080
create ports bitmap:port range 0-65535
add ports 80
add ports 8000-8100
"""
SET_MATCHES = ("hosts src", "hosts dst", "nets src", "nets dst", "services src,src", "services dst,dst", "ports dst", "ports src")


def add_corners(world: World, recipe: dict[str, Any]) -> None:
    """Change a recipe: some corners each time."""
    rng = world.rng
    for name, interface in recipe["interfaces"].items():
        interface["mtu"] = world.mtus[name] = rng.choice((1500, 1500, 1280) if 6 in world.families else (1500, 1500, 600, 1280))
    if 4 in world.families:
        recipe["routes"] += list(ROUTES4)
        recipe["rules"] = [f"priority {1000 + number * 10} {rule}" for number, rule in enumerate(rng.sample(RULES4, rng.randint(1, 4)))]
    known = recipe["neighbours"]
    for address in rng.sample(sorted(known), len(known) // 5):
        del known[address]


def ipsets(world: World) -> str:
    """An ipset save text."""
    return SETS4 if 4 in world.families else ""


def with_sets(world: World, rules: str, family: int) -> str:
    """The rule set with set matches in some of its rules."""
    if family == 6:
        return rules
    return "".join(f"{_with_set(world, line)}\n" for line in rules.splitlines())


def _with_set(world: World, line: str) -> str:
    head, option, target = line.rpartition(" -j ")
    if not line.startswith("-A") or not option or not world.chance(0.12):
        return line
    negated = "! " if world.chance(0.2) else ""
    return f"{head} -m set {negated}--match-set {world.rng.choice(SET_MATCHES)} -j {target}"


@dataclass
class CornerTraffic(Traffic):
    """Also long packets, ARP, and neighbours that answer when they are asked."""

    def new_flow(self) -> CasePacket:
        """As usual, or long, or ARP."""
        roll = self.world.rng.random()
        if roll < 0.15:
            return self.long_packet()
        if roll < 0.22 and 4 in self.world.families:
            return self.arp_request()
        return super().new_flow()

    def long_packet(self) -> CasePacket:
        """A UDP datagram between two neighbours that a small MTU cuts, or refuses when it says so."""
        rng = self.world.rng
        members = self.world.families[self.family()]
        interface = rng.choice(INTERFACES)
        source, destination = rng.choice(members.peers[interface]), rng.choice([*members.all_peers(), *members.services])
        data = bytes(rng.choice((570, 580, 700, 1200, 1240, 1300)))
        packet = ip_packet(
            Header(source, destination, UDP, 64, 0, rng.randrange(1, 65536), rng.choice((0, 0, 0x4000))),
            udp(source, destination, self.world.port(), self.world.port(), data),
        )
        return self.from_wire(interface, packet)

    def arp_request(self) -> CasePacket:
        """A neighbour asks for an address of the node, or for another one, or announces itself."""
        rng = self.world.rng
        interface = rng.choice(INTERFACES)
        members = self.world.families[4]
        asking = rng.choice((*members.peers[interface], "0.0.0.0"))
        mac = peer_mac(interface, asking)
        wanted = rng.choice(
            (*members.own[interface], *members.own[interface], rng.choice(members.all_own()), asking, members.peers[interface][0])
        )
        return arp(interface, rng.choice((BROADCAST_MAC, MACS[interface])), (1, mac, asking), ("00:00:00:00:00:00", wanted))

    def learn(self, happened: Happened) -> None:
        """Those who were asked for their address answer mostly."""
        super().learn(happened)
        for interface, frame in happened.outputs:
            if frame[12:14] == ARP and frame[20:22] == b"\0\1" and self.world.chance(0.8):
                asking, wanted = frame[22:28].hex(":"), socket.inet_ntoa(frame[38:42])
                answer = (2, peer_mac(interface, wanted), wanted)
                self.pending.appendleft(arp(interface, asking, answer, (asking, socket.inet_ntoa(frame[28:32]))))


def arp(interface: str, to: str, sender: tuple[int, str, str], target: tuple[str, str]) -> CasePacket:
    """An ARP frame: (operation, MAC, address) of the sender, (MAC, address) of the target."""
    operation, mac, address = sender
    body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation) + _mac(mac) + socket.inet_aton(address) + _mac(target[0])
    return CasePacket(_mac(to) + _mac(mac) + ARP + body + socket.inet_aton(target[1]), interface)


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))
