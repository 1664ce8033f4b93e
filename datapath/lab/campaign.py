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
from datapath.lab.generate.nat import NatTraffic, nat_rule_set
from datapath.lab.generate.nodes import random_recipe
from datapath.lab.generate.rules import Flavour, rule_set
from datapath.lab.generate.traffic import Traffic
from datapath.lab.generate.world import World, family4, family6
from datapath.lab.kernel import KernelRun
from datapath.lab.refused import accepted_rules, emulated_rules
from datapath.lab.show import show_difference
from datapath.lab.shrink import shrink

CONNTRACK_EVERY = 8  # packets between two looks at the kernel's table, from which traffic is drawn too
SECONDS_SLACK = 4


@dataclass
class Campaign:
    """What was compared so far."""

    seed: int
    directory: Path
    packets_per_round: int = 100
    nat: bool = False   # rules and traffic that strain NAT alone
    shrink_seconds: float = 40
    coverage: Coverage = field(default_factory=Coverage)
    rounds: int = 0
    packets: int = 0
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
        """One node, one rule set per family, some packets."""
        name = f"{self.seed}-{self.rounds}"
        self.rounds += 1
        with tempfile.TemporaryDirectory(prefix="datapath-campaign-") as scratch:
            case = play_random(name, Path(scratch), self.packets_per_round, self.nat)
            self._compare(case, Path(scratch))

    def _compare(self, case: Case, scratch: Path) -> None:
        assert case.recording is not None
        self.coverage.add(case)
        try:
            comparison = compare(case, seconds_slack=SECONDS_SLACK)
        except Exception as error:  # a crash of the emulator is a finding like any other
            self.differences[f"{type(error).__name__}: {error}"] += 1
            self._save(case, f"case {case.name}: {type(error).__name__}: {error}")
            return
        self.packets += comparison.packets
        if comparison.differences:
            difference = comparison.differences[0]
            self.differences[difference.what] += 1
            if self.shrink_seconds:
                difference = shrink(case, difference, scratch, self.shrink_seconds)
            self._save(difference.case, show_difference(difference))

    def _save(self, case: Case, report: str) -> None:
        place = self.directory / case.name
        save_case(case, place)
        (place / "difference.txt").write_text(report + "\n")
        self.saved.append(place)
        print(report, flush=True)
        print(f"  saved in {place}", flush=True)


def random_case(name: str, nat: bool = False) -> tuple[Case, World]:
    """A node and its rules, without packets yet; all from the name."""
    rng = random.Random(name)
    world = World(rng)
    families = rng.choices(((4,), (6,), (4, 6)), (5, 3, 2))[0]
    if 4 in families:
        world.families[4] = family4(rng.random() < 0.5)
    if 6 in families:
        world.families[6] = family6()
    flavour = Flavour(rules_per_chain=rng.choice((2, 4, 6)), drop_policies=rng.choice((0, 0.05, 0.2)))
    recipe = random_recipe(world)
    texts = {family: nat_rule_set(world, family) if nat else rule_set(world, family, flavour) for family in families}
    rules = {family: accepted_rules(emulated_rules(text, family), family, recipe) for family, text in texts.items()}
    return Case(name, recipe, rules, []), world


def play_random(name: str, scratch: Path, packets: int, nat: bool = False) -> Case:
    """A random case played on the kernel, with traffic that answers what happens."""
    case, world = random_case(name, nat)
    kind = NatTraffic if nat else Traffic
    traffic = kind(world, oddity=world.rng.choice((0, 0.1, 0.3)), owners=world.chance(0.3))
    with KernelRun(case, scratch / "host", clock=False, drops=True) as run:
        for number in range(packets):
            if number % CONNTRACK_EVERY == 0:
                traffic.entries = run.node.connections()
            traffic.learn(run.send(traffic.next()))
        run.finish()
    return case


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--seed", type=int, default=None, help="the same seed gives the same rules and, as far as the kernel does, the same traffic"
    )
    parser.add_argument("--packets", type=int, default=100, help="per round")
    parser.add_argument("--nat", action="store_true", help="strain NAT: every form of its targets, clashing tuples")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--most-differences", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("build/campaign"))
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    campaign = Campaign(seed, options.output, options.packets, options.nat, 0 if options.no_shrink else 40)
    print(f"seed {seed}", flush=True)
    try:
        campaign.run(minutes=options.minutes, most_differences=options.most_differences)
    except LabError as error:
        print(error)
        return 2
    print(campaign.coverage.report())
    print(
        f"{campaign.packets} packets of {campaign.rounds} rounds compared, {sum(campaign.differences.values())} rounds differ: "
        + (", ".join(f"{what} {count}" for what, count in campaign.differences.items()) or "none")
    )
    return 1 if campaign.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
