"""Rules and traffic that strain NAT: every form of every target, few clients and ports so that tuples clash."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from datapath.lab.case import CasePacket
from datapath.lab.generate.build import ACK, ICMP, ICMPV6, SYN, TCP, UDP, Header, Segment, icmp, internet_sum, ip_packet, pseudo, tcp, udp
from datapath.lab.generate.peers import SYN_OPTIONS
from datapath.lab.generate.traffic import Traffic
from datapath.lab.generate.world import INTERFACES, World

GRE, SCTP, UDPLITE = 47, 132, 136
SOURCE_PORTS = (7, 600, 2000, 2001, 40000)
DESTINATION_PORTS = (53, 80, 8080)
PORT_RANGES = ("2000", "8080", "7000-7001", "7000-7003", "1900-2100", "1-65535", "0", "500-530")
STATES = ("NEW", "ESTABLISHED", "RELATED", "INVALID", "DNAT", "SNAT", "NEW,DNAT", "ESTABLISHED,SNAT")


def nat_rule_set(world: World, family: int) -> str:
    """A save text: some rules in each chain of the nat table, and in the filter table rules that count states."""
    lines = []
    for hook, most in (("PREROUTING", 4), ("INPUT", 2), ("OUTPUT", 3), ("POSTROUTING", 4)):
        least = hook in ("PREROUTING", "POSTROUTING")
        lines += [f"-A {hook} {nat_rule(world, family, hook)}" for _ in range(world.rng.randint(least, most))]
    counting = [f"-A {hook} -m conntrack --ctstate {world.rng.choice(STATES)}" for hook in ("INPUT", "FORWARD", "OUTPUT") for _ in range(2)]
    if world.chance(0.2):
        counting.append(f"-A FORWARD -p udp -d {world.rng.choice(world.families[family].all_peers())} -j REJECT")
    chains = "".join(f":{hook} ACCEPT [0:0]\n" for hook in ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"))
    filters = "".join(f":{hook} ACCEPT [0:0]\n" for hook in ("INPUT", "FORWARD", "OUTPUT"))
    return "\n".join([f"*nat\n{chains}" + "\n".join(lines), f"COMMIT\n*filter\n{filters}" + "\n".join(counting), "COMMIT\n"])


def second_way_out(world: World, recipe: dict[str, Any]) -> dict[int, str]:
    """Give the node a routing table for marked packets, and the rules that mark the short ones of a connection."""
    recipe["routes"] += ["default via 203.0.113.3 table 100"] if 4 in world.families else []
    recipe["routes6"] += ["default via fd00:3::3 table 100"] if 6 in world.families else []
    recipe |= {key: ["fwmark 0x1 table 100"] for number, key in ((4, "rules"), (6, "rules6")) if number in world.families}
    chains = ":PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n"
    return {number: f"*mangle\n{chains}" + "".join(f"-A {hook} -m length --length {length} -j MARK --set-xmark 0x1/0x1\n"
                                                  for hook in ("PREROUTING", "OUTPUT")) + "COMMIT\n"
            for number, length in ((4, "0:32"), (6, "0:52")) if number in world.families}


def nat_rule(world: World, family: int, hook: str) -> str:
    """Few conditions and a NAT target that Linux allows at the hook."""
    rng = world.rng
    parts = []
    if world.chance(0.3):
        parts.append(f"-{'i' if hook in ('PREROUTING', 'INPUT') else 'o'} {rng.choice(INTERFACES)}")
    if world.chance(0.25):
        parts.append(f"{rng.choice(('-s', '-d'))} {world.network(family)}")
    protocol = rng.choice(("", "tcp", "udp", "tcp", "udp", "icmp" if family == 4 else "ipv6-icmp"))
    if protocol:
        parts.append(f"-p {protocol}")
    if protocol in ("tcp", "udp") and world.chance(0.3):
        parts.append(f"-m {protocol} --dport {rng.choice(DESTINATION_PORTS)}")
    ported = protocol in ("tcp", "udp", "icmp")
    make = {"PREROUTING": (dnat, dnat, redirect, netmap), "OUTPUT": (dnat, dnat, redirect, netmap), "INPUT": (snat, netmap),
            "POSTROUTING": (snat, snat, snat, masquerade, masquerade, netmap)}  # fmt: skip
    return " ".join([*parts, rng.choice(make[hook])(world, family, ported)])


def ends(world: World, family: int, ported: bool, pool: list[str]) -> str:
    """Addresses and ports of a DNAT or SNAT."""
    rng = world.rng
    first = rng.choice(pool)
    text = first
    if world.chance(0.35):
        text += "-" + last_of_range(first, rng.choice((1, 3, 77)), family)
    ports = rng.choice(PORT_RANGES) if ported and world.chance(0.5) else ""
    if ports and "-" in ports and pool is not None and world.chance(0.15):
        ports += f"/{rng.choice(DESTINATION_PORTS)}"
    if not ports:
        return text if world.chance(0.9) or not ported else f":{rng.choice(PORT_RANGES)}"
    return f"[{text}]:{ports}" if family == 6 else f"{text}:{ports}"


def last_of_range(first: str, more: int, family: int) -> str:
    """An address some numbers after another."""
    if family == 4:
        head, _, tail = first.rpartition(".")
        return f"{head}.{min(254, int(tail) + more)}"
    head, _, tail = first.rpartition(":")
    return f"{head}:{int(tail or '0', 16) + more:x}"


def dnat(world: World, family: int, ported: bool) -> str:
    """-j DNAT."""
    members = world.families[family]
    pool = [*members.all_peers(), *members.all_peers(), *members.all_own()]
    flags = [flag for flag in ("--random", "--persistent") if world.chance(0.15)]
    return " ".join(["-j DNAT --to-destination", ends(world, family, ported, pool), *flags])


def snat(world: World, family: int, ported: bool) -> str:
    """-j SNAT."""
    members = world.families[family]
    pool = [*members.all_own(), *members.services, *members.all_peers()]
    flags = [flag for flag in ("--random", "--random-fully", "--persistent") if world.chance(0.12)]
    return " ".join(["-j SNAT --to-source", ends(world, family, ported, pool).split("/")[0], *flags])


def masquerade(world: World, family: int, ported: bool) -> str:
    """-j MASQUERADE."""
    del family
    ports = [f"--to-ports {world.rng.choice(PORT_RANGES)}"] if ported and world.chance(0.3) else []
    return " ".join(["-j MASQUERADE", *ports, *(flag for flag in ("--random", "--random-fully") if world.chance(0.12))])


def redirect(world: World, family: int, ported: bool) -> str:
    """-j REDIRECT."""
    del family
    ports = [f"--to-ports {world.rng.choice(PORT_RANGES)}"] if ported and world.chance(0.5) else []
    return " ".join(["-j REDIRECT", *ports, *(["--random"] if world.chance(0.15) else [])])


def netmap(world: World, family: int, ported: bool) -> str:
    """-j NETMAP."""
    del ported
    return f"-j NETMAP --to {world.network(family) if world.chance(0.4) else world.rng.choice(list(world.families[family].nets.values()))}"


def other_protocol(world: World, source: str, destination: str) -> tuple[int, bytes]:
    """The number and the payload of SCTP, UDP-Lite, GRE with and without a key, ESP, or something unknown."""
    rng = world.rng
    ports = struct.pack("!HH", rng.choice(SOURCE_PORTS), rng.choice(DESTINATION_PORTS))
    kind = rng.choice((SCTP, SCTP, UDPLITE, GRE, GRE, 50, 253))
    if kind == SCTP:
        init, data = struct.pack("!BBHIIHHI", 1, 0, 20, 7, 65535, 2, 2, 1), struct.pack("!BBHIHHI", 0, 3, 20, 1, 0, 0, 0) + b"data"
        tag, chunk = rng.choice(((0, init), (7, data)))     # only an INIT has no verification tag
        bare = ports + struct.pack("!II", tag, 0) + chunk
        return kind, bare[:8] + crc32c(bare).to_bytes(4, "little") + bare[12:]
    if kind == UDPLITE:
        bare = ports + struct.pack("!HH", rng.choice((0, 8)), 0) + b"data"
        covered = bare if bare[4:6] == b"\0\0" else bare[:8]
        check = internet_sum(covered, pseudo(source, destination, UDPLITE, len(bare)))
        return kind, bare[:6] + struct.pack("!H", check or 0xFFFF) + bare[8:]
    if kind == GRE:
        with_call_id = struct.pack("!HHHHI", 0x3001, 0x880B, 4, rng.randrange(3), 9) + b"data"   # PPTP
        return kind, rng.choice((struct.pack("!HH", 0, 0x0800) + bytes(20), with_call_id))
    return kind, ports + b"whatever"


def crc32c(data: bytes) -> int:
    """CRC-32C of SCTP, bit by bit (RFC 9260, appendix A)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@dataclass
