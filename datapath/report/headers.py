"""The few header fields that a report shows, read from an IP packet or a frame that a node put out.

Not a dissector: addresses, ports and the flags or type, for one line per packet. Missing bytes give missing fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

PROTOCOLS = {
    0: "hop-by-hop", 1: "icmp", 2: "igmp", 4: "ipip", 6: "tcp", 17: "udp", 33: "dccp", 41: "ipv6", 43: "routing", 44: "fragment",
    47: "gre", 50: "esp", 51: "ah", 58: "icmp6", 59: "none", 60: "dstopts", 132: "sctp", 136: "udplite",
}  # fmt: skip
EXTENSION_HEADERS = frozenset({0, 43, 60, 135, 139, 140})
WITH_PORTS = frozenset({6, 17, 33, 132, 136})
TCP_FLAGS = ((2, "SYN"), (16, "ACK"), (1, "FIN"), (4, "RST"), (8, "PSH"), (32, "URG"), (64, "ECE"), (128, "CWR"))
ICMP_TYPES = {
    0: "echo reply", 3: "unreachable", 4: "source quench", 5: "redirect", 8: "echo request", 11: "time exceeded",
    12: "parameter problem", 13: "timestamp request", 14: "timestamp reply",
}  # fmt: skip
ICMP6_TYPES = {
    1: "unreachable", 2: "packet too big", 3: "time exceeded", 4: "parameter problem", 128: "echo request", 129: "echo reply",
    130: "listener query", 131: "listener report", 133: "router solicitation", 134: "router advertisement",
    135: "neighbour solicitation", 136: "neighbour advertisement", 137: "redirect", 143: "listener report v2",
}  # fmt: skip
UNREACHABLE = {
    0: "net", 1: "host", 2: "protocol", 3: "port", 4: "fragmentation needed", 5: "source route failed", 9: "net prohibited",
    10: "host prohibited", 13: "admin prohibited",
}  # fmt: skip
UNREACHABLE6 = {0: "no route", 1: "admin prohibited", 2: "beyond scope", 3: "address", 4: "port", 5: "policy", 6: "reject route"}
VLAN_TYPES = (0x8100, 0x88A8)


@dataclass(frozen=True, slots=True)
class Headers:
    """What one line shows of a packet. `info` are flags, a type, or what is wrong; ports are None without any."""

    family: int
    protocol: str
    source: str = ""
    destination: str = ""
    source_port: int | None = None
    destination_port: int | None = None
    info: str = ""

    @property
    def source_end(self) -> str:
        """Address and port."""
        return end(self.source, self.source_port)

    @property
    def destination_end(self) -> str:
        """Address and port."""
        return end(self.destination, self.destination_port)

    def __str__(self) -> str:
        return f"{self.source_end} > {self.destination_end}  {self.protocol} {self.info}".rstrip()

    def as_record(self) -> dict[str, object]:
        """The JSON form."""
        record: dict[str, object] = {"protocol": self.protocol, "source": self.source, "destination": self.destination}
        if self.source_port is not None:
            record |= {"source_port": self.source_port, "destination_port": self.destination_port}
        if self.info:
            record["info"] = self.info
        return record


def end(address: str, port: int | None) -> str:
    """`192.0.2.1:80`, `[2001:db8::1]:80`, or the address alone."""
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def of_frame(frame: bytes) -> Headers:
    """Headers of an Ethernet frame, VLAN tags skipped."""
    offset = 12
    while len(frame) >= offset + 2 and int.from_bytes(frame[offset : offset + 2]) in VLAN_TYPES:
        offset += 4
    ethertype = int.from_bytes(frame[offset : offset + 2])
    if ethertype == 0x0806:
        return of_arp(frame[offset + 2 :])
    if ethertype in (0x0800, 0x86DD):
        return of_packet(frame[offset + 2 :])
    return Headers(0, f"ethertype 0x{ethertype:04x}", frame[6:12].hex(":"), frame[:6].hex(":"))


def of_packet(packet: bytes) -> Headers:
    """Headers of an IP packet."""
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:
        return _of_ipv4(packet)
    if version == 6 and len(packet) >= 40:
        return _of_ipv6(packet)
    return Headers(0, "not IP", info=f"{len(packet)} bytes")


def of_arp(body: bytes) -> Headers:
    """An ARP request or answer."""
    if len(body) < 28:
        return Headers(4, "arp", info="cut")
    sender, target = str(IPv4Address(body[14:18])), str(IPv4Address(body[24:28]))
    what = {1: f"who has {target}?", 2: f"{sender} is at {body[8:14].hex(':')}"}.get(int.from_bytes(body[6:8]), "")
    return Headers(4, "arp", sender, target, info=what)


def _of_ipv4(packet: bytes) -> Headers:
    source, destination = str(IPv4Address(packet[12:16])), str(IPv4Address(packet[16:20]))
    fragment = int.from_bytes(packet[6:8])
    note = f"fragment at {(fragment & 0x1FFF) * 8}" if fragment & 0x3FFF else ""
    return _with_transport(4, packet[9], source, destination, packet[(packet[0] & 15) * 4 :], fragment & 0x1FFF == 0, note)


def _of_ipv6(packet: bytes) -> Headers:
    source, destination = str(IPv6Address(packet[8:24])), str(IPv6Address(packet[24:40]))
    protocol, offset, first, note = packet[6], 40, True, ""
    while protocol in EXTENSION_HEADERS and len(packet) >= offset + 8:
        protocol, offset = packet[offset], offset + (packet[offset + 1] + 1) * 8
    if protocol == 44 and len(packet) >= offset + 8:
        word = int.from_bytes(packet[offset + 2 : offset + 4])
        first, note = word & 0xFFF8 == 0, f"fragment at {word & 0xFFF8}"
        protocol, offset = packet[offset], offset + 8
    return _with_transport(6, protocol, source, destination, packet[offset:], first, note)


def _with_transport(family: int, protocol: int, source: str, destination: str, body: bytes, first: bool, note: str) -> Headers:
    name = PROTOCOLS.get(protocol, f"protocol {protocol}")
    if not first or len(body) < 4:
        return Headers(family, name, source, destination, info=note or ("cut" if first and protocol in WITH_PORTS else ""))
    if protocol in WITH_PORTS:
        info = _tcp_info(body) if protocol == 6 else ""
        return Headers(
            family, name, source, destination, int.from_bytes(body[:2]), int.from_bytes(body[2:4]), " ".join(filter(None, (info, note)))
        )
    info = _icmp_info(body, protocol) if protocol in (1, 58) else ""
    return Headers(family, name, source, destination, info=" ".join(filter(None, (info, note))))


def _tcp_info(body: bytes) -> str:
    if len(body) < 14:
        return "cut"
    return ",".join(name for bit, name in TCP_FLAGS if body[13] & bit) or "no flags"


def _icmp_info(body: bytes, protocol: int) -> str:
    types, codes = (ICMP_TYPES, UNREACHABLE) if protocol == 1 else (ICMP6_TYPES, UNREACHABLE6)
    kind, code = body[0], body[1]
    name = types.get(kind, f"type {kind}")
    if name.startswith("echo") and len(body) >= 8:
        return f"{name} id {int.from_bytes(body[4:6])} seq {int.from_bytes(body[6:8])}"
    if name == "unreachable":
        name = f"{codes.get(code, f'code {code}')} {name}" if code != 4 or protocol == 58 else "fragmentation needed"
    quotes = kind in (3, 4, 5, 11, 12) if protocol == 1 else kind in (1, 2, 3, 4)
    return f"{name} (about {of_packet(body[8:])})" if quotes and len(body) >= 28 else name
