"""The calibration loop: compiled where the benchmarks run, so that ratios to it hold on any machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class Calibration:
    """`calibration.c` as a program in a scratch directory."""

    def __init__(self, scratch: Path) -> None:
        self._program = scratch / "calibration"
        source = Path(__file__).with_name("calibration.c")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", str(self._program), str(source)], check=True)

    def nanoseconds(self, capture: Path, runs: int) -> float:
        """Of processor time per packet, the median of `runs`."""
        done = subprocess.run([str(self._program), str(capture), str(runs)], check=True, capture_output=True, text=True)
        return float(done.stdout.split()[0])
