"""Changes of a host, with what Linux changes besides.

Kernel: net/ipv4/devinet.c and fib_frontend.c (addresses and their routes), fib_trie.c (the order of equal routes);
net/ipv6/addrconf.c; net/ipv4/devinet.c, inet_forward_change, and addrconf_fixup_forwarding (sysctls).
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address, ip_address
from types import MappingProxyType

from datapath.errors import HostError
from datapath.model.derived import connected_routes, derive_routes, local_routes4, local_routes6, multicast_routes6, subnet
from datapath.model.host import SCOPES, TABLE_LOCAL, TABLE_MAIN, Address, Host, Link, Neighbour, NextHop, PolicyRule, Route

NEAR_TABLES = (TABLE_LOCAL, TABLE_MAIN)     # where a gateway is looked for


def require_link(host: Host, device: str) -> Link:
    """The device, or the error that `ip` prints."""
    link = host.link(device)
    if link is None:
        raise HostError(f"cannot find device {device!r}: expected one of {', '.join(host.interfaces)}")
    return link


def with_sysctl(host: Host, name: str, value: str) -> Host:
    """`sysctl -w`. Forwarding of a family sets every device's; disable_ipv6 of all likewise."""
    values = {**host.sysctls, name: value}
    spread = {
        "net.ipv4.ip_forward": "net.ipv4.conf.{}.forwarding", "net.ipv4.conf.all.forwarding": "net.ipv4.conf.{}.forwarding",
        "net.ipv6.conf.all.forwarding": "net.ipv6.conf.{}.forwarding", "net.ipv6.conf.all.disable_ipv6": "net.ipv6.conf.{}.disable_ipv6",
    }.get(name)
    if spread is not None:
        for device in ("all", "default", *(link.name.replace(".", "/") for link in host.links)):
            values[spread.format(device)] = value
        if name.startswith("net.ipv4"):
            values["net.ipv4.ip_forward"] = value
    return replace(host, sysctls=MappingProxyType(values))


def with_address(host: Host, address: Address) -> Host:
    """`ip addr add`: a second address on a subnet is secondary; the address's routes come with it."""
    link = require_link(host, address.device)
    mine = [other for other in host.addresses if other.device == address.device and other.family == address.family]
    for other in mine:
        if other.local == address.local and (other.prefix_length == address.prefix_length or address.family == 6):
            raise HostError(f"address {address.local} is on {address.device} already")
        if address.family == 4 and subnet(other) == subnet(address):
            if other.scope != address.scope:
                raise HostError(f"address {address.local}: the scope differs from that of {other.local}, on the same subnet")
            address = replace(address, flags=address.flags | {"secondary"})
    after = replace(host, addresses=place_address(host, address))
    added: list[Route] = list(connected_routes(link, address))
    if address.family == 4:
        added += local_routes4(link, address, after.addresses)
    else:
        added += [*local_routes6(link, address, link.name in routers(host)), *multicast_routes6((link,), (address,))]
    return replace(after, routes=merge_routes(host.routes, added))


def place_address(host: Host, address: Address) -> tuple[Address, ...]:
    """In the kernel's order (__inet_insert_ifa, ipv6_link_dev_addr), device by device.

    IPv4: a primary address after the last primary one of its scope or a narrower one, secondary addresses at the end;
    IPv6: wider scopes first, the newest of a scope first.
    """
    addresses = host.addresses
    order = {name: n for n, name in enumerate(host.interfaces)}
    place = (order[address.device], address.family)
    mine = [n for n, other in enumerate(addresses) if (order[other.device], other.family) == place]
    first = next((n for n, other in enumerate(addresses) if (order[other.device], other.family) >= place), len(addresses))
    if address.family == 6:
        at = next((n for n in mine if address.scope <= addresses[n].scope), first + len(mine))
    elif "secondary" in address.flags:
        at = first + len(mine)
    else:
        at = max((n + 1 for n in mine if "secondary" not in addresses[n].flags and address.scope <= addresses[n].scope), default=first)
    return (*addresses[:at], address, *addresses[at:])


