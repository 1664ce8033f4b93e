"""Opening a capture: the format is told by its first bytes."""

from __future__ import annotations

from pathlib import Path

from datapath.capture.pcap import MAGICS, PcapReader, modified_name
from datapath.capture.pcapng import SECTION_MAGIC, PcapngReader
from datapath.capture.source import Source
from datapath.errors import CaptureError, UnsupportedFeatureError

Capture = PcapReader | PcapngReader


def open_capture(path: str | Path) -> Capture:
    """Records of a pcap or pcapng file, plain or gzip, or of standard input (`-`); read as a stream.

    Iterating gives `Record`s; `warnings` and `interfaces` are complete when it has ended. Raises CaptureError for what is
    no capture or a damaged one, UnsupportedFeatureError for formats and link types that are not read.
    """
    return read_capture(Source.open(path))


def read_capture(source: Source) -> Capture:
    """The same for an open stream."""
    magic = source.read(4)
    if magic in MAGICS:
        return PcapReader(source, magic)
    if magic == SECTION_MAGIC:
        return PcapngReader(source)
    if name := modified_name(magic):
        raise UnsupportedFeatureError(f"the format {name} is not read: expected pcap or pcapng", source.name)
    if len(magic) < 4:
        raise CaptureError("the file is empty or shorter than four bytes: expected a pcap or pcapng capture", source.name)
    raise CaptureError(f"starts with {magic.hex()}: expected a pcap or pcapng capture", source.name)
