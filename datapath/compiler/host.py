"""A host to what the core loads: devices by number, sysctls combined, routes and rules flat.

The order of routes is kept: it is that in which Linux tries equal ones (net/ipv4/fib_trie.c, net/ipv6/ip6_fib.c).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from datapath.compiler.sysctls import Sysctls
from datapath.errors import HostError, UnsupportedFeatureError
from datapath.model.host import (
    ROUTE_TYPES,
    RULE_ACTIONS,
    TABLE_LOCAL,
    TABLE_MAIN,
    Address,
    Host,
    IpAddress,
    IpNetwork,
    Link,
    NextHop,
    PolicyRule,
    Route,
)

KINDS = {
    "": 0, "dummy": 2, "bridge": 3, "vlan": 4, "vxlan": 5, "ipip": 6, "gre": 7, "gretap": 7, "tun": 8, "vrf": 9, "veth": 10,
}
KIND_LOOPBACK, KIND_OTHER = 1, 11
LINK_SCOPE, HOST_SCOPE, NOWHERE_SCOPE = 253, 254, 255
UNKNOWN_DEVICE = -2     # a rule that names a device which is not there never matches
HOP_FLAGS = {"dead": 1, "linkdown": 2, "onlink": 4}
IPV6_MTU_MIN = 1280


@dataclass(frozen=True, slots=True)
class CompiledDevice:
    """What the core's Device is filled from. Addresses: (bytes, peer, broadcast, family, prefix, scope, flag bits)."""

    name: str
    values: dict[str, int]
    mac: bytes
    addresses: tuple[tuple[bytes, bytes, bytes, int, int, int, int], ...]
    neighbours: tuple[tuple[int, ...], tuple[int, ...]]     # IPv4, IPv6: see compiler.sysctls.NEIGHBOUR


@dataclass(frozen=True, slots=True)
class CompiledHost:
    """Everything that `fib_load` takes.

    Routes: (family, table, prefix, length, type, tos, metric, scope, source, mtu, hop limit, preference, number in the
    host's file, hops, made by the kernel, prefix of the sources that it is for, its length); a hop: (device, gateway,
    gateway's family, flags, scope, weight).
    """

    devices: tuple[CompiledDevice, ...]
    sysctls: dict[str, int | list[int]]
    routes: tuple[tuple[object, ...], ...]
    rules: tuple[dict[str, int | bytes], ...]
    custom_rules: tuple[bool, bool]
    realms: bool            # some IPv4 route or rule has realms: net->ipv4.fib_num_tclassid_users
    custom_local: bool      # an IPv4 route of type local that somebody added: net->ipv4.fib_has_custom_local_routes
    neighbours: tuple[tuple[int, bytes, int, bytes, int, int], ...] | None


ADDRESS_FLAGS = {
    "secondary": 1, "deprecated": 2, "tentative": 4, "permanent": 8, "temporary": 16, "dadfailed": 32, "optimistic": 64, "home": 128,
}
NEIGHBOUR_STATES = {
    "INCOMPLETE": 1, "REACHABLE": 2, "STALE": 4, "DELAY": 8, "PROBE": 16, "FAILED": 32, "NOARP": 64, "PERMANENT": 128,
}
NEIGHBOUR_ROUTER, NEIGHBOUR_PROXY = 1, 2


def compile_host(host: Host) -> CompiledHost:
    """The core's form. Raises HostError for what contradicts itself, UnsupportedFeatureError for what is not emulated."""
    numbers = {link.name: number for number, link in enumerate(host.links)}
    sysctls = Sysctls(host.sysctls)
    refuse_unsupported(host)
    return CompiledHost(
        devices=tuple(compile_device(host, link, numbers, sysctls) for link in host.links),
        sysctls=sysctls.of_node(),
        routes=compile_routes(host, numbers),
        rules=tuple(compile_rule(rule, number, numbers, host) for number, rule in enumerate(host.rules)),
        custom_rules=(custom_rules(host, 4), custom_rules(host, 6)),
        realms=any(route.realms for route in host.routes) or any(rule.realms for rule in host.rules if rule.family == 4),
        custom_local=any(route.type == "local" and route.family == 4 and route.protocol != "kernel" for route in host.routes),
        neighbours=None if host.neighbours is None else tuple(compile_neighbours(host, numbers)),
    )


def refuse_unsupported(host: Host) -> None:
    """Devices that change how routes are looked up."""
    for link in host.links:
        if link.kind == "vrf":
            raise UnsupportedFeatureError(f"device {link.name}: a VRF is not emulated", "ip-link.json")


