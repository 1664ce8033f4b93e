"""Every script of packets on the kernel and on the emulator: frames and connections after each packet."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.kernel.conntrack_other import OTHER_SCRIPTS
from tests.kernel.conntrack_pair import Pair, differences, pair
from tests.kernel.conntrack_scripts import TCP_SCRIPTS, Script

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def both() -> Iterator[Pair]:
    with pair() as nodes:
        yield nodes


@pytest.mark.parametrize("script", [*TCP_SCRIPTS, *OTHER_SCRIPTS], ids=lambda script: script.name)
def test_script(both: Pair, script: Script) -> None:
    both.begin(script.sysctls)
    for number, said in enumerate(script.packets, 1):
        time.sleep(said.wait)
        found = differences(*both.send(said.interface, said.packet))
        assert not found, "\n".join([f"after packet {number}: {said.text}", *found])