def routers(host: Host) -> frozenset[str]:
    """Devices that forward IPv6."""
    values = host.sysctls
    default = values.get("net.ipv6.conf.default.forwarding", values.get("net.ipv6.conf.all.forwarding", "0"))
    names = [link.name for link in host.links]
    return frozenset(name for name in names if values.get(f"net.ipv6.conf.{name.replace('.', '/')}.forwarding", default) != "0")


def merge_routes(routes: tuple[Route, ...], added: list[Route]) -> tuple[Route, ...]:
    """The routes with those that are not there yet."""
    known = {identity(route) for route in routes}
    fresh = [route for route in dict.fromkeys(added) if identity(route) not in known]
    return routes + tuple(fresh)


def identity(route: Route) -> tuple[object, ...]:
    """What makes two routes of the kernel's own the same."""
    return (*route_key(route), route.type, route.source, route.next_hops)


def route_key(route: Route) -> tuple[object, ...]:
    """What makes two routes the same for `ip route add`."""
    return (route.family, route.table, route.destination, route.tos if route.family == 4 else 0, route.metric, route.for_sources)


def without_address(host: Host, address: Address) -> Host:
    """`ip addr del`: a primary address takes its secondaries with it (unless promote_secondaries), and its routes."""
    require_link(host, address.device)
    gone = [other for other in host.addresses
            if (other.device, other.local, other.prefix_length) == (address.device, address.local, address.prefix_length)]
    if not gone:
        raise HostError(f"no address {address.local} on {address.device}")
    left = [other for other in host.addresses if other is not gone[0]]
    if address.family == 4 and "secondary" not in gone[0].flags:
        twins = [other for other in left if other.device == address.device and other.family == 4
                 and "secondary" in other.flags and subnet(other) == subnet(gone[0])]
        if any(host.sysctls.get(f"net.ipv4.conf.{name}.promote_secondaries", "0") == "1" for name in ("all", address.device)):
            left = [replace(other, flags=other.flags - {"secondary"}) if twins and other is twins[0] else other for other in left]
        else:
            gone += twins
            left = [other for other in left if other not in twins]
    return rederive(host, tuple(left), gone)


def rederive(host: Host, left: tuple[Address, ...], gone: list[Address]) -> Host:
    """The host with the addresses that are left: the routes of those that went go, and routes that prefer them as source."""
    sources = {address.local for address in gone} - {address.local for address in left}
    routes = [route for route in host.routes if not (route.source in sources and route.source is not None)]
    before = {identity(route) for route in derive_routes(host.links, host.addresses, gone[0].family, routers(host))}
    now = derive_routes(host.links, left, gone[0].family, routers(host))
    keep = {identity(route) for route in now}
    routes = [route for route in routes if route.protocol != "kernel" or identity(route) not in before - keep]
    return replace(host, addresses=left, routes=merge_routes(tuple(routes), [route for route in now if route.protocol == "kernel"]))


def with_link_up(host: Host, device: str, up: bool) -> Host:
    """`ip link set up` or `down`. Down: routes over the device go, IPv6 addresses too; up: connected routes come back."""
    link = require_link(host, device)
    flags = link.flags | {"UP", "LOWER_UP"} if up else link.flags - {"UP", "LOWER_UP"}
    if flags == link.flags:
        return host
    links = tuple(replace(other, flags=flags) if other.name == device else other for other in host.links)
    if not up:
        routes = tuple(filter(None, (over_other_devices(route, device) for route in host.routes)))
        addresses = tuple(address for address in host.addresses if address.device != device or address.family == 4)
        return replace(host, links=links, routes=routes, addresses=addresses)
    after = replace(host, links=links)
    own = link_local(after, device)
    if own is not None:
        after = replace(after, addresses=place_address(after, own))
    mine = tuple(address for address in after.addresses if address.device == device)
    added = [route for family in (4, 6) for route in derive_routes(links, mine, family, routers(host))]
    return replace(after, routes=merge_routes(host.routes, added))


