"""`Host.load`: a host directory to a Host. What is missing is taken as Linux would have it, and said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Self

from datapath.compiler.derive import derive_links, derive_local_routes, derive_routes
from datapath.compiler.host import compile_host
from datapath.engine.host_files import read_host_files
from datapath.errors import HostError
from datapath.model import host as model
from datapath.model.host import TABLE_LOCAL, Address, Link, Route, default_rules
from datapath.syntax.ip_json import parse_addresses, parse_fdb, parse_links, parse_neighbours
from datapath.syntax.ip_route_json import parse_routes, parse_rules
from datapath.syntax.sysctl import parse_sysctls

PROFILES = ((6, 1), (6, 18))
SYSCTLS_THAT_MATTER = "net.ipv4.ip_forward=0, net.ipv6.conf.all.forwarding=0, rp_filter=0, nf_conntrack_checksum=1"


class Host(model.Host):
    """A node as its commands printed it. See `datapath.model.host.Host` for its fields."""

    __slots__ = ()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The host of a directory, or of a tar of one (.tar, .tar.gz, .tar.xz, .tar.bz2).

        Every file is optional; `assumptions` says what is taken for a missing one. Raises HostError (file, and
        line where there is one) for what cannot be read or contradicts itself, UnsupportedFeatureError for a
        device, route or rule that is not emulated.
        """
        return cls.from_files(read_host_files(Path(path)), str(path))

    @classmethod
    def from_files(cls, texts: Mapping[str, str], source: str = "host") -> Self:
        """The host of texts by file name, as `load` finds them."""
        said: list[str] = []
        addresses = parse_addresses(texts["ip-addr.json"]) if "ip-addr.json" in texts else ()
        routes = load_routes(texts, said)
        links = load_links(texts, addresses, routes, said)
        if "ip-addr.json" not in texts:
            said.append("ip-addr.json is missing: addresses are those of the local routing table")
            addresses = addresses_of_routes(routes)
        check_devices(links, addresses)
        uname = texts.get("uname.txt", "").strip()
        host = cls(
            links=links,
            addresses=addresses,
            routes=complete_routes(links, addresses, routes, texts, said),
            rules=load_rules(texts, said),
            neighbours=parse_neighbours(texts["ip-neigh.json"]) if "ip-neigh.json" in texts else None,
            fdb=parse_fdb(texts["bridge-fdb.json"]) if "bridge-fdb.json" in texts else (),
            sysctls=parse_sysctls(texts.get("sysctl.txt", "")),
            texts=MappingProxyType(dict(texts)),
            kernel=kernel_profile(uname, said),
            uname=uname,
            modules=frozenset(line.split()[0] for line in texts["modules.txt"].splitlines() if line.strip()) if "modules.txt" in texts else None,
            source=source,
        )
        if "ip-neigh.json" not in texts:
            said.append("ip-neigh.json is missing: every neighbour resolves, to a made-up MAC address (02:ff and the end of its IP address)")
        if "sysctl.txt" not in texts:
            said.append(f"sysctl.txt is missing: the kernel's defaults ({SYSCTLS_THAT_MATTER})")
        compile_host(host)      # refuses what contradicts itself
        return model_replace(host, tuple(said))


def model_replace(host: Host, assumptions: tuple[str, ...]) -> Host:
    """The host with its assumptions."""
    from dataclasses import replace
    return replace(host, assumptions=assumptions)


def load_routes(texts: Mapping[str, str], said: list[str]) -> tuple[Route, ...]:
    """Both families' routes. `ip route show table all` prints IPv6's too; ip6-route.json goes before those."""
    routes = parse_routes(texts["ip-route.json"], 4, "ip-route.json") if "ip-route.json" in texts else ()
    if "ip6-route.json" in texts:
        routes = tuple(route for route in routes if route.family == 4)
        routes += tuple(route for route in parse_routes(texts["ip6-route.json"], 6, "ip6-route.json") if route.family == 6)
    return routes


