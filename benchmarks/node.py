"""The node of the benchmarks: eth0 outside, eth1 inside, rules as kube-proxy makes them or one MASQUERADE."""

from __future__ import annotations

import json
from ipaddress import IPv4Address

from benchmarks.traffic import SERVERS, SERVICES
from datapath import Datapath, Host

CONNECTIONS_MAX = 4_000_000


def link(index: int, name: str, mac: str) -> dict[str, object]:
    loopback = name == "lo"
    return {
        "ifindex": index, "ifname": name, "mtu": 1500, "operstate": "UP", "address": mac,
        "flags": ["LOOPBACK", "UP", "LOWER_UP"] if loopback else ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"],
        "link_type": "loopback" if loopback else "ether",
    }  # fmt: skip


def address(index: int, name: str, local: str, length: int) -> dict[str, object]:
    info = {"family": "inet", "local": local, "prefixlen": length, "scope": "host" if name == "lo" else "global", "label": name}
    return {"ifindex": index, "ifname": name, "addr_info": [info]}


def node(rules: str) -> Datapath:
    texts = {
        "ip-link.json": json.dumps([
            link(1, "lo", "00:00:00:00:00:00"), link(2, "eth0", "02:00:00:00:0a:01"), link(3, "eth1", "02:00:00:00:0b:01")]),
        "ip-addr.json": json.dumps([
            address(1, "lo", "127.0.0.1", 8), address(2, "eth0", "198.51.100.254", 24), address(3, "eth1", "10.1.255.254", 16)]),
        "ip-route.json": json.dumps([
            {"dst": "198.51.100.0/24", "dev": "eth0", "protocol": "kernel", "scope": "link", "prefsrc": "198.51.100.254", "flags": []},
            {"dst": "10.0.0.0/8", "dev": "eth1", "scope": "link", "flags": []},
            {"type": "local", "dst": "198.51.100.254", "dev": "eth0", "table": "local", "protocol": "kernel", "scope": "host", "flags": []},
        ]),
        "sysctl.txt": (
            "net.ipv4.ip_forward = 1\nnet.ipv4.conf.all.rp_filter = 0\nnet.ipv4.conf.default.rp_filter = 0\n"
            f"net.netfilter.nf_conntrack_max = {CONNECTIONS_MAX}\n"),
        "iptables-save.txt": rules,
    }  # fmt: skip
    return Datapath(Host.from_files(texts))


MASQUERADE = """*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -s 10.0.0.0/8 -o eth0 -j MASQUERADE
COMMIT
"""


def services(count: int) -> str:
    """kube-proxy's chains for `count` services of two endpoints each."""
    chains, jumps, rules = [], [], []
    for i in range(count):
        at = IPv4Address(SERVICES + i + 1)
        chains += [f":KUBE-SVC-{i:08X} - [0:0]", f":KUBE-SEP-{i:08X}A - [0:0]", f":KUBE-SEP-{i:08X}B - [0:0]"]
        jumps.append(f"-A KUBE-SERVICES -d {at}/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-{i:08X}")
        rules.append(f"-A KUBE-SVC-{i:08X} ! -s 10.244.0.0/16 -d {at}/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ")
        rules.append(f"-A KUBE-SVC-{i:08X} -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-{i:08X}A")
        rules.append(f"-A KUBE-SVC-{i:08X} -j KUBE-SEP-{i:08X}B")
        for j, letter in enumerate("AB"):
            server = IPv4Address(SERVERS + 2 * i + j + 1)
            rules.append(f"-A KUBE-SEP-{i:08X}{letter} -s {server}/32 -j KUBE-MARK-MASQ")
            rules.append(f"-A KUBE-SEP-{i:08X}{letter} -p tcp -m tcp -j DNAT --to-destination {server}:8080")
    head = [":PREROUTING ACCEPT [0:0]", ":INPUT ACCEPT [0:0]", ":OUTPUT ACCEPT [0:0]", ":POSTROUTING ACCEPT [0:0]",
            ":KUBE-SERVICES - [0:0]", ":KUBE-MARK-MASQ - [0:0]", ":KUBE-POSTROUTING - [0:0]"]  # fmt: skip
    base = ["-A PREROUTING -j KUBE-SERVICES", "-A OUTPUT -j KUBE-SERVICES", "-A POSTROUTING -j KUBE-POSTROUTING",
            "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000", "-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN",
            "-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0", "-A KUBE-POSTROUTING -j MASQUERADE --random-fully"]  # fmt: skip
    return "\n".join(["*nat", *head, *chains, *base, *jumps, *rules, "COMMIT", ""])
