"""Random conversations on the kernel and the emulator. The module that makes them plays them without end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kernel.conntrack_pair import Pair, pair
from tests.kernel.conntrack_random import converse

pytestmark = pytest.mark.kernel
CONVERSATIONS = 60


@pytest.fixture(scope="module")
def both() -> Iterator[Pair]:
    with pair() as nodes:
        yield nodes


def test_conversations(both: Pair) -> None:
    differing = [found for seed in range(CONVERSATIONS) if (found := converse(both, seed)[1])]
    assert not differing, "\n".join(differing[0])
