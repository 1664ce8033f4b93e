"""Lists of the recent match: their files, and what becomes of them when rules come and go."""

from __future__ import annotations

import pytest
from scapy.layers.inet import UDP

from datapath import Datapath, Host
from datapath._core.net import NetNamespace
from datapath.compiler.program import compile_ruleset
from datapath.errors import HostError
from datapath.syntax.iptables_save import parse_ruleset
from datapath.syntax.xt_recent import RecentEntry, at_packet_time, format_recent, parse_recent
from tests.unit.test_datapath import from_client
from tests.unit.test_datapath import host as base_host

# As Linux 6.18 printed it.
FILE = (
    "src=192.0.2.7 ttl: 64 last_seen: 4300000500 oldest_pkt: 3 4300000100, 4300000200, 4300000500\n"
    "src=192.0.2.9 ttl: 0 last_seen: 4300000050 oldest_pkt: 1 4300000050\n"
    "src=2001:0db8:0000:0000:0000:0000:0000:0001 ttl: 255 last_seen: 4300000250 oldest_pkt: 1 4300000250\n"
)
ROW = (4, bytes([192, 0, 2, 7]), 64, 3, [10, 20, 50])


def load(node: NetNamespace, *rules: str) -> None:
    text = "*filter\n:INPUT ACCEPT [0:0]\n" + "".join(f"-A INPUT {rule}\n" for rule in rules) + "COMMIT\n"
    node.load_program(4, compile_ruleset(parse_ruleset(text)))


def test_a_file_is_read_and_printed_back() -> None:
    entries = parse_recent(FILE, "xt_recent/list")
    assert entries[0] == RecentEntry(4, bytes([192, 0, 2, 7]), 64, 3, (4300000100, 4300000200, 4300000500))
    assert format_recent(entry.row() for entry in entries) == FILE


@pytest.mark.parametrize("line", ["src=192.0.2.7", "src=192.0.2.700 ttl: 1 last_seen: 1 oldest_pkt: 1 1", "nonsense"])
def test_a_bad_line_is_named(line: str) -> None:
    with pytest.raises(HostError, match=r"xt_recent/list:2: "):
        parse_recent(FILE.splitlines()[0] + "\n" + line, "xt_recent/list")


def test_the_youngest_stamp_of_all_lists_is_the_first_packets_moment() -> None:
    entries = parse_recent(FILE, "a")
    moved = at_packet_time({"a": entries[:1], "b": entries[1:]}, first_packet_ns=4_000_000_000)     # jiffy 1000
    assert moved["a"][0].stamps == (600, 700, 1000)
    assert [entry.stamps for entry in moved["b"]] == [(550,), (750,)]


def test_entries_are_put_in_the_order_of_last_use() -> None:
    entries = parse_recent(FILE, "a")
    assert [entry.last for entry in at_packet_time({"a": entries}, 4_000_000_000)["a"]] == [550, 750, 1000]


def test_jiffies_that_wrapped_between_two_stamps_stay_in_order() -> None:
    before, after = (1 << 64) - 100, 200
    entry = RecentEntry(4, bytes(4), 1, 2, (before, after))
    assert at_packet_time({"a": [entry]}, 4_000_000_000)["a"][0].stamps == (700, 1000)


def test_a_list_is_made_by_a_rule_and_lives_as_long_as_one_refers_to_it() -> None:
    node = NetNamespace()
    load(node, "-m recent --name a --rcheck", "-m recent --name b --set")
    assert node.recent_lists() == {"a": [], "b": []}
    node.load_recent("a", [ROW])
    load(node, "-m recent --name a --set")
    assert node.recent_lists() == {"a": [ROW]}
    load(node)
    assert node.recent_lists() == {}


def test_a_list_without_a_rule_is_not_made() -> None:
    node = NetNamespace()
    node.load_recent("a", [ROW])
    assert node.recent_lists() == {}


def test_a_rule_that_asks_for_more_hits_than_the_list_keeps_empties_it() -> None:
    node = NetNamespace()
    load(node, "-m recent --name a --rcheck --hitcount 4")
    node.load_recent("a", [ROW])
    load(node, "-m recent --name a --rcheck --hitcount 2")
    assert node.recent_lists() == {"a": [ROW]}
    load(node, "-m recent --name a --rcheck --hitcount 5")
    assert node.recent_lists() == {"a": []}


def test_a_ruleset_that_is_refused_leaves_the_lists_alone() -> None:
    node = NetNamespace()
    load(node, "-m recent --name a --rcheck")
    node.load_recent("a", [ROW])
    text = "*filter\n-A INPUT -m recent --name b --set\nCOMMIT\n"
    compiled = compile_ruleset(parse_ruleset(text))
    broken = type(compiled)(4, (*compiled.tables, *compiled.tables))
    with pytest.raises(ValueError, match="twice"):
        node.load_program(4, broken)
    assert node.recent_lists() == {"a": [ROW]}


def test_a_hosts_lists_count_from_the_first_packet() -> None:
    rules = "*raw\n-A PREROUTING -m recent --name a --rcheck --seconds 2\n-A PREROUTING -m recent --name a --update --seconds 1\nCOMMIT\n"
    texts = {"iptables-save.txt": rules, "xt_recent/a": "src=192.0.2.10 ttl: 64 last_seen: 5250 oldest_pkt: 2 5000, 5250\n"}
    node = Datapath(Host.from_files({**base_host().texts, **texts}))
    start = 1_700_000_000_000_000_000
    for milliseconds, hits in ((500, (1, 1)), (1400, (2, 2)), (3300, (3, 2)), (3500, (3, 2))):
        node.receive(from_client(UDP()), "eth0", start + milliseconds * 1_000_000)
        counters = node.counters()
        assert (counters["raw/PREROUTING/1"][0], counters["raw/PREROUTING/2"][0]) == hits, milliseconds
    assert node.recent()["a"].startswith("src=192.0.2.10 ttl: 64 last_seen: ")
