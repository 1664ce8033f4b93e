"""The node that rules stand on: devices, addresses, routes, policy rules, neighbours, sysctls.

A `Host` is what the standard commands print, in one value. It is immutable; `datapath.model.edit` makes changed ones.
Names and numbers are the kernel's (include/uapi/linux/rtnetlink.h, if_link.h, fib_rules.h).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from types import MappingProxyType
from typing import TypeAlias

IpAddress: TypeAlias = IPv4Address | IPv6Address
IpNetwork: TypeAlias = IPv4Network | IPv6Network

TABLES = {"unspec": 0, "default": 253, "main": 254, "local": 255}
SCOPES = {"global": 0, "site": 200, "link": 253, "host": 254, "nowhere": 255}
ROUTE_TYPES = {
    "unicast": 1, "local": 2, "broadcast": 3, "anycast": 4, "multicast": 5,
    "blackhole": 6, "unreachable": 7, "prohibit": 8, "throw": 9,
}
RULE_ACTIONS = {"lookup": 1, "goto": 2, "nop": 3, "blackhole": 6, "unreachable": 7, "prohibit": 8}
PREFERENCES = {"low": -1, "medium": 0, "high": 1}
TABLE_MAIN, TABLE_LOCAL, TABLE_DEFAULT = 254, 255, 253
METRIC_IPV6_KERNEL, METRIC_IPV6_USER = 256, 1024


@dataclass(frozen=True, slots=True)
class Link:
    """A network device (`ip -d -j link`). `lower` is a VLAN's parent or a tunnel's underlay, `master` its bridge or VRF."""

    index: int
    name: str
    flags: frozenset[str] = frozenset({"UP", "LOWER_UP", "BROADCAST", "MULTICAST"})
    mtu: int = 1500
    link_type: str = "ether"
    mac: bytes = bytes(6)
    kind: str = ""                  # info_kind: veth, bridge, vlan, ...; empty for a NIC
    master: str | None = None
    lower: str | None = None
    lower_index: int = 0            # veth: index of the far end, in the namespace `netns_id` or in this one
    netns_id: int | None = None
    vlan_id: int = 0
    vlan_protocol: int = 0x8100
    group: int = 0
    promiscuity: int = 0
    data: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}), compare=False)  # info_data as printed
    slave_data: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}), compare=False)


@dataclass(frozen=True, slots=True)
class Address:
    """An address on a device (`ip -j addr`), in the kernel's order."""

    device: str
    local: IpAddress
    prefix_length: int
    scope: int = 0                  # SCOPES
    peer: IpAddress | None = None
    broadcast: IpAddress | None = None
    label: str = ""
    flags: frozenset[str] = frozenset()     # secondary, deprecated, tentative, dadfailed, temporary, noprefixroute, ...
    preferred_seconds: int = 0xFFFFFFFF

    @property
    def family(self) -> int:
        """4 or 6."""
        return self.local.version


@dataclass(frozen=True, slots=True)
class NextHop:
    """One way to go on. `gateway` of the other family than the route's is a `via inet6`."""

    device: str | None
    gateway: IpAddress | None = None
    weight: int = 1
    flags: frozenset[str] = frozenset()     # dead, linkdown, onlink, pervasive, offload, ...


@dataclass(frozen=True, slots=True)
class Route:
    """A route (`ip [-6] -j route show table all`), in the order in which it was printed."""

    family: int
    destination: IpNetwork
    type: str = "unicast"           # ROUTE_TYPES
    table: int = TABLE_MAIN
    next_hops: tuple[NextHop, ...] = ()
    tos: int = 0
    metric: int = 0
    scope: int = 0                  # SCOPES; IPv4 only
    source: IpAddress | None = None     # the `src` hint
    protocol: str = "boot"
    preference: int = 0             # PREFERENCES; IPv6 only
    mtu: int = 0
    mtu_locked: bool = False
    hop_limit: int = 0
    for_sources: IpNetwork | None = None    # IPv6: it holds for packets from these (`from`)
    realms: bool = False            # it has realms: Linux then looks every source up


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A routing policy rule (`ip [-6] -j rule`). `None` and 0 mean "any"."""

    family: int
    priority: int
    action: str = "lookup"          # RULE_ACTIONS
    table: int = 0
    source: IpNetwork | None = None
    destination: IpNetwork | None = None
    in_interface: str | None = None
    out_interface: str | None = None
    mark: int = 0
    mark_mask: int = 0
    tos: int = 0
    dscp_full: bool = False         # `dscp` selector: compare the whole field
    protocol: int = 0
    source_ports: tuple[int, int] | None = None
    destination_ports: tuple[int, int] | None = None
    uid_range: tuple[int, int] | None = None
    suppress_prefix_length: int | None = None
    suppress_group: int | None = None
    goto: int = 0
    negated: bool = False
    l3mdev: bool = False
    realms: bool = False


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour entry (`ip -j neigh`). `mac` is None while unresolved; `proxy` entries are answered for."""

    device: str
    address: IpAddress
    mac: bytes | None = None
    state: frozenset[str] = frozenset({"PERMANENT"})
    router: bool = False
    proxy: bool = False


@dataclass(frozen=True, slots=True)
class FdbEntry:
    """An entry of a bridge's or a vxlan's forwarding database (`bridge -j fdb show`)."""

    device: str
    mac: bytes
    master: str | None = None
    vlan: int = 0
    destination: IpAddress | None = None
    state: str = ""
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Host:
    """A node at one moment.

    `neighbours` is None when nothing is known of them: then every neighbour resolves. `texts` holds the files that
    other parts read, by file name. `assumptions` says, a line each, what was missing and what is taken for it.
    """

    links: tuple[Link, ...] = ()
    addresses: tuple[Address, ...] = ()
    routes: tuple[Route, ...] = ()
    rules: tuple[PolicyRule, ...] = ()
    neighbours: tuple[Neighbour, ...] | None = None
    fdb: tuple[FdbEntry, ...] = ()
    sysctls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    kernel: tuple[int, int] = (6, 18)
    uname: str = ""
    modules: frozenset[str] | None = None
    assumptions: tuple[str, ...] = ()
    source: str = "host"

    def link(self, name: str) -> Link | None:
        """The device of that name."""
        return next((link for link in self.links if link.name == name), None)

    @property
    def interfaces(self) -> tuple[str, ...]:
        """Names of the devices in their order."""
        return tuple(link.name for link in self.links)


def default_rules(family: int) -> tuple[PolicyRule, ...]:
    """The rules that a new namespace has (net/ipv4/fib_rules.c, net/ipv6/fib6_rules.c)."""
    rules = (PolicyRule(family, 0, table=TABLE_LOCAL), PolicyRule(family, 32766, table=TABLE_MAIN))
    return (*rules, PolicyRule(family, 32767, table=TABLE_DEFAULT)) if family == 4 else rules
