"""`python -m benchmarks.program`: loading rulesets, and what a packet costs as rules grow in number. Processor time.

Row 13: text of iptables-save to a loaded program, beside iptables-legacy-restore of the same text (needs root).
Row 9: a new connection through 5,000 services against one through 100. Row 11: a rule that no index can pass over.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.node import node, services
from benchmarks.traffic import masqueraded, to_services, write
from datapath._core.net import NetNamespace
from datapath.capture.bulk import play_bulk
from datapath.compiler.program import compile_ruleset
from datapath.syntax.iptables_save import parse_ruleset

NAMESPACE = "datapath-benchmark"
SERVICES = (2000, 5000)
FLAT_SERVICES = (100, 5000)
CONNECTIONS = 50_000
LINEAR_RULES = 2000


def load(text: str) -> tuple[float, float, float]:
    """Seconds to parse, to compile and to load."""
    gc.collect()
    started = time.process_time()
    ruleset = parse_ruleset(text)
    parsed = time.process_time()
    compiled = compile_ruleset(ruleset)
    lowered = time.process_time()
    NetNamespace().load_program(4, compiled)
    return parsed - started, lowered - parsed, time.process_time() - lowered


def linux_load(text: str) -> float:
    """Seconds of processor time of iptables-legacy-restore, the kernel's part included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["ip", "netns", "exec", NAMESPACE, "iptables-legacy-restore"], input=text, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def per_packet(rules: str, capture: Path) -> float:
    """Nanoseconds per packet of a capture."""
    played = node(rules)
    gc.collect()
    started = time.thread_time()
    summary = play_bulk(played.core, played.host, capture)
    return (time.thread_time() - started) * 1e9 / summary.records


def linear(count: int) -> str:
    """A chain of rules that insist on nothing an index could use: ranges and negations."""
    rules = [f"-A FORWARD ! -s 10.{i % 250}.0.0/16 -p tcp -m tcp --dport {1000 + i}:{1100 + i} -j DROP" for i in range(count)]
    rules = [f"-A FORWARD -s 172.16.{i % 250}.0/24 ! -p udp -j DROP" if i % 2 else rule for i, rule in enumerate(rules)]
    return "\n".join(["*filter", ":FORWARD ACCEPT [0:0]", *rules, "COMMIT", ""])


def median(measure: Callable[[], float], runs: int) -> float:
    return statistics.median(measure() for _ in range(runs))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.program", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    root = os.geteuid() == 0
    if root:
        subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        for count in SERVICES:
            text = services(count)
            best = min((load(text) for _ in range(runs)), key=sum)
            linux = min(linux_load(text) for _ in range(runs)) if root else 0.0
            compared = f"Linux {linux:.3f} s, x {sum(best) / linux:.1f}" if linux else ""
            parts = f"parse {best[0]:.3f}, compile {best[1]:.3f}, load {best[2]:.3f}"
            print(f"13  load {count} services: {sum(best):.3f} s ({parts})  {compared}")
    finally:
        if root:
            subprocess.run(["ip", "netns", "del", NAMESPACE], check=True)
    with tempfile.TemporaryDirectory() as scratch:
        costs = []
        for count in FLAT_SERVICES:
            capture = write(Path(scratch) / f"{count}.pcap", to_services(CONNECTIONS, count))
            costs.append(median(lambda capture=capture, count=count: per_packet(services(count), capture), runs))
        few, many = FLAT_SERVICES
        print(f" 9  new connection: {costs[0]:.0f} ns at {few} services, {costs[1]:.0f} ns at {many}: x {costs[1] / costs[0]:.2f}")
        capture = write(Path(scratch) / "linear.pcap", masqueraded(CONNECTIONS))
        without, with_rules = (median(lambda n=n: per_packet(linear(n), capture), runs) for n in (0, LINEAR_RULES))
        print(f"11  a rule without an index: {(with_rules - without) / LINEAR_RULES:.2f} ns")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
