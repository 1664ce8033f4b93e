"""What `ip [-6] -j route show table all` and `ip [-6] -j rule` print."""

from __future__ import annotations

from collections.abc import Iterator

from datapath.errors import UnsupportedFeatureError
from datapath.model.host import METRIC_IPV6_USER, PREFERENCES, ROUTE_TYPES, SCOPES, TABLES, IpAddress, IpNetwork, NextHop, PolicyRule, Route
from datapath.syntax.ip_json import device_name, parse_group, parse_scope
from datapath.syntax.json_entry import U16, U32, Entry, read_entries

PROTOCOLS = {
    "icmp": 1, "igmp": 2, "ipencap": 4, "tcp": 6, "udp": 17, "dccp": 33, "ipv6": 41, "rsvp": 46, "gre": 47, "esp": 50, "ah": 51,
    "ipv6-icmp": 58, "ospf": 89, "pim": 103, "vrrp": 112, "l2tp": 115, "sctp": 132, "udplite": 136,
}
TOS_NAMES = {"lowdelay": 0x10, "throughput": 0x08, "reliability": 0x04}
UNSUPPORTED_ROUTE = {"encap": "an encapsulation (encap)", "ttl-propagate": "an encapsulation (ttl-propagate)", "as": "an MPLS label (as)"}
UNSUPPORTED_RULE = {"tun_id": "tun_id", "flowlabel": "flowlabel"}
NO_DEVICE_TYPES = frozenset({"blackhole", "unreachable", "prohibit", "throw"})


def parse_routes(text: str, family: int, source: str) -> tuple[Route, ...]:
    """The routes in their order. `ip route show table all` without a family prints both: see `Route.family`."""
    return tuple(parse_route(entry, entry_family(entry, family)) for entry in read_entries(text, source, "route") if entry.has("dst"))


def entry_family(entry: Entry, family: int) -> int:
    """The family of a printed route: `default` alone does not tell it, but only IPv6 routes have a preference."""
    return 6 if entry.has("pref") or ":" in entry.text("dst") else family if entry.text("dst") == "default" else 4


def parse_route(entry: Entry, family: int) -> Route:
    """One route."""
    for key, what in UNSUPPORTED_ROUTE.items():
        if entry.has(key):
            raise UnsupportedFeatureError(f"{entry.what}: {what} is not emulated", entry.source)
    kind = entry.text("type", "unicast")
    if kind not in ROUTE_TYPES:
        raise entry.error(f"'type' is {kind!r}: expected one of {', '.join(ROUTE_TYPES)}")
    metrics = Entry(dict(pair for item in entry.entries("metrics", "metrics") for pair in item.fields.items()), entry.what, entry.source)
    return Route(
        family=family,
        destination=entry.network("dst", family),
        type=kind,
        table=parse_table(entry),
        next_hops=tuple(parse_next_hops(entry, family)) if kind not in NO_DEVICE_TYPES else (),
        tos=parse_tos(entry, "tos"),
        metric=entry.number("metric", default=0 if family == 4 else METRIC_IPV6_USER),
        scope=parse_scope(entry) if family == 4 else SCOPES["global"],
        source=entry.address("prefsrc", family) if entry.has("prefsrc") else None,
        protocol=entry.text("protocol", "boot"),
        preference=PREFERENCES.get(entry.text("pref", "medium"), 0),
        mtu=metrics.number("mtu", default=0),
        mtu_locked="mtu" in str(metrics.fields.get("lock", "")),
        hop_limit=metrics.number("hoplimit", 255, default=0),
        realms=entry.has("flow") or any(hop.has("flow") for hop in entry.entries("nexthops", "nexthop")),
        for_sources=entry.network("from", family) if entry.has("from") and family == 6 else None,
    )


def parse_next_hops(entry: Entry, family: int) -> Iterator[NextHop]:
    """The single next hop, or those of a multipath route."""
    if not entry.has("nexthops"):
        yield parse_next_hop(entry, family)
        return
    for hop in entry.entries("nexthops", "nexthop"):
        if hop.has("encap"):
            raise UnsupportedFeatureError(f"{hop.what}: an encapsulation (encap) is not emulated", hop.source)
        yield parse_next_hop(hop, family)


def parse_next_hop(entry: Entry, family: int) -> NextHop:
    """A device, a gateway, or both."""
    return NextHop(
        device=device_name(entry, "dev") if entry.has("dev") else None,
        gateway=parse_gateway(entry, family),
        weight=entry.number("weight", 256, default=1, low=1),
        flags=entry.words("flags"),
    )


