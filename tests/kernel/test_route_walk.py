"""Routing outcomes that packets see: martians, source validation, unreachable kinds, policy rules, rerouting."""

from __future__ import annotations

from itertools import product

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from datapath.lab.case import CasePacket
from tests.kernel.table import KernelCase, check, each, local, node, rules, wire

# Rules that make each hook visible.
SEEN = rules(
    "-t mangle -A PREROUTING -p udp", "-t mangle -A INPUT -p udp", "-t mangle -A FORWARD -p udp", "-t mangle -A OUTPUT -p udp",
    "-t mangle -A POSTROUTING -p udp",
)
SOURCES = (
    "192.0.2.2", "192.0.2.1", "198.51.100.2", "198.51.100.1", "8.8.8.8", "0.0.0.0", "0.0.0.7", "127.0.0.1", "224.0.0.5", "255.255.255.255",
    "192.0.2.255", "192.0.2.0", "172.17.0.5", "240.0.0.1",
)
DESTINATIONS = (
    "192.0.2.1", "198.51.100.1", "198.51.100.2", "192.0.2.7", "8.8.8.8", "0.0.0.0", "0.0.0.7", "127.0.0.1", "127.9.9.9", "224.0.0.1",
    "224.0.0.5", "239.1.1.1", "255.255.255.255", "192.0.2.255", "192.0.2.0", "198.51.100.255", "172.17.0.5", "240.0.0.1",
)
SOURCES6 = ("fd00:1::2", "fd00:1::1", "fd00:2::2", "2001:db8::9", "::", "::1", "fe80::2", "ff02::5", "fd00:6::5")
DESTINATIONS6 = (
    "fd00:1::1", "fd00:2::1", "fd00:2::2", "fd00:1::7", "2001:db8::9", "::", "::1", "ff02::1", "ff02::2", "ff02::9", "ff05::1:3",
    "fe80::ff:fe00:1", "fe80::9", "fd00:6::5", "fd00:1::", "ff02::1:ff00:1", "ff01::1",
)


def udp(src: str, dst: str, **fields: int) -> Packet:
    header = IPv6(src=src, dst=dst) if ":" in dst else IP(src=src, dst=dst, **fields)
    return header / UDP(sport=1000, dport=53) / b"0123"


def all_pairs() -> list[CasePacket]:
    return [wire("eth0", udp(src, dst), dst=mac_for(dst)) for src, dst in product(SOURCES, DESTINATIONS)]


def all_pairs6() -> list[CasePacket]:
    return [wire("eth0", udp(src, dst), dst=mac_for(dst)) for src, dst in product(SOURCES6, DESTINATIONS6)]


def mac_for(dst: str) -> str | None:
    """The link address that an IP destination is sent to: Linux drops unicast in a broadcast frame elsewhere."""
    if dst == "255.255.255.255":
        return "ff:ff:ff:ff:ff:ff"
    if dst.startswith(("224.", "239.")):
        return "01:00:5e:" + ":".join(f"{int(part) & mask:02x}" for part, mask in zip(dst.split(".")[1:], (127, 255, 255), strict=True))
    return "33:33:00:00:00:01" if dst.startswith("ff") else None


SYSCTLS = {
    "rp_filter off": {}, "rp_filter strict": {"net.ipv4.conf.all.rp_filter": "1"},
    "rp_filter loose": {"net.ipv4.conf.eth0.rp_filter": "2"},
    "route_localnet": {"net.ipv4.conf.eth0.route_localnet": "1"}, "accept_local": {"net.ipv4.conf.all.accept_local": "1"},
    "accept_local and strict": {"net.ipv4.conf.all.accept_local": "1", "net.ipv4.conf.eth0.rp_filter": "1"},
    "no forwarding": {"net.ipv4.ip_forward": "0"}, "no forwarding on eth0": {"net.ipv4.conf.eth0.forwarding": "0"},
    "bc_forwarding": {"net.ipv4.conf.all.bc_forwarding": "1", "net.ipv4.conf.eth0.bc_forwarding": "1"},
    "redirects": {"net.ipv4.conf.eth0.send_redirects": "1"},
    "redirects without shared media": {"net.ipv4.conf.eth0.send_redirects": "1", "net.ipv4.conf.all.shared_media": "0",
                                       "net.ipv4.conf.eth0.shared_media": "0"},
}
PAIRS = [
    KernelCase(f"every source to every destination, {name}", SEEN, all_pairs(), node=node(sysctl=values))
    for name, values in SYSCTLS.items()
]
PAIRS += [
    KernelCase("every source to every destination, custom rules", SEEN, all_pairs(),
               node=node(rules=["from 192.0.2.2 lookup 77", "to 8.8.8.8 prohibit", "from 198.51.100.2 unreachable"])),
    KernelCase("every source to every destination, a local route", SEEN, all_pairs(),
               node=node(routes=["default via 203.0.113.2", "local 172.17.0.0/16 dev lo", "prohibit 240.0.0.0/8",
                                 "unreachable 127.9.0.0/16"])),
]
PAIRS += [
    KernelCase("every source to every destination, a route with realms", SEEN, all_pairs(),
               node=node(routes=["default via 203.0.113.2", "10.0.0.0/8 via 192.0.2.3 realms 5/6", "blackhole 172.17.0.0/16"])),
]
PAIRS6 = [
    KernelCase(f"every IPv6 source to every destination, {name}", "", all_pairs6(), rules6=SEEN, node=node(sysctl=values))
    for name, values in {"a router": {}, "a host": {"net.ipv6.conf.all.forwarding": "0"}}.items()
]


