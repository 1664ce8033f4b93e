"""Walking through a table: jumps, gotos, returns, policies, counters, and the count of rules that Linux would have tried."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, PadN
from scapy.layers.l2 import Ether

from datapath import Datapath, Host, Outcome
from datapath.model.steps import ChainEnded, Logged, NotEmulated, PolicyApplied, RuleMatched, RuleNotMatched
from tests.unit.test_datapath import CLIENT, LINKS, MACS, ROUTER, SERVER, from_client, host


def save(*rules: str, policy: str = "ACCEPT", table: str = "filter") -> str:
    """A save text; chains that rules name are made."""
    names = {word for rule in rules for word in rule.split() if word.islower() and word.isalpha() and len(word) == 1}
    chains = "".join(f":{name} - [0:0]\n" for name in sorted(names))
    return f"*{table}\n:FORWARD {policy} [0:0]\n{chains}" + "".join(f"-A {rule}\n" for rule in rules) + "COMMIT\n"


def way(node: Datapath, frame: bytes) -> list[tuple[object, ...]]:
    """Chain, rule (0: the chain's end), verdict and rules tried, for each step in FORWARD."""
    found: list[tuple[object, ...]] = []
    for step in node.receive(frame, "eth0").steps:
        if isinstance(step, RuleMatched):
            found.append((step.chain, step.rule, step.verdict, step.tried))
        elif isinstance(step, ChainEnded | PolicyApplied):
            found.append((step.chain, 0, step.verdict if isinstance(step, PolicyApplied) else "end", step.tried))
    return found


WAYS: dict[str, tuple[tuple[str, ...], list[tuple[object, ...]]]] = {
    "no rule": ((), [("FORWARD", 0, "ACCEPT", 0)]),
    "the first rule that matches decides": (
        ("FORWARD -p tcp -j DROP", "FORWARD -p udp -j ACCEPT", "FORWARD -j DROP"), [("FORWARD", 2, "ACCEPT", 2)]),
    "a rule without a target counts and goes on": (
        ("FORWARD -p udp", "FORWARD -p tcp", "FORWARD"),
        [("FORWARD", 1, "CONTINUE", 1), ("FORWARD", 3, "CONTINUE", 2), ("FORWARD", 0, "ACCEPT", 0)]),
    "a jump comes back behind itself": (
        ("FORWARD -p tcp", "FORWARD -j a", "FORWARD -p tcp", "FORWARD -j ACCEPT", "a -p tcp", "a -p icmp"),
        [("FORWARD", 2, "JUMP", 2), ("a", 0, "end", 2), ("FORWARD", 4, "ACCEPT", 2)]),
    "RETURN in a user chain": (
        ("FORWARD -j a", "FORWARD -j ACCEPT", "a -j RETURN", "a -j DROP"),
        [("FORWARD", 1, "JUMP", 1), ("a", 1, "RETURN", 1), ("FORWARD", 2, "ACCEPT", 1)]),
    "RETURN in a base chain leads to the policy": (
        ("FORWARD -j RETURN", "FORWARD -j DROP"), [("FORWARD", 1, "RETURN", 1), ("FORWARD", 0, "ACCEPT", 0)]),
    "a chain that is gone to returns to where its caller was called": (
        ("FORWARD -j a", "FORWARD -j ACCEPT", "a -g b", "a -j DROP", "b -p tcp"),
        [("FORWARD", 1, "JUMP", 1), ("a", 1, "GOTO", 1), ("b", 0, "end", 1), ("FORWARD", 2, "ACCEPT", 1)]),
    "a goto from a base chain ends at its policy": (
        ("FORWARD -g a", "FORWARD -j DROP", "a -p tcp"), [("FORWARD", 1, "GOTO", 1), ("a", 0, "end", 1), ("FORWARD", 0, "ACCEPT", 0)]),
    "an empty chain": (
        ("FORWARD -j a", "FORWARD -j ACCEPT", "b -j a"),
        [("FORWARD", 1, "JUMP", 1), ("a", 0, "end", 0), ("FORWARD", 2, "ACCEPT", 1)]),
    "one chain from two places": (
        ("FORWARD -j a", "FORWARD -j b", "a -j c", "b -j c", "c -p tcp"),
        [("FORWARD", 1, "JUMP", 1), ("a", 1, "JUMP", 1), ("c", 0, "end", 1), ("a", 0, "end", 0),
         ("FORWARD", 2, "JUMP", 1), ("b", 1, "JUMP", 1), ("c", 0, "end", 1), ("b", 0, "end", 0), ("FORWARD", 0, "ACCEPT", 0)]),
}


@pytest.mark.parametrize("name", WAYS)
def test_ways(name: str) -> None:
    rules, wanted = WAYS[name]
    node = Datapath(host(save(*rules)))
    assert way(node, from_client(UDP(sport=1000, dport=53))) == wanted


def test_counters_count_the_ip_packet_also_for_jumps() -> None:
    node = Datapath(host(save("FORWARD -j a", "FORWARD -p udp", "a -j RETURN", policy="DROP")))
    transit = node.receive(from_client(UDP(sport=1, dport=2) / bytes(72)), "eth0")
    assert (transit.verdict, transit.drop_reason) == (Outcome.DROPPED, "NETFILTER_DROP")
    assert node.counters() == {
        "filter/FORWARD/1": (1, 100), "filter/FORWARD/2": (1, 100), "filter/FORWARD/policy": (1, 100), "filter/a/1": (1, 100)}


def test_counters_can_be_loaded() -> None:
    node = Datapath(host("*filter\n:FORWARD ACCEPT [5:500]\n[7:700] -A FORWARD -p udp\nCOMMIT\n"))
    node.receive(from_client(UDP(sport=1, dport=2)), "eth0")
    assert node.counters() == {"filter/FORWARD/1": (8, 728), "filter/FORWARD/policy": (6, 528)}


def test_why_names_the_condition_that_failed() -> None:
    rules = ("FORWARD -s 10.0.0.0/8", "FORWARD ! -d 198.51.100.0/24", "FORWARD -i eth1", "FORWARD ! -o eth+", "FORWARD -p tcp",
             "FORWARD -f", "FORWARD -p udp -m comment --comment hello -m udp --sport 1000 --dport 99", "FORWARD -j DROP")
    node = Datapath(host(save(*rules)), why=True)
    steps = node.receive(from_client(UDP(sport=1000, dport=53)), "eth0").steps
    assert [(step.rule, step.condition) for step in steps if isinstance(step, RuleNotMatched)] == [
        (1, "-s 10.0.0.0/8"), (2, "! -d 198.51.100.0/24"), (3, "-i eth1"), (4, "! -o eth+"), (5, "-p tcp"), (6, "-f"),
        (7, "-m udp --sport 1000 --dport 99")]


def test_an_unknown_match_makes_the_outcome_unknown_only_where_it_decides() -> None:
    text = save("FORWARD -p tcp -m foo --bar -j DROP", "FORWARD -m foo", "FORWARD -p udp -m foo -j DROP", "FORWARD -j ACCEPT")
    node = Datapath(host(text), lenient=True)
    transit = node.receive(from_client(ICMP()), "eth0")
    assert transit.verdict == Outcome.FORWARDED
    transit = node.receive(from_client(UDP(sport=1, dport=2)), "eth0")
    assert transit.verdict == Outcome.UNKNOWN
    assert [step.rule for step in transit.steps if isinstance(step, NotEmulated)] == [2, 3]


def test_an_unknown_target_makes_the_outcome_unknown() -> None:
    node = Datapath(host(save("FORWARD -p udp -j FOO --bar")), lenient=True)
    assert node.receive(from_client(UDP(sport=1, dport=2)), "eth0").verdict == Outcome.UNKNOWN
    assert node.receive(from_client(ICMP()), "eth0").verdict == Outcome.FORWARDED


def test_both_back_ends_are_asked() -> None:
    nft, legacy = save("FORWARD -p tcp -j DROP"), save("FORWARD -p udp -j DROP")
    node = Datapath(host(nft, **{"iptables-legacy-save.txt": legacy}))
    assert node.receive(from_client(TCP(dport=80)), "eth0").verdict == Outcome.DROPPED
    assert node.receive(from_client(UDP(dport=80)), "eth0").verdict == Outcome.DROPPED
    assert node.receive(from_client(ICMP()), "eth0").verdict == Outcome.FORWARDED
    assert node.counters()["legacy/filter/FORWARD/1"] == (1, 28)
    assert node.counters()["filter/FORWARD/1"] == (1, 40)


def test_trace_writes_the_lines_of_ip_tables() -> None:
    raw = "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j TRACE\n-A PREROUTING -j MARK --set-mark 1\nCOMMIT\n"
    node = Datapath(host(raw + save("FORWARD -j a", "FORWARD -j ACCEPT", "a -p tcp")))
    steps = node.receive(from_client(UDP(sport=1, dport=2)), "eth0").steps
    assert [step.text.split(" IN=")[0] for step in steps if isinstance(step, Logged)] == [
        "TRACE: raw:PREROUTING:rule:2", "TRACE: raw:PREROUTING:policy:3", "TRACE: filter:FORWARD:rule:1", "TRACE: filter:a:return:2",
        "TRACE: filter:FORWARD:policy:2"]


# The index must change nothing: rules that it skips are those that cannot match.

ADDRESSES = {
    4: [CLIENT, SERVER, "198.51.100.11", "198.51.100.0/25", "192.0.2.0/24"],
    6: ["fd00:1::10", "fd00:2::10", "fd00:2::11", "fd00:2::/64", "fd00:1::/48", "::10/::ff"],
}
DESTINATIONS = {4: [SERVER, "198.51.100.11", "198.51.100.200"], 6: ["fd00:2::10", "fd00:2::11", "fd00:2::99"]}


def host_of(family: int, rules: str) -> Host:
    """The node of test_datapath, with IPv6 addresses for IPv6."""
    if family == 4:
        return host(rules)
    addresses = []
    for link, prefix in zip(LINKS[1:], ("fd00:1::1", "fd00:2::1"), strict=True):
        info = {"family": "inet6", "local": prefix, "prefixlen": 64, "scope": "global"}
        addresses.append({**link, "addr_info": [info]})
    forwarding = "".join(f"net.ipv6.conf.{name}.forwarding = 1\n" for name in ("all", "eth0", "eth1"))
    return host("", **{"ip-addr.json": json.dumps(addresses), "sysctl.txt": forwarding, "ip6tables-save.txt": rules, "ip-neigh.json": "[]"})


def random_rule(draw: random.Random, family: int) -> str:
    """A rule of an indexed chain: most insist on an address or a port, some do not."""
    words = []
    for option in ("-s", "-d"):
        if draw.random() < 0.5:
            words += ["!"] * (draw.random() < 0.1) + [option, draw.choice(ADDRESSES[family])]
    protocol = draw.choice(["tcp", "udp", "udp", "icmp" if family == 4 else "ipv6-icmp", ""])
    if protocol:
        words += ["!"] * (draw.random() < 0.1) + ["-p", protocol]
    if protocol in ("tcp", "udp") and "!" not in words[-3:]:
        if draw.random() < 0.2:
            words += ["-m", "statistic", "--mode", "nth", "--every", "2", "--packet", "0"]
        if draw.random() < 0.8:
            words += ["-m", protocol, *["!"] * (draw.random() < 0.1), "--dport", draw.choice(["53", "80", "80:90", "443"])]
    target = draw.choice(["", "", "-j a", "-j a", "-g b", "-j RETURN", "-j ACCEPT", "-j MARK --set-mark 1"])
    return " ".join([*words, target])


def random_frames(draw: random.Random, family: int) -> Iterator[bytes]:
    for _ in range(12):
        ports = {"sport": 1000, "dport": draw.choice([53, 80, 85, 443, 9])}
        destination = draw.choice(DESTINATIONS[family])
        if family == 4:
            packet = IP(src=CLIENT, dst=destination, ttl=64) / draw.choice([UDP(**ports), TCP(**ports), ICMP()])
            if draw.random() < 0.1:
                packet.frag = draw.choice([1, 5])
            data = bytes(packet)
            if draw.random() < 0.1:
                data = bytes(IP(data[:24], len=24, chksum=None))    # too short for its transport header
        else:
            layer = draw.choice([UDP(**ports), TCP(**ports), ICMPv6EchoRequest()])
            if draw.random() < 0.3:
                layer = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))]) / layer
            data = bytes(IPv6(src="fd00:1::10", dst=destination) / layer)
            if draw.random() < 0.1:     # a header that leads out of the packet, or one that is cut short
                data = data[:4] + draw.choice([b"\0\4\x3c", b"\0\4\x06", b"\0\4\x11"]) + data[7:40] + b"\6\x09\0\0"
        yield bytes(Ether(src=MACS[CLIENT], dst=MACS[ROUTER], type=0x0800 if family == 4 else 0x86DD)) + data


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("seed", range(30))
def test_an_indexed_chain_does_what_a_linear_one_does(seed: int, family: int) -> None:
    draw = random.Random(seed)
    rules = [f"{chain} {random_rule(draw, family)}" for chain in ("FORWARD", "a") for _ in range(draw.choice([6, 20, 60]))]
    rules = [rule for rule in rules if not (rule.startswith("a ") and "-j a" in rule)] + ["b -p tcp"]
    given = host_of(family, save(*rules))
    quick, linear = Datapath(given), Datapath(given, why=True)
    for frame in random_frames(draw, family):
        assert way(quick, frame) == way(linear, frame)
    assert quick.counters(family) == linear.counters(family)
    assert quick._core.rules_tried == linear._core.rules_tried > 0
