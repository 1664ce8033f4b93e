"""A small node to replay captures through: eth0 outside, eth1 to servers, a bridge with a port, a VLAN."""

from __future__ import annotations

import json
from collections.abc import Sequence

from datapath.capture.played import Played, Role
from datapath.capture.replay import Replay
from datapath.engine.datapath import Datapath
from datapath.engine.host import Host
from tests.unit.capture_files import open_bytes

ETH0, ETH1, CNI0, PORT, WIRE = ("02:00:00:00:0a:01", "02:00:00:00:0b:01", "02:00:00:00:0c:01", "02:00:00:00:0c:02", "02:00:00:00:ff:01")
OUTSIDE, SERVER, SERVER2, POD, SERVICE = "192.0.2.9", "10.1.0.5", "10.1.0.6", "10.2.0.7", "203.0.113.80"


def link(index, name, mac, **more):
    flags = ["LOOPBACK", "UP", "LOWER_UP"] if name == "lo" else ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"]
    kind = "loopback" if name == "lo" else "ether"
    return {"ifindex": index, "ifname": name, "flags": flags, "mtu": 65536 if name == "lo" else 1500, "operstate": "UP",
            "link_type": kind, "address": mac} | more


LINKS = [
    link(1, "lo", "00:00:00:00:00:00"),
    link(2, "eth0", ETH0),
    link(3, "eth1", ETH1),
    link(4, "cni0", CNI0, linkinfo={"info_kind": "bridge"}),
    link(5, "veth5", PORT, master="cni0", linkinfo={"info_kind": "veth", "info_slave_kind": "bridge"}),
    link(6, "eth1.7", ETH1, link="eth1", linkinfo={"info_kind": "vlan", "info_data": {"protocol": "802.1Q", "id": 7}}),
]  # fmt: skip
ADDRESSES = {
    "lo": ("127.0.0.1", 8), "eth0": ("192.0.2.1", 24), "eth1": ("10.1.0.1", 24), "cni0": ("10.2.0.1", 24), "eth1.7": ("10.7.0.1", 24),
}  # fmt: skip
ADDRS = [
    {"ifindex": one["ifindex"], "ifname": one["ifname"], "addr_info": [
        {"family": "inet", "local": ADDRESSES[one["ifname"]][0], "prefixlen": ADDRESSES[one["ifname"]][1],
         "scope": "host" if one["ifname"] == "lo" else "global", "label": one["ifname"]}] if one["ifname"] in ADDRESSES else []}
    for one in LINKS
]  # fmt: skip
SYSCTLS = "net.ipv4.ip_forward = 1\nnet.ipv4.conf.all.rp_filter = 0\n"

BALANCED = f"""*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:SVC - [0:0]
:SEP1 - [0:0]
:SEP2 - [0:0]
-A PREROUTING -d {SERVICE}/32 -p udp -m udp --dport 53 -j SVC
-A PREROUTING -d {SERVICE}/32 -p tcp -m tcp --dport 80 -j SVC
-A SVC -m statistic --mode random --probability 0.50000000000 -j SEP1
-A SVC -j SEP2
-A SEP1 -p tcp -m tcp -j DNAT --to-destination {SERVER}:8080
-A SEP1 -p udp -m udp -j DNAT --to-destination {SERVER}:5353
-A SEP2 -p tcp -m tcp -j DNAT --to-destination {SERVER2}:8080
-A SEP2 -p udp -m udp -j DNAT --to-destination {SERVER2}:5353
COMMIT
"""
MASQUERADED = BALANCED.replace("COMMIT", "-A POSTROUTING -o eth1 -j MASQUERADE --random-fully\nCOMMIT")
TRACKED = """*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A INPUT -m conntrack --ctstate INVALID -j DROP
-A FORWARD -m conntrack --ctstate INVALID -j DROP
COMMIT
"""


def node(rules: str = "", *, seed: int = 0) -> Datapath:
    """Routes come with the addresses."""
    texts = {"ip-link.json": json.dumps(LINKS), "ip-addr.json": json.dumps(ADDRS), "sysctl.txt": SYSCTLS}
    if rules:
        texts["iptables-save.txt"] = rules
    return Datapath(Host.from_files(texts), seed=seed)


def replay(capture: bytes, rules: str = "", *, seed: int = 0, **more: object) -> tuple[list[Played], Replay]:
    run = Replay(node(rules, seed=seed), open_bytes(capture), **more)  # type: ignore[arg-type]
    return list(run), run


def roles(played: Sequence[Played]) -> list[tuple[Role, str | None]]:
    return [(one.role, one.interface) for one in played]


def contradictions(played: Sequence[Played]) -> list[tuple[int, str]]:
    return [(one.record.number if one.record else 0, str(difference)) for one in played for difference in one.differences]
