"""The files of /proc/net/xt_recent: the addresses that the recent match remembers.

Kernel: net/netfilter/xt_recent.c, recent_seq_show. Stamps are jiffies since a moment before the node's start that
the file does not tell. They are taken relative to the youngest stamp of all files, which is assumed to be the moment
of the first packet.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from datapath.errors import HostError

JIFFY_NS = 4_000_000        # HZ 250, as in Debian's and most other distributions' kernels
LINE = re.compile(r"src=(\S+) ttl: (\d+) last_seen: (\d+) oldest_pkt: (\d+)((?: \d+,)* \d+)")
WRAP = 1 << 64


@dataclass(frozen=True, slots=True)
class RecentEntry:
    """One address: its TTL when last seen, where in the ring the next stamp goes, and the ring of stamps in jiffies."""

    family: int
    address: bytes
    ttl: int
    index: int
    stamps: tuple[int, ...]

    @property
    def last(self) -> int:
        """The latest stamp."""
        return self.stamps[(self.index - 1) % len(self.stamps)]

    def row(self) -> tuple[int, bytes, int, int, list[int]]:
        """As NetNamespace.load_recent takes it."""
        return self.family, self.address, self.ttl, self.index, list(self.stamps)


def parse_recent(text: str, source: str) -> tuple[RecentEntry, ...]:
    """The entries of one file, in its order. Raises HostError with the line."""
    return tuple(parse_line(line, source, number) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def parse_line(line: str, source: str, number: int) -> RecentEntry:
    """One entry."""
    found = LINE.fullmatch(line.strip())
    if found is None:
        raise HostError("expected src=ADDRESS ttl: N last_seen: N oldest_pkt: N N, ...", source, number)
    address, ttl, _, index, stamps = found.groups()
    family = 6 if ":" in address else 4
    try:
        packed = socket.inet_pton(socket.AF_INET6 if family == 6 else socket.AF_INET, address)
    except OSError:
        raise HostError(f"bad address {address!r}", source, number) from None
    return RecentEntry(family, packed, int(ttl) & 255, int(index), tuple(int(word) for word in stamps.replace(",", " ").split()))


def at_packet_time(lists: Mapping[str, Sequence[RecentEntry]], first_packet_ns: int) -> dict[str, tuple[RecentEntry, ...]]:
    """The lists with their stamps in jiffies of packet time: the youngest of them all is the first packet's."""
    stamps = [stamp for entries in lists.values() for entry in entries for stamp in entry.stamps]
    if not stamps:
        return {name: tuple(entries) for name, entries in lists.items()}
    # Jiffies wrap five minutes after the start: the stamps lie within half the circle of each other.
    youngest = max(stamps, key=lambda stamp: (stamp - stamps[0] + WRAP // 2) % WRAP)
    shift = first_packet_ns // JIFFY_NS - youngest
    moved = {
        name: [replace(entry, stamps=tuple((stamp + shift) % WRAP for stamp in entry.stamps)) for entry in entries]
        for name, entries in lists.items()
    }
    # A file is in the order of Linux's hash; the node keeps its entries in the order of last use.
    return {name: tuple(sorted(entries, key=lambda entry: signed(entry.last))) for name, entries in moved.items()}


def signed(stamp: int) -> int:
    """A stamp of before the zero of packet time is a small negative one."""
    return stamp - WRAP if stamp >= WRAP // 2 else stamp


def format_recent(entries: Iterable[tuple[int, bytes, int, int, Sequence[int]]]) -> str:
    """A file from rows of NetNamespace.recent_lists, oldest entry first (Linux's order is that of a hash seeded at random)."""
    return "".join(format_line(*row) for row in entries)


def format_line(family: int, address: bytes, ttl: int, index: int, stamps: Sequence[int]) -> str:
    """One entry; IPv6 addresses in full, as Linux prints them here."""
    text = socket.inet_ntop(socket.AF_INET, address) if family == 4 else address.hex(":", 2)
    return f"src={text} ttl: {ttl} last_seen: {stamps[(index - 1) % len(stamps)]} oldest_pkt: {index} {', '.join(map(str, stamps))}\n"
