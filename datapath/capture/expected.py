"""The frames that the walks predicted and that the capture has yet to show.

Each packet that entered is remembered for a while with its own bytes (a copy may be seen on a bridge above its port) and
with the frames that left on its account (seen as they leave, once on each device of a stack).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from datapath.capture.frame import ETH_P_IP, ETH_P_IPV6
from datapath.capture.packet import TCP, IpPacket, read_packet
from datapath.capture.window import Key
from datapath.engine.transit import Transit

KEPT_NS = 10_000_000_000
KEPT = 50_000
KEPT_BYTES = 64 << 20
TRANSIT_BYTES = 5000
LARGE = 1280  # no packet that is smaller is cut to segments

Item = TypeVar("Item")


@dataclass(slots=True, eq=False)
class Passage:
    """A packet that entered: `number` is its record, `device` where, `leaving` the frames that left on its account."""

    number: int
    time_ns: int
    device: str | None
    packet: IpPacket | None
    leaving: list[Leaving] = field(default_factory=list)
    seen_on: set[str | None] = field(default_factory=set)
    sent: bool = False  # by the node itself
    transit: Transit | None = None  # kept of what was not forwarded, and of what came in on a bridge's port

    @property
    def size(self) -> int:
        """About how many bytes it keeps."""
        frames = sum(len(leaving.frame) for leaving in self.leaving)
        return frames + (len(self.packet.data) if self.packet else 0) + (TRANSIT_BYTES if self.transit else 0)


@dataclass(slots=True, eq=False)
class Leaving:
    """A predicted frame. `generated`: not the packet that entered but one that the kernel made on its account."""

    passage: Passage
    device: str
    frame: bytes
    packet: IpPacket | None
    generated: bool
    seen_on: set[str | None] = field(default_factory=set)


class Expected:
    """Passages of the last seconds, found by what a frame holds."""

    def __init__(self, without_link_header: Collection[str] = ()) -> None:
        """`without_link_header`: devices whose frames begin with the IP header (tun)."""
        self._bare = frozenset(without_link_header)
        self._passages: deque[Passage] = deque()
        self._bytes = 0
        self._leaving: dict[Key, deque[Leaving]] = defaultdict(deque)
        self._entered: dict[Key, deque[Passage]] = defaultdict(deque)
        self.unseen: dict[str, int] = defaultdict(int)  # by device: predicted frames that were forgotten before they were seen

    def add(self, passage: Passage, outputs: Iterable[tuple[str, bytes]]) -> None:
        """Remember a packet that entered and the frames that left."""
        for device, frame in outputs:
            packet = read_packet(frame) if device in self._bare else ip_of_ethernet(frame)
            own = packet is not None and passage.packet is not None and packet.full_key == passage.packet.full_key
            leaving = Leaving(passage, device, frame, packet, not own)
            passage.leaving.append(leaving)
            for key in _keys(leaving):
                self._leaving[key].append(leaving)
        if passage.packet is not None:
            self._entered[passage.packet.full_key].append(passage)
        self._passages.append(passage)
        self._bytes += passage.size
        while self._passages and self._full(passage.time_ns):
            self._forget(self._passages.popleft())

    def _full(self, now_ns: int) -> bool:
        too_old = now_ns - self._passages[0].time_ns > KEPT_NS
        return too_old or len(self._passages) > KEPT or self._bytes > KEPT_BYTES

    def leaving(self, packet: IpPacket | None, frame: bytes, device: str | None) -> Leaving | None:
        """The predicted frame that this captured one shows, which was not seen on this device yet."""
        if packet is None:
            return _best(self._leaving.get(_key(None, frame, False), ()), None, device)
        own = _best(self._leaving.get(packet.full_key, ()), packet, device)
        return own or _best(self._leaving.get(packet.key, ()), packet, device)

    def segmented(self, packet: IpPacket) -> Leaving | None:
        """The predicted large packet of which this is one segment: the device was given pieces (net/core/dev.c, skb_gso_segment)."""
        if packet.protocol != TCP or not packet.has_ports:
            return None
        payload = packet.tcp_payload
        for leaving in self._leaving.get(("segments", packet.flow), ()):
            assert leaving.packet is not None
            offset = (packet.sequence - leaving.packet.sequence) & 0xFFFFFFFF
            if payload and leaving.packet.tcp_payload[offset : offset + len(payload)] == payload:
                return leaving
        return None

    def entered(self, packet: IpPacket, device: str | None) -> Passage | None:
        """The packet that entered elsewhere and that this captured one shows again."""
        for passage in self._entered.get(packet.full_key, ()):
            if device not in passage.seen_on and passage.packet is not None and _plausible(passage.packet, packet):
                return passage
        return None

    def end(self) -> None:
        """Nothing more comes: what was not seen is counted."""
        while self._passages:
            self._forget(self._passages.popleft())

    def _forget(self, passage: Passage) -> None:
        self._bytes -= passage.size
        for leaving in passage.leaving:
            if not leaving.seen_on:
                self.unseen[leaving.device] += 1
            for key in _keys(leaving):
                _remove(self._leaving, key, leaving)
        if passage.packet is not None:
            _remove(self._entered, passage.packet.full_key, passage)


def ip_of_ethernet(frame: bytes) -> IpPacket | None:
    """The IP packet of an Ethernet frame, behind any tags; None when it holds none."""
    at = 12
    ethertype = int.from_bytes(frame[at : at + 2])
    while ethertype in (0x8100, 0x88A8):
        at += 4
        ethertype = int.from_bytes(frame[at : at + 2])
    return read_packet(frame[at + 2 :]) if ethertype in (ETH_P_IP, ETH_P_IPV6) else None


def _keys(leaving: Leaving) -> list[Key]:
    keys = [_key(leaving.packet, leaving.frame, leaving.generated)]
    if leaving.packet is not None and leaving.packet.protocol == TCP and leaving.packet.length > LARGE:
        keys.append(("segments", leaving.packet.flow))
    return keys


def _key(packet: IpPacket | None, frame: bytes, generated: bool) -> Key:
    if packet is None:
        return ("frame", frame[12:])
    return packet.key if generated else packet.full_key


def _best(candidates: Iterable[Leaving], packet: IpPacket | None, device: str | None) -> Leaving | None:
    """The oldest with the same bytes, else the oldest with the same ends, else the oldest."""
    best, score = None, -1
    for leaving in candidates:
        if device in leaving.seen_on and device is not None:
            continue
        if packet is not None and leaving.packet is not None and not _plausible(leaving.packet, packet):
            continue
        fit = 0
        if packet is not None and leaving.packet is not None:
            fit = 2 if leaving.packet.data == packet.data else 1 if leaving.packet.flow == packet.flow else 0
        fit = fit * 2 + (device is None or leaving.device == device)
        if fit > score:
            best, score = leaving, fit
    return best


def _remove(index: dict[Key, deque[Item]], key: Key, item: Item) -> None:
    filed = index.get(key)
    if filed is not None:
        filed.remove(item)
        if not filed:
            del index[key]


def _plausible(expected: IpPacket, captured: IpPacket) -> bool:
    """Packets of equal keys are the same one: what TCP says cannot be equal by chance, others must share an address."""
    if captured.protocol == TCP:
        return True
    return captured.source == expected.source or captured.destination == expected.destination
