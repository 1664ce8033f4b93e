"""A record seen as a frame: what its link header says, and where the network header stands."""

from __future__ import annotations

from dataclasses import dataclass

from datapath.capture.link_types import ETHERNET, IPV4, IPV6, LOOP, NULL, SLL, SLL2
from datapath.capture.record import Record

ETH_P_IP, ETH_P_IPV6, ETH_P_ARP, ETH_P_8021Q, ETH_P_8021AD = 0x0800, 0x86DD, 0x0806, 0x8100, 0x88A8
VLAN_TYPES = frozenset({ETH_P_8021Q, ETH_P_8021AD, 0x9100})
ARPHRD_ETHER, ARPHRD_LOOPBACK = 1, 772
AF_INET = 2
AF_INET6 = frozenset({10, 24, 28, 30})  # Linux, NetBSD and OpenBSD, FreeBSD, Darwin

PACKET_HOST, PACKET_BROADCAST, PACKET_MULTICAST, PACKET_OTHERHOST, PACKET_OUTGOING = range(5)
MADE_UP_NEIGHBOUR = bytes.fromhex("02ffffffff01")  # stands for a far end whose link address the capture does not hold
MADE_UP_STRANGER = bytes.fromhex("02ffffffff02")  # and for a frame to somebody else


@dataclass(frozen=True, slots=True)
class Frame:
    """The link layer of a record.

    `protocol` is the ethertype in front of `payload_at`, where a VLAN tag still counts as payload; `ethertype` and `network`
    are those behind the tags. What a link type does not carry is None. `packet_type` is PACKET_* of if_packet.h.
    """

    payload_at: int
    protocol: int
    network: int
    ethertype: int
    vlans: tuple[int, ...] = ()
    source_mac: bytes | None = None
    destination_mac: bytes | None = None
    packet_type: int | None = None
    ifindex: int | None = None

    @property
    def is_ip(self) -> bool:
        """Whether it holds an IP packet (as far as the link header says)."""
        return self.ethertype in (ETH_P_IP, ETH_P_IPV6)

    @property
    def has_link_header(self) -> bool:
        """Whether the whole Ethernet header was captured."""
        return self.destination_mac is not None


def read_frame(record: Record) -> Frame | None:
    """The frame of a record; None when it is too short for its link header."""
    data, linktype = record.data, record.interface.linktype
    if linktype == ETHERNET:
        if len(data) < 14:
            return None
        return _behind_tags(data, 14, int.from_bytes(data[12:14]), source_mac=data[6:12], destination_mac=data[:6])
    if linktype == SLL:
        return _cooked(data, 16, protocol_at=14, type_at=0, type_size=2, hardware_at=2, address_at=6, length_at=4, length_size=2)
    if linktype == SLL2:
        return _cooked(data, 20, protocol_at=0, type_at=10, type_size=1, hardware_at=8, address_at=12, length_at=11, length_size=1)
    if linktype in (NULL, LOOP):
        return _loopback(data, linktype)
    return _raw(data, linktype)


def ethernet(record: Record, frame: Frame, device_mac: bytes) -> bytes:
    """The record as an Ethernet frame that arrives on a device, with a made-up header where the capture has none."""
    if frame.has_link_header:
        return record.data
    source = frame.source_mac or MADE_UP_NEIGHBOUR
    destination = device_mac
    if frame.packet_type == PACKET_BROADCAST:
        destination = b"\xff" * 6
    elif frame.packet_type == PACKET_MULTICAST:
        destination = _multicast_mac(record.data[frame.network :], frame.ethertype)
    elif frame.packet_type == PACKET_OTHERHOST:
        destination = MADE_UP_STRANGER
    return destination + source + frame.protocol.to_bytes(2) + record.data[frame.payload_at :]


def _behind_tags(
    data: bytes,
    at: int,
    protocol: int,
    source_mac: bytes | None = None,
    destination_mac: bytes | None = None,
    packet_type: int | None = None,
    ifindex: int | None = None,
) -> Frame:
    network, ethertype, vlans = at, protocol, []
    while ethertype in VLAN_TYPES and len(data) >= network + 4:
        vlans.append(int.from_bytes(data[network : network + 2]) & 0xFFF)
        ethertype = int.from_bytes(data[network + 2 : network + 4])
        network += 4
    return Frame(at, protocol, network, ethertype, tuple(vlans), source_mac, destination_mac, packet_type, ifindex)


def _cooked(
    data: bytes,
    size: int,
    *,
    protocol_at: int,
    type_at: int,
    type_size: int,
    hardware_at: int,
    address_at: int,
    length_at: int,
    length_size: int,
) -> Frame | None:
    if len(data) < size:
        return None
    hardware = int.from_bytes(data[hardware_at : hardware_at + 2])
    address_length = int.from_bytes(data[length_at : length_at + length_size])
    has_address = hardware == ARPHRD_ETHER and address_length == 6
    return _behind_tags(
        data,
        size,
        int.from_bytes(data[protocol_at : protocol_at + 2]),
        source_mac=data[address_at : address_at + 6] if has_address else None,
        packet_type=int.from_bytes(data[type_at : type_at + type_size]),
        ifindex=int.from_bytes(data[4:8]) if size == 20 else None,
    )


def _loopback(data: bytes, linktype: int) -> Frame | None:
    if len(data) < 4:
        return None
    orders: tuple[int, ...] = (int.from_bytes(data[:4], "big"),)
    if linktype == NULL:  # in the byte order of the machine that captured
        orders = (int.from_bytes(data[:4], "little"), *orders)
    for family in orders:
        if family == AF_INET:
            return Frame(4, ETH_P_IP, 4, ETH_P_IP)
        if family in AF_INET6:
            return Frame(4, ETH_P_IPV6, 4, ETH_P_IPV6)
    return Frame(4, 0, 4, 0)


def _raw(data: bytes, linktype: int) -> Frame | None:
    if not data:
        return None
    version = {IPV4: 4, IPV6: 6}.get(linktype, data[0] >> 4)
    ethertype = {4: ETH_P_IP, 6: ETH_P_IPV6}.get(version, 0)
    return Frame(0, ethertype, 0, ethertype)


def _multicast_mac(packet: bytes, ethertype: int) -> bytes:
    """The group's link address (RFC 1112, RFC 2464)."""
    if ethertype == ETH_P_IPV6 and len(packet) >= 40:
        return b"\x33\x33" + packet[36:40]
    if ethertype == ETH_P_IP and len(packet) >= 20:
        return b"\x01\x00\x5e" + bytes([packet[17] & 0x7F]) + packet[18:20]
    return b"\xff" * 6