def custom_rules(host: Host, family: int) -> bool:
    """Whether the rules differ from a new namespace's: then local and main are looked up one after the other."""
    tables = [(rule.priority, rule.table, rule.action) for rule in host.rules if rule.family == family]
    expected = [(0, 255, "lookup"), (32766, 254, "lookup"), (32767, 253, "lookup")][:3 if family == 4 else 2]
    plain = all(rule == PolicyRule(family, rule.priority, table=rule.table) for rule in host.rules if rule.family == family)
    return tables != expected or not plain


def address_bytes(address: IpAddress | None) -> bytes:
    """Sixteen bytes; an IPv4 address stands in the first four."""
    return bytes(16) if address is None else address.packed.ljust(16, b"\0")


def compile_device(host: Host, link: Link, numbers: dict[str, int], sysctls: Sysctls) -> CompiledDevice:
    """One device with its addresses and the sysctls that hold on it."""
    values = sysctls.of_device(link.name)
    loopback = "LOOPBACK" in link.flags
    mtu6 = values.pop("ipv6_mtu")
    values |= {
        "ifindex": link.index,
        "kind": KIND_LOOPBACK if loopback else KINDS.get(link.kind, KIND_OTHER),
        "up": int("UP" in link.flags),
        "carrier": int("LOWER_UP" in link.flags),
        "noarp": int("NOARP" in link.flags),
        "multicast": int("MULTICAST" in link.flags),
        "has_link_header": int(link.link_type in ("ether", "loopback")),
        "promisc": int("PROMISC" in link.flags or link.promiscuity > 0),
        "mtu": link.mtu,
        "mtu6": min(mtu6, link.mtu) if mtu6 >= IPV6_MTU_MIN else link.mtu,
        "master": numbers.get(link.master, -1) if link.master else -1,
        "lower": numbers.get(link.lower, -1) if link.lower else -1,
        "peer": peer_number(host, link),
        "vlan_id": link.vlan_id,
        "vlan_proto": link.vlan_protocol,
        "group": link.group,
    }
    for field in ("drop_unicast_in_l2_multicast", "rp_filter"):
        values[field] = max(0, min(255, values[field]))
    addresses = tuple(compile_address(address) for address in host.addresses if address.device == link.name)
    neighbours = (sysctls.neighbours("ipv4", link.name), sysctls.neighbours("ipv6", link.name))
    return CompiledDevice(link.name, values, link.mac[:6].ljust(6, b"\0"), addresses, neighbours)


def peer_number(host: Host, link: Link) -> int:
    """The far end of a veth in this namespace, -1 when it is elsewhere or not known."""
    if link.kind != "veth" or link.netns_id is not None:
        return -1
    for number, other in enumerate(host.links):
        if other is not link and (other.name == link.lower or (link.lower is None and other.index == link.lower_index)):
            return number
    return -1


def compile_address(address: Address) -> tuple[bytes, bytes, bytes, int, int, int, int]:
    """One address; without a broadcast address the place is zero."""
    flags = sum(bit for name, bit in ADDRESS_FLAGS.items() if name in address.flags)
    if "dynamic" not in address.flags:
        flags |= ADDRESS_FLAGS["permanent"]
    if address.preferred_seconds == 0:
        flags |= ADDRESS_FLAGS["deprecated"]
    return (
        address_bytes(address.local), address_bytes(address.peer or address.local), address_bytes(address.broadcast),
        address.family, address.prefix_length, address.scope, flags,
    )


def network_bytes(network: IpNetwork | None) -> tuple[bytes, bytes]:
    """A prefix and its mask; zeros for any."""
    if network is None:
        return bytes(16), bytes(16)
    return address_bytes(network.network_address), address_bytes(network.netmask)


def compile_routes(host: Host, numbers: dict[str, int]) -> tuple[tuple[object, ...], ...]:
    """All routes, in their order."""
    scopes = GatewayScopes(host)
    return tuple(compile_route(route, number, numbers, scopes) for number, route in enumerate(host.routes))


class GatewayScopes:
    """How far an IPv4 gateway is: on the link, or this node itself (fib_check_nh_v4_gw).

    A gateway that is the node's own address is not gone to: Linux then asks for the destination itself on the link.
    Linux decides this when the route is added. Of local routes only those that it made itself are looked at here, as
    the others may have come later.
    """

    def __init__(self, host: Host) -> None:
        routes = (route for route in host.routes if route.family == 4 and route.type in ("unicast", "local"))
        self.near = [route for route in routes if route.scope >= LINK_SCOPE and (route.scope < HOST_SCOPE or route.protocol == "kernel")]
        self.known: dict[tuple[IpAddress, str | None, int], int] = {}

    def of(self, route: Route, hop: NextHop) -> int:
        """The scope of the hop's gateway."""
        gateway = hop.gateway
        if gateway is None or gateway.version == 6 or "onlink" in hop.flags:
            return LINK_SCOPE
        key = (gateway, hop.device, route.table)
        if key not in self.known:
            around = [other for other in self.near if gateway in other.destination and any(h.device == hop.device for h in other.next_hops)]
            mine = [other for other in around if other.table == route.table and route.table != TABLE_MAIN]
            around = mine or [other for other in around if other.table in (TABLE_LOCAL, TABLE_MAIN)]
            nearest = max(around, key=lambda other: (other.destination.prefixlen, other.table), default=None)
            self.known[key] = HOST_SCOPE if nearest is not None and nearest.scope >= HOST_SCOPE else LINK_SCOPE
        return self.known[key]