def link_local(host: Host, device: str) -> Address | None:
    """The address that IPv6 gives to a device that comes up (addr_gen_mode eui64), None where it has one or makes none."""
    link = require_link(host, device)
    name = f"net.ipv6.conf.{device.replace('.', '/')}"
    made = any(address.device == device and address.family == 6 and address.scope == SCOPES["link"] for address in host.addresses)
    if made or link.link_type != "ether" or any(host.sysctls.get(f"{name}.{key}", "0") != "0" for key in ("disable_ipv6", "addr_gen_mode")):
        return None
    identifier = bytes([link.mac[0] ^ 2]) + link.mac[1:3] + b"\xff\xfe" + link.mac[3:6]
    return Address(device, IPv6Address(b"\xfe\x80" + bytes(6) + identifier), 64, SCOPES["link"])


def over_other_devices(route: Route, device: str) -> Route | None:
    """The route without its hops over a device that went down; IPv4 keeps local addresses. None: nothing is left."""
    if (route.family == 4 and route.type == "local") or all(hop.device != device for hop in route.next_hops):
        return route
    hops = tuple(hop for hop in route.next_hops if hop.device != device)
    return replace(route, next_hops=hops) if hops else None


def with_route(host: Host, route: Route, how: str) -> Host:
    """`ip route add`, `append`, `prepend`, `replace` or `change`. A gateway without a device is looked for on the links."""
    route = replace(route, next_hops=tuple(resolve_hop(host, hop) for hop in route.next_hops))
    if route.source is not None and not any(address.local == route.source for address in host.addresses):
        raise HostError(f"route {route.destination}: source {route.source} is no address of this host")
    same = [n for n, other in enumerate(host.routes) if route_key(other) == route_key(route)]
    routes = list(host.routes)
    twins = [n for n in same if is_twin(host.routes[n], route)]
    later = route.family == 4 and how == "replace" and bool(twins) and twins[0] != same[0]
    if (how == "add" and same) or (how in ("append", "prepend") and twins) or later:
        raise HostError(f"route {route.destination}: exists already in table {route.table}")
    if how == "change" and not same:
        raise HostError(f"route {route.destination}: no such route in table {route.table}")
    if how in ("replace", "change") and same:
        routes[same[0]] = route
    elif how in ("append", "prepend") and same and route.family == 6 and joins(host.routes[same[-1]], route):
        routes[same[-1]] = replace(routes[same[-1]], next_hops=routes[same[-1]].next_hops + route.next_hops)
    elif how == "prepend" and same and route.family == 4:
        routes.insert(same[0], route)
    else:
        routes.insert(same[-1] + 1 if same else len(routes), route)
    return replace(host, routes=tuple(routes))


def is_twin(have: Route, new: Route) -> bool:
    """Whether Linux sees one and the same route in both, which cannot be there twice."""
    if new.family == 6:
        return have.next_hops[:1] == new.next_hops[:1]
    hops = [[(hop.device, hop.gateway, hop.weight) for hop in route.next_hops] for route in (have, new)]
    return hops[0] == hops[1] and (have.type, have.scope, have.source, have.protocol) == (new.type, new.scope, new.source, new.protocol)


def joins(first: Route, second: Route) -> bool:
    """Whether IPv6 makes one multipath route of both (rt6_qualify_for_ecmp)."""
    return first.type == second.type == "unicast" and all(hop.gateway for hop in first.next_hops + second.next_hops)