def load_links(texts: Mapping[str, str], addresses: tuple[Address, ...], routes: tuple[Route, ...], said: list[str]) -> tuple[Link, ...]:
    """The devices: of ip-link.json, else of ip-addr.json, else as many as the other files name."""
    if "ip-link.json" in texts:
        return parse_links(texts["ip-link.json"])
    if "ip-addr.json" in texts:
        said.append("ip-link.json is missing: devices are those of ip-addr.json, without their kinds")
        return parse_links(texts["ip-addr.json"], "ip-addr.json")
    said.append("ip-link.json and ip-addr.json are missing: devices are those that routes, rules and neighbours name, with made-up MAC addresses")
    neighbours = parse_neighbours(texts["ip-neigh.json"]) if "ip-neigh.json" in texts else ()
    rules = [rule for family, file in ((4, "ip-rule.json"), (6, "ip6-rule.json")) if file in texts for rule in parse_rules(texts[file], family, file)]
    names = [hop.device for route in routes for hop in route.next_hops if hop.device]
    names += [neighbour.device for neighbour in neighbours]
    names += [name for rule in rules for name in (rule.in_interface, rule.out_interface) if name]
    return derive_links(names)


def load_rules(texts: Mapping[str, str], said: list[str]) -> tuple[model.PolicyRule, ...]:
    """Both families' policy rules."""
    found: tuple[model.PolicyRule, ...] = ()
    for family, file in ((4, "ip-rule.json"), (6, "ip6-rule.json")):
        if file in texts:
            found += parse_rules(texts[file], family, file)
        else:
            said.append(f"{file} is missing: the rules of a new namespace (local, main{', default' if family == 4 else ''})")
            found += default_rules(family)
    return found


def addresses_of_routes(routes: tuple[Route, ...]) -> tuple[Address, ...]:
    """Addresses from local routes; the prefix length is that of the device's route that names the address as its source."""
    found = []
    for route in routes:
        if route.type != "local" or route.table != TABLE_LOCAL or route.destination.prefixlen != route.destination.max_prefixlen:
            continue
        for hop in route.next_hops:
            address = route.destination.network_address
            length = max((other.destination.prefixlen for other in routes
                          if other.family == route.family and other.type == "unicast" and not any(h.gateway for h in other.next_hops)
                          and any(h.device == hop.device for h in other.next_hops) and address in other.destination),
                         default=route.destination.max_prefixlen)
            scope = 254 if address.is_loopback else 253 if address.is_link_local and route.family == 6 else 0
            if hop.device is not None:
                found.append(Address(hop.device, address, length, scope))
    return tuple(found)


def check_devices(links: tuple[Link, ...], addresses: tuple[Address, ...]) -> None:
    """Addresses stand on devices that exist."""
    names = {link.name for link in links}
    for address in addresses:
        if address.device not in names:
            raise HostError(f"address {address.local}: no device {address.device!r} in ip-link.json", "ip-addr.json")


def complete_routes(links: tuple[Link, ...], addresses: tuple[Address, ...], routes: tuple[Route, ...], texts: Mapping[str, str],
                    said: list[str]) -> tuple[Route, ...]:
    """The routes, with what Linux derives from addresses for a family or a local table that no file shows."""
    for family, file in ((4, "ip-route.json"), (6, "ip6-route.json")):
        mine = [route for route in routes if route.family == family]
        if not mine and file not in texts:
            said.append(f"{file} is missing: the routes that Linux makes for the addresses")
            routes += derive_routes(links, addresses, family)
        elif not any(route.table == TABLE_LOCAL for route in mine) and any(address.family == family for address in addresses):
            said.append(f"{file} does not show the local table (ip route show table all): it is derived from the addresses")
            routes += derive_local_routes(links, addresses, family)
    return routes


def kernel_profile(uname: str, said: list[str]) -> tuple[int, int]:
    """The nearest kernel that was really asked."""
    found = re.search(r"\b(\d{1,4})\.(\d{1,4})(?:\.\d+|-|\b)", uname)
    if not found:
        said.append("uname.txt is missing: Linux 6.18" if not uname else f"uname.txt names no kernel ({uname[:40]}): Linux 6.18")
        return PROFILES[-1]
    version = (int(found[1]), int(found[2]))
    nearest = min(PROFILES, key=lambda profile: abs(profile[0] * 1000 + profile[1] - version[0] * 1000 - version[1]))
    if nearest != version:
        said.append(f"Linux {version[0]}.{version[1]} is emulated as {nearest[0]}.{nearest[1]}, the nearest that was compared")
    return nearest
