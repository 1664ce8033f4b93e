"""The table: import, what is dropped, what is evicted, what it costs."""

from __future__ import annotations

import pytest

from datapath._core.net import NetNamespace
from datapath.compiler.sysctls import Sysctls
from datapath.engine.conntrack import ConntrackTable
from datapath.engine.host import Host
from tests.kernel.conntrack_other import udp
from tests.kernel.conntrack_pair import PREFIX
from tests.kernel.conntrack_scripts import CLIENT, SERVER, client, ipv4, server

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
ACCEPT, DROP = 1, 0
NEW, ESTABLISHED, ESTABLISHED_REPLY = 2, 0, 3
TCP = "ipv4     2 tcp      6 300 ESTABLISHED src=192.0.2.2 dst=198.51.100.2 sport=2000 dport=80 src=198.51.100.2 dst=192.0.2.2 sport=80 dport=2000 [ASSURED] mark=5 use=1"  # noqa: E501
UDP = "ipv4     2 udp      17 10 src=192.0.2.2 dst=198.51.100.2 sport=2000 dport=53 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 sport=53 dport=2000 mark=0 use=1"  # noqa: E501


def table(text: str | None = None, **sysctls: int) -> tuple[NetNamespace, ConntrackTable]:
    """A node's core and its connections, without rules or devices."""
    core = NetNamespace()
    core.load_sysctls(Sysctls({PREFIX + name: str(value) for name, value in sysctls.items()}).of_node())
    host = Host(texts={"conntrack.txt": text} if text is not None else {})
    return core, ConntrackTable(core, host)


def lines(connections: ConntrackTable) -> list[str]:
    return [str(entry) for entry in connections.entries()]


def test_what_is_imported_is_listed() -> None:
    _, connections = table(f"{TCP}\n{UDP}\n")
    assert lines(connections) == [TCP, UDP]


def test_imported_timeouts_count_from_the_first_packet() -> None:
    core, connections = table(f"{TCP}\n{UDP}\n")
    other = ipv4(CLIENT, SERVER, 50, bytes(8))
    core.track(other, START)
    assert lines(connections)[:2] == [TCP, UDP]
    core.track(other, START + 9 * SECOND)
    assert [entry.timeout for entry in connections.entries()] == [291, 1, 600]
    core.track(other, START + 10 * SECOND)
    assert [entry.timeout for entry in connections.entries()] == [290, 600]


def test_a_packet_of_an_imported_entry_belongs_to_it() -> None:
    core, connections = table(f"{TCP}\n{UDP}\n")
    assert core.track(server("A", 1, 1).packet, START) == (ACCEPT, ESTABLISHED_REPLY, True)
    assert core.track(udp("server").packet, START) == (ACCEPT, ESTABLISHED_REPLY, True)
    assert len(connections.entries()) == 2


def test_imported_tcp_is_liberal_until_both_sides_were_seen() -> None:
    core, _ = table(TCP)
    for segment in (client("A", 1000, 5000, data=10), client("A", 3_000_000_000, 1), server("A", 5000, 1010, win=1)):
        assert core.track(segment.packet, START)[2], segment.text
    assert not core.track(client("A", 2_000_000_000, 5000).packet, START)[2], "both sides were seen: out of any window is INVALID"
    assert core.track(client("A", 1010, 5000, data=1400).packet, START)[2], "scaling is not known: the widest is allowed for"