def resolve_hop(host: Host, hop: NextHop) -> NextHop:
    """The hop with its device. The gateway has to be on a link: the longest route around it leads to no other gateway."""
    if hop.device is not None and "UP" not in require_link(host, hop.device).flags:
        raise HostError(f"device {hop.device} is down")
    if hop.gateway is None or "onlink" in hop.flags or (hop.gateway.version == 6 and hop.gateway.is_link_local and hop.device is not None):
        return hop
    if hop.gateway.version == 6 and any(address.local == hop.gateway for address in host.addresses):
        raise HostError(f"gateway {hop.gateway} is an address of this host")
    near = [route for route in host.routes if hop.gateway in route.destination and route.table in NEAR_TABLES]
    around = [route for route in near if on_link(route, hop.device)]
    nearest = max(around, key=lambda route: (route.destination.prefixlen, route.table), default=None)
    if nearest is None or nearest.type not in ("unicast", "local"):
        raise HostError(f"gateway {hop.gateway} is on no link{'' if hop.device is None else f' of {hop.device}'}")
    return replace(hop, device=hop.device or nearest.next_hops[0].device)


def on_link(route: Route, device: str | None) -> bool:
    """Whether the route leads to neighbours (by the device) and not to a gateway."""
    hops = [hop for hop in route.next_hops if device is None or hop.device == device]
    return bool(hops) and hops[0].gateway is None and (route.family == 6 or route.scope >= SCOPES["link"])


def without_route(host: Host, pattern: Route, given: frozenset[str]) -> Host:
    """`ip route del`: the first route with the destination and table, and what else was given."""
    for n, route in enumerate(host.routes):
        if (route.family, route.table, route.destination) != (pattern.family, pattern.table, pattern.destination):
            continue
        if route.for_sources != pattern.for_sources:
            continue
        compared = ("tos", "metric", "type", "source", "scope") if route.family == 4 else ("metric", "source")
        if any(getattr(route, name) != getattr(pattern, name) for name in compared if name in given):
            continue
        if "next_hops" in given and not all(any(hop_fits(have, want) for have in route.next_hops) for want in pattern.next_hops):
            continue
        return replace(host, routes=host.routes[:n] + host.routes[n + 1:])
    raise HostError(f"route {pattern.destination}: no such route in table {pattern.table}")


def hop_fits(have: NextHop, want: NextHop) -> bool:
    """Whether a hop is what was named."""
    return (want.device is None or have.device == want.device) and (want.gateway is None or have.gateway == want.gateway)


def with_rule(host: Host, rule: PolicyRule) -> Host:
    """`ip rule add`: after the rules of the same priority; without a priority, one below the lowest that is not 0."""
    if rule in host.rules:
        raise HostError(f"rule {rule.priority}: exists already")
    at = max((n for n, other in enumerate(host.rules) if other.family == rule.family and other.priority <= rule.priority), default=-1)
    return replace(host, rules=(*host.rules[:at + 1], rule, *host.rules[at + 1:]))


def next_priority(host: Host, family: int) -> int:
    """fib_default_rule_pref: one less than the second rule's."""
    mine = [rule.priority for rule in host.rules if rule.family == family]
    return max(0, mine[1] - 1) if len(mine) > 1 else 0


def without_rules(host: Host, chosen: list[PolicyRule]) -> Host:
    """The host without these rules."""
    return replace(host, rules=tuple(rule for rule in host.rules if rule not in chosen))


def with_neighbour(host: Host, neighbour: Neighbour) -> Host:
    """`ip neigh replace`. A host whose neighbours were not known knows this one only from now on."""
    require_link(host, neighbour.device)
    known = host.neighbours or ()
    key = (neighbour.device, neighbour.address, neighbour.proxy)
    left = tuple(other for other in known if (other.device, other.address, other.proxy) != key)
    return replace(host, neighbours=(*left, neighbour))


def without_neighbour(host: Host, device: str, address: str) -> Host:
    """`ip neigh del`."""
    known = host.neighbours or ()
    left = tuple(other for other in known if (other.device, other.address) != (device, ip_address(address)))
    if len(left) == len(known):
        raise HostError(f"no neighbour {address} on {device}")
    return replace(host, neighbours=left)


def with_link(host: Host, device: str, **changes: object) -> Host:
    """`ip link set` of something else than up or down."""
    require_link(host, device)
    links = tuple(replace(link, **changes) if link.name == device else link for link in host.links)     # type: ignore[arg-type]
    return replace(host, links=links)

