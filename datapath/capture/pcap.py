"""The pcap format: a file header and records (draft-ietf-opsawg-pcap)."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator

from datapath.capture.link_types import require_supported
from datapath.capture.record import CapturedInterface, Record
from datapath.capture.source import Source
from datapath.errors import CaptureError, UnsupportedFeatureError

RECORD_MAX = 262144  # libpcap's MAXIMUM_SNAPLEN: no Ethernet or IP capture has longer records
TIME_MAX = (1 << 63) - 1

# The first four bytes as they stand in the file: byte order and nanoseconds per unit of the fraction.
MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
MODIFIED = {
    0xA1B2CD34: "Kuznetzov's modified pcap",
    0xA1E2CB12: "Navtel's modified pcap",
    0x1C0001AC: "IXIA lcap (hardware)",
    0x1C0001AB: "IXIA lcap (software)",
    0xA1B234CD: "another modified pcap",
    0x0A0D0D0A: "pcapng",
    0x43524553: "MAP's sniffer",
}
FCS_PRESENT = 0x04000000


def modified_name(magic: bytes) -> str | None:
    """The name of a relative of pcap that is not read, None when the bytes are none that is known."""
    return MODIFIED.get(int.from_bytes(magic, "little")) or MODIFIED.get(int.from_bytes(magic, "big"))


class PcapReader:
    """Records of a pcap file. `warnings` says what was strange; damage raises CaptureError after the records before it."""

    format = "pcap"

    def __init__(self, source: Source, magic: bytes) -> None:
        order, self.unit_ns = MAGICS[magic]
        self.swapped = (order == "<") != (sys.byteorder == "little")
        self.warnings: list[str] = []
        self.source = source
        self._header = struct.Struct(order + "4I")
        rest = source.read(20)
        if len(rest) < 20:
            raise CaptureError("the file ends inside the pcap file header: expected 24 bytes", source.name)
        major, minor, _zone, _figures, _snaplen, link = struct.unpack(order + "2H4I", rest)
        if (major, minor) not in ((2, 0), (2, 1), (2, 2), (2, 3), (2, 4)):
            raise UnsupportedFeatureError(f"pcap version {major}.{minor} is not read: expected 2.4", source.name)
        self._lengths_swapped = minor < 3
        self._fcs = (link >> 28) * 2 if link & FCS_PRESENT else 0
        self.interfaces = [CapturedInterface(0, link & 0x03FFFFFF)]

    def __iter__(self) -> Iterator[Record]:
        read, unpack, interface = self.source.read, self._header.unpack, self.interfaces[0]
        require_supported(interface.linktype, self.source.name)
        number = 0
        while header := read(16):
            number += 1
            if len(header) < 16:
                self._cut(number)
                return
            seconds, fraction, caplen, length = unpack(header)
            if self._lengths_swapped and caplen > length:
                caplen, length = length, caplen
            if caplen > RECORD_MAX:
                if self.source.skip(caplen) < caplen:
                    self._cut(number)
                    return
                raise CaptureError(f"record {number} claims {caplen} captured bytes: expected at most {RECORD_MAX}", self.source.name)
            data = read(caplen)
            if len(data) < caplen:
                self._cut(number)
                return
            if fraction * self.unit_ns >= 1_000_000_000:
                self._strange_time(number, fraction)
            if self._fcs:
                data, length = data[: max(length - self._fcs, 0)], max(length - self._fcs, 0)
            time_ns = min(seconds * 1_000_000_000 + fraction * self.unit_ns, TIME_MAX)
            yield Record(number, time_ns, interface, data, max(length, len(data)))

    def cut(self) -> None:
        """Say that the file ends inside a record."""
        self.warnings.append("the last record is cut by the end of the file and was left out")

    def _cut(self, number: int) -> None:
        self.warnings.append(f"record {number} is cut by the end of the file and was left out")

    def _strange_time(self, number: int, fraction: int) -> None:
        if not any("fraction" in warning for warning in self.warnings):
            self.warnings.append(f"record {number}: {fraction} is no fraction of a second; its time is taken as it stands")
