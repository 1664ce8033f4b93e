"""The texts of a host directory to the parts of a Host. What is missing is taken as Linux would have it, and said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datapath.errors import HostError
from datapath.model.derived import derive_links, derive_local_routes, derive_routes
from datapath.model.edit import routers
from datapath.model.host import TABLE_LOCAL, Address, FdbEntry, Host, Link, Neighbour, PolicyRule, Route, default_rules
from datapath.syntax.ip_json import parse_addresses, parse_fdb, parse_links, parse_neighbours
from datapath.syntax.ip_route_json import parse_routes, parse_rules
from datapath.syntax.sysctl import parse_sysctls

PROFILES = ((6, 1), (6, 18))    # kernels that were really asked
ROUTE_FILES = {4: "ip-route.json", 6: "ip6-route.json"}
RULE_FILES = {4: "ip-rule.json", 6: "ip6-rule.json"}
RULES_SAID = {4: "local, main, default", 6: "local, main"}
NO_LINKS = "ip-link.json and ip-addr.json are missing: devices are those that routes, rules and neighbours name, with made-up MAC addresses"
NO_NEIGHBOURS = "ip-neigh.json is missing: every neighbour resolves, to a made-up MAC address (02:ff and the end of its IP address)"
NO_SYSCTLS = (
    "sysctl.txt is missing: the kernel's defaults "
    "(net.ipv4.ip_forward=0, net.ipv6.conf.all.forwarding=0, rp_filter=0, nf_conntrack_checksum=1)"
)


@dataclass
class HostLoader:
    """Reads the files one after the other; `said` gathers the assumptions."""

    texts: Mapping[str, str]
    said: list[str] = field(default_factory=list)

    def fields(self) -> dict[str, object]:
        """The fields of a Host."""
        texts = self.texts
        addresses = parse_addresses(texts["ip-addr.json"]) if "ip-addr.json" in texts else ()
        routes, rules = self.routes(), self.rules()
        neighbours = parse_neighbours(texts["ip-neigh.json"]) if "ip-neigh.json" in texts else None
        links = self.links(named_devices(routes, rules, neighbours or ()))
        if "ip-addr.json" not in texts:
            self.said.append("ip-addr.json is missing: addresses are those of the local routing table")
            addresses = addresses_of_routes(routes)
        check_devices(links, addresses)
        sysctls = parse_sysctls(texts.get("sysctl.txt", ""))
        uname = texts.get("uname.txt", "").strip()
        found: dict[str, object] = {
            "links": links, "addresses": addresses, "rules": rules, "neighbours": neighbours, "fdb": self.fdb(),
            "routes": self.complete(links, addresses, routes, routers(Host(links=links, sysctls=sysctls))), "sysctls": sysctls,
            "kernel": self.kernel(uname), "uname": uname, "modules": self.modules(),
        }
        self.said += [NO_NEIGHBOURS] * (neighbours is None) + [NO_SYSCTLS] * ("sysctl.txt" not in texts)
        return found | {"assumptions": tuple(self.said)}

    def routes(self) -> tuple[Route, ...]:
        """Both families' routes. `ip route show table all` prints IPv6's too; ip6-route.json goes before those."""
        routes = parse_routes(self.texts["ip-route.json"], 4, "ip-route.json") if "ip-route.json" in self.texts else ()
        if "ip6-route.json" in self.texts:
            routes = tuple(route for route in routes if route.family == 4)
            routes += tuple(route for route in parse_routes(self.texts["ip6-route.json"], 6, "ip6-route.json") if route.family == 6)
        return routes

    def rules(self) -> tuple[PolicyRule, ...]:
        """Both families' policy rules."""
        found: tuple[PolicyRule, ...] = ()
        for family, file in RULE_FILES.items():
            if file in self.texts:
                found += parse_rules(self.texts[file], family, file)
            else:
                self.said.append(f"{file} is missing: the rules of a new namespace ({RULES_SAID[family]})")
                found += default_rules(family)
        return found

    def links(self, named: Sequence[str]) -> tuple[Link, ...]:
        """The devices: of ip-link.json, else of ip-addr.json, else as many as the other files name."""
        if "ip-link.json" in self.texts:
            return parse_links(self.texts["ip-link.json"])
        if "ip-addr.json" in self.texts:
            self.said.append("ip-link.json is missing: devices are those of ip-addr.json, without their kinds")
            return parse_links(self.texts["ip-addr.json"], "ip-addr.json")
        self.said.append(NO_LINKS)
        return derive_links(named)

    def fdb(self) -> tuple[FdbEntry, ...]:
        """The forwarding databases."""
        return parse_fdb(self.texts["bridge-fdb.json"]) if "bridge-fdb.json" in self.texts else ()

    def modules(self) -> frozenset[str] | None:
        """Names of the loaded modules; None when they are not known."""
        if "modules.txt" not in self.texts:
            return None
        return frozenset(line.split()[0] for line in self.texts["modules.txt"].splitlines() if line.strip())

    def complete(
        self, links: tuple[Link, ...], addresses: tuple[Address, ...], routes: tuple[Route, ...], forwarding: frozenset[str]
    ) -> tuple[Route, ...]:
        """The routes, with what Linux derives from addresses for a family or a local table that no file shows."""
        for family, file in ROUTE_FILES.items():
            mine = [route for route in routes if route.family == family]
            if not mine and file not in self.texts:
                self.said.append(f"{file} is missing: the routes that Linux makes for the addresses")
                routes += derive_routes(links, addresses, family, forwarding)
            elif not any(route.table == TABLE_LOCAL for route in mine) and any(address.family == family for address in addresses):
                self.said.append(f"{file} does not show the local table (ip route show table all): it is derived from the addresses")
                routes += derive_local_routes(links, addresses, family, forwarding)
        return routes

    def kernel(self, uname: str) -> tuple[int, int]:
        """The nearest kernel that was really asked."""
        found = re.search(r"\b(\d{1,4})\.(\d{1,4})(?:\.\d+|-|\b)", uname)
        if not found:
            self.said.append(f"uname.txt {'names no kernel' if uname else 'is missing'}: Linux 6.18")
            return PROFILES[-1]
        version = (int(found[1]), int(found[2]))
        nearest = min(PROFILES, key=lambda profile: abs(profile[0] * 1000 + profile[1] - version[0] * 1000 - version[1]))
        if nearest != version:
            self.said.append(f"Linux {version[0]}.{version[1]} is emulated as {nearest[0]}.{nearest[1]}, the nearest that was compared")
        return nearest


