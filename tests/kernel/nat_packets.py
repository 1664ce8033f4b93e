"""Packets for the NAT cases: the usual node's peers as clients, servers and routers, of either family."""

from __future__ import annotations

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6
from scapy.packet import Packet, Raw

from datapath.lab.masks import checksum

FAMILIES = (4, 6)
PREFIX = {"client": ("192.0.2.", "fd00:1::"), "server": ("198.51.100.", "fd00:2::"), "beyond": ("203.0.113.", "fd00:3::")}


def address(family: int, role: str, number: int) -> str:
    """An address of the network of a role (`client` behind eth0, `server` behind eth1, `beyond` behind eth2); 1 is the node."""
    return PREFIX[role][0 if family == 4 else 1] + str(number)


def ip(source: str, destination: str, **fields: int) -> Packet:
    """An IP header; `ttl` is the hop limit in IPv6."""
    if ":" not in source:
        return IP(src=source, dst=destination, **fields)
    if "ttl" in fields:
        fields["hlim"] = fields.pop("ttl")
    return IPv6(src=source, dst=destination, **fields)


def udp(source: str, sport: int, destination: str, dport: int, payload: bytes = b"data", **fields: int) -> Packet:
    """A UDP packet."""
    return ip(source, destination, **fields) / UDP(sport=sport, dport=dport) / Raw(payload)


def tcp(source: str, sport: int, destination: str, dport: int, flags: str = "S", seq: int = 1000, ack: int = 0, payload: bytes = b"",
        **fields: int) -> Packet:
    """A TCP packet."""
    packet = ip(source, destination, **fields) / TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack, window=8192)
    return packet / Raw(payload) if payload else packet


def echo(source: str, destination: str, number: int, *, reply: bool = False, seq: int = 1, **fields: int) -> Packet:
    """An echo request or reply with this id."""
    header = ip(source, destination, **fields)
    if ":" in source:
        return header / (ICMPv6EchoReply if reply else ICMPv6EchoRequest)(id=number, seq=seq, data=b"ping")
    return header / ICMP(type=0 if reply else 8, id=number, seq=seq) / Raw(b"ping")


def about(packet: Packet, *, room: int = 520) -> bytes:
    """What an ICMP error quotes of a packet."""
    return bytes(packet)[:room]


def icmp_error(source: str, destination: str, kind: int, code: int, quoted: Packet | bytes, word: int = 0) -> Packet:
    """An ICMP or ICMPv6 error; `word` is the four bytes before the quotation (MTU, pointer, gateway)."""
    header = ip(source, destination)
    body = word.to_bytes(4, "big") + about(quoted)
    if ":" not in source:
        message = bytes([kind, code, 0, 0]) + body
        return header.__class__(src=source, dst=destination, proto=1) / Raw(with_checksum(message, b""))
    message = bytes([kind, code, 0, 0]) + body
    header = IPv6(src=source, dst=destination, nh=58)
    pseudo = bytes(header)[8:40] + len(message).to_bytes(4, "big") + bytes([0, 0, 0, 58])
    return header / Raw(with_checksum(message, pseudo))


def with_checksum(message: bytes, pseudo: bytes) -> bytes:
    """The message with its checksum in bytes 2 and 3."""
    total = checksum(pseudo + message)
    return message[:2] + total.to_bytes(2, "big") + message[4:]
