"""The bytes of a capture: a file, a pipe or standard input, plain or gzip, read with bounded memory."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from datapath.errors import CaptureError, InputError

CHUNK = 1 << 18
GZIP_MAGIC = b"\x1f\x8b"
GZIP_FORMAT = 31  # zlib's wbits for a gzip member with header and checksum


class Source:
    """A stream that gives exactly the bytes asked for, or fewer at its end.

    `name` is what messages call it. At most a chunk is held beyond what was asked for. Damaged compression raises CaptureError.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self._stream = stream
        self._buffer = b""
        self._at = 0
        self._compressed: _Gunzip | None = None
        if self._peek(2) == GZIP_MAGIC:
            self._compressed = _Gunzip(self._buffer)
            self._buffer, self._at = b"", 0

    @classmethod
    def open(cls, path: str | Path) -> Source:
        """Open a file, or standard input for `-`. Raises InputError when that is not possible."""
        if str(path) == "-":
            return cls(sys.stdin.buffer, "standard input")
        try:
            return cls(Path(path).open("rb", buffering=0), str(path))
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}", str(path)) from None

    def read(self, n: int) -> bytes:
        """The next n bytes; fewer only at the end."""
        end = self._at + n
        if end <= len(self._buffer):
            data = self._buffer[self._at : end]
            self._at = end
            return data
        parts = [self._buffer[self._at :]]
        have = len(parts[0])
        self._buffer, self._at = b"", 0
        while have < n:
            chunk = self._next_chunk()
            if not chunk:
                return b"".join(parts)
            taken = min(len(chunk), n - have)
            parts.append(chunk[:taken])
            have += taken
            if taken < len(chunk):
                self._buffer, self._at = chunk, taken
        return b"".join(parts)

    @property
    def plain(self) -> bool:
        """Whether the bytes are those of the file itself, not compressed."""
        return self._compressed is None

    def skip(self, n: int) -> int:
        """Pass over n bytes without holding them; how many there were (fewer only at the end)."""
        left = n
        while left and (data := self.read(min(left, CHUNK))):
            left -= len(data)
        return n - left

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._stream is not sys.stdin.buffer:
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _peek(self, n: int) -> bytes:
        while len(self._buffer) < n:
            chunk = self._raw_chunk()
            if not chunk:
                break
            self._buffer += chunk
        return self._buffer[:n]

    def _raw_chunk(self) -> bytes:
        try:
            return self._stream.read(CHUNK) or b""
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", self.name) from None

    def _next_chunk(self) -> bytes:
        if self._compressed is None:
            return self._raw_chunk()
        try:
            while not (chunk := self._compressed.take()):
                more = self._raw_chunk()
                if not more:
                    return b""
                self._compressed.feed(more)
            return chunk
        except zlib.error as error:
            raise CaptureError(f"damaged gzip data ({error})", self.name) from None


class _Gunzip:
    """Members of a gzip file, one after the other; padding zeros behind the last are skipped. Never holds more than two chunks."""

    def __init__(self, data: bytes) -> None:
        self._waiting = data
        self._member = zlib.decompressobj(GZIP_FORMAT)

    def feed(self, data: bytes) -> None:
        self._waiting += data

    def take(self) -> bytes:
        """Up to a chunk of plain bytes; nothing when more has to be fed."""
        while self._waiting:
            if self._member.eof:
                self._waiting = self._waiting.lstrip(b"\0")
                if not self._waiting:
                    break
                self._member = zlib.decompressobj(GZIP_FORMAT)
            plain = self._member.decompress(self._waiting, CHUNK)
            self._waiting = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if plain:
                return plain
        return b"" if self._member.eof else self._member.decompress(b"", CHUNK)
