"""`ip` commands that change a node, as text: `addr add ...`, `link set ...`, `route add ...`, `rule add ...`, `neigh ...`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface

from datapath.errors import HostError, InputError, UnsupportedFeatureError
from datapath.model import edit
from datapath.model.digits import is_digits
from datapath.model.host import SCOPES, Address, Host, IpAddress, Neighbour
from datapath.syntax.ip_route_command import apply_route, apply_rule
from datapath.syntax.ip_words import Words

OBJECTS = {"address": "addr", "addr": "addr", "a": "addr", "link": "link", "l": "link", "route": "route", "r": "route", "ro": "route",
           "rule": "rule", "ru": "rule", "neigh": "neigh", "neighbour": "neigh", "neighbor": "neigh", "n": "neigh"}


def apply_ip_command(host: Host, command: str) -> Host:
    """The host after the command, with or without the word `ip` before it. Raises HostError where `ip` or Linux refuses."""
    words = shlex.split(command)
    if words[:1] == ["ip"]:
        words = words[1:]
    family = 0
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option not in ("-4", "-6"):
            raise HostError(f"ip {command}: option {option} is not understood here")
        family = int(option[1])
    what = OBJECTS.get(words[0]) if words else None
    if what is None or len(words) < 2:
        raise HostError(f"ip {command}: expected addr, link, route, rule or neigh, and what to do")
    rest = Words(command, words[2:])
    try:
        return APPLY[what](host, words[1], rest, family)
    except InputError:
        raise
    except ValueError as wrong:
        raise rest.error(str(wrong)) from None


def apply_addr(host: Host, action: str, words: Words, family: int) -> Host:
    """Addr add, replace, del, flush."""
    if action == "flush":
        if words.rest[:1] == ["dev"]:
            words.take("dev")
        device = words.take("a device")
        for address in [address for address in host.addresses if address.device == device and family in (0, address.family)]:
            if address in host.addresses:
                host = edit.without_address(host, address)
        return host
    address = parse_address(words)
    if action in ("del", "delete"):
        return edit.without_address(host, address)
    if action not in ("add", "replace", "change"):
        raise words.error(f"addr {action} is not understood: expected add, replace, del or flush")
    if action != "add" and any(other.device == address.device and other.local == address.local for other in host.addresses):
        host = edit.without_address(host, address)
    return edit.with_address(host, address)


def parse_address(words: Words) -> Address:
    """LOCAL[/LENGTH] [peer P] [broadcast B|+] [scope S] [label L] dev DEVICE, in any order."""
    found: dict[str, object] = {}
    flags: set[str] = set()
    local = ""
    while words.rest:
        word = words.take("an address")
        if word in ("dev", "label"):
            found[{"dev": "device"}.get(word, word)] = words.take(word)
        elif word in ("peer", "remote"):
            peer = ip_interface(words.take("a peer"))
            found["peer"], found["prefix_length"] = peer.ip, peer.network.prefixlen
        elif word in ("broadcast", "brd"):
            found["broadcast"] = words.take("a broadcast address")
        elif word == "scope":
            scope = words.take("a scope")
            found["scope"] = SCOPES.get(scope, int(scope) if is_digits(scope) else 0)
        elif word in ("nodad", "noprefixroute", "home", "mngtmpaddr"):
            flags.add(word)
        elif word in ("valid_lft", "preferred_lft", "metric", "proto"):
            words.take(word)
        else:
            local = words.take("an address") if word == "local" else word
    if not local or "device" not in found:
        raise words.error("expected an address and dev DEVICE")
    try:
        interface = ip_interface(local)
    except ValueError:
        raise words.error(f"{local!r}: expected an address such as 192.0.2.1/24") from None
    address = interface.ip
    if "scope" not in found:
        found["scope"] = SCOPES["host"] if address.is_loopback else SCOPES["link"] if address.version == 6 and address.is_link_local else 0
    brd = found.pop("broadcast", None)
    if brd not in (None, "-"):
        found["broadcast"] = subnet_broadcast(interface) if brd == "+" else ip_address(str(brd))
    found.setdefault("prefix_length", interface.network.prefixlen)
    return Address(local=address, flags=frozenset(flags), **found)     # type: ignore[arg-type]


def subnet_broadcast(interface: IPv4Interface | IPv6Interface) -> IpAddress | None:
    """What `brd +` stands for; a subnet of one or two addresses has none."""
    return interface.network.broadcast_address if interface.network.prefixlen < 31 else None


def apply_link(host: Host, action: str, words: Words, _family: int) -> Host:
    """Link set DEVICE up, down, mtu, address, master, nomaster, group, promisc; link del."""
    if action in ("del", "delete"):
        device = words.rest[-1] if words.rest else words.take("a device")
        return remove_link(host, device)
    if action != "set":
        raise UnsupportedFeatureError(f"ip {words.command}: link {action} is not emulated: expected set or del")
    device = words.take("a device")
    device = words.take("a device") if device == "dev" else device
    edit.require_link(host, device)
    while words.rest:
        word = words.take("what to set")
        if word in ("up", "down"):
            host = edit.with_link_up(host, device, word == "up")
        elif word == "mtu":
            host = edit.with_link(host, device, mtu=words.number("mtu"))
        elif word == "address":
            host = edit.with_link(host, device, mac=bytes.fromhex(words.take("a MAC address").replace(":", "")))
        elif word == "master":
            host = edit.with_link(host, device, master=edit.require_link(host, words.take("a device")).name)
        elif word == "nomaster":
            host = edit.with_link(host, device, master=None)
        elif word == "group":
            host = edit.with_link(host, device, group=words.number("group"))
        elif word == "promisc":
            host = edit.with_link(host, device, promiscuity=int(words.take("on or off") == "on"))
        else:
            raise UnsupportedFeatureError(f"ip {words.command}: link set {word} is not emulated")
    return host


def remove_link(host: Host, device: str) -> Host:
    """The host without a device, its addresses, routes and neighbours."""
    edit.require_link(host, device)
    host = edit.with_link_up(host, device, False)
    routes = tuple(route for route in host.routes if all(hop.device != device for hop in route.next_hops) or not route.next_hops)
    return replace(
        host, routes=routes, links=tuple(link for link in host.links if link.name != device),
        addresses=tuple(address for address in host.addresses if address.device != device),
        neighbours=None if host.neighbours is None else tuple(entry for entry in host.neighbours if entry.device != device),
    )


def apply_neigh(host: Host, action: str, words: Words, _family: int) -> Host:
    """Neigh add, replace, change, del, flush."""
    if action == "flush":
        device = words.rest[-1] if words.rest else None
        kept = tuple(entry for entry in host.neighbours or () if "PERMANENT" in entry.state or device not in (None, entry.device))
        return replace(host, neighbours=kept)
    address = words.address("an address")
    found: dict[str, object] = {"state": frozenset({"PERMANENT"})}
    while words.rest:
        word = words.take("an option")
        if word == "lladdr":
            found["mac"] = bytes.fromhex(words.take("a MAC address").replace(":", ""))
        elif word == "dev":
            found["device"] = words.take("a device")
        elif word in ("nud", "state"):
            found["state"] = frozenset({words.take("a state").upper()})
        elif word in ("router", "proxy"):
            found[word] = True
    if "device" not in found:
        raise words.error("expected dev DEVICE")
    if action in ("del", "delete"):
        return edit.without_neighbour(host, str(found["device"]), str(address))
    if action not in ("add", "replace", "change"):
        raise words.error(f"neigh {action} is not understood: expected add, replace, change, del or flush")
    return edit.with_neighbour(host, Neighbour(address=address, **found))      # type: ignore[arg-type]


APPLY: dict[str, Callable[[Host, str, Words, int], Host]] = {
    "addr": apply_addr, "link": apply_link, "route": apply_route, "rule": apply_rule, "neigh": apply_neigh,
}
