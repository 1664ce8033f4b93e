"""NAT targets: their spellings, what iptables refuses, and the payload that the core reads."""

from __future__ import annotations

import struct

import pytest

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, RuleContext, Target
from datapath.extensions.targets.dnat import Dnat
from datapath.extensions.targets.masquerade import Masquerade
from datapath.extensions.targets.netmap import Netmap
from datapath.extensions.targets.redirect import Redirect
from datapath.extensions.targets.snat import Snat

TCP, UDP, ICMP = 6, 17, 1


def parse(target: type[Target], text: str, *, family: int = 4, protocol: int = 0) -> Target:
    words = text.split()
    given = []
    while words:
        option = next((option for option in target.OPTIONS if words[0] in option.names), None)
        assert option is not None, words[0]
        given.append(Given(option, tuple(words[1:1 + option.arguments])))
        words = words[1 + option.arguments:]
    return target.parse(given, RuleContext(family, "nat", "CHAIN", protocol))


@pytest.mark.parametrize(("target", "family", "protocol", "text"), [
    (Dnat, 4, 0, "--to-destination 192.0.2.1"),
    (Dnat, 4, 0, "--to-destination 192.0.2.1-192.0.2.10"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:1025-65535"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1-192.0.2.10:1025-65535 --random --persistent"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:1000-2000/3000"),
    (Dnat, 4, TCP, "--to-destination :8080"),
    (Dnat, 4, ICMP, "--to-destination 192.0.2.1:7"),
    (Dnat, 6, 0, "--to-destination 2001:db8::1-2001:db8::ff"),
    (Dnat, 6, UDP, "--to-destination [2001:db8::1-2001:db8::ff]:1025-65535"),
    (Dnat, 6, UDP, "--to-destination [2001:db8::1]:10-20/21"),
    (Dnat, 6, UDP, "--to-destination ::ffff:192.0.2.1"),
    (Snat, 4, 0, "--to-source 192.0.2.1 --random --random-fully --persistent"),
    (Snat, 6, TCP, "--to-source [2001:db8::1]:1025-65535"),
    (Masquerade, 4, 0, ""),
    (Masquerade, 4, 0, "--random-fully"),
    (Masquerade, 6, UDP, "--to-ports 1024-65535 --random"),
    (Redirect, 4, TCP, "--to-ports 0"),
    (Redirect, 6, TCP, "--to-ports 42-1234 --random"),
    (Redirect, 4, 0, "--random"),
    (Netmap, 4, 0, "--to 198.51.100.0/24"),
    (Netmap, 6, 0, "--to 2001:db8::/64"),
])
def test_prints_back_what_it_parsed(target: type[Target], family: int, protocol: int, text: str) -> None:
    assert parse(target, text, family=family, protocol=protocol).format() == text


@pytest.mark.parametrize(("target", "family", "protocol", "text", "printed"), [
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:ssh", "--to-destination 192.0.2.1:22"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:10-20/ftp", "--to-destination 192.0.2.1:10-20/21"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:0x10-020", "--to-destination 192.0.2.1:16"),
    (Dnat, 4, 0, "--persistent --to-destination 192.0.2.1-192.0.2.1", "--to-destination 192.0.2.1 --persistent"),
    (Dnat, 6, 0, "--to-destination [2001:db8:0::1]", "--to-destination 2001:db8::1"),
    (Dnat, 6, TCP, "--to-destination []:80", "--to-destination :80"),
    (Snat, 4, TCP, "--to-source 192.0.2.1:10-20/5", "--to-source 192.0.2.1:10-20/0"),     # its struct has no base
    (Redirect, 4, UDP, "--to-ports 512-512", "--to-ports 512"),
    (Redirect, 4, TCP, "--to-ports ftp-data", "--to-ports 20"),
    (Netmap, 4, 0, "--to 198.51.100.7", "--to 198.51.100.7/32"),
    (Netmap, 4, 0, "--to 198.51.100.7/24", "--to 198.51.100.0/24"),
    (Netmap, 6, 0, "--to 2001:db8::5/64", "--to 2001:db8::/64"),
    (Netmap, 4, 0, "--to 198.51.100.7/255.255.255.0", "--to 198.51.100.0/24"),
    (Netmap, 4, 0, "--to 198.51.100.7/255.0.255.0", "--to 198.51.100.7/32"),    # not a prefix: iptables takes the host alone
    (Netmap, 4, 0, "--to 198.51.100.7/33", "--to 198.51.100.7/32"),     # as the mask 0.0.0.33
])
def test_prints_as_iptables_save(target: type[Target], family: int, protocol: int, text: str, printed: str) -> None:
    assert parse(target, text, family=family, protocol=protocol).format() == printed


@pytest.mark.parametrize(("target", "family", "protocol", "text"), [
    (Dnat, 4, 0, ""),
    (Dnat, 4, 0, "--to-destination 192.0.2.1:1025-65535"),     # ports without a protocol that has them
    (Dnat, 6, 58, "--to-destination [2001:db8::1]:7"),
    (Dnat, 4, 0, "--to-destination 192.0.2.1 --to-destination 192.0.2.2"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:1025-65536"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:2000-1000"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:80:81"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:80x"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:1000-2000/0"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:1000-2000/65536"),
    (Dnat, 4, TCP, "--to-destination 192.0.2.1:echo-ssh"),
    (Dnat, 4, TCP, "--to-destination [192.0.2.1]:80"),
    (Dnat, 4, 0, "--to-destination 2001:db8::1"),
    (Dnat, 6, 0, "--to-destination 192.0.2.1"),
    (Dnat, 6, TCP, "--to-destination [2001:db8::1:80"),
    (Snat, 4, 0, "--random"),
    (Masquerade, 4, UDP, "--to-ports 1024-65536"),
    (Masquerade, 4, UDP, "--to-ports -1"),
    (Masquerade, 4, 0, "--to-ports 1024"),
    (Redirect, 4, TCP, "--to-ports 42-1234/567"),
    (Redirect, 4, TCP, "--to-ports 10-ssh"),
    (Redirect, 4, 0, "--to-ports 42"),
    (Netmap, 4, 0, ""),
    (Netmap, 6, 0, "--to 2001:db8::/129"),
    (Netmap, 4, 0, "--to 198.51.100.0/x"),
])
def test_refuses_what_iptables_refuses(target: type[Target], family: int, protocol: int, text: str) -> None:
    with pytest.raises(RulesetSyntaxError):
        parse(target, text, family=family, protocol=protocol)


@pytest.mark.parametrize(("target", "text", "allowed"), [
    (Dnat, "--to-destination 192.0.2.1", {"PREROUTING", "OUTPUT"}),
    (Snat, "--to-source 192.0.2.1", {"POSTROUTING", "INPUT"}),
    (Masquerade, "", {"POSTROUTING"}),
    (Redirect, "", {"PREROUTING", "OUTPUT"}),
    (Netmap, "--to 192.0.2.0/24", {"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"}),
])
def test_valid_only_in_its_hooks_of_the_nat_table(target: type[Target], text: str, allowed: set[str]) -> None:
    spec = parse(target, text)
    for hook in ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"):
        rule = RuleContext(4, "nat", "CHAIN", hooks=frozenset({hook}))
        if hook in allowed:
            spec.check(rule)
        else:
            with pytest.raises(RulesetError):
                spec.check(rule)
    with pytest.raises(RulesetError):
        spec.check(RuleContext(4, "filter", "CHAIN"))


def test_payload_is_the_struct_of_the_core() -> None:
    spec = parse(Dnat, "--to-destination 192.0.2.1-192.0.2.9:1000-2000/3000 --persistent", protocol=TCP)
    flags, rule, low, high, *ports = struct.unpack("<II16s16sHHH2x", spec.lower().payload)
    assert (flags, rule, ports) == (1 | 2 | 8 | 32, 0, [1000, 2000, 3000])     # NF_NAT_RANGE_* of linux/netfilter/nf_nat.h
    assert (low, high) == (bytes([192, 0, 2, 1]) + bytes(12), bytes([192, 0, 2, 9]) + bytes(12))


def test_netmap_payload_spans_the_network() -> None:
    flags, _, low, high, *_ = struct.unpack("<II16s16sHHH2x", parse(Netmap, "--to 198.51.100.64/26").lower().payload)
    assert (flags, low[:4], high[:4]) == (1, bytes([198, 51, 100, 64]), bytes([198, 51, 100, 127]))
