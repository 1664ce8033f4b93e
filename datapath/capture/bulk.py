"""Bulk replay of a pcap file: as fast as the walk, without a Python object per packet.

Frames to a device's own link address are received there, frames from one have left the node and are passed over. Nothing
is compared with the capture and no draw is looked up in it (`datapath.capture.replay` does that); what a run gives is the
node's counters and connections, how many walks ended how, the ways that packets took, and the frames that left.
"""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from datapath._core.bulk import BulkPlayer
from datapath._core.net import NetNamespace
from datapath.capture.link_types import ETHERNET, RAW_TYPES
from datapath.capture.pcap import PcapReader
from datapath.capture.reader import open_capture
from datapath.capture.source import CHUNK
from datapath.capture.writer import PcapngWriter
from datapath.errors import CaptureError, UnsupportedFeatureError
from datapath.model.host import Host
from datapath.model.verdicts import OUTCOMES, Outcome

FILE_HEADER = 24


@dataclass(slots=True)
class BulkSummary:
    """What a bulk replay did. `paths` are (packets, raw steps of the first), `numbers` each played record's place among them."""

    records: int = 0
    received: int = 0
    left: int = 0
    strangers: int = 0
    outcomes: dict[Outcome, int] = field(default_factory=dict)
    paths: list[tuple[int, list[tuple[int, ...]]]] = field(default_factory=list)
    numbers: array[int] = field(default_factory=lambda: array("I"))
    warnings: list[str] = field(default_factory=list)


def play_bulk(
    core: NetNamespace,
    host: Host,
    path: str | Path,
    *,
    interface: str | None = None,
    paths: bool = False,
    write: PcapngWriter | None = None,
) -> BulkSummary:
    """Play a pcap file (plain or gzip, or `-`) through a node's core.

    `interface` is where frames come in that are for no device's own link address. Raises CaptureError for damage, when
    what stands before it has been played, and UnsupportedFeatureError for what is no pcap of Ethernet or raw IP.
    """
    reader = open_capture(path)
    with closing(reader.source):
        if not isinstance(reader, PcapReader) or reader.interfaces[0].linktype not in RAW_TYPES | {ETHERNET}:
            raise UnsupportedFeatureError("bulk replay reads pcap files of Ethernet or raw IP", reader.source.name)
        names = [link.name for link in host.links]
        if interface is not None and interface not in names:
            raise CaptureError(f"{interface} is not a device of the host directory: expected one of {', '.join(names)}")
        player = BulkPlayer(
            core,
            device=names.index(interface) if interface is not None else -1,
            link=reader.interfaces[0].linktype == ETHERNET,
            swapped=reader.swapped,
            unit_ns=reader.unit_ns,
            paths=paths,
            frames=write is not None,
        )
        if write is not None:
            for link in host.links:
                write.interface(link.name, ETHERNET if link.link_type != "none" else 101)
        summary = BulkSummary()
        try:
            for _ in _play(player, reader, path):
                summary.numbers.frombytes(player.take_path_numbers())
                if write is not None:
                    write.blocks(player.take_frames())
        except ValueError as error:
            raise CaptureError(str(error), reader.source.name) from None
        finally:
            _fill(summary, player)
            summary.warnings += reader.warnings
    return summary


def _play(player: BulkPlayer, reader: PcapReader, path: str | Path) -> Iterator[None]:
    """Play the file a part at a time: mapped into memory where that is possible, else read."""
    if reader.source.plain and Path(path).is_file():
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            at = FILE_HEADER
            while used := player.play(view[at : at + (CHUNK << 6)]):
                at += used
                yield
            if at < len(view):
                reader.cut()
        return
    waiting = b""
    while chunk := reader.source.read(CHUNK << 2):
        waiting += chunk
        waiting = waiting[player.play(waiting) :]
        yield
    if waiting:
        reader.cut()


def _fill(summary: BulkSummary, player: BulkPlayer) -> None:
    counts = player.counts()
    summary.records, summary.received, summary.left, summary.strangers = (
        int(counts[name]) for name in ("records", "received", "left", "strangers")  # type: ignore[arg-type]
    )
    outcomes = counts["outcomes"]
    assert isinstance(outcomes, list)
    for number, packets in enumerate(outcomes):
        if packets:
            summary.outcomes[OUTCOMES[number]] = summary.outcomes.get(OUTCOMES[number], 0) + packets
    summary.paths = [(packets, list(steps)) for packets, steps in player.path_list()]
