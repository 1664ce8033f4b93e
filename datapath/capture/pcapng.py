"""The pcapng format: sections of blocks (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from datapath.capture.link_types import require_supported
from datapath.capture.pcap import RECORD_MAX, TIME_MAX
from datapath.capture.record import CapturedInterface, Direction, Record
from datapath.capture.source import Source
from datapath.errors import CaptureError, UnsupportedFeatureError

SECTION_HEADER, INTERFACE, OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 6
SECTION_MAGIC = b"\x0a\x0d\x0d\x0a"
BLOCK_MAX = 1 << 24  # libpcap's limit as well
INTERFACES_MAX = 65536

OPTION_END, OPTION_COMMENT = 0, 1
IF_NAME, IF_DESCRIPTION, IF_TSRESOL, IF_FCSLEN, IF_TSOFFSET = 2, 3, 9, 13, 14
PACKET_FLAGS = 2

DIRECTIONS = {1: Direction.IN, 2: Direction.OUT}


@dataclass(frozen=True, slots=True)
class _Interface:
    """An interface of a section with what is needed to read its packets."""

    shown: CapturedInterface
    snaplen: int
    ticks_per_second: int
    offset_seconds: int
    fcs: int

    def time_ns(self, ticks: int) -> int:
        seconds, rest = divmod(ticks, self.ticks_per_second)
        return (seconds + self.offset_seconds) * 1_000_000_000 + rest * 1_000_000_000 // self.ticks_per_second


class PcapngReader:
    """Records of a pcapng file. `interfaces` grows while it is read; damage raises CaptureError after the records before it."""

    format = "pcapng"

    def __init__(self, source: Source) -> None:
        """`source` stands behind the first four bytes, which were SECTION_MAGIC."""
        self.warnings: list[str] = []
        self.interfaces: list[CapturedInterface] = []
        self.source = source
        self._order = "<"
        self._section: list[_Interface] = []
        self._number = 0
        self._time_ns = 0

    def __iter__(self) -> Iterator[Record]:
        kind = SECTION_MAGIC
        while kind:
            body = self._block(kind)
            if body is None:
                return
            record = self._read(self._kind(kind), body)
            if record is not None:
                yield record
            kind = self.source.read(4)
            if 0 < len(kind) < 4:
                self._cut()
                return

    def _kind(self, kind: bytes) -> int:
        return SECTION_HEADER if kind == SECTION_MAGIC else int(struct.unpack(self._order + "I", kind)[0])

    def _block(self, kind: bytes) -> bytes | None:
        """The body of the block that begins with `kind`; None when the file ends inside it."""
        head = self.source.read(4)
        start = b""
        if kind == SECTION_MAGIC:
            start = self.source.read(4)
            self._set_order(start)
        if len(head) < 4:
            self._cut()
            return None
        (total,) = struct.unpack(self._order + "I", head)
        if total > BLOCK_MAX and total % 4 == 0 and self.source.skip(total - 8 - len(start)) < total - 8 - len(start):
            self._cut()
            return None
        if not 12 + len(start) <= total <= BLOCK_MAX or total % 4:
            raise self._damage(f"a block of {total} bytes: expected 12 to {BLOCK_MAX}, a multiple of 4")
        rest = self.source.read(total - 8 - len(start))
        if len(rest) < total - 8 - len(start):
            self._cut()
            return None
        if rest[-4:] != head:
            (again,) = struct.unpack(self._order + "I", rest[-4:])
            raise self._damage(f"a block says at its beginning that it has {total} bytes, and {again} at its end")
        return start + rest[:-4]

    def _set_order(self, magic: bytes) -> None:
        if magic == b"\x4d\x3c\x2b\x1a":
            self._order = "<"
        elif magic == b"\x1a\x2b\x3c\x4d":
            self._order = ">"
        elif len(magic) == 4:
            raise self._damage(f"byte-order magic {magic.hex()}: expected 1a2b3c4d in either order")

    def _read(self, kind: int, body: bytes) -> Record | None:
        try:
            if kind == SECTION_HEADER:
                self._begin_section(body)
            elif kind == INTERFACE:
                self._add_interface(body)
            elif kind == ENHANCED_PACKET:
                return self._packet(body, 20, *struct.unpack_from(self._order + "5I", body))
            elif kind == OLD_PACKET:
                interface, _drops, *rest = struct.unpack_from(self._order + "2H4I", body)
                return self._packet(body, 20, interface, *rest)
            elif kind == SIMPLE_PACKET:
                return self._simple_packet(body)
        except struct.error:
            raise self._damage(f"a block of type {kind} that is too short for its fixed fields") from None
        return None

    def _begin_section(self, body: bytes) -> None:
        major, minor = struct.unpack_from(self._order + "2H", body, 4)
        if major != 1 or minor not in (0, 2):
            raise UnsupportedFeatureError(f"pcapng version {major}.{minor} is not read: expected 1.0", self.source.name)
        self._section = []

    def _add_interface(self, body: bytes) -> None:
        linktype, _reserved, snaplen = struct.unpack_from(self._order + "2HI", body)
        name = description = None
        resolution, offset, fcs = 1_000_000, 0, 0
        for code, value in self._options(body, 8):
            if code == IF_NAME:
                name = value.decode("utf-8", "replace").rstrip("\0")
            elif code == IF_DESCRIPTION:
                description = value.decode("utf-8", "replace").rstrip("\0")
            elif code == IF_TSRESOL and value:
                resolution = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** min(value[0], 64)
            elif code == IF_TSOFFSET and len(value) == 8:
                (offset,) = struct.unpack(self._order + "q", value)
            elif code == IF_FCSLEN and value:
                fcs = value[0] // 8
        if len(self.interfaces) >= INTERFACES_MAX:
            raise self._damage(f"more than {INTERFACES_MAX} interfaces")
        shown = CapturedInterface(len(self.interfaces), linktype, name or None, description or None)
        self.interfaces.append(shown)
        self._section.append(_Interface(shown, snaplen, resolution, offset, fcs))

    def _packet(self, body: bytes, start: int, interface: int, high: int, low: int, caplen: int, length: int) -> Record:
        known = self._interface(interface)
        if caplen > min(len(body) - start, RECORD_MAX):
            raise self._damage(f"record {self._number + 1} claims {caplen} captured bytes, its block holds {len(body) - start}")
        direction, comments, fcs = Direction.UNKNOWN, [], known.fcs
        for code, value in self._options(body, start + caplen + (-caplen & 3)):
            if code == PACKET_FLAGS and len(value) == 4:
                (flags,) = struct.unpack(self._order + "I", value)
                direction, fcs = DIRECTIONS.get(flags & 3, direction), (flags >> 5 & 15) or fcs
            elif code == OPTION_COMMENT:
                comments.append(value.decode("utf-8", "replace"))
        self._time_ns = self._within(known.time_ns(high << 32 | low))
        return self._record(known, body[start : start + caplen], length, fcs, direction, tuple(comments))

    def _simple_packet(self, body: bytes) -> Record:
        known = self._interface(0)
        (length,) = struct.unpack_from(self._order + "I", body)
        caplen = min(length, known.snaplen or length, len(body) - 4)
        if length > len(body) - 4 and not known.snaplen:
            raise self._damage(f"record {self._number + 1} claims {length} captured bytes, its block holds {len(body) - 4}")
        if not any("no time" in warning for warning in self.warnings):
            self.warnings.append(f"record {self._number + 1} has no time (a simple packet block): it takes that of the one before it")
        return self._record(known, body[4 : 4 + min(caplen, RECORD_MAX)], length, known.fcs, Direction.UNKNOWN, ())

    def _record(
        self, interface: _Interface, data: bytes, length: int, fcs: int, direction: Direction, comments: tuple[str, ...]
    ) -> Record:
        require_supported(interface.shown.linktype, self.source.name)
        self._number += 1
        if fcs:
            length = max(length - fcs, 0)
            data = data[:length]
        return Record(self._number, self._time_ns, interface.shown, data, max(length, len(data)), direction, comments)

    def _interface(self, number: int) -> _Interface:
        if number >= len(self._section):
            raise self._damage(f"record {self._number + 1} is of interface {number}: the section has {len(self._section)}")
        return self._section[number]

    def _options(self, body: bytes, at: int) -> Iterator[tuple[int, bytes]]:
        while at + 4 <= len(body):
            code, length = struct.unpack_from(self._order + "2H", body, at)
            if code == OPTION_END:
                return
            if at + 4 + length > len(body):
                raise self._damage(f"option {code} of {length} bytes runs past the end of its block")
            yield code, body[at + 4 : at + 4 + length]
            at += 4 + length + (-length & 3)

    def _within(self, time_ns: int) -> int:
        if 0 <= time_ns <= TIME_MAX:
            return time_ns
        if not any("1970" in warning for warning in self.warnings):
            self.warnings.append(f"record {self._number + 1}: its time is outside of the years 1970 to 2262")
        return min(max(time_ns, 0), TIME_MAX)

    def _cut(self) -> None:
        self.warnings.append(f"the block behind record {self._number} is cut by the end of the file and was left out")

    def _damage(self, what: str) -> CaptureError:
        return CaptureError(f"damaged behind record {self._number}: {what}", self.source.name)
