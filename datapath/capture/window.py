"""The records between what was read and what was played: put in order of time, and searched for what they show.

The window is bounded in time, in records and in bytes, so that a capture of any length streams through it. Within one
interface records keep their order; records of several interfaces are merged by time.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from datapath.capture.frame import Frame
from datapath.capture.packet import ACK, SYN, TCP, IpPacket
from datapath.capture.place import Place
from datapath.capture.record import Record
from datapath.errors import DatapathError

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """A record with everything that can be told without playing it. `frame` is None when its link header was cut."""

    record: Record
    frame: Frame | None
    packet: IpPacket | None
    place: Place | None
    time_ns: int  # never before an earlier record of the same interface


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far the replay looks ahead for a leaving copy or a first reply."""

    span_ns: int = 3_000_000_000
    records: int = 20_000
    bytes: int = 64 << 20


class Window:
    """Iterating gives Sights in order; meanwhile `following` searches those that are still to come."""

    def __init__(
        self, records: Iterable[Record], look: Callable[[Record], tuple[Frame | None, IpPacket | None, Place | None]], bounds: Bounds
    ) -> None:
        self._records = records
        self._look = look
        self._bounds = bounds
        self._heap: list[tuple[int, int, Sight]] = []
        self._bytes = 0
        self._latest_ns = 0
        self._index: dict[Key, deque[Sight]] = defaultdict(deque)
        self._error: DatapathError | None = None

    def __iter__(self) -> Iterator[Sight]:
        for sight in self._read():
            self._add(sight)
            while self._full():
                yield self._next()
        while self._heap:
            yield self._next()
        if self._error is not None:
            raise self._error

    def following(self, key: Key, sight: Sight) -> Iterator[Sight]:
        """The Sights to come within the window's span that are filed under a key (`keys_of`), soonest first."""
        latest = sight.time_ns + self._bounds.span_ns
        return (following for following in self._index.get(key, ()) if following.time_ns <= latest)

    def _read(self) -> Iterator[Sight]:
        """Damage and unknown interfaces are raised only when what stands before them was played."""
        latest: dict[int, int] = {}
        try:
            for record in self._records:
                interface = record.interface.id
                latest[interface] = max(record.time_ns, latest.get(interface, 0))
                yield Sight(record, *self._look(record), latest[interface])
        except DatapathError as error:
            self._error = error

    def _add(self, sight: Sight) -> None:
        heapq.heappush(self._heap, (sight.time_ns, sight.record.number, sight))
        self._bytes += len(sight.record.data)
        self._latest_ns = max(self._latest_ns, sight.time_ns)
        for key in keys_of(sight):
            self._index[key].append(sight)

    def _full(self) -> bool:
        return bool(self._heap) and (
            len(self._heap) > self._bounds.records
            or self._bytes > self._bounds.bytes
            or self._latest_ns - self._heap[0][0] > self._bounds.span_ns
        )

    def _next(self) -> Sight:
        sight = heapq.heappop(self._heap)[2]
        self._bytes -= len(sight.record.data)
        for key in keys_of(sight):
            filed = self._index[key]
            filed.remove(sight)
            if not filed:
                del self._index[key]
        return sight


def keys_of(sight: Sight) -> list[Key]:
    """What a Sight is searched by: as a leaving copy, and as a first reply."""
    packet = sight.packet
    if packet is None or sight.place is None:
        return []
    if sight.place.outgoing:
        return [leaving_key(packet)]
    keys: list[Key] = [to_key(packet.protocol, packet.destination, packet.destination_port)]
    if packet.protocol == TCP and packet.tcp_flags & (SYN | ACK) == SYN | ACK:
        keys.append(acknowledging_key(packet.acknowledgement))
    return keys


def leaving_key(packet: IpPacket) -> Key:
    """A leaving frame that holds this packet, translated or not."""
    return ("leaving", packet.full_key)


def to_key(protocol: int, address: bytes, port: int) -> Key:
    """An arriving packet for an address and port (or echo id)."""
    return ("to", protocol, address, port)


def acknowledging_key(acknowledgement: int) -> Key:
    """An arriving SYN-ACK with this acknowledgement number."""
    return ("syn-ack", acknowledgement)
