"""Lookups in small tables whose answers can be told by hand, and in large ones against a plain search."""

from __future__ import annotations

import random
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address, ip_network

import pytest

from datapath._core.net import NetNamespace
from datapath.compiler.host import compile_host
from datapath.engine.host import Host
from datapath.errors import HostError
from datapath.model.derived import derive_links, derive_routes
from datapath.model.host import Address, NextHop, PolicyRule, Route, default_rules

DEVICES = ("lo", "eth0", "eth1")
UNICAST, LOCAL, BROADCAST = 1, 2, 3


def host_of(commands: list[str], **sysctls: str) -> Host:
    """A host with eth0 192.0.2.1/24 fd00:1::1/64 and eth1 198.51.100.1/24 fd00:2::1/64, and what the commands add."""
    links = derive_links(DEVICES[1:])
    addresses = (Address("lo", ip_address("127.0.0.1"), 8, 254),)
    host = Host(links=links, addresses=addresses, routes=derive_routes(links, addresses, 4), rules=default_rules(4) + default_rules(6))
    for command in ("addr add 192.0.2.1/24 brd + dev eth0", "addr add 198.51.100.1/24 brd + dev eth1", "addr add fd00:1::1/64 dev eth0",
                    "addr add fd00:2::1/64 dev eth1", *commands):
        host = host.after_ip(command)
    for name, value in {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1", **sysctls}.items():
        host = host.with_sysctl(name, value)
    return host


def node_of(host: Host) -> NetNamespace:
    node = NetNamespace()
    node.load_host(compile_host(host))
    return node


def ask(node: NetNamespace, kind: str, dst: str, src: str = "", **more: int) -> dict[str, object]:
    family = 6 if ":" in dst else 4
    return node.route_query(kind, family, ip_address(dst).packed, src=ip_address(src).packed if src else b"", **more)


def way(answer: dict[str, object]) -> str:
    """Device and gateway, or the error."""
    if answer.get("reason") or answer["error"]:
        return f"reason {answer['reason']}" if answer.get("reason") else f"error {answer['error']}"
    gateway = answer["gateway"]
    return DEVICES[answer["dev"]] + (f" {ip_address(gateway)}" if gateway else "")     # type: ignore[index, arg-type]


@pytest.mark.parametrize(("commands", "dst", "more", "expected"), [
    pytest.param(["route add default via 192.0.2.2", "route add 10.0.0.0/8 via 192.0.2.3", "route add 10.1.0.0/16 via 192.0.2.4"],
                 "10.1.2.3", {}, "eth0 192.0.2.4", id="longest prefix"),
    pytest.param(["route add 10.0.0.0/8 via 192.0.2.3 metric 9", "route add 10.0.0.0/8 via 192.0.2.4 metric 3"],
                 "10.1.2.3", {}, "eth0 192.0.2.4", id="lowest metric"),
    pytest.param(["route add 10.0.0.0/8 via 192.0.2.3", "route add 10.0.0.0/8 tos 0x10 via 192.0.2.4"],
                 "10.1.2.3", {"tos": 0x10}, "eth0 192.0.2.4", id="type of service"),
    pytest.param(["route add 10.0.0.0/8 via 192.0.2.3", "route add 10.1.0.0/16 tos 0x10 via 192.0.2.4"],
                 "10.1.2.3", {}, "eth0 192.0.2.3", id="a longer prefix of another tos does not hold"),
    pytest.param(["route add blackhole 10.0.0.0/8"], "10.1.2.3", {}, "error 22", id="blackhole"),
    pytest.param(["route add unreachable 10.0.0.0/8"], "10.1.2.3", {}, "error 113", id="unreachable"),
    pytest.param(["route add prohibit 10.0.0.0/8"], "10.1.2.3", {}, "error 13", id="prohibit"),
    pytest.param(["route add throw 10.0.0.0/8"], "10.1.2.3", {}, "error 101", id="throw, and nothing after it"),
    pytest.param([], "10.1.2.3", {}, "error 101", id="no route"),
    pytest.param(["route add throw 10.0.0.0/8 table 9", "route add default via 192.0.2.9", "rule add from all lookup 9 priority 5"],
                 "10.1.2.3", {}, "eth0 192.0.2.9", id="throw goes on with the next rule"),
    pytest.param(["route add default via 192.0.2.9", "route add default via 198.51.100.9 table 9", "rule add fwmark 2/6 lookup 9"],
                 "10.1.2.3", {"mark": 3}, "eth1 198.51.100.9", id="mark and mask"),
    pytest.param(["route add default via 192.0.2.9", "route add default via 198.51.100.9 table 9", "rule add not fwmark 2/6 lookup 9"],
                 "10.1.2.3", {"mark": 3}, "eth0 192.0.2.9", id="not"),
    pytest.param(["rule add prohibit priority 1"], "10.1.2.3", {}, "error 13", id="prohibited by a rule"),
    pytest.param(["route add default via 192.0.2.9", "rule add goto 32766 priority 1", "rule add blackhole priority 2"],
                 "10.1.2.3", {}, "eth0 192.0.2.9", id="goto"),
    pytest.param(["route add default via 192.0.2.9", "route add default via 198.51.100.9 table 9",
                  "rule add lookup main suppress_prefixlength 0 priority 5", "rule add lookup 9 priority 6"],
                 "10.1.2.3", {}, "eth1 198.51.100.9", id="suppress_prefixlength"),
    pytest.param(["route add 10.0.0.0/8 via inet6 fe80::1 dev eth1"], "10.1.2.3", {}, "eth1 fe80::1", id="via inet6"),
    pytest.param(["route add fd00:5::/48 via fd00:1::9", "route add fd00:5::/48 via fd00:2::9 metric 5"],
                 "fd00:5::1", {}, "eth1 fd00:2::9", id="IPv6 metric"),
    pytest.param(["route add fd00:5::/48 dev eth0", "route append fd00:5::/48 dev eth1"],
                 "fd00:5::1", {"oif": 2}, "eth1", id="IPv6 takes the route over the device asked for"),
])
def test_output(commands: list[str], dst: str, more: dict[str, int], expected: str) -> None:
    assert way(ask(node_of(host_of(commands)), "output", dst, **more)) == expected


@pytest.mark.parametrize(("sysctls", "src", "dst", "expected"), [
    pytest.param({}, "192.0.2.9", "8.8.8.8", "error 101", id="no route is a decision"),
    pytest.param({"net.ipv4.ip_forward": "0"}, "192.0.2.9", "8.8.8.8", "error 113", id="a host does not forward"),
    pytest.param({}, "192.0.2.9", "198.51.100.9", "eth1", id="forwarded"),
    pytest.param({}, "192.0.2.9", "192.0.2.1", "lo", id="local"),
    pytest.param({}, "224.0.0.1", "192.0.2.1", "reason 11", id="a multicast source"),
    pytest.param({}, "192.0.2.1", "192.0.2.1", "reason 10", id="its own address as source"),
    pytest.param({}, "127.0.0.1", "192.0.2.1", "reason 13", id="a loopback source"),
    pytest.param({}, "192.0.2.9", "0.0.0.0", "reason 12", id="no destination"),
    pytest.param({}, "198.51.100.9", "192.0.2.1", "lo", id="the wrong device, not looked at"),
    pytest.param({"net.ipv4.conf.all.rp_filter": "1"}, "198.51.100.9", "192.0.2.1", "reason 6", id="rp_filter strict"),
    pytest.param({"net.ipv4.conf.all.rp_filter": "2"}, "198.51.100.9", "192.0.2.1", "lo", id="rp_filter loose, there is a way back"),
    pytest.param({"net.ipv4.conf.all.rp_filter": "2"}, "8.8.8.8", "192.0.2.1", "reason 6", id="rp_filter loose, there is none"),
])
def test_input(sysctls: dict[str, str], src: str, dst: str, expected: str) -> None:
    assert way(ask(node_of(host_of([], **sysctls)), "input", dst, src, iif=1)) == expected


def test_local_and_main_are_one_table_until_there_is_a_rule() -> None:
    commands = ["route add 127.9.0.0/16 via 192.0.2.2"]
    assert way(ask(node_of(host_of(commands)), "output", "127.9.0.1")) == "eth0 192.0.2.2"
    assert way(ask(node_of(host_of([*commands, "rule add from 10.0.0.0/8 lookup 9"])), "output", "127.9.0.1")) == "lo"


def test_multipath_follows_the_weights_and_keeps_to_a_flow() -> None:
    node = node_of(host_of(["route add default nexthop via 192.0.2.2 weight 3 nexthop via 198.51.100.2 weight 1"]))
    destinations = [str(IPv4Address(0x08000000 + n)) for n in range(2000)]
    ways = [way(ask(node, "output", dst)) for dst in destinations]
    assert ways == [way(ask(node, "output", dst)) for dst in destinations]
    assert 0.7 < ways.count("eth0 192.0.2.2") / len(ways) < 0.8


def test_address_types() -> None:
    node = node_of(host_of([]))
    types = {dst: ask(node, "address_type", dst)["type"] for dst in ("192.0.2.1", "192.0.2.255", "8.8.8.8", "0.0.0.0", "224.0.0.9")}
    assert types == {"192.0.2.1": LOCAL, "192.0.2.255": BROADCAST, "8.8.8.8": UNICAST, "0.0.0.0": BROADCAST, "224.0.0.9": 5}
    assert ask(node, "address_type", "192.0.2.1", oif=2)["type"] == UNICAST     # not on that device


@pytest.mark.parametrize(("dst", "expected"), [
    pytest.param("fd00:2::9", "fd00:2::1", id="the outgoing device's"),
    pytest.param("fe80::9", "fe80::ff:fe00:3", id="link-local to link-local"),
    pytest.param("2001:db8::1", "2001:db8:9::1", id="the label before the longest prefix"),
])
def test_source_selection_of_ipv6(dst: str, expected: str) -> None:
    host = host_of(["addr add 2001:db8:9::1/64 dev eth1", "addr add fe80::ff:fe00:3/64 dev eth1"])
    answer = ask(node_of(host), "source", dst, oif=2)
    assert str(IPv6Address(answer["address"])) == expected      # type: ignore[arg-type]


def test_a_large_table() -> None:
    draw = random.Random(7)
    lengths = (8, 16, 19, 22, 24, 24, 24, 32)
    prefixes = list({IPv4Network((draw.getrandbits(32), draw.choice(lengths)), strict=False) for _ in range(100_000)})
    host = host_of([])
    routes = [Route(4, prefix, next_hops=(NextHop("eth0", IPv4Address(0xC0000200 + 2 + n % 200)),)) for n, prefix in enumerate(prefixes)]
    node = node_of(Host(links=host.links, addresses=host.addresses, routes=host.routes + tuple(routes), rules=host.rules))
    by_length: dict[int, dict[int, int]] = {}
    for n, prefix in enumerate(prefixes):
        by_length.setdefault(prefix.prefixlen, {})[int(prefix.network_address)] = 2 + n % 200
    for _ in range(3000):
        address = draw.getrandbits(32) if draw.random() < 0.5 else int(draw.choice(prefixes).network_address)
        if address >> 28 in (0, 7, 14, 15) or address >> 24 in (192, 198, 127):
            continue
        found = next((table[address & -(1 << 32 - length)] for length in sorted(by_length, reverse=True)
                      if (table := by_length[length]) and address & -(1 << 32 - length) in table), None)
        expected = "error 101" if found is None else f"eth0 192.0.2.{found}"
        assert way(ask(node, "output", str(IPv4Address(address)))) == expected


def test_changes_are_refused_as_the_kernel_refuses_them() -> None:
    host = host_of(["route add 10.0.0.0/8 via 192.0.2.9"])
    for command, words in {
        "route add 10.0.0.0/8 via 192.0.2.8": "exists already", "route add 10.9.0.0/16 via 8.8.8.8": "on no link",
        "route del 10.9.0.0/16": "no such route", "addr add 192.0.2.1/24 dev eth0": "is on eth0 already",
        "addr add 192.0.2.7/24 dev eth7": "cannot find device 'eth7'", "rule add fwmark x lookup 9": "invalid literal",
        "route add 10.0.0.1/8 via 192.0.2.8": "expected a prefix",
        "route add 11.0.0.0/8 via 192.0.2.8 src 9.9.9.9": "no address of this host",
        "link set eth0 spin": "not emulated", "teleport": "expected addr, link, route, rule or neigh",
        "rule del from 9.9.9.9": "no such rule",
        "route add 11.0.0.0/8 via": "ends where a gateway was expected",
    }.items():
        with pytest.raises((HostError, ValueError), match=words):
            host.after_ip(command)


def test_a_rule_without_a_priority_goes_before_the_others() -> None:
    host = host_of(["rule add from 10.0.0.0/8 lookup 9", "rule add from 11.0.0.0/8 lookup 9"])
    rules = [(rule.priority, rule.source) for rule in host.rules if rule.family == 4]
    assert rules == [(0, None), (32764, ip_network("11.0.0.0/8")), (32765, ip_network("10.0.0.0/8")), (32766, None), (32767, None)]
    assert PolicyRule(4, 0, table=255) in host.rules
