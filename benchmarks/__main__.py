"""`python -m benchmarks [ROW...] [--runs N] [--gate]`: a table, and with --gate exit code 1 below a gate."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.calibration import Calibration
from benchmarks.rows import ROWS, made, measure


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, help="numbers of rows; default: all")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gate", action="store_true", help="fail below a gate")
    parser.add_argument("--scratch", type=Path, help="keep the captures here")
    given = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        scratch = given.scratch or Path(temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        calibration = Calibration(scratch)
        print(f"{'row':>3} {'what':<52} {'ns':>7} {'Mpps':>6} {'loop ns':>8} {'x loop':>7} {'gate':>6}")
        for row in ROWS:
            if given.rows and row.number not in given.rows:
                continue
            ours = measure(row, scratch, given.runs)
            loop = calibration.nanoseconds(made(row.traffic, scratch / f"row{row.number}.pcap"), given.runs)
            ratio = ours / loop
            failed |= ratio > row.most
            print(f"{row.number:>3} {row.name:<52} {ours:>7.0f} {1000 / ours:>6.2f} {loop:>8.1f} {ratio:>7.1f} {row.most:>6.0f}", flush=True)
    return 1 if failed and given.gate else 0


if __name__ == "__main__":
    sys.exit(main())
