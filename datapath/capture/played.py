"""What a replay says about one record of a capture."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from datapath.capture.record import Record
from datapath.engine.transit import Transit


class Role(Enum):
    """What a captured frame was to the node."""

    RECEIVED = "received"  # came from the wire: it entered, `transit` is its walk
    SENT = "sent"  # the node itself sent it: it entered at OUTPUT, `transit` is its walk
    COPY = "copy"  # the same packet as record `copy_of`, seen on another device or as it left; it does not enter again
    TIMER = "timer"  # no record: what time alone made happen (`transit`) before the next record
    IGNORED = "ignored"  # not played; `notes` say why


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the capture shows otherwise than the walk predicted.

    `what` is a field of the packet, or "interface", "drop", "draw".
    """

    what: str
    predicted: str
    captured: str

    def __str__(self) -> str:
        return f"{self.what}: predicted {self.predicted}, captured {self.captured}"


@dataclass(slots=True)
class Played:
    """One record and what became of it.

    `interface` is the host's name of the device that it was on; `notes` say aloud what was assumed (how the interface was
    found, offload, snap length, "captured after NAT, original unknown"). `differences` make the capture contradict the
    prediction (exit code 1).
    """

    role: Role
    record: Record | None
    interface: str | None = None
    transit: Transit | None = None
    copy_of: int | None = None
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    original_unknown: bool = False


@dataclass(slots=True)
class Summary:
    """Counts over a whole replay, complete when it has ended."""

    records: int = 0
    received: int = 0
    sent: int = 0
    copies: int = 0
    ignored: int = 0
    contradictions: int = 0
    draws_shown: int = 0
    unseen: int = 0  # frames that should have left by a captured device, and that the capture does not show
    said: list[str] = field(default_factory=list)  # each thing said aloud once: how interfaces were found, offload, cuts, time
