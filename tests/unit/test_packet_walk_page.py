"""docs/packet_walk.md names the priorities that the core registers hooks with."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_priorities_are_those_of_the_core() -> None:
    declared = (ROOT / "src_cython/datapath/_core/hooks.pxd").read_text(encoding="utf-8")
    core = {int(number, 0) for number in re.findall(r"PRIORITY_\w+ = (-?\w+)", declared)}
    page = (ROOT / "docs/packet_walk.md").read_text(encoding="utf-8")
    assert core == {int(number) for number in re.findall(r"^\| (-?\d+) \|", page, flags=re.MULTILINE)}
