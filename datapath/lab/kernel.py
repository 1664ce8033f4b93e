"""Play a case on the running kernel and record what it did."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from datapath.lab.case import Case, CasePacket, Counters, Happened, Output, Recording
from datapath.lab.counters import open_counters
from datapath.lab.drops import DropWatcher
from datapath.lab.hostdir import write_node_files, write_rule_files
from datapath.lab.masks import network_offset
from datapath.lab.node import Node

# Linux keeps the token buckets of ICMPv6 errors and redirects in jiffies, and empties one that is asked with
# ratelimit=0 only when a jiffy has passed since it was last asked; a case must not depend on that.
JIFFY_SECONDS = 0.005


class KernelRun:
    """A case on the kernel: `send` packet by packet (adaptive traffic), or `record_case` for all at once.

    The recipe's `backend` (legacy or nft) says whose rules they are.
    `clock`: packets keep their own time, and are sent when it has come (True), or get the time at which they were
    sent (False). `drops`: watch the drop reasons.
    """

    def __init__(self, case: Case, host: Path, *, clock: bool = True, drops: bool = False) -> None:
        self.case, self._clock = case, clock
        self._backend = backend = case.recipe.get("backend", "legacy")
        self._loaded = dict(case.rules)
        self.node = Node(case.recipe)
        try:
            self.node.restore(case.rules, case.ipsets, backend)
            write_node_files(self.node.namespace, host, ("ipset-save.txt",) if case.ipsets else ())
            write_rule_files(self.node.namespace, host, case.families, backend)
            self._open_counters()
            self._drops = DropWatcher() if drops else None
        except BaseException:
            self.node.close()
            raise
        list(self.node.wire.received())
        case.host = host
        self.sent: list[CasePacket] = []
        self.happened: list[Happened] = []
        self._bound: set[str] = set()
        self._before = self.counters()
        self._start = time.monotonic_ns()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Take the node down."""
        for reader in self._readers.values():
            reader.close()
        if self._drops is not None:
            self._drops.close()
        self.node.close()

    def counters(self) -> Counters:
        """All counters now."""
        return {
            self.case.counter_key(family, name): count for family, reader in self._readers.items() for name, count in reader.read().items()
        }

    def send(self, packet: CasePacket) -> Happened:
        """Send one packet and see what comes of it."""
        now = time.monotonic_ns() - self._start
        if not self._clock:
            packet = replace(packet, time_ns=now)
        elif packet.time_ns > now:
            time.sleep((packet.time_ns - now) / 1e9)
        if packet.restore:
            self._restore(dict(packet.restore))
        error = 0
        if self._drops is not None:
            self._drops.reasons()  # of other nodes' packets that this process sent meanwhile
        if packet.interface is None:
            error = self.node.processes.send(packet)
        else:
            self.node.wire.send(packet.interface, packet.data)
        outputs = [output for output in self.node.wire.received() if not is_multicast_report(output)]
        after = self.counters()
        hits = {name: count[0] - self._before[name][0] for name, count in after.items() if count[0] != self._before[name][0]}
        self._before = after
        if any(is_icmpv6_error(frame) for _, frame in outputs):
            time.sleep(JIFFY_SECONDS)
        drops = None if self._drops is None else self._drops.reasons()
        happened = Happened(outputs, hits, drops, error, self._newly_bound() if any("nat/" in name for name in hits) else [])
        self.sent.append(packet)
        self.happened.append(happened)
        return happened

    def _open_counters(self) -> None:
        self._readers = {
            family: open_counters(self.node.namespace, family, text, self._backend) for family, text in self._loaded.items()
        }

    def _restore(self, rules: dict[int, str]) -> None:
        """Load rules; tables that the texts do not name stay."""
        self.node.restore(rules, backend=self._backend)
        for family, text in rules.items():
            self._loaded[family] = self._loaded.get(family, "") + text
        for reader in self._readers.values():
            reader.close()
        self._open_counters()
        self._before = self.counters()

    def _newly_bound(self) -> list[str]:
        """Connections that were not there before, which show what Linux drew for them."""
        lines = {line[line.index("src=") :].replace("[UNREPLIED] ", ""): line for line in self.node.connections()}
        new = [line for ends, line in lines.items() if ends not in self._bound]
        self._bound = set(lines)
        return new

    def finish(self) -> Recording:
        """The recording of what was sent, which also becomes the case's."""
        self.case.packets = self.sent
        self.case.recording = Recording(os.uname().release, self.happened, self.counters(), self.node.conntrack())
        return self.case.recording


def record_case(case: Case, host: Path, *, clock: bool = True, drops: bool = False) -> Recording:
    """Play the whole case; `host` becomes its host directory."""
    packets = case.packets
    with KernelRun(case, host, clock=clock, drops=drops) as run:
        for packet in packets:
            run.send(packet)
        return run.finish()


def icmpv6_type(frame: bytes) -> int:
    """The type of an ICMPv6 message, behind at most a hop-by-hop header of eight bytes; -1 for anything else."""
    at = network_offset(frame)
    if len(frame) < at + 56 or frame[at] >> 4 != 6:
        return -1
    upper, begin = (frame[at + 40], at + 48) if frame[at + 6] == 0 else (frame[at + 6], at + 40)
    return frame[begin] if upper == 58 else -1


def is_multicast_report(output: Output) -> bool:
    """An MLD report of the node's own, which comes when it likes."""
    return icmpv6_type(output[1]) == 143


def is_icmpv6_error(frame: bytes) -> bool:
    """An ICMPv6 error or a redirect."""
    return 0 <= icmpv6_type(frame) < 128 or icmpv6_type(frame) == 137
