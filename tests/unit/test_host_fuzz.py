"""Damaged host files end in one clear line, never in another exception."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from datapath._core.net import NetNamespace
from datapath.compiler.host import compile_host
from datapath.compiler.sysctls import DEVICE4, DEVICE6, NODE, TIMEOUTS
from datapath.engine.host import Host
from datapath.errors import InputError
from tests.unit.test_host import ADDRESSES, LINKS, ROUTES

JSON_FILES: dict[str, list[dict[str, Any]]] = {
    "ip-link.json": [*LINKS, LINKS[1] | {"ifindex": 3, "ifname": "eth0.7", "link": "eth0", "linkinfo": {"info_kind": "vlan", "info_data": {
        "protocol": "802.1Q", "id": 7}, "info_slave_kind": "bridge", "info_slave_data": {"state": "forwarding"}}, "group": "default"}],
    "ip-addr.json": ADDRESSES,
    "ip-route.json": [*ROUTES, {
        "dst": "default", "flags": [], "tos": "0x10", "metrics": [{"mtu": 1400, "hoplimit": 3}], "metric": 9, "table": "100", "nexthops": [
            {"gateway": "192.0.2.2", "dev": "eth0", "weight": 1, "flags": ["dead"]},
            {"via": {"family": "inet6", "host": "fe80::1"}, "dev": "eth0", "weight": 2, "flags": []}],
    }],
    "ip6-route.json": [{
        "dst": "fd00:5::/48", "from": "fd00:1::/64", "gateway": "fd00:1::2", "dev": "eth0", "metric": 1024, "flags": [], "pref": "low",
    }],
    "ip-rule.json": [{"priority": 0, "src": "all", "table": "local"}, {"priority": 9, "not": None, "src": "10.0.0.0", "srclen": 8,
                      "fwmark": "0x1",
                      "fwmask": "0xff", "iif": "eth0", "tos": "0x10", "ipproto": "tcp", "dport": 80, "sport_start": 1, "sport_end": 9,
                      "uid_start": 0, "uid_end": 9, "suppress_prefixlen": 0, "suppress_ifgroup": "3", "goto": 32766}],
    "ip-neigh.json": [{"dst": "192.0.2.2", "dev": "eth0", "lladdr": "02:00:00:00:01:02", "state": ["REACHABLE"], "router": None}],
    "bridge-fdb.json": [{
        "mac": "02:00:00:00:01:02", "ifname": "eth0", "vlan": 7, "flags": ["self"], "master": "br0", "state": "permanent", "dst": "1.2.3.4",
    }],
}
JUNK: tuple[Any, ...] = (None, True, -1, 0, 1 << 70, 2.5, "", "x", "\u0000", "9" * 400, "::", "0x", "1.2.3.4/5", [], [None], {}, {"a": 1},
                         [[]],
                         "default", "-5")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a nested value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*path, key))
    return found


def load(files: dict[str, str]) -> None:
    try:
        host = Host.from_files(files)
    except InputError as refused:
        assert "\n" not in str(refused)
        assert refused.source is not None
    else:
        NetNamespace().load_host(compile_host(host))


@pytest.mark.parametrize("name", JSON_FILES)
def test_every_value_replaced_by_junk(name: str) -> None:
    whole = {file: json.dumps(value) for file, value in JSON_FILES.items()}
    for path in places(JSON_FILES[name]):
        for junk in (*JUNK, "REMOVED"):
            damaged = copy.deepcopy(JSON_FILES[name])
            holder: Any = damaged
            for key in path[:-1]:
                holder = holder[key]
            if junk == "REMOVED":
                del holder[path[-1]]
            else:
                holder[path[-1]] = junk
            load(whole | {name: json.dumps(damaged)})


@pytest.mark.parametrize("seed", range(4))
def test_flipped_and_cut_bytes(seed: int) -> None:
    draw = random.Random(seed)
    texts = {file: json.dumps(value) for file, value in JSON_FILES.items()}
    texts |= {"sysctl.txt": "net.ipv4.ip_forward = 1\n" * 3, "uname.txt": "Linux x 6.18.1"}
    for _ in range(300):
        name = draw.choice(sorted(texts))
        data = bytearray(texts[name].encode())
        for _ in range(draw.choice((1, 1, 2, 5))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)):]
        load(texts | {name: data.decode("utf-8", "replace")})


@pytest.mark.parametrize("value", ["-1", "9223372036854775807", "18446744073709551615", "-9223372036854775808"])
def test_extreme_sysctls(value: str) -> None:
    names = [name for name, _ in (*NODE.values(), *TIMEOUTS.values())]
    names += [f"net.ipv4.conf.{device}.{key}" for key, *_ in DEVICE4.values() for device in ("all", "default", "eth0")]
    names += [f"net.ipv6.conf.{device}.{key}" for key, *_ in DEVICE6.values() for device in ("all", "default", "eth0")]
    load({"ip-link.json": json.dumps(LINKS), "sysctl.txt": "".join(f"{name} = {value}\n" for name in names)})