@each(PAIRS)
def test_sources_and_destinations(case: KernelCase) -> None:
    check(case)


@each(PAIRS6)
def test_sources_and_destinations_of_ipv6(case: KernelCase) -> None:
    check(case)


RULES_NODE = node(
    routes=["default via 203.0.113.2", "10.0.0.0/8 via 198.51.100.3 table 77", "default via 192.0.2.5 table 78",
            "throw 10.1.0.0/16 table 77",
            "unreachable 10.2.0.0/16 table 77", "10.3.0.0/16 via 198.51.100.4 tos 0x10", "10.3.0.0/16 via 192.0.2.4 metric 5",
            "10.4.0.0/16 via inet6 fd00:2::3 dev eth1", "10.5.0.0/16 via 10.77.0.1 dev eth2 onlink", "10.6.0.0/16 dev eth1",
            "10.7.0.0/16 via 198.51.100.6 mtu 1280"],
    rules=["fwmark 1/3 lookup 77", "iif eth1 lookup 78", "ipproto tcp dport 80 lookup 78", "tos 0x08 lookup 78", "from 192.0.2.6 blackhole",
           "not from 192.0.2.0/24 to 10.9.0.0/16 prohibit"],
)
TARGETS = ("10.0.0.1", "10.1.0.1", "10.2.0.1", "10.3.0.1", "10.4.0.1", "10.7.0.1", "10.9.0.1", "8.8.8.8", "192.0.2.1")
RULE_CASES = [
    KernelCase("policy rules for packets that are forwarded", rules(
        "-t mangle -A PREROUTING -s 192.0.2.3 -j MARK --set-mark 1", "-t mangle -A PREROUTING -s 192.0.2.4 -j MARK --set-mark 5"),
        [wire(interface, udp(src, dst, tos=tos)) for dst in TARGETS for interface, src, tos in (
            ("eth0", "192.0.2.2", 0), ("eth0", "192.0.2.3", 0), ("eth0", "192.0.2.4", 0), ("eth0", "192.0.2.6", 0),
            ("eth1", "198.51.100.2", 0),
            ("eth0", "192.0.2.2", 0x10), ("eth0", "192.0.2.2", 0x08), ("eth0", "192.0.2.2", 0x28), ("eth0", "192.0.2.2", 0xFC))]
        + [wire("eth0", IP(src="192.0.2.2", dst=dst) / TCP(sport=5, dport=port, flags="S")) for dst in TARGETS for port in (80, 81)],
        node=RULES_NODE),
    KernelCase("policy rules for packets of local processes, and rerouting by mark and address", rules(
        "-t mangle -A OUTPUT -p udp --dport 54 -j MARK --set-mark 1", "-t mangle -A OUTPUT -p udp --dport 55 -j TOS --set-tos 0x08",
        "-t nat -A OUTPUT -p udp --dport 56 -j DNAT --to-destination 198.51.100.7",
        "-t nat -A OUTPUT -p udp --dport 57 -j DNAT --to-destination 192.0.2.1",
        "-t nat -A OUTPUT -d 10.0.0.1 -p tcp -j DNAT --to-destination :80"),
        [local(IP(src=src, dst=dst) / UDP(sport=1000 + n, dport=port) / b"x") for n, (src, dst, port) in enumerate(product(
            ("192.0.2.1", "198.51.100.1"), TARGETS, (53, 54, 55, 56, 57)))]
        + [local(IP(src="192.0.2.1", dst=dst) / TCP(sport=5, dport=81, flags="S")) for dst in TARGETS],
        node=RULES_NODE),
    KernelCase("masquerading takes the primary address on the next hop's subnet", rules("-t nat -A POSTROUTING -p udp -j MASQUERADE"),
               [wire("eth0", udp("192.0.2.2", dst)) for dst in ("8.8.8.8", "198.51.100.9", "10.20.0.9", "172.16.1.1",
               "10.0.0.1", "10.66.0.5")],
               node=node(interfaces={
                   "eth0": {"mac": "02:00:00:00:00:01", "addresses": ["192.0.2.1/24"]},
                   "eth1": {"mac": "02:00:00:00:00:02", "addresses": ["198.51.100.1/24", "198.51.100.8/24", "10.20.0.1/16"]},
                   "eth2": {"mac": "02:00:00:00:00:03", "addresses": ["203.0.113.1/24"]}},
                   routes6=[], routes=["default via 198.51.100.3 src 192.0.2.1", "172.16.0.0/16 via 10.20.0.7",
                           "10.0.0.0/8 via 203.0.113.3 src 10.20.0.1",
                           "10.66.0.0/16 dev eth1"],
                   neighbours={"198.51.100.3": ["02:00:00:00:02:03", "eth1"], "198.51.100.9": ["02:00:00:00:02:09", "eth1"],
                               "10.20.0.9": ["02:00:00:00:02:19", "eth1"], "10.20.0.7": ["02:00:00:00:02:17", "eth1"],
                               "203.0.113.3": ["02:00:00:00:03:03", "eth2"], "10.66.0.5": ["02:00:00:00:02:66", "eth1"]})),
    KernelCase("a gateway that is this node's own address means the link", rules("-t nat -A POSTROUTING -p udp -j MASQUERADE"),
               [wire("eth0", udp("192.0.2.2", dst)) for dst in ("8.8.8.8", "10.0.0.1")],
               node=node(routes=["default via 203.0.113.1", "10.0.0.0/8 via 198.51.100.1"])),
    KernelCase("masquerading IPv6 takes what source selection finds", "", rules6=rules("-t nat -A POSTROUTING -p udp -j MASQUERADE"),
               packets=[wire("eth0", udp("fd00:1::2", dst)) for dst in ("2001:db8::9", "fd00:2::3", "2001:db8:2::7", "fd00:77::1")],
               node=node(interfaces={
                   "eth0": {"mac": "02:00:00:00:00:01", "addresses": ["fd00:1::1/64"]},
                   "eth1": {"mac": "02:00:00:00:00:02", "addresses": ["fd00:2::1/64", "2001:db8:2::1/64", "2001:db8:2::99/64"]},
                   "eth2": {"mac": "02:00:00:00:00:03", "addresses": []}},
                   routes=[], routes6=["default via fd00:2::3", "fd00:77::/48 via fd00:2::4 src 2001:db8:2::1"],
                   neighbours={"fd00:2::3": ["02:00:00:00:02:03", "eth1"], "fd00:2::4": ["02:00:00:00:02:04", "eth1"],
                               "2001:db8:2::7": ["02:00:00:00:02:07", "eth1"]})),
    KernelCase("the ways of rpfilter", rules(*(
        f"-t raw -A PREROUTING -m rpfilter {options}" for options in
        ("", "--loose", "--validmark", "--accept-local", "--invert", "--loose --accept-local --invert"))),
        [wire(interface, udp(src, "192.0.2.1")) for interface in ("eth0", "eth1") for src in SOURCES if src != "255.255.255.255"],
        node=node(rules=["fwmark 1 lookup 77"])),
    KernelCase("the ways of rpfilter for IPv6", "", rules6=rules(*(
        f"-t raw -A PREROUTING -m rpfilter {options}" for options in
        ("", "--loose", "--validmark", "--accept-local", "--invert", "--loose --accept-local --invert"))),
        packets=[wire(interface, udp(src, "fd00:1::1")) for interface in ("eth0", "eth1") for src in SOURCES6 if not src.startswith("ff")]),
    KernelCase("address types of IPv6", "", rules6=rules(*(
        f"-t raw -A PREROUTING -m addrtype --{side}-type {kind}{limit}" for side in ("src", "dst")
        for kind in ("UNICAST", "LOCAL", "MULTICAST", "ANYCAST", "UNREACHABLE", "UNSPEC") for limit in ("", " --limit-iface-in"))),
        packets=[wire("eth0", udp(src, dst), dst=mac_for(dst))
                 for src, dst in product(("fd00:1::2", "fd00:1::1", "fd00:6::5"), DESTINATIONS6)]),
    KernelCase("address types", rules(*(
        f"-t raw -A PREROUTING -m addrtype --{side}-type {kind}{limit}" for side in ("src", "dst")
        for kind in ("UNICAST", "LOCAL", "BROADCAST", "MULTICAST", "ANYCAST", "UNREACHABLE", "BLACKHOLE", "PROHIBIT") for limit in
        ("", " --limit-iface-in"))),
        [wire("eth0", udp(src, dst), dst=mac_for(dst)) for src, dst in product(("192.0.2.2", "198.51.100.1", "172.17.0.5"), DESTINATIONS)]),
]


@each(RULE_CASES)
def test_rules_and_sources(case: KernelCase) -> None:
    check(case)
