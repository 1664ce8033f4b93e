"""A short campaign with a new seed in each run: random rules and traffic on this kernel and in the emulator."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from datapath.lab.campaign import Campaign

PACKETS = 1500


@pytest.mark.kernel
@pytest.mark.parametrize("kind", ["plain", "nat"])
def test_random_traffic(tmp_path: Path, kind: str) -> None:
    seed = random.SystemRandom().randrange(10**9)
    campaign = Campaign(seed, tmp_path, packets_per_round=100, kinds=(kind,))
    campaign.run(packets=PACKETS, most_differences=1)
    report = "".join((place / "difference.txt").read_text() for place in campaign.saved)
    assert not campaign.differences, f"seed {seed}\n{report}"
    assert campaign.packets >= PACKETS
    assert campaign.coverage.rules_hit > 0
