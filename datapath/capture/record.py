"""One record of a capture, whatever the file format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

OWNER = re.compile(r"\b(uid|gid)=(\d{1,10})\b")
ID_MAX = (1 << 32) - 1


class Direction(Enum):
    """Which way a frame went, as the capture itself says."""

    UNKNOWN = "unknown"
    IN = "in"
    OUT = "out"


@dataclass(frozen=True, slots=True)
class CapturedInterface:
    """An interface of the capture file. `name` is None where the format has no place for one."""

    id: int
    linktype: int
    name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A captured frame.

    `number` counts from 1 over the whole file, `time_ns` is since the epoch, `length` is the frame's length on the wire:
    more than `len(data)` when the snap length cut it.
    """

    number: int
    time_ns: int
    interface: CapturedInterface
    data: bytes
    length: int
    direction: Direction = Direction.UNKNOWN
    comments: tuple[str, ...] = ()

    @property
    def cut(self) -> bool:
        """Whether the snap length cut it."""
        return self.length > len(self.data)


def owner_of(record: Record) -> tuple[int | None, int | None]:
    """User and group of the process that sent a packet, when a comment of the capture says so: `uid=1000 gid=100`."""
    said = {name: int(number) for comment in record.comments for name, number in OWNER.findall(comment) if int(number) <= ID_MAX}
    return said.get("uid"), said.get("gid")
