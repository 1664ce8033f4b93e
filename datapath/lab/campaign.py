"""Random rules and random traffic on this kernel and in the emulator: `python -m datapath.lab.campaign --minutes 10`.

Each round is one node with one rule set per family. The first difference of a round is made smaller and saved as a
case directory with a report. Prints how much was compared and what it covered. Exit code 1 when anything differed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from datapath.lab.case import Case, save_case
from datapath.lab.compare import compare
from datapath.lab.coverage import Coverage
from datapath.lab.errors import LabError
from datapath.lab.rounds import KINDS, play_round
from datapath.lab.show import show_difference
from datapath.lab.shrink import shrink

SECONDS_SLACK = 4
# How often a round is of a kind; a timed one is eight in one, and takes its time.
WEIGHTS = {"plain": 8, "nat": 4, "corners": 4, "timed": 1, "wide": 2, "nft": 3, "replaced": 3}


@dataclass
class Campaign:
    """What was compared so far."""

    seed: int
    directory: Path
    packets_per_round: int = 100
    kinds: tuple[str, ...] = KINDS
    shrink_seconds: float = 40
    coverage: Coverage = field(default_factory=Coverage)
    rounds: int = 0
    packets: int = 0
    blurred: int = 0  # rounds that ended early at an IPv6 redirect
    differences: Counter[str] = field(default_factory=Counter)
    saved: list[Path] = field(default_factory=list)

    def run(self, *, minutes: float | None = None, packets: int | None = None, most_differences: int = 20) -> None:
        """Rounds until the time is over, enough packets were compared, or too much differs."""
        end = None if minutes is None else time.monotonic() + minutes * 60
        while (end is None or time.monotonic() < end) and (packets is None or self.packets < packets):
            self.round()
            if len(self.saved) >= most_differences:
                break

    def round(self) -> None:
        """One node (or some that wait together), one rule set per family, some packets."""
        kind = random.Random(f"{self.seed} {self.rounds}").choices(self.kinds, [WEIGHTS[kind] for kind in self.kinds])[0]
        name = f"{self.seed}-{self.rounds}"
        self.rounds += 1
        with tempfile.TemporaryDirectory(prefix="datapath-campaign-") as scratch:
            try:
                cases = play_round(kind, name, Path(scratch), self.packets_per_round)
            except LabError as error:
                print(f"round {name} ({kind}) was not played: {error}", flush=True)
                return
            for case in cases:
                self._compare(case, Path(scratch), clock=kind == "timed")

    def _compare(self, case: Case, scratch: Path, clock: bool) -> None:
        assert case.recording is not None
        self.coverage.add(case)
        try:
            comparison = compare(case, seconds_slack=SECONDS_SLACK)
        except Exception as error:  # a crash of the emulator is a finding like any other
            self.differences[f"{type(error).__name__}: {error}"] += 1
            self._save(case, f"case {case.name}: {type(error).__name__}: {error}")
            return
        self.packets += comparison.packets
        self.blurred += comparison.blurred
        if comparison.differences:
            difference = comparison.differences[0]
            self.differences[difference.what] += 1
            if self.shrink_seconds and not clock:
                difference = shrink(case, difference, scratch, self.shrink_seconds)
            self._save(difference.case, show_difference(difference))

    def _save(self, case: Case, report: str) -> None:
        place = self.directory / case.name
        save_case(case, place)
        (place / "difference.txt").write_text(report + "\n")
        self.saved.append(place)
        print(report, flush=True)
        print(f"  saved in {place}", flush=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--seed", type=int, default=None, help="the same seed gives the same rules and, as far as the kernel does, the same traffic"
    )
    parser.add_argument("--packets", type=int, default=100, help="per round")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of rounds, some of %(default)s")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--most-differences", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("build/campaign"))
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    campaign = Campaign(seed, options.output, options.packets, tuple(options.kinds.split(",")), 0 if options.no_shrink else 40)
    print(f"seed {seed}", flush=True)
    try:
        campaign.run(minutes=options.minutes, most_differences=options.most_differences)
    except LabError as error:
        print(error)
        return 2
    print(campaign.coverage.report())
    compared = f"{campaign.packets} packets of {campaign.rounds} rounds compared ({campaign.blurred} ended at an IPv6 redirect)"
    found = ", ".join(f"{what} {count}" for what, count in campaign.differences.items()) or "none"
    print(f"{compared}, {sum(campaign.differences.values())} rounds differ: {found}")
    return 1 if campaign.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
