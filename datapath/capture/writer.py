"""Writing pcapng: interfaces with names and nanoseconds, packets with their direction and comments; opens in Wireshark.

The file appears under its name only when it is whole: it is written beside it under another name and then renamed, so
that a process that dies leaves either the old file or the new one.
"""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from datapath.capture.link_types import ETHERNET
from datapath.capture.record import Direction
from datapath.errors import DatapathError, InputError

SECTION_HEADER, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
COMMENT, SHB_USERAPPL, IF_NAME, IF_TSRESOL, EPB_FLAGS = 1, 4, 2, 9, 2
NANOSECONDS = b"\x09"
OPTION_MAX = 65535
FLAGS = {Direction.UNKNOWN: 0, Direction.IN: 1, Direction.OUT: 2}


class PcapngWriter:
    """A pcapng file in the making. Use it as a context: it is kept when the block ends well or with bad input, else discarded.

    `path` of `-` is standard output. Raises InputError when the file cannot be written.
    """

    def __init__(self, path: str | Path, application: str = "datapath") -> None:
        self.path = str(path)
        self._interfaces: dict[str, int] = {}
        self._temporary: Path | None = None
        self._stream = self._open()
        options = _option(SHB_USERAPPL, application.encode()) + _option(0, b"")
        self._put(SECTION_HEADER, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + options)

    def interface(self, name: str, linktype: int = ETHERNET) -> int:
        """The number of an interface, entered when it is new."""
        number = self._interfaces.get(name)
        if number is None:
            number = self._interfaces[name] = len(self._interfaces)
            options = _option(IF_NAME, name.encode()) + _option(IF_TSRESOL, NANOSECONDS) + _option(0, b"")
            self._put(INTERFACE, struct.pack("<HHI", linktype, 0, 0) + options)
        return number

    def packet(
        self,
        interface: int,
        time_ns: int,
        data: bytes,
        *,
        length: int | None = None,
        direction: Direction = Direction.UNKNOWN,
        comments: Iterable[str] = (),
    ) -> None:
        """Write a frame. `length` is what it has on the wire, when not all of it is there."""
        options = b"".join(_option(COMMENT, _fit(comment)) for comment in comments)
        if direction is not Direction.UNKNOWN:
            options += _option(EPB_FLAGS, struct.pack("<I", FLAGS[direction]))
        if options:
            options += _option(0, b"")
        head = struct.pack(
            "<5I", interface, time_ns >> 32 & 0xFFFFFFFF, time_ns & 0xFFFFFFFF, len(data), max(length or 0, len(data))
        )
        self._put(ENHANCED_PACKET, head + _padded(data) + options)

    def blocks(self, data: bytes) -> None:
        """Write whole blocks that somebody else has made, of interfaces that are entered already."""
        self._write(data)

    def commit(self) -> None:
        """The file is whole: give it its name."""
        if self._stream.closed:
            return
        try:
            self._stream.flush()
            if self._temporary is not None:
                os.fsync(self._stream.fileno())
                self._stream.close()
                self._temporary.replace(self.path)
            elif self._stream is not sys.stdout.buffer:
                self._stream.close()
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", self.path) from None

    def discard(self) -> None:
        """Leave what stands under the name as it is."""
        if self._stream is not sys.stdout.buffer:
            self._stream.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or isinstance(error, DatapathError):
            self.commit()
        else:
            self.discard()

    def _open(self) -> BinaryIO:
        if self.path == "-":
            return sys.stdout.buffer
        target = Path(self.path)
        try:
            if target.exists() and not target.is_file():
                return target.open("wb")  # a device or a named pipe
            handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
            self._temporary = Path(name)
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(handle, 0o666 & ~mask)
            return os.fdopen(handle, "wb", buffering=1 << 20)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", self.path) from None

    def _put(self, kind: int, body: bytes) -> None:
        total = struct.pack("<I", len(body) + 12)
        self._write(struct.pack("<I", kind) + total + body + total)

    def _write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", self.path) from None


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) & 3)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _fit(comment: str) -> bytes:
    """A comment's bytes, cut between two characters where an option ends."""
    data = comment.encode("utf-8", "replace")
    return data if len(data) <= OPTION_MAX else data[: OPTION_MAX - 3].decode("utf-8", "ignore").encode() + "…".encode()
