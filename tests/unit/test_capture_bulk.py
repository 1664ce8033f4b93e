"""Bulk replay says what the replay record by record says."""

import gzip

import pytest

from datapath.capture.bulk import play_bulk
from datapath.capture.reader import open_capture
from datapath.capture.writer import PcapngWriter
from datapath.errors import CaptureError, UnsupportedFeatureError
from datapath.model.verdicts import Outcome
from tests.unit.capture_files import MICROSECONDS, NANOSECONDS, ether, pcap, pcapng, tcp, udp
from tests.unit.replay_node import BALANCED, ETH0, ETH1, OUTSIDE, SERVER, SERVICE, TRACKED, WIRE, node

FRAMES = [
    (i * 1_000_000, ether(tcp(OUTSIDE, SERVICE, 1000 + i % 50, 80, flags=2 if i < 50 else 0x10, seq=1 + (i >= 50), ack=5), dst=ETH0))
    for i in range(100)
]
FRAMES += [
    (200_000_000, ether(udp(OUTSIDE, SERVER, 5, 6, ttl=1), dst=ETH0)),
    (200_000_001, ether(udp(OUTSIDE, "192.0.2.1", 5, 6), dst=ETH0)),
]
LEFT = [(300_000_000, ether(udp("10.1.0.1", SERVER, 5, 6), src=ETH1, dst=WIRE))]


def one_by_one(frames, rules):
    plain = node(rules)
    return plain, [plain.receive(frame, "eth0", time_ns) for time_ns, frame in frames]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [MICROSECONDS, NANOSECONDS])
def test_counters_connections_and_outcomes_are_the_same(tmp_path, order, magic):
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(FRAMES + LEFT, order=order, magic=magic))
    plain, transits = one_by_one(FRAMES, BALANCED)
    bulk = node(BALANCED)
    summary = play_bulk(bulk.core, bulk.host, path)
    assert (summary.records, summary.received, summary.left) == (len(FRAMES) + 1, len(FRAMES), 1)
    assert summary.outcomes == {what: sum(t.verdict is what for t in transits) for what in {t.verdict for t in transits}}
    assert bulk.counters(4) == plain.counters(4)
    assert [str(entry) for entry in bulk.conntrack()] == [str(entry) for entry in plain.conntrack()]


def test_what_leaves_is_written_the_same(tmp_path):
    path, out = tmp_path / "a.pcap", tmp_path / "out.pcapng"
    path.write_bytes(pcap(FRAMES))
    _, transits = one_by_one(FRAMES, BALANCED)
    bulk = node(BALANCED)
    with PcapngWriter(out) as writer:
        play_bulk(bulk.core, bulk.host, path, write=writer)
    written = [(record.interface.name, record.data, record.time_ns) for record in open_capture(out)]
    assert written == [(device, frame, transit.now_ns) for transit in transits for device, frame in transit.outputs]


def test_paths_are_kept_once_each(tmp_path):
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(FRAMES))
    bulk = node(BALANCED)
    summary = play_bulk(bulk.core, bulk.host, path, paths=True)
    assert len(summary.numbers) == len(FRAMES)
    assert 4 <= len(summary.paths) <= 12
    assert [packets for packets, _ in summary.paths] == [summary.numbers.count(number) for number in range(len(summary.paths))]
    assert len(set(summary.numbers[50:100])) <= 4  # established: few ways, by the rule that has bound the connection


def test_pipes_and_gzip_and_cuts(tmp_path):
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(pcap(FRAMES)))
    bulk = node(TRACKED)
    assert play_bulk(bulk.core, bulk.host, path).received == len(FRAMES)
    plain = tmp_path / "a.pcap"
    plain.write_bytes(pcap(FRAMES)[:-5])
    for source in (plain, path):
        if source is path:
            path.write_bytes(gzip.compress(pcap(FRAMES)[:-5]))
        bulk = node(TRACKED)
        summary = play_bulk(bulk.core, bulk.host, source)
        assert summary.received == len(FRAMES) - 1
        assert summary.warnings == ["the last record is cut by the end of the file and was left out"]


def test_damage_comes_after_what_stands_before_it(tmp_path):
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(FRAMES) + b"\xff" * 40)
    bulk = node(TRACKED)
    with pytest.raises(CaptureError, match=f"record {len(FRAMES) + 1} claims 4294967295 captured bytes"):
        play_bulk(bulk.core, bulk.host, path)
    assert sum(packets for packets, _ in bulk.counters(4).values()) > 0


def test_frames_for_nobody_come_in_where_the_user_says(tmp_path):
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(0, ether(udp(OUTSIDE, SERVER, 5, 6), dst="02:00:00:00:77:77"))]))
    bulk = node()
    assert play_bulk(bulk.core, bulk.host, path).strangers == 1
    summary = play_bulk(bulk.core, bulk.host, path, interface="eth0")
    assert summary.outcomes == {Outcome.DROPPED: 1}
    with pytest.raises(CaptureError, match="eth9 is not a device"):
        play_bulk(bulk.core, bulk.host, path, interface="eth9")


def test_other_formats_are_refused(tmp_path):
    path = tmp_path / "a.pcapng"
    path.write_bytes(pcapng(FRAMES))
    bulk = node()
    with pytest.raises(UnsupportedFeatureError, match="bulk replay reads pcap files of Ethernet or raw IP"):
        play_bulk(bulk.core, bulk.host, path)
