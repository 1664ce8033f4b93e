"""`python -m benchmarks [ROW...] [--runs N] [--gate]`: a table, and with --gate exit code 1 below a gate."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import kernel
from benchmarks.calibration import Calibration
from benchmarks.rows import ROWS, Row, made, measure

HEAD = f"{'row':>3} {'what':<48} {'ns':>6} {'Mpps':>6} {'loop ns':>8} {'x loop':>7} {'gate':>5} {'Linux ns':>9} {'x Linux':>8}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, help="numbers of rows; default: all")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-kernel", action="store_true", help="do not measure Linux (which needs root)")
    parser.add_argument("--gate", action="store_true", help="fail below a gate")
    parser.add_argument("--scratch", type=Path, help="keep the captures here")
    given = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        scratch = given.scratch or Path(temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        calibration = Calibration(scratch)
        print(HEAD)
        for row in ROWS:
            if given.rows and row.number not in given.rows:
                continue
            ours = measure(row, scratch, given.runs)
            loop = calibration.nanoseconds(made(row.traffic, scratch / f"row{row.number}.pcap"), given.runs)
            failed |= ours / loop > row.most
            linux = linux_nanoseconds(row, scratch, given.runs) if row.linux and not given.no_kernel and os.geteuid() == 0 else 0.0
            compared = f"{linux:>9.0f} {linux / ours:>8.1f}" if linux else f"{'-':>9} {'-':>8}"
            mine = f"{row.number:>3} {row.name:<48} {ours:>6.0f} {1000 / ours:>6.2f} {loop:>8.1f} {ours / loop:>7.1f} {row.most:>5.0f}"
            print(mine, compared, flush=True)
    return 1 if failed and given.gate else 0


def linux_nanoseconds(row: Row, scratch: Path, runs: int) -> float:
    """What the kernel of this machine takes for the row."""
    warm = scratch / f"row{row.number}-warm.pcap" if row.warm is not None else None
    return kernel.nanoseconds(row.rules(), warm, scratch / f"row{row.number}.pcap", min(runs, 3))


if __name__ == "__main__":
    sys.exit(main())
