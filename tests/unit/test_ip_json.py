"""What the ip commands print: read, or refused with one clear line that names file and place."""

from __future__ import annotations

import json
from ipaddress import ip_address, ip_network

import pytest

from datapath.errors import HostError, UnsupportedFeatureError
from datapath.model.host import NextHop
from datapath.syntax.ip_json import parse_addresses, parse_fdb, parse_links, parse_neighbours
from datapath.syntax.ip_route_json import parse_routes, parse_rules

LINK = {"ifindex": 2, "ifname": "eth0", "flags": ["UP"], "mtu": 1500, "link_type": "ether", "address": "02:00:00:00:00:01"}
ROUTE = {"dst": "10.0.0.0/8", "gateway": "192.0.2.2", "dev": "eth0", "flags": []}


def refused(parse: object, value: object, *arguments: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    with pytest.raises(HostError) as caught:
        parse(text, *arguments)     # type: ignore[operator]
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("value", "words"), [
    pytest.param("{", "ip-link.json:1: not JSON", id="truncated"),
    pytest.param('[\n{"ifindex":1,}]', "ip-link.json:2: not JSON", id="the line is told"),
    pytest.param('{"ifindex": 1}', "expected the array", id="an object"),
    pytest.param("[3]", "link 1 is 3: expected an object", id="a number"),
    pytest.param("[" * 100000, "not JSON", id="nested deep"),
    pytest.param('[{"ifindex": ' + "9" * 5000 + "}]", "ip-link.json", id="a number of 5000 digits"),
    pytest.param([{"ifname": "eth0"}], "'ifindex' is missing: expected a number", id="no index"),
    pytest.param([LINK | {"ifindex": -1}], "expected a number from 1", id="negative index"),
    pytest.param([LINK | {"ifindex": 2.5}], "expected a number from 1", id="fraction"),
    pytest.param([LINK | {"ifindex": True}], "expected a number from 1", id="boolean"),
    pytest.param([LINK | {"ifname": 7 * "long"}], "expected a device name of at most 15 characters", id="long name"),
    pytest.param([LINK | {"ifname": "a b"}], "expected a device name", id="space in a name"),
    pytest.param([LINK | {"flags": "UP"}], "'flags' is \"UP\": expected an array of strings", id="flags no array"),
    pytest.param([LINK | {"address": "02:00"*40}], "expected a link-layer address", id="bad MAC"),
    pytest.param([LINK | {"mtu": 1 << 40}], "expected a number from 0 to 4294967295", id="huge MTU"),
    pytest.param([LINK, LINK], "link 2: device eth0 stands here twice", id="twice"),
    pytest.param([LINK, LINK | {"ifname": "eth1"}], "two devices have the index 2", id="same index"),
    pytest.param([LINK | {"linkinfo": []}], "'linkinfo' is []: expected an object", id="linkinfo no object"),
])
def test_links_refused(value: object, words: str) -> None:
    assert words in refused(parse_links, value)


def test_link_kinds() -> None:
    tag = {"info_kind": "vlan", "info_data": {"protocol": "802.1ad", "id": 5}}
    vlan = LINK | {"ifindex": 3, "ifname": "eth0.5", "link": "eth0", "linkinfo": tag}
    info = {"info_kind": "veth", "info_slave_kind": "bridge"}
    port = LINK | {"ifindex": 4, "ifname": "v1", "master": "br0", "link": None, "linkinfo": info}
    links = parse_links(json.dumps([LINK, vlan, port, {}]))
    assert [(link.name, link.kind, link.lower, link.master, link.vlan_id, link.vlan_protocol) for link in links] == [
        ("eth0", "", None, None, 0, 0x8100), ("eth0.5", "vlan", "eth0", None, 5, 0x88A8), ("v1", "veth", None, "br0", 0, 0x8100),
    ]


