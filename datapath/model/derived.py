"""What Linux makes by itself for devices and addresses: local, broadcast and connected routes.

Kernel: net/ipv4/fib_frontend.c, fib_add_ifaddr; net/ipv6/addrconf.c, addrconf_prefix_route, ip6_route_add of
anycast and multicast routes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from datapath.model.host import METRIC_IPV6_KERNEL, SCOPES, TABLE_LOCAL, Address, IpNetwork, Link, NextHop, Route

NONE: frozenset[str] = frozenset()
ANYCAST_BITS = 127      # a subnet of this length or longer has no anycast address
LIMITED_BROADCAST = IPv4Address("255.255.255.255")
LOOPBACK_FLAGS = frozenset({"LOOPBACK", "UP", "LOWER_UP"})
MADE_UP_MAC = bytes.fromhex("020000000000")


def derive_links(names: Iterable[str]) -> tuple[Link, ...]:
    """Devices of which only the names are known: loopback first, MAC addresses made up from their number."""
    links = [Link(1, "lo", LOOPBACK_FLAGS, 65536, "loopback")]
    for name in dict.fromkeys(names):
        if name != "lo":
            index = len(links) + 1
            links.append(Link(index, name, mac=MADE_UP_MAC[:4] + index.to_bytes(2, "big")))
    return tuple(links)


def derive_routes(
    links: tuple[Link, ...], addresses: tuple[Address, ...], family: int, routers: frozenset[str] = NONE
) -> tuple[Route, ...]:
    """The local table and the connected routes. `routers`: devices that forward IPv6, on which subnets have an anycast address."""
    up = {link.name: link for link in links}
    main = [route for address in addresses if address.family == family for route in connected_routes(up[address.device], address)]
    return tuple(dict.fromkeys(main)) + derive_local_routes(links, addresses, family, routers)


def connected_routes(link: Link, address: Address) -> Iterator[Route]:
    """The route of the address's own subnet in table main."""
    if "UP" not in link.flags or "LOOPBACK" in link.flags or "noprefixroute" in address.flags:
        return
    network = subnet(address)
    if isinstance(network, IPv4Network):
        if "secondary" in address.flags or int(network.network_address) == 0:
            return
        if network.prefixlen == 32 and network.network_address == address.local:
            return
        yield Route(4, network, next_hops=(NextHop(link.name),), scope=SCOPES["link"], source=address.local, protocol="kernel")
    else:
        yield Route(6, network, next_hops=(NextHop(link.name),), metric=METRIC_IPV6_KERNEL, protocol="kernel")


def subnet(address: Address) -> IpNetwork:
    """The prefix of the address, or of its peer."""
    return ip_network((address.peer or address.local, address.prefix_length), strict=False)


def derive_local_routes(
    links: tuple[Link, ...], addresses: tuple[Address, ...], family: int, routers: frozenset[str] = NONE
) -> tuple[Route, ...]:
    """The routes of table local."""
    up = {link.name: link for link in links}
    routes: list[Route] = []
    for address in addresses:
        link = up[address.device]
        if address.family == family:
            routes += local_routes4(link, address, addresses) if family == 4 else local_routes6(link, address, link.name in routers)
    if family == 6:
        routes += multicast_routes6(links, addresses)
    return tuple(dict.fromkeys(routes))


def local_routes4(link: Link, address: Address, addresses: tuple[Address, ...]) -> Iterator[Route]:
    """The address itself, and the broadcast addresses of its subnet."""
    network = subnet(address)
    primary = address
    if "secondary" in address.flags:
        primary = next((other for other in addresses if other.device == address.device and other.family == 4
                        and "secondary" not in other.flags and subnet(other) == network), address)

    def route(destination: object, kind: str) -> Route:
        scope = SCOPES["host"] if kind == "local" else SCOPES["link"]
        return Route(4, ip_network(destination), kind, TABLE_LOCAL, (NextHop(link.name),),   # type: ignore[arg-type]
                     scope=scope, source=primary.local, protocol="kernel")

    yield route(address.local, "local")
    if "UP" not in link.flags:
        return
    if address.broadcast is not None and address.broadcast not in (LIMITED_BROADCAST, IPv4Address(0)):
        yield route(address.broadcast, "broadcast")
    if "secondary" in address.flags or int(network.network_address) == 0:
        return
    if "LOOPBACK" in link.flags and network.prefixlen < 32:
        yield route(network, "local")
    if network.prefixlen < 31:
        yield route(network.broadcast_address, "broadcast")


def local_routes6(link: Link, address: Address, router: bool) -> Iterator[Route]:
    """The address itself, and on a router the anycast address of its subnet."""
    yield Route(6, ip_network(address.local), "local", TABLE_LOCAL, (NextHop(link.name),), protocol="kernel")
    if router and address.prefix_length < ANYCAST_BITS and "LOOPBACK" not in link.flags:
        anycast = ip_network((address.local, address.prefix_length), strict=False).network_address
        yield Route(6, ip_network(anycast), "anycast", TABLE_LOCAL, (NextHop(link.name),), protocol="kernel")


def multicast_routes6(links: tuple[Link, ...], addresses: tuple[Address, ...]) -> Iterator[Route]:
    """ff00::/8 on every device that speaks IPv6 and is no loopback."""
    speaking = {address.device for address in addresses if address.family == 6}
    for link in links:
        if link.name in speaking and "UP" in link.flags and "LOOPBACK" not in link.flags:
            yield Route(6, IPv6Network((IPv6Address("ff00::"), 8)), "multicast", TABLE_LOCAL, (NextHop(link.name),),
                        metric=METRIC_IPV6_KERNEL, protocol="kernel")
