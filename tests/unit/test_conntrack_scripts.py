"""The scripts of packets on the emulator alone, against what Linux 6.18 answered (tests/kernel/conntrack_record.py)."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from types import MappingProxyType

import pytest

from datapath import Datapath
from datapath.engine.host import Host
from datapath.model.conntrack import ConntrackEntry
from datapath.syntax.conntrack_list import parse_conntrack_line
from tests.kernel.conntrack_other import OTHER_SCRIPTS
from tests.kernel.conntrack_pair import PREFIX, RULES, mac
from tests.kernel.conntrack_record import ANSWERS, state_of
from tests.kernel.conntrack_scripts import TCP_SCRIPTS, Script
from tests.kernel.table import NODE_MACS, peer_mac

RECORDED = json.loads(lzma.decompress(ANSWERS.read_bytes()))
ADDRESSES = {"eth0": ("192.0.2.1", "fd00:1::1"), "eth1": ("198.51.100.1", "fd00:2::1")}
START_NS = 1_700_000_000_000_000_000


def host(script: Script) -> Host:
    links = [{"ifindex": 1, "ifname": "lo", "flags": ["LOOPBACK", "UP", "LOWER_UP"], "mtu": 65536, "link_type": "loopback",
              "address": "00:00:00:00:00:00", "operstate": "UNKNOWN"}]
    addresses = [{"ifindex": 1, "ifname": "lo", "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]}]
    for number, (name, (v4, v6)) in enumerate(ADDRESSES.items(), 2):
        links.append({"ifindex": number, "ifname": name, "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"], "mtu": 1500,
                      "link_type": "ether", "address": NODE_MACS[name], "operstate": "UP"})
        addresses.append({"ifindex": number, "ifname": name, "addr_info": [
            {"family": "inet", "local": v4, "prefixlen": 24, "scope": "global"},
            {"family": "inet6", "local": v6, "prefixlen": 64, "scope": "global"}]})
    sysctls = {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1} | {PREFIX + name: value for name,
                                                                               value in script.sysctls.items()}
    return Host.from_files(MappingProxyType({
        "ip-link.json": json.dumps(links), "ip-addr.json": json.dumps(addresses), "iptables-save.txt": RULES[4],
        "ip6tables-save.txt": RULES[6],
        "sysctl.txt": "".join(f"{name} = {value}\n" for name, value in sysctls.items())}))


def without_time(entry: ConntrackEntry) -> str:
    return str(replace(entry, timeout=0))


@pytest.mark.parametrize("script", [*TCP_SCRIPTS, *OTHER_SCRIPTS], ids=lambda script: script.name)
def test_script(script: Script) -> None:
    node = Datapath(host(script))
    now_ns = START_NS
    for number, (said, (state, lines)) in enumerate(zip(script.packets, RECORDED[script.name], strict=True), 1):
        now_ns += round(said.wait * 1e9) + 1_000_000
        ethertype = b"\x08\x00" if said.packet[0] >> 4 == 4 else b"\x86\xdd"
        frame = mac(NODE_MACS[said.interface]) + mac(peer_mac(said.interface, 2)) + ethertype + said.packet
        transit = node.receive(frame, said.interface, now_ns)
        assert state_of(transit.outputs, said.interface) == state, f"packet {number}: {said.text}"
        wanted = sorted((parse_conntrack_line(line) for line in lines), key=without_time)
        entries = sorted(node.conntrack(), key=without_time)
        assert [without_time(entry) for entry in entries] == [without_time(entry) for entry in wanted], f"packet {number}: {said.text}"
        for entry, want in zip(entries, wanted, strict=True):
            assert abs(entry.timeout - want.timeout) <= 1, f"packet {number}: {said.text}: {entry} but {want}"