@pytest.mark.parametrize(("info", "words"), [
    pytest.param({"family": "inet9", "local": "1.2.3.4", "prefixlen": 8}, "expected inet or inet6", id="family"),
    pytest.param({"family": "inet", "local": "fd00::1", "prefixlen": 8}, "expected an IPv4 address", id="wrong family"),
    pytest.param({"family": "inet", "local": "1.2.3.4", "prefixlen": 33}, "from 0 to 32", id="prefix length"),
    pytest.param({"family": "inet", "local": "1.2.3.4", "prefixlen": 8, "scope": "moon"}, "'scope' is \"moon\"", id="scope"),
])
def test_addresses_refused(info: dict[str, object], words: str) -> None:
    message = refused(parse_addresses, [{"ifname": "eth0", "addr_info": [info]}])
    assert words in message
    assert message.startswith("ip-addr.json: link 1, address 1: ")


def test_addresses() -> None:
    found = parse_addresses(json.dumps([{"ifname": "eth0", "addr_info": [
        {"family": "inet", "local": "192.0.2.9", "address": "192.0.2.10", "prefixlen": 32, "scope": "global", "secondary": True},
        {}, {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link", "tentative": None}]}]))
    assert [(a.local, a.peer, a.scope, a.flags) for a in found] == [
        (ip_address("192.0.2.9"), ip_address("192.0.2.10"), 0, {"secondary"}), (ip_address("fe80::1"), None, 253, {"tentative"}),
    ]


@pytest.mark.parametrize(("changes", "words"), [
    pytest.param({"type": "teleport"}, "expected one of unicast, local", id="type"),
    pytest.param({"dst": "10.0.0.1/8"}, "expected an IPv4 prefix", id="host bits"),
    pytest.param({"dst": 5}, "expected an IPv4 prefix", id="a number as destination"),
    pytest.param({"gateway": "192.0.2"}, "expected an IPv4 address", id="gateway"),
    pytest.param({"metric": "many"}, "expected a number", id="metric"),
    pytest.param({"table": "nosuch"}, "'table' is \"nosuch\"", id="table"),
    pytest.param({"tos": "0x1ff"}, "expected a type of service", id="tos"),
    pytest.param({"nexthops": [5]}, "nexthop 1 is 5: expected an object", id="nexthops"),
    pytest.param({"nexthops": [{"gateway": "192.0.2.2", "dev": "eth0", "weight": 0}]}, "from 1 to 256", id="weight"),
])
def test_routes_refused(changes: dict[str, object], words: str) -> None:
    message = refused(parse_routes, [ROUTE | changes], 4, "ip-route.json")
    assert words in message
    assert message.startswith("ip-route.json: route 1")


@pytest.mark.parametrize(("changes", "words"), [
    pytest.param({"encap": "mpls"}, "an encapsulation (encap) is not emulated", id="encap"),
])
def test_routes_not_emulated(changes: dict[str, object], words: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=words.replace("(", r"\(").replace(")", r"\)")):
        parse_routes(json.dumps([ROUTE | changes]), 4, "ip-route.json")


def test_routes() -> None:
    routes = parse_routes(json.dumps([
        ROUTE | {"metrics": [{"mtu": 1400, "hoplimit": 9}], "table": "100", "metric": 7, "prefsrc": "192.0.2.1"},
        {"dst": "default", "flags": [], "nexthops": [
            {"gateway": "192.0.2.2", "dev": "eth0", "weight": 3, "flags": ["dead"]},
            {"via": {"family": "inet6", "host": "fe80::1"}, "dev": "eth1", "weight": 1, "flags": []}]},
        {"type": "blackhole", "dst": "fd00:6::/48", "dev": "lo", "metric": 1024, "flags": [], "pref": "high"},
    ]), 4, "ip-route.json")
    assert [(r.family, str(r.destination), r.table, r.metric, r.mtu, r.hop_limit, r.preference) for r in routes] == [
        (4, "10.0.0.0/8", 100, 7, 1400, 9, 0), (4, "0.0.0.0/0", 254, 0, 0, 0, 0), (6, "fd00:6::/48", 254, 1024, 0, 0, 1),
    ]
    assert routes[1].next_hops == (
        NextHop("eth0", ip_address("192.0.2.2"), 3, frozenset({"dead"})), NextHop("eth1", ip_address("fe80::1"), 1, frozenset()),
    )
    assert routes[2].next_hops == ()


def test_rules() -> None:
    rules = parse_rules(json.dumps([
        {"priority": 0, "src": "all", "table": "local"},
        {"priority": 9, "not": None, "src": "10.0.0.0", "srclen": 8, "dst": "10.1.1.1", "fwmark": "0x1", "fwmask": "0xff", "table": "100",
         "suppress_prefixlen": 0, "suppress_ifgroup": "default"},
        {"priority": 10, "src": "all", "sport_start": 5, "sport_end": 9, "dport": 7, "ipproto": "tcp", "action": "prohibit"},
        {"priority": 11, "src": "all", "goto": 32766, "uid_start": 5, "uid_end": 7, "tos": "0x10", "iif": "eth0", "iif_detached": None},
        {"priority": 12, "src": "all", "fwmark": "0x7", "nop": None},
    ]), 4, "ip-rule.json")
    assert [r.action for r in rules] == ["lookup", "lookup", "prohibit", "goto", "nop"]
    assert (rules[1].negated, rules[1].source, rules[1].destination) == (True, ip_network("10.0.0.0/8"), ip_network("10.1.1.1/32"))
    assert (rules[1].mark, rules[1].mark_mask, rules[1].suppress_prefix_length, rules[1].suppress_group) == (1, 0xFF, 0, 0)
    assert (rules[2].source_ports, rules[2].destination_ports, rules[2].protocol) == ((5, 9), (7, 7), 6)
    assert (rules[3].goto, rules[3].uid_range, rules[3].tos, rules[3].in_interface) == (32766, (5, 7), 0x10, "eth0")
    assert rules[4].mark_mask == 0xFFFFFFFF     # a mark without a mask is compared whole


@pytest.mark.parametrize(("rule", "words"), [
    pytest.param({"priority": 1, "src": "10.0.0.0", "srclen": 40}, "from 0 to 32", id="length"),
    pytest.param({"priority": 1, "src": "10.0.0.1", "srclen": 8}, "expected an IPv4 prefix", id="host bits"),
    pytest.param({"priority": 1, "src": "all", "action": "dance"}, "expected lookup, goto", id="action"),
    pytest.param({"priority": 1, "src": "all", "dport": 70000}, "from 0 to 65535", id="port"),
    pytest.param({"priority": 1, "src": "all", "ipproto": "quic"}, "'ipproto' is \"quic\"", id="protocol"),
])
def test_rules_refused(rule: dict[str, object], words: str) -> None:
    assert words in refused(parse_rules, [rule], 4, "ip-rule.json")


def test_neighbours_and_fdb() -> None:
    near = parse_neighbours(json.dumps([
        {"dst": "fe80::1", "dev": "eth0", "lladdr": "02:00:00:00:00:09", "router": None, "state": ["REACHABLE"]},
        {"dst": "192.0.2.3", "dev": "eth0", "state": ["FAILED"]}]))
    assert [(n.mac, n.router, n.state) for n in near] == [(bytes.fromhex("020000000009"), True, {"REACHABLE"}), (None, False, {"FAILED"})]
    fdb = parse_fdb('[{"mac":"02:00:00:00:00:05","ifname":"v1","vlan":7,"flags":[],"master":"br0","state":"permanent"}]')
    assert (fdb[0].device, fdb[0].vlan, fdb[0].master) == ("v1", 7, "br0")
    assert "expected an IP address" in refused(parse_neighbours, [{"dst": "nowhere", "dev": "eth0"}])
