"""What is measured: the node's rules, the traffic, and what is counted of it. Times are processor time per packet, in ns."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.node import MASQUERADE, node, services
from benchmarks.traffic import masqueraded, to_services, write
from datapath.capture.bulk import play_bulk
from datapath.model.verdicts import Outcome

BUSY = 1.6  # a sample whose wall time exceeds its processor time by this factor was disturbed


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity. `most` is the gate: our time may be at most so many times the calibration loop's on the same capture.

    `warm` records come first and are not counted (connections are made there).
    """

    number: int
    name: str
    rules: Callable[[], str]
    traffic: Callable[[Path], Path]
    most: float
    warm: Callable[[Path], Path] | None = None
    paths: bool = False
    linux: bool = True  # measured on this machine's kernel too


ROWS = [
    Row(1, "established, MASQUERADE, 10,000 connections", lambda: MASQUERADE,
        lambda p: write(p, list(masqueraded(10_000, established=50))[10_000:]), 17, lambda p: write(p, masqueraded(10_000))),
    Row(2, "established, MASQUERADE, 1,000,000 connections", lambda: MASQUERADE,
        lambda p: write(p, list(masqueraded(1_000_000, established=1))[1_000_000:]), 9,
        lambda p: write(p, masqueraded(1_000_000)), linux=False),
    Row(3, "new connections through 5,000 services", lambda: services(5000), lambda p: write(p, to_services(200_000, 5000)), 13),
    Row(4, "new connections, MASQUERADE", lambda: MASQUERADE, lambda p: write(p, masqueraded(200_000)), 16),
    Row(8, "row 1 with each packet's path", lambda: MASQUERADE,
        lambda p: write(p, list(masqueraded(10_000, established=50))[10_000:]), 25, lambda p: write(p, masqueraded(10_000)), True, False),
]  # fmt: skip


def measure(row: Row, scratch: Path, runs: int) -> float:
    """Nanoseconds of processor time per packet, the median of the samples that were not disturbed (of all, if all were)."""
    capture = made(row.traffic, scratch / f"row{row.number}.pcap")
    warm = made(row.warm, scratch / f"row{row.number}-warm.pcap") if row.warm is not None else None
    good, disturbed = [], []
    for _ in range(runs):
        played = node(row.rules())
        if warm is not None:
            play_bulk(played.core, played.host, warm)
        gc.collect()
        cpu, wall = time.thread_time(), time.perf_counter()
        summary = play_bulk(played.core, played.host, capture, paths=row.paths)
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        if summary.outcomes != {Outcome.FORWARDED: summary.records}:
            raise RuntimeError(f"row {row.number}: {summary.outcomes} of {summary.records} packets: expected all forwarded")
        (good if wall < BUSY * cpu else disturbed).append(cpu * 1e9 / summary.records)
    return statistics.median(good or disturbed)


def made(make: Callable[[Path], Path], path: Path) -> Path:
    """The capture, made once."""
    return path if path.exists() else make(path)
