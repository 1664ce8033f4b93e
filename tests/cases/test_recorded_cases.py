"""Each recorded case, without a difference to what the kernel did."""

from __future__ import annotations

from pathlib import Path

import pytest

from datapath.lab.case import load_case
from datapath.lab.compare import compare
from datapath.lab.show import show_difference
from tests.cases import case_names, unpack


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recorded")
    unpack(directory)
    return directory


@pytest.mark.parametrize("name", case_names())
def test_agrees_with_the_kernel(recorded: Path, name: str) -> None:
    case = load_case(recorded / name)
    comparison = compare(case)
    assert not comparison.differences, show_difference(comparison.differences[0])
    assert comparison.packets == len(case.packets) > 0