def parse_gateway(entry: Entry, family: int) -> IpAddress | None:
    """`gateway`, or the `via` object of a next hop of the other family."""
    if entry.has("via"):
        via = Entry(entry.mapping("via"), entry.what, entry.source)
        return via.address("host", 6 if via.text("family", "inet6") == "inet6" else 4)
    return entry.address("gateway", family) if entry.has("gateway") else None


def parse_table(entry: Entry) -> int:
    """A table by name or number; missing means main."""
    text = entry.text("table", "main")
    return TABLES[text] if text in TABLES else entry.number("table")


def parse_tos(entry: Entry, key: str) -> int:
    """A type of service as `ip` prints it: hexadecimal, or a name of /etc/iproute2/rt_dsfield."""
    text = entry.text(key, "0")
    if text in TOS_NAMES:
        return TOS_NAMES[text]
    try:
        value = int(text, 16)
    except ValueError:
        value = -1
    if not 0 <= value <= 255:
        raise entry.error(f"{key!r} is {text!r}: expected a type of service such as 0x10")
    return value


def parse_rules(text: str, family: int, source: str) -> tuple[PolicyRule, ...]:
    """The policy rules in their order."""
    return tuple(parse_rule(entry, family) for entry in read_entries(text, source, "rule"))


def parse_rule(entry: Entry, family: int) -> PolicyRule:
    """One rule."""
    for key, what in UNSUPPORTED_RULE.items():
        if entry.has(key):
            raise UnsupportedFeatureError(f"{entry.what}: the selector {what} is not emulated", entry.source)
    action = "nop" if entry.has("nop") else "goto" if entry.has("goto") else entry.text("action", "lookup")
    if action not in ("lookup", "goto", "nop", "blackhole", "unreachable", "prohibit"):
        raise entry.error(f"'action' is {action!r}: expected lookup, goto, nop, blackhole, unreachable or prohibit")
    mark = entry.number("fwmark", default=0)
    uids = (entry.number("uid_start"), entry.number("uid_end")) if entry.has("uid_start") else None
    return PolicyRule(
        family=family,
        priority=entry.number("priority", default=0),
        action=action,
        table=parse_table(entry) if entry.has("table") else 0,
        source=parse_selector(entry, "src", family),
        destination=parse_selector(entry, "dst", family),
        in_interface=device_name(entry, "iif") if entry.has("iif") else None,
        out_interface=device_name(entry, "oif") if entry.has("oif") else None,
        mark=mark,
        mark_mask=entry.number("fwmask", default=U32 if entry.has("fwmark") else 0),
        tos=parse_tos(entry, "tos") if entry.has("tos") else parse_dscp(entry),
        dscp_full=entry.has("dscp"),
        protocol=parse_protocol(entry),
        source_ports=parse_ports(entry, "sport"),
        destination_ports=parse_ports(entry, "dport"),
        uid_range=uids,
        suppress_prefix_length=entry.number("suppress_prefixlen", 128) if entry.has("suppress_prefixlen") else None,
        suppress_group=parse_group(entry, "suppress_ifgroup") if entry.has("suppress_ifgroup") else None,
        goto=entry.number("goto", default=0),
        negated=entry.has("not"),
        l3mdev=entry.has("l3mdev"),
        realms=entry.has("flow_to") or entry.has("flow_from"),
    )


def parse_selector(entry: Entry, key: str, family: int) -> IpNetwork | None:
    """`src` or `dst` with its length in `srclen` or `dstlen`; None for any."""
    text = entry.text(key, "all")
    if text in ("all", "any", "default"):
        return None
    bits = 32 if family == 4 else 128
    whole = text if "/" in text else f"{text}/{entry.number(key + 'len', bits, default=bits)}"
    return Entry({key: whole}, entry.what, entry.source).network(key, family)


def parse_dscp(entry: Entry) -> int:
    """The type of service of a `dscp` selector, 0 without one."""
    return entry.number("dscp", 63) << 2 if entry.has("dscp") else 0


def parse_protocol(entry: Entry) -> int:
    """`ipproto` by name or number, 0 for any."""
    text = entry.text("ipproto", "0")
    return PROTOCOLS[text] if text in PROTOCOLS else entry.number("ipproto", 255, default=0)


def parse_ports(entry: Entry, key: str) -> tuple[int, int] | None:
    """`sport` or `dport`: one port, or a range in KEY_start and KEY_end."""
    if entry.has(key):
        port = entry.number(key, U16)
        return port, port
    if entry.has(f"{key}_start"):
        return entry.number(f"{key}_start", U16), entry.number(f"{key}_end", U16)
    return None
