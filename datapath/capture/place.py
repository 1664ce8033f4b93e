"""Where a captured frame was: on which of the node's devices, and which way it went.

The interface is, in this order: the pcapng's name for it; the ifindex of an SLL2 header through ip-link.json; what the
user gave (`--interface`); the owner of the frame's link address; the interface of the route to the source. The way is
that of the pcapng flags, else of the SLL packet type, else of the link addresses, else of whether the source is an
address of the node. What was not said by the capture is said aloud, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from datapath.capture.frame import PACKET_OUTGOING, Frame
from datapath.capture.packet import IpPacket, address_text
from datapath.capture.record import Direction, Record
from datapath.errors import CaptureError
from datapath.model.host import Host, Link

ANY = "any"  # libpcap's name for all devices at once
MULTICAST_BIT = 0x01


@dataclass(frozen=True, slots=True)
class Place:
    """A device by its name in the host directory (None: a leaving frame whose device the capture does not tell)."""

    device: str | None
    outgoing: bool


class Places:
    """Finds the place of each record.

    `rename` maps names of the capture to names of the host. `is_local` and `device_of_route` ask the node about an address
    (4 or 16 bytes). `say` is told each assumption once.
    """

    def __init__(
        self,
        host: Host,
        *,
        interface: str | None,
        rename: Mapping[str, str],
        is_local: Callable[[bytes], bool],
        device_of_route: Callable[[bytes], str | None],
        say: Callable[[str], None],
    ) -> None:
        self._links = {link.name: link for link in host.links}
        self._by_index = {link.index: link.name for link in host.links}
        self._by_mac = owners_of_macs(host)
        self._given = interface
        self._rename = dict(rename)
        self._is_local = is_local
        self._device_of_route = device_of_route
        self._say = say
        for captured, name in self._rename.items():
            self._require(name, f"--map {captured}={name}")
        if interface is not None:
            self._require(interface, f"--interface {interface}")

    def place(self, record: Record, frame: Frame, packet: IpPacket | None) -> Place:
        """Where the record was. Raises CaptureError for an interface that the host directory does not know."""
        named = self._named(record, frame)
        outgoing = self._outgoing(record, frame, packet, named)
        if named is not None:
            return Place(named, outgoing)
        owner = self._by_mac.get((frame.source_mac if outgoing else frame.destination_mac) or b"")
        if owner is not None:
            self._say(f"frames without an interface name are on the device that owns their link address ({owner})")
            return Place(owner, outgoing)
        if outgoing:
            return Place(None, True)
        return Place(self._routed(record, packet), False)

    def _named(self, record: Record, frame: Frame) -> str | None:
        """What the capture or the user says."""
        name = record.interface.name
        if name is not None and name in self._rename:
            return self._rename[name]
        if name is not None and name != ANY:
            return self._require(name, f"record {record.number}: interface {name}", f"--map {name}=NAME")
        if frame.ifindex is not None:
            return self._indexed(record, frame.ifindex)
        return self._given

    def _indexed(self, record: Record, ifindex: int) -> str:
        name = self._by_index.get(ifindex)
        renamed = self._rename.get(str(ifindex)) or (self._rename.get(name) if name else None)
        if renamed or name:
            return renamed or name or ""
        if self._given is not None:
            self._say(f"interface {ifindex} of the capture is not in ip-link.json: its frames are taken as on {self._given}")
            return self._given
        raise CaptureError(
            f"record {record.number}: no device has index {ifindex}: expected one of ip-link.json (or --map {ifindex}=NAME)"
        )

    def _require(self, name: str, what: str, advice: str = "") -> str:
        if name not in self._links:
            known = ", ".join(self._links) or "none: there is no ip-link.json"
            more = f" (or {advice})" if advice else ""
            raise CaptureError(f"{what} is not a device of the host directory: expected one of {known}{more}")
        return name

    def _outgoing(self, record: Record, frame: Frame, packet: IpPacket | None, named: str | None) -> bool:
        if named is not None and self.is_loopback(named):
            return True
        if record.direction is not Direction.UNKNOWN:
            return record.direction is Direction.OUT
        if frame.packet_type is not None and frame.packet_type <= PACKET_OUTGOING:
            return frame.packet_type == PACKET_OUTGOING
        if frame.has_link_header:
            by_mac = self._by_link_addresses(frame, named)
            if by_mac is not None:
                return by_mac
        return packet is not None and self._is_local(packet.source)

    def _by_link_addresses(self, frame: Frame, named: str | None) -> bool | None:
        source, destination = frame.source_mac or b"", frame.destination_mac or b""
        own = {self._links[named].mac} if named is not None else self._by_mac.keys()
        sent, received = source in own and any(source), destination in own and any(destination)
        if sent != received:
            return sent
        if source in self._by_mac and destination not in self._by_mac:
            return True  # of another device of the node: a bridge's frame on a port
        return False if destination and destination[0] & MULTICAST_BIT and source not in self._by_mac else None

    def _routed(self, record: Record, packet: IpPacket | None) -> str:
        if packet is None:
            raise CaptureError(f"record {record.number} does not tell its interface: expected --interface NAME")
        device = self._device_of_route(packet.source)
        if device is None:
            raise CaptureError(
                f"record {record.number} does not tell its interface, and no route leads to {address_text(packet.source)}: "
                "expected --interface NAME"
            )
        self._say(f"frames that do not tell their interface came in where the route to their source leads ({device})")
        return device

    def is_loopback(self, device: str) -> bool:
        """Whether it is the loopback device: what it shows was sent by the node."""
        link = self._links.get(device)
        return link is not None and "LOOPBACK" in link.flags

    def link(self, device: str) -> Link:
        """The device of that name."""
        return self._links[device]


def owners_of_macs(host: Host) -> dict[bytes, str]:
    """Which device owns a link address; of several that share one, the lowest (a bridge takes a port's, a VLAN its parent's)."""
    owners: dict[bytes, str] = {}
    for link in sorted(host.links, key=lambda link: (link.kind in ("bridge", "bond", "team"), link.lower is not None)):
        if any(link.mac):
            owners.setdefault(link.mac, link.name)
    return owners