def named_devices(routes: tuple[Route, ...], rules: tuple[PolicyRule, ...], neighbours: Sequence[Neighbour]) -> list[str]:
    """Devices that other files speak of."""
    names = [hop.device for route in routes for hop in route.next_hops if hop.device]
    names += [neighbour.device for neighbour in neighbours]
    return names + [name for rule in rules for name in (rule.in_interface, rule.out_interface) if name]


def addresses_of_routes(routes: tuple[Route, ...]) -> tuple[Address, ...]:
    """Addresses from local routes; the prefix length is that of the device's connected route around it."""
    connected: dict[str, list[Route]] = {}
    for route in routes:
        for hop in route.next_hops:
            if hop.device is not None and hop.gateway is None and route.type == "unicast":
                connected.setdefault(hop.device, []).append(route)
    found = []
    for route in routes:
        length = route.destination.max_prefixlen
        device = route.next_hops[0].device if route.next_hops else None
        if route.type != "local" or route.table != TABLE_LOCAL or route.destination.prefixlen != length or device is None:
            continue
        address = route.destination.network_address
        near = [other for other in connected.get(device, ()) if other.family == route.family]
        around = [other.destination.prefixlen for other in near if address in other.destination]
        scope = 254 if address.is_loopback else 253 if address.is_link_local and route.family == 6 else 0
        found.append(Address(device, address, max(around, default=length), scope))
    return tuple(found)


def check_devices(links: tuple[Link, ...], addresses: tuple[Address, ...]) -> None:
    """Addresses stand on devices that exist."""
    names = {link.name for link in links}
    for address in addresses:
        if address.device not in names:
            raise HostError(f"address {address.local}: no device {address.device!r} in ip-link.json", "ip-addr.json")