def test_a_replied_udp_entry_is_a_stream_two_seconds_after_its_last_packet_at_the_latest() -> None:
    replied = UDP.replace(" [UNREPLIED]", "").replace("17 10", "17 29")
    core, connections = table(replied)
    core.track(udp("client").packet, START + SECOND // 2)
    assert not connections.entries()[0].assured
    core.track(udp("client").packet, START + SECOND * 2)
    assert connections.entries()[0].assured
    assert connections.entries()[0].timeout == 120


def test_a_line_that_makes_no_sense_is_named() -> None:
    with pytest.raises(ValueError, match=r"^conntrack.txt:2: unknown word 'FOO'"):
        table(f"{UDP}\n{TCP.replace('ESTABLISHED', 'FOO')}\n")


def test_a_packet_that_is_not_confirmed_leaves_nothing() -> None:
    core, connections = table()
    assert core.track(udp("client").packet, START, confirm=False) == (ACCEPT, NEW, True)
    assert lines(connections) == []
    assert core.conntrack_stats()["entries"] == 0


def test_checksums_are_looked_at_on_the_way_in_only() -> None:
    core, _ = table()
    wrong = client("S", 1000, spoil=1).packet
    assert not core.track(wrong, START, hook=0)[2]
    assert core.track(wrong, START, hook=3)[2]


@pytest.mark.parametrize(("seconds", "state"), [(29.999, ESTABLISHED_REPLY), (30, NEW), (31, NEW)])
def test_expiry_is_exact(seconds: float, state: int) -> None:
    core, _ = table()
    core.track(udp("client").packet, START)
    assert core.track(udp("server").packet, START + round(seconds * SECOND))[1] == state


def test_timestamps_show_the_age_in_whole_seconds() -> None:
    core, connections = table(timestamp=1)
    core.track(udp("client").packet, START + SECOND * 9 // 10)
    core.track(udp("client").packet, START + SECOND)
    assert connections.entries()[0].age == 1
    assert "delta-time=1 use=1" in str(connections.entries()[0])


def full(**sysctls: int) -> tuple[NetNamespace, ConntrackTable]:
    """A table of four connections, all in one of Linux's buckets."""
    core, connections = table(max=4, **{"buckets": 1, **sysctls})
    for number in range(4):
        core.track(ipv4(CLIENT, bytes([198, 51, 100, 10 + number]), 50, b""), START)
    return core, connections


def test_a_full_table_evicts_what_is_not_assured() -> None:
    core, connections = full()
    assert core.track(udp("client").packet, START) == (ACCEPT, NEW, True)
    assert core.conntrack_stats()["early_drop"] == 4
    assert len(connections.entries()) == 1


def test_a_full_table_of_assured_connections_drops_the_packet() -> None:
    text = "".join(TCP.replace("2000", str(2000 + number)) + "\n" for number in range(4))
    core, connections = table(text, max=4, buckets=1)
    assert core.track(udp("client").packet, START)[0] == DROP
    assert (core.conntrack_stats()["drop"], len(connections.entries())) == (1, 4)


def test_with_many_buckets_a_victim_is_seldom_found() -> None:
    core, _ = full(buckets=1 << 20)
    assert core.track(udp("client").packet, START)[0] == DROP
    assert core.conntrack_stats()["early_drop"] == 0


def test_expired_connections_make_room() -> None:
    core, connections = full(buckets=1 << 20, generic_timeout=5)
    assert core.track(udp("client").packet, START + 5 * SECOND)[0] == ACCEPT
    assert len(connections.entries()) == 1


def many(core: NetNamespace, first: int, count: int, now_ns: int) -> None:
    for number in range(first, first + count):
        core.track(ipv4(CLIENT, (0x0A000000 + number).to_bytes(4, "big"), 50, b""), now_ns)


def test_a_connection_costs_at_most_300_bytes() -> None:
    core, connections = table()
    many(core, 0, 70_000, START)
    assert len(connections.entries()) == 70_000
    assert core.conntrack_stats()["memory"] / 70_000 < 300


def test_memory_is_bounded_by_what_lives_at_one_time() -> None:
    core, _ = table(generic_timeout=1)
    for second in range(50):
        many(core, second * 1000, 1000, START + second * SECOND)
    assert core.conntrack_stats()["memory"] < 3000 * 300


def test_deletion_is_counted() -> None:
    _, connections = table(f"{TCP}\n{UDP}\n")
    assert connections.delete("-p udp --orig-dst 198.51.100.2") == 1
    assert lines(connections) == [TCP]
    assert connections.delete("-p udp") == 0