class NatTraffic(Traffic):
    """New flows come from three neighbours per interface and from the node, with few ports; errors instead of damage."""

    def spoil(self, packet: CasePacket) -> CasePacket:
        """An ICMP error about an earlier packet."""
        return self.error_about(self.world.rng.choice(self.earlier) if self.earlier else packet) or packet

    def new_flow(self) -> CasePacket:
        """The first packet of something, very likely to clash with another flow after translation."""
        rng = self.world.rng
        family = self.family()
        members = self.world.families[family]
        destination = rng.choice([*members.all_own(), *members.services, *members.all_peers()[:9], *members.all_peers()[:9]])
        interface = rng.choice(INTERFACES)
        local = self.world.chance(0.2)
        source = rng.choice(members.all_own() if local else members.peers[interface][:3])
        packet = self.flow_between(source, destination)
        return self.from_process(packet) if local else self.from_wire(interface, packet)

    def flow_between(self, source: str, destination: str) -> bytes:
        """TCP, UDP or an echo; now and then another protocol."""
        rng = self.world.rng
        if self.world.chance(0.08):
            protocol, payload = other_protocol(self.world, source, destination)
            return ip_packet(Header(source, destination, protocol, 64, 0, rng.randrange(1, 65536)), payload)
        echo, request = (ICMPV6, 128) if ":" in source else (ICMP, 8)
        protocol = rng.choices((TCP, UDP, echo), (4, 5, 2))[0]
        sport, dport = rng.choice(SOURCE_PORTS), rng.choice(DESTINATION_PORTS)
        if protocol == UDP:
            payload = udp(source, destination, sport, dport, b"x" * rng.randrange(9), checksum=":" in source or self.world.chance(0.8))
        elif protocol == TCP:
            payload = tcp(source, destination, Segment(sport, dport, rng.randrange(1 << 32), 0, SYN, options=SYN_OPTIONS))
            if self.world.chance(0.05):
                payload = tcp(source, destination, Segment(sport, dport, rng.randrange(1 << 32), rng.randrange(1 << 32), ACK))
        else:
            payload = icmp(source, destination, request, 0, rng.randrange(3) << 16 | rng.randrange(2), b"ping" * 2)
        return ip_packet(Header(source, destination, protocol, rng.choice((64, 64, 64, 1)), 0, rng.randrange(1, 65536)), payload)
