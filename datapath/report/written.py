"""What a replay leaves behind: the packets that left (pcapng with comments), the records (JSON lines)."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from datapath.capture.played import Played
from datapath.capture.record import Direction
from datapath.capture.writer import PcapngWriter
from datapath.errors import DatapathError, InputError
from datapath.report import way
from datapath.report.records import of_played


class LineFile:
    """A text file of lines that gets its name only when it is whole; `-` is refused by the caller, who owns standard output."""

    def __init__(self, path: str) -> None:
        self.path = path
        target = Path(path)
        try:
            handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(handle, 0o666 & ~mask)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path) from None
        self._temporary = Path(name)
        self._stream: TextIO = os.fdopen(handle, "w", encoding="utf-8")

    def write(self, record: dict[str, Any]) -> None:
        """One object on one line."""
        self._stream.write(json.dumps(record, separators=(",", ":")) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()
        if error is None or isinstance(error, DatapathError):
            self._temporary.replace(self.path)
        else:  # interrupted: what stood under the name stays
            self._temporary.unlink(missing_ok=True)


def write_outputs(writer: PcapngWriter, played: Played) -> None:
    """The frames that left on this record's account, with the path and the NAT outcome as comments."""
    if played.transit is None or not played.transit.outputs:
        return
    comments = list(packet_comments(played))
    for interface, frame in played.transit.outputs:
        writer.packet(writer.interface(interface), played.transit.now_ns, frame, direction=Direction.OUT, comments=comments)


def packet_comments(played: Played) -> Iterable[str]:
    """The path in lines, one comment."""
    assert played.transit is not None
    number = "time passing" if played.record is None else f"packet {played.record.number} on {played.interface}"
    lines = [f"datapath: because of {number}: {played.transit.verdict}"]
    lines += [f"{'  ' * line.depth}{line.label}: {line.text}" for line in way.lines(played.transit.steps)]
    yield "\n".join(lines)


def write_record(file: LineFile, played: Played) -> None:
    """One record of the trace."""
    file.write(of_played(played))
