"""What a replay asks of a node (`datapath.engine.Datapath` is one)."""

from __future__ import annotations

from typing import Protocol

from datapath.engine.transit import Transit
from datapath.model.host import Host


class Node(Protocol):
    """A node that packets are played through. Times are nanoseconds since the epoch."""

    @property
    def host(self) -> Host:
        """The node's state as it was loaded."""

    def receive(self, frame: bytes, interface: str, now_ns: int, *, wire_length: int | None = None) -> Transit:
        """A frame from the wire; `wire_length` was its length before the snap length cut it."""

    def send(
        self,
        packet: bytes,
        now_ns: int,
        uid: int | None = None,
        gid: int | None = None,
        *,
        interface: str | None = None,
        wire_length: int | None = None,
    ) -> Transit:
        """An IP packet that a local process sends, from a socket that is bound to `interface`."""

    def advance(self, now_ns: int) -> list[Transit]:
        """What happens without a packet up to this time."""

    def allow_offload(self, allowed: bool) -> None:
        """Whether a checksum of the pseudo-header alone, a zero IP length and a frame above the MTU count as valid."""

    def show(self, source: tuple[bytes, int] | None, destination: tuple[bytes, int] | None) -> None:
        """What a capture shows of the next packet's ends after NAT: draws follow it."""

    def draw_counts(self) -> tuple[int, int]:
        """How often something was drawn by the seed so far, and how often the capture showed it."""

    def before_nat(self, packet: bytes) -> bytes | None:
        """A packet captured as it left, translated back through its connection's entry; None without an entry."""

    def is_local(self, address: bytes) -> bool:
        """Whether an address (4 or 16 bytes) is the node's own."""

    def device_of_route(self, address: bytes) -> str | None:
        """The device by which packets to an address leave."""
