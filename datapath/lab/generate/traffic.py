"""Adaptive random traffic: new flows, answers of peers to what reached them, packets of known connections, damage."""

from __future__ import annotations

import re
import socket
from collections import deque
from dataclasses import dataclass, field

from datapath.lab.case import CasePacket, Happened
from datapath.lab.generate import damage
from datapath.lab.generate.build import (
    ACK,
    FIN,
    ICMP,
    ICMPV6,
    PROTOCOLS,
    PSH,
    RST,
    SYN,
    TCP,
    UDP,
    Header,
    Segment,
    frame,
    icmp,
    ip_packet,
    tcp,
    udp,
)
from datapath.lab.generate.nodes import MACS, peer_mac
from datapath.lab.generate.parse import see_frame
from datapath.lab.generate.peers import MSS_OPTION, SYN_OPTIONS, answers, error_about
from datapath.lab.generate.world import INTERFACES, World

TUPLE = re.compile(r"src=(\S+) dst=(\S+) (?:sport=(\d+) dport=(\d+)|type=(\d+) code=(\d+) id=(\d+))")
PENDING_AT_MOST = 12


def short(address: str) -> str:
    """An address as it is usually written; /proc spells IPv6 addresses out."""
    return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, address)) if ":" in address else address


@dataclass
class Traffic:
    """The next packet, given what happened before. `oddity` is how often packets are damaged or out of the way."""

    world: World
    oddity: float = 0.12
    owners: bool = False  # give local packets an owner
    pending: deque[CasePacket] = field(default_factory=deque)
    earlier: list[CasePacket] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)

    def next(self) -> CasePacket:
        """A packet to send now."""
        packet = self._choose()
        if self.world.chance(self.oddity):
            packet = self.spoil(packet)
        while packet.interface is not None and len(packet.data) > self.world.mtus.get(packet.interface, 1500) + 14:
            packet = self._choose()  # no interface takes what is longer
        self.earlier.append(packet)
        return packet

    def spoil(self, packet: CasePacket) -> CasePacket:
        """The packet damaged, or something odd in its place."""
        return damage.damage(self.world, packet, self)

    def _choose(self) -> CasePacket:
        roll = self.world.rng.random()
        if self.pending and roll < 0.55:
            return self.pending.popleft() if self.world.chance(0.8) else self.pending.pop()
        if self.entries and roll < 0.7:
            known = self.of_connection(self.world.rng.choice(self.entries))
            if known is not None:
                return known
        if self.earlier and roll < 0.76:
            return self.world.rng.choice(self.earlier[-20:])
        return self.new_flow()

    def learn(self, happened: Happened) -> None:
        """Let everybody who received something answer."""
        for interface, data in happened.outputs:
            seen = see_frame(data)
            if seen is None:
                continue
            for answer in answers(self.world, seen):
                self.pending.append(CasePacket(frame(seen.destination_mac, seen.source_mac, answer), interface))
        while len(self.pending) > PENDING_AT_MOST:
            self.pending.popleft()

    def family(self) -> int:
        """One of the families that are there."""
        return self.world.rng.choice(list(self.world.families))

    def new_flow(self) -> CasePacket:
        """The first packet of something, from the wire or from a local process."""
        world, rng = self.world, self.world.rng
        family = self.family()
        members = world.families[family]
        local = world.chance(0.2)
        interface = rng.choice(INTERFACES)
        if local:
            source = rng.choice(members.all_own())
        else:
            behind = members.far.get(interface, ())
            source = rng.choice(behind if behind and world.chance(0.15) else members.peers[interface])
        packet = self.packet_between(source, self._destination(family))
        if local:
            return self.from_process(packet)
        return self.from_wire(interface, packet)

    def _destination(self, family: int) -> str:
        members = self.world.families[family]
        far = [address for addresses in members.far.values() for address in addresses]
        pool = self.world.rng.choices((members.all_peers(), members.all_own(), members.services, far, members.special), (8, 5, 3, 3, 1))[0]
        return self.world.rng.choice(pool)

    def packet_between(self, source: str, destination: str) -> bytes:
        """A random first packet from one address to another."""
        rng = self.world.rng
        version = 6 if ":" in source else 4
        protocol = rng.choices((TCP, UDP, ICMP if version == 4 else ICMPV6, rng.choice((47, 50, 4, 2, 255))), (9, 8, 4, 0.5))[0]
        header = Header(
            source,
            destination,
            protocol,
            rng.choice((64, 64, 64, 64, 60, 255, 2, 1)),
            rng.choice((0, 0, 0, 0x10, 0x28, 0xB8, 3)),
            rng.randrange(1, 65536),
            rng.choice((0, 0x4000)),
            flow_label=rng.choice((0, 0x12345)),
        )
        return ip_packet(header, self._payload(source, destination, protocol))

    def _payload(self, source: str, destination: str, protocol: int) -> bytes:
        world, rng = self.world, self.world.rng
        sport = rng.choice((world.port(), rng.randrange(1024, 65536), 40000, 40001))
        if protocol == UDP:
            return udp(
                source, destination, sport, world.port(), rng.choice((b"", b"x", b"query" * 4)), checksum=":" in source or world.chance(0.8)
            )
        if protocol == TCP:
            flags = rng.choices((SYN, ACK, PSH | ACK, SYN | ACK, RST, FIN | ACK, 0, SYN | FIN, 0xFF), (12, 2, 2, 1, 1, 1, 0.2, 0.2, 0.2))[0]
            options = rng.choice((SYN_OPTIONS, MSS_OPTION, b"")) if flags & SYN else b""
            return tcp(
                source,
                destination,
                Segment(
                    sport,
                    world.port(),
                    rng.randrange(1 << 32),
                    rng.randrange(1 << 32) if flags & ACK else 0,
                    flags,
                    options=options,
                    data=b"data" if flags & PSH else b"",
                ),
            )
        if protocol in (ICMP, ICMPV6):
            kind = rng.choice((8, 8, 8, 8, 13, 0, 17)) if protocol == ICMP else rng.choice((128, 128, 128, 129))
            return icmp(source, destination, kind, 0, rng.randrange(3) << 16 | rng.randrange(3), rng.choice((b"", b"ping" * 5)))
        return bytes(rng.randrange(256) for _ in range(12))

    def of_connection(self, entry: str) -> CasePacket | None:
        """A packet of a connection that the node knows, in either direction."""
        rng = self.world.rng
        tuples = TUPLE.findall(entry)
        protocol = next((number for name, number in PROTOCOLS.items() if entry.split()[2] == name.replace("ipv6-icmp", "icmpv6")), 0)
        if len(tuples) != 2 or not protocol:
            return None
        source, destination, sport, dport, kind, code, identifier = rng.choice(tuples)
        source, destination = short(source), short(destination)
        if protocol in (ICMP, ICMPV6):
            payload = icmp(source, destination, int(kind), int(code), int(identifier) << 16 | rng.randrange(3), b"ping" * 5)
        elif protocol == UDP:
            payload = udp(source, destination, int(sport), int(dport), b"more")
        else:
            flags = rng.choice((ACK, PSH | ACK, FIN | ACK, RST, SYN, SYN | ACK))
            payload = tcp(source, destination, Segment(int(sport), int(dport), rng.randrange(1 << 32), rng.randrange(1 << 32), flags))
        packet = ip_packet(Header(source, destination, protocol, 64, 0, rng.randrange(1, 65536)), payload)
        return self.placed(source, packet)

    def placed(self, source: str, packet: bytes) -> CasePacket | None:
        """A packet where its source lives: sent by the node, or coming in from a neighbour or from behind one."""
        members = self.world.families[6 if ":" in source else 4]
        if source in members.all_own():
            return self.from_process(packet)
        for places in (members.peers, members.far):
            for interface, addresses in places.items():
                if source in addresses:
                    return self.from_wire(interface, packet)
        return None

    def from_wire(self, interface: str, packet: bytes) -> CasePacket:
        """In on an interface, sent by the neighbour whose address it has, or by a router."""
        source = see_frame(bytes(12) + (b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00") + packet)
        members = self.world.families[packet[0] >> 4]
        sender = source.source if source is not None and source.source in members.peers[interface] else members.peers[interface][1]
        return CasePacket(frame(peer_mac(interface, sender), MACS[interface], packet), interface)

    def from_process(self, packet: bytes) -> CasePacket:
        """Sent by a process of the node."""
        uid = self.world.rng.choice((None, 1000, 33, 1500)) if self.owners else None
        return CasePacket(packet, None, uid=uid, gid=uid)

    def error_about(self, packet: CasePacket) -> CasePacket | None:
        """An ICMP error about a packet that was sent before, from somewhere."""
        seen = see_frame(packet.data) if packet.interface else None
        if seen is None:
            return None
        interface = self.world.rng.choice(INTERFACES)
        return self.from_wire(interface, error_about(self.world, seen))