def compile_route(route: Route, number: int, numbers: dict[str, int], scopes: GatewayScopes) -> tuple[object, ...]:
    """One route. A blackhole and its like have one hop without a device."""
    hops = tuple(compile_hop(route, hop, numbers, scopes) for hop in route.next_hops)
    return (
        route.family, route.table, address_bytes(route.destination.network_address), route.destination.prefixlen,
        ROUTE_TYPES[route.type], route.tos, route.metric, route.scope, address_bytes(route.source), route.mtu,
        route.hop_limit, route.preference, number, hops, route.protocol == "kernel",
        address_bytes(None if route.for_sources is None else route.for_sources.network_address),
        0 if route.for_sources is None else route.for_sources.prefixlen,
    )


def compile_hop(route: Route, hop: NextHop, numbers: dict[str, int], scopes: GatewayScopes) -> tuple[int, bytes, int, int, int, int]:
    """One next hop. The scope is that of the way to the gateway, or says that the destination is on the link."""
    if hop.device is not None and hop.device not in numbers:
        file = "ip-route.json" if route.family == 4 else "ip6-route.json"
        raise HostError(f"route {route.destination}: no device {hop.device!r} in ip-link.json", file)
    scope = scopes.of(route, hop) if hop.gateway is not None else NOWHERE_SCOPE if route.scope >= HOST_SCOPE else HOST_SCOPE
    flags = sum(bit for name, bit in HOP_FLAGS.items() if name in hop.flags)
    return (
        numbers[hop.device] if hop.device is not None else -1, address_bytes(hop.gateway),
        hop.gateway.version if hop.gateway is not None else 0, flags, scope, hop.weight,
    )


def compile_rule(rule: PolicyRule, number: int, numbers: dict[str, int], host: Host) -> dict[str, int | bytes]:
    """One policy rule."""
    source, source_mask = network_bytes(rule.source)
    destination, destination_mask = network_bytes(rule.destination)
    low, high = rule.uid_range if rule.uid_range is not None else (0, 0xFFFFFFFF)
    goto = next(
        (n for n, other in enumerate(host.rules) if other.family == rule.family and other.priority == rule.goto), -1,
    ) if rule.action == "goto" else -1
    return {
        "family": rule.family, "number": number, "priority": rule.priority, "action": RULE_ACTIONS[rule.action],
        "table": rule.table, "src": source, "src_mask": source_mask, "dst": destination, "dst_mask": destination_mask,
        "iif": rule_device(rule.in_interface, numbers), "oif": rule_device(rule.out_interface, numbers),
        "mark": rule.mark, "mark_mask": rule.mark_mask, "tos": rule.tos, "dscp_full": int(rule.dscp_full), "protocol": rule.protocol,
        "sport_low": (rule.source_ports or (0, 0))[0], "sport_high": (rule.source_ports or (0, 0))[1],
        "dport_low": (rule.destination_ports or (0, 0))[0], "dport_high": (rule.destination_ports or (0, 0))[1],
        "uid_low": low, "uid_high": high,
        "suppress_prefix": -1 if rule.suppress_prefix_length is None else rule.suppress_prefix_length,
        "suppress_group": -1 if rule.suppress_group is None else rule.suppress_group,
        "goto": goto, "negated": int(rule.negated), "l3mdev": int(rule.l3mdev),
    }


def rule_device(name: str | None, numbers: dict[str, int]) -> int:
    """A device that a rule names: -1 any, -2 one that is not there."""
    return -1 if name is None else numbers.get(name, UNKNOWN_DEVICE)


def compile_neighbours(host: Host, numbers: dict[str, int]) -> Iterator[tuple[int, bytes, int, bytes, int, int]]:
    """(device, address, family, MAC address or nothing, state bits NUD_*, 1 router | 2 proxy)."""
    for entry in host.neighbours or ():
        if entry.device not in numbers:
            raise HostError(f"neighbour {entry.address}: no device {entry.device!r} in ip-link.json", "ip-neigh.json")
        state = 0
        for word in entry.state:
            state |= NEIGHBOUR_STATES.get(word, 0)
        flags = NEIGHBOUR_ROUTER * entry.router | NEIGHBOUR_PROXY * entry.proxy
        yield numbers[entry.device], address_bytes(entry.address), entry.address.version, entry.mac or b"", state, flags
