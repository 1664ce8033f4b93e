"""`sysctl -a`: reading, the kernel's defaults, and how the values for all devices and for one combine."""

from __future__ import annotations

import pytest

from datapath.compiler.sysctls import Sysctls
from datapath.errors import HostError
from datapath.syntax.sysctl import parse_sysctls

ALL, ETH0 = "net.ipv4.conf.all.", "net.ipv4.conf.eth0."


def test_reading() -> None:
    values = parse_sysctls("sysctl: permission denied on key 'fs.x'\nnet.ipv4.ip_forward = 1\n# no\n"
                           "net.ipv4.ip_local_port_range = 1024\t5000\n"
                           "kernel.core_pattern = |a b\n second line of a value\nnet.ipv4.ip_forward = 0\nempty =\n")
    assert dict(values) == {
        "net.ipv4.ip_forward": "0", "net.ipv4.ip_local_port_range": "1024\t5000", "kernel.core_pattern": "|a b", "empty": "",
    }
    with pytest.raises(HostError, match=r"sysctl.txt:2: .*expected `name = value`"):
        parse_sysctls("\nnot a sysctl file\n")


@pytest.mark.parametrize(("field", "values", "expected"), [
    pytest.param("rp_filter", {ALL + "rp_filter": "1", ETH0 + "rp_filter": "2"}, 2, id="rp_filter takes the larger"),
    pytest.param("accept_local", {ALL + "accept_local": "1", ETH0 + "accept_local": "0"}, 1, id="accept_local takes either"),
    pytest.param("accept_source_route", {ALL + "accept_source_route": "0", ETH0 + "accept_source_route": "1"}, 0,
                 id="accept_source_route takes both"),
    pytest.param("forwarding", {ALL + "forwarding": "1", ETH0 + "forwarding": "0"}, 0, id="forwarding is the device's"),
    pytest.param("forwarding", {"net.ipv4.ip_forward": "1"}, 1, id="ip_forward sets devices that are not told"),
    pytest.param("rp_filter", {"net.ipv4.conf.default.rp_filter": "2"}, 2, id="a device is made like default"),
    pytest.param("send_redirects", {}, 1, id="the kernel's default"),
    pytest.param("bc_forwarding", {ALL + "bc_forwarding": "1"}, 0, id="bc_forwarding takes both"),
    pytest.param("forwarding6", {"net.ipv6.conf.all.forwarding": "1"}, 1, id="forwarding of IPv6"),
])
def test_combination(field: str, values: dict[str, str], expected: int) -> None:
    assert Sysctls(values).of_device("eth0")[field] == expected


def test_a_dot_in_a_device_name() -> None:
    assert Sysctls({"net.ipv4.conf.eth0/5.rp_filter": "1"}).of_device("eth0.5")["rp_filter"] == 1


def test_defaults_and_units() -> None:
    values = Sysctls({"net.netfilter.nf_conntrack_tcp_timeout_established": "7", "net.ipv6.icmp.ratemask": "3-4"}).of_node()
    tcp = values["ct_timeout_tcp"]
    assert isinstance(tcp, list)
    assert (tcp[3], tcp[1], tcp[9]) == (7 * 10**9, 120 * 10**9, 120 * 10**9)
    assert values["ct_checksum"] == 1
    assert (values["ip_local_port_low"], values["ip_local_port_high"]) == (32768, 60999)
    mask = values["icmp6_ratemask"]
    assert isinstance(mask, list)
    assert mask[0] == 0b11000


@pytest.mark.parametrize("values", [
    {"net.ipv4.ip_forward": "yes"}, {"net.ipv4.ip_forward": ""}, {"net.ipv4.ip_forward": "9" * 30}, {"net.ipv4.ip_local_port_range": "5"},
    {"net.ipv6.icmp.ratemask": "1-900"}, {"net.ipv4.conf.eth0.rp_filter": "x"},
])
def test_bad_values_are_named(values: dict[str, str]) -> None:
    with pytest.raises(HostError, match=r"sysctl.txt: " + next(iter(values)).replace(".", r"\.")):
        sysctls = Sysctls(values)
        sysctls.of_node()
        sysctls.of_device("eth0")
