"""What matches answer where no kernel can be asked: draws, packets that a capture has cut, owners that nobody told."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, TCP, UDP

from datapath import Datapath, Host, Outcome
from datapath.model.steps import Drawn
from tests.unit.test_datapath import CLIENT, ROUTER, SERVER, from_client, host

PREROUTING = "*mangle\n:PREROUTING ACCEPT [0:0]\n{}COMMIT\n"


def node_with(*rules: str, seed: int = 0) -> Datapath:
    return Datapath(host(PREROUTING.format("".join(f"-A PREROUTING {rule}\n" for rule in rules))), seed=seed)


def hits(node: Datapath) -> list[int]:
    counters = node.counters()
    return [counters[f"mangle/PREROUTING/{number}"][0] for number in range(1, len(counters))]


def test_a_probability_is_met_by_the_draws() -> None:
    node = node_with("-m statistic --mode random --probability 0.25", "-m statistic --mode random ! --probability 0.25")
    for _ in range(4000):
        node.receive(from_client(UDP()), "eth0")
    chosen, others = hits(node)
    # Four standard deviations of a binomial with p = 1/4: 110.
    assert abs(chosen - 1000) < 110
    assert abs(others - 3000) < 110


def test_the_same_seed_draws_the_same() -> None:
    def drawn(seed: int) -> list[int]:
        node = node_with("-m statistic --mode random --probability 0.5", seed=seed)
        found = []
        for _ in range(50):
            node.receive(from_client(UDP()), "eth0")
            found.append(hits(node)[0])
        return found

    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


def test_a_draw_is_a_step() -> None:
    transit = node_with("-m statistic --mode random --probability 0.5").receive(from_client(UDP()), "eth0")
    (drawn,) = [step for step in transit.steps if isinstance(step, Drawn)]
    assert (drawn.what, drawn.shown) == ("statistic", False)
    assert 0 <= drawn.value < 1 << 31


CUT = [
    ("-p tcp -m tcp --dport 80", 19, 20),
    ("-p tcp -m multiport --dports 80", 3, 4),
    ("-p tcp -m tcp --tcp-option 2", 20, 24),
    ("-p tcp -m ecn --ecn-tcp-ece", 19, 20),
]


@pytest.mark.parametrize(("rule", "too_short", "enough"), CUT)
def test_bytes_that_the_capture_cut_off_make_the_answer_unknown(rule: str, too_short: int, enough: int) -> None:
    frame = from_client(TCP(dport=80, flags="SE", options=[("MSS", 1460)]) / b"data")
    node = node_with(rule, f"{rule} -j DROP")
    transit = node.receive(frame[: 14 + 20 + too_short], "eth0", wire_length=len(frame))
    assert transit.verdict is Outcome.UNKNOWN
    assert hits(node) == [0, 0]
    transit = node.receive(frame[: 14 + 20 + enough], "eth0", wire_length=len(frame))
    assert transit.verdict is Outcome.DROPPED
    assert hits(node) == [1, 1]


def test_bytes_that_were_never_there_make_the_packet_malformed() -> None:
    node = node_with("-p tcp -m tcp --dport 80", "-m length --length 0:65535")
    packet = from_client(b"")[:14] + bytes(IP(src=CLIENT, dst=SERVER, proto=6) / bytes(12))
    transit = node.receive(packet, "eth0")
    assert (transit.verdict, transit.drop_reason) == (Outcome.DROPPED, "NETFILTER_DROP")
    assert hits(node) == [0, 0]


OUTPUT = "*filter\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -m owner --uid-owner 1000 -j DROP\n-A OUTPUT -m owner --socket-exists\nCOMMIT\n"


@pytest.mark.parametrize(("uid", "verdict"), [(1000, Outcome.DROPPED), (1001, Outcome.FORWARDED), (None, Outcome.UNKNOWN)])
def test_an_owner_that_nobody_told_makes_the_answer_unknown(uid: int | None, verdict: Outcome) -> None:
    node = Datapath(host(OUTPUT))
    transit = node.send(bytes(IP(src=ROUTER, dst=CLIENT) / UDP()), uid=uid, gid=None if uid is None else 0)
    assert transit.verdict is verdict
    assert node.counters()["filter/OUTPUT/2"][0] == (uid == 1001)


def test_a_socket_exists_whoever_owns_it() -> None:
    node = Datapath(host(OUTPUT.replace("-A OUTPUT -m owner --uid-owner 1000 -j DROP\n", "")))
    node.send(bytes(IP(src=ROUTER, dst=CLIENT) / UDP()))
    assert node.counters()["filter/OUTPUT/1"][0] == 1


def test_a_token_bucket_survives_a_long_pause() -> None:
    """Credits are 32 bits wide in Linux: after days the gain has wrapped around, and may be small."""
    node = node_with("-m limit --limit 1/hour --limit-burst 1")
    wrap = (1 << 32) // 128 * 4_000_000      # ns after which the gain is 0 again
    for moment, expected in ((0, 1), (1, 1), (3_600_000_000_000, 2), (3_600_000_000_000 + wrap, 2), (7_200_000_000_000 + wrap, 3)):
        node.receive(from_client(UDP()), "eth0", moment)
        assert hits(node) == [expected]


def test_a_rate_that_only_nft_takes_is_kept_in_nanoseconds() -> None:
    node = node_with("-m limit --limit 1/day --limit-burst 2")
    day = 86_400_000_000_000
    for moment, expected in ((0, 1), (1, 2), (2, 2), (day - 2, 2), (day, 3), (day + 1, 3), (9 * day, 4), (9 * day, 5), (9 * day, 5)):
        node.receive(from_client(UDP()), "eth0", moment)
        assert hits(node) == [expected], moment


def test_connbytes_switches_accounting_on_for_good() -> None:
    rules = "*filter\n-A FORWARD -m connbytes --connbytes 2 --connbytes-mode packets --connbytes-dir both\nCOMMIT\n"
    node = Datapath(host(rules))
    node.sysctl("net.ipv4.conf.all.log_martians", 1)
    for _ in range(3):
        node.receive(from_client(UDP()), "eth0")
    assert node.counters()["filter/FORWARD/1"][0] == 2
    assert "packets=3" in str(node.conntrack()[0])


def test_lists_of_the_host_are_kept_for_rules_that_name_them_only() -> None:
    texts = {**host("").texts, "xt_recent/gone": "src=192.0.2.9 ttl: 1 last_seen: 1 oldest_pkt: 1 1\n"}
    assert Datapath(Host.from_files(texts)).recent() == {}
