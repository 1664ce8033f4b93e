"""An IP packet of a capture: its flow, and a key by which it is known again after NAT.

Nothing here is needed to play a packet: the core reads headers itself. This is for telling which records are the same
packet, and for saying in what two of them differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address

TCP, UDP, ICMP, ICMPV6, UDPLITE, SCTP, DCCP = 6, 17, 1, 58, 136, 132, 33
WITH_PORTS = frozenset({TCP, UDP, UDPLITE, SCTP, DCCP})
EXTENSION_HEADERS = frozenset({0, 43, 60, 135})
FRAGMENT, AUTHENTICATION = 44, 51
CHECKSUM_AT = {TCP: 16, UDP: 6, UDPLITE: 6, ICMP: 2, ICMPV6: 2, DCCP: 6}
ECHO_TYPES = {ICMP: frozenset({0, 8, 13, 14, 15, 16, 17, 18}), ICMPV6: frozenset({128, 129})}
ERROR_TYPES = {ICMP: frozenset({3, 4, 5, 11, 12}), ICMPV6: frozenset({1, 2, 3, 4})}
SYN, ACK, RST = 0x02, 0x10, 0x04
KEY_BYTES = 24  # of the payload: enough to tell packets apart, few enough to survive a snap length


@dataclass(frozen=True)
class IpPacket:
    """An IPv4 or IPv6 packet as far as it was captured. `data` begins with the IP header and ends with the packet."""

    data: bytes
    family: int
    length: int
    protocol: int
    transport: int  # offset of the transport header
    fragment_offset: int
    more_fragments: bool
    identification: int

    @property
    def source(self) -> bytes:
        """The source address, 4 or 16 bytes."""
        return self.data[12:16] if self.family == 4 else self.data[8:24]

    @property
    def destination(self) -> bytes:
        """The destination address, 4 or 16 bytes."""
        return self.data[16:20] if self.family == 4 else self.data[24:40]

    @property
    def has_ports(self) -> bool:
        """Whether the two ports can be read."""
        return self.protocol in WITH_PORTS and self.fragment_offset == 0 and len(self.data) >= self.transport + 4

    @property
    def source_port(self) -> int:
        """The source port, or the id of an ICMP echo; 0 without."""
        at = self.transport
        if self.has_ports:
            return int.from_bytes(self.data[at : at + 2])
        return int.from_bytes(self.data[at + 4 : at + 6]) if self.is_echo else 0

    @property
    def destination_port(self) -> int:
        """The destination port; 0 without."""
        return int.from_bytes(self.data[self.transport + 2 : self.transport + 4]) if self.has_ports else 0

    @property
    def is_echo(self) -> bool:
        """An ICMP query or its answer: a message with an id."""
        return self._icmp_type() in ECHO_TYPES.get(self.protocol, ()) and len(self.data) >= self.transport + 8

    @property
    def is_error(self) -> bool:
        """An ICMP error, which quotes a packet."""
        return self._icmp_type() in ERROR_TYPES.get(self.protocol, ())

    @property
    def is_for_link(self) -> bool:
        """Whether its destination means something on one link only: multicast, broadcast, link-local."""
        to = self.destination
        if self.family == 6:
            return to[0] == 0xFF or (to[0] == 0xFE and to[1] & 0xC0 == 0x80)
        return 224 <= to[0] < 240 or to == b"\xff\xff\xff\xff" or to[:2] == b"\xa9\xfe"

    @property
    def tcp_flags(self) -> int:
        """The flags of a TCP header, 0 without."""
        readable = self.protocol == TCP and self.fragment_offset == 0 and len(self.data) >= self.transport + 14
        return self.data[self.transport + 13] if readable else 0

    @property
    def sequence(self) -> int:
        """TCP's sequence number; meaningful with `tcp_flags`."""
        return int.from_bytes(self.data[self.transport + 4 : self.transport + 8])

    @property
    def tcp_payload(self) -> bytes:
        """What follows the TCP header, as far as it was captured; meaningful with `tcp_flags`."""
        at = self.transport
        return self.data[at + (self.data[at + 12] >> 4) * 4 :] if len(self.data) > at + 12 else b""

    @property
    def acknowledgement(self) -> int:
        """TCP's acknowledgement number; meaningful with `tcp_flags`."""
        return int.from_bytes(self.data[self.transport + 8 : self.transport + 12])

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What NAT, routing and a change of TTL, TOS or checksum leave alone, the id of the IP header not among it."""
        return (self.family, self.protocol, self.length, self.fragment_offset, self.more_fragments, self._content_key())

    @cached_property
    def full_key(self) -> tuple[object, ...]:
        """The key with the id of the IP header: for packets that the node only forwards."""
        return (*self.key, self.identification)

    @property
    def flow(self) -> str:
        """`PROTOCOL SOURCE:PORT > DESTINATION:PORT`, for messages."""
        return f"{protocol_name(self.protocol)} {self.end(0)} > {self.end(1)}"

    def end(self, which: int) -> str:
        """Source (0) or destination (1) with its port, as text."""
        address = address_text(self.destination if which else self.source)
        if not self.has_ports:
            return address
        port = self.destination_port if which else self.source_port
        return f"[{address}]:{port}" if self.family == 6 else f"{address}:{port}"

    def _icmp_type(self) -> int:
        readable = self.fragment_offset == 0 and len(self.data) > self.transport
        return self.data[self.transport] if readable and self.protocol in (ICMP, ICMPV6) else -1

    def _content_key(self) -> bytes | tuple[object, ...]:
        at, data = self.transport, self.data
        if self.fragment_offset:
            return data[at : at + KEY_BYTES]
        if self.protocol == TCP:
            return data[at + 4 : at + 16]  # sequence, acknowledgement, flags, window
        if self.protocol == UDP:
            return data[at + 8 : at + 8 + KEY_BYTES]
        if self.is_echo:
            return data[at : at + 2] + data[at + 6 : at + 8 + KEY_BYTES]
        if self.is_error:
            quoted = read_packet(data[at + 8 :])
            return (data[at : at + 2], quoted._content_key() if quoted else b"")
        if self.protocol in CHECKSUM_AT:
            return data[at : at + 2] + data[at + 4 : at + 4 + KEY_BYTES]
        if self.protocol == SCTP:
            return data[at + 4 : at + 8] + data[at + 12 : at + 12 + KEY_BYTES]
        return data[at : at + KEY_BYTES]


def read_packet(data: bytes, wire_length: int | None = None) -> IpPacket | None:
    """The packet that begins here; None when there is no whole IP header. `wire_length` was it before the snap length."""
    if not data:
        return None
    available = max(wire_length or 0, len(data))
    if data[0] >> 4 == 4:
        return _read_ipv4(data, available)
    return _read_ipv6(data, available) if data[0] >> 4 == 6 else None


def _read_ipv4(data: bytes, available: int) -> IpPacket | None:
    header = (data[0] & 15) * 4
    if len(data) < 20 or header < 20:
        return None
    length = int.from_bytes(data[2:4]) or available
    fragment = int.from_bytes(data[6:8])
    return IpPacket(
        data[: max(length, 20)], 4, length, data[9], header, (fragment & 0x1FFF) * 8, bool(fragment & 0x2000), int.from_bytes(data[4:6])
    )


def _read_ipv6(data: bytes, available: int) -> IpPacket | None:
    if len(data) < 40:
        return None
    length = int.from_bytes(data[4:6]) + 40 if data[4:6] != b"\0\0" else available
    protocol, at, offset, more, identification = data[6], 40, 0, False, int.from_bytes(data[1:4]) & 0xFFFFF
    while at + 8 <= len(data):
        if protocol in EXTENSION_HEADERS:
            protocol, at = data[at], at + (data[at + 1] + 1) * 8
        elif protocol == FRAGMENT and offset == 0:
            word = int.from_bytes(data[at + 2 : at + 4])
            offset, more, identification = word & 0xFFF8, bool(word & 1), int.from_bytes(data[at + 4 : at + 8])
            protocol, at = data[at], at + 8
            if offset:
                break
        elif protocol == AUTHENTICATION:
            protocol, at = data[at], at + (data[at + 1] + 2) * 4
        else:
            break
    return IpPacket(data[:length], 6, length, protocol, at, offset, more, identification)


def address_text(address: bytes) -> str:
    """An address of 4 or 16 bytes as people write it."""
    return str(IPv4Address(address) if len(address) == 4 else IPv6Address(address))


def protocol_name(protocol: int) -> str:
    """The name that conntrack prints, else the number."""
    names = {TCP: "tcp", UDP: "udp", ICMP: "icmp", ICMPV6: "icmpv6", UDPLITE: "udplite", SCTP: "sctp", DCCP: "dccp", 47: "gre"}
    return names.get(protocol, str(protocol))
