"""Each capture of pcaps/ replayed: the kernel's counters and its connection table come out, and nothing contradicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from datapath import Datapath, Host
from datapath.capture.played import Role
from datapath.capture.reader import open_capture
from datapath.capture.replay import Replay
from datapath.lab.compare import split_seconds
from datapath.lab.counters import saved_counters

PCAPS = Path(__file__).parents[2] / "pcaps"
CAPTURES = sorted(path for path in PCAPS.iterdir() if path.suffix in (".pcap", ".pcapng"))
BEFORE_NAT_UNKNOWN = PCAPS / "from-node.pcapng"
SECONDS = 3  # between the last packet and the moment when the table was listed


def test_what_the_node_sends_to_a_service_is_marked() -> None:
    node = Datapath(Host.load(PCAPS / "node.host"))
    played = list(Replay(node, open_capture(BEFORE_NAT_UNKNOWN)))
    assert not any(item.differences for item in played)
    sent = [item for item in played if item.role is Role.SENT]
    assert any(item.original_unknown for item in sent)
    assert not all(item.original_unknown for item in sent)


@pytest.mark.parametrize("capture", [path for path in CAPTURES if path != BEFORE_NAT_UNKNOWN], ids=lambda path: path.stem)
def test_the_kernel_said_the_same(capture: Path) -> None:
    node = Datapath(Host.load(PCAPS / "node.host"))
    contradictions = [played for played in Replay(node, open_capture(capture)) if played.differences]
    assert not contradictions, [str(difference) for difference in contradictions[0].differences]
    kernel = capture.with_suffix(".kernel")
    for family, name in ((4, "iptables-save.txt"), (6, "ip6tables-save.txt")):
        counted = saved_counters((kernel / name).read_text())
        ours = {key: tuple(count) for key, count in node.counters(family=family).items() if key in counted}
        assert {key: count for key, count in ours.items() if count != counted[key]} == {}
        assert ours.keys() == counted.keys()
    listed = sorted(map(split_seconds, (kernel / "conntrack.txt").read_text().splitlines()))
    ours_listed = sorted(split_seconds(str(entry)) for entry in node.conntrack())
    assert [line for line, _ in ours_listed] == [line for line, _ in listed]
    assert all(abs(seconds - other) <= SECONDS for (_, seconds), (_, other) in zip(listed, ours_listed, strict=True))
