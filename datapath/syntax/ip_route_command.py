"""`ip route ...` and `ip rule ...` as commands."""

from __future__ import annotations

from dataclasses import replace

from datapath.errors import UnsupportedFeatureError
from datapath.model import edit
from datapath.model.host import METRIC_IPV6_USER, PREFERENCES, ROUTE_TYPES, SCOPES, TABLES, Host, NextHop, PolicyRule, Route
from datapath.syntax.ip_route_json import PROTOCOLS, TOS_NAMES
from datapath.syntax.ip_words import U32, Words


def apply_route(host: Host, action: str, words: Words, family: int) -> Host:
    """Route add, append, prepend, replace, change, del, flush."""
    if action == "flush":
        table = table_of(words) if words.rest[:1] == ["table"] and words.rest.pop(0) else TABLES["main"]
        if words.rest:
            raise UnsupportedFeatureError(f"ip {words.command}: route flush is emulated for a whole table only (table TABLE)")
        kept = tuple(route for route in host.routes if route.table != table or route.family != (family or 4))
        return replace(host, routes=kept)
    route, given = parse_route(words, family)
    if action in ("del", "delete"):
        return edit.without_route(host, route, given)
    if action not in ("add", "append", "prepend", "replace", "change"):
        raise words.error(f"route {action} is not understood: expected add, append, prepend, replace, change, del or flush")
    return edit.with_route(host, route, action)


def table_of(words: Words) -> int:
    """A table's name or number."""
    text = words.take("a table")
    return TABLES[text] if text in TABLES else Words(words.command, [text]).number("table")


def tos_of(words: Words) -> int:
    """A type of service."""
    text = words.take("a type of service")
    try:
        return TOS_NAMES[text] if text in TOS_NAMES else int(text, 16)
    except ValueError:
        raise words.error(f"tos is {text!r}: expected a number such as 0x10") from None


def parse_route(words: Words, family: int) -> tuple[Route, frozenset[str]]:
    """[TYPE] PREFIX and options; the names of the fields that were given."""
    found: dict[str, object] = {"type": words.take("a type") if words.rest and words.rest[0] in ROUTE_TYPES else "unicast"}
    given = {"type"} if found["type"] != "unicast" else set()
    text = words.rest[0] if words.rest else ""
    if not family:
        family = 6 if ":" in text or (text in ("default", "all") and any(":" in word for word in words.rest)) else 4
    destination = words.prefix("a destination", family)
    hops: list[NextHop] = []
    single: dict[str, object] = {}
    while words.rest:
        word = words.take("an option")
        if word in ("via", "dev", "onlink", "nexthop", "weight"):
            if word == "nexthop":
                hops.append(parse_nexthop(words))
            else:
                parse_hop_word(word, words, single)
            given.add("next_hops")
            continue
        if word == "from" and family == 6:
            found["for_sources"] = words.prefix("from", family)
            continue
        name, value = parse_route_option(word, words)
        if name:
            found[name] = value
            given.add(name)
    if single:
        hops = [NextHop(**single)]      # type: ignore[arg-type]
    found.setdefault("table", TABLES["local"] if found["type"] in ("local", "broadcast", "nat", "anycast") else TABLES["main"])
    if family == 6:
        found.setdefault("metric", METRIC_IPV6_USER)
    elif "scope" not in found:
        link = found["type"] in ("broadcast", "multicast", "anycast")
        link |= found["type"] == "unicast" and all(hop.gateway is None for hop in hops)
        found["scope"] = SCOPES["host"] if found["type"] == "local" else SCOPES["link"] if link else SCOPES["global"]
    return Route(family=family, destination=destination, next_hops=tuple(hops), **found), frozenset(given)     # type: ignore[arg-type]


def parse_route_option(word: str, words: Words) -> tuple[str, object]:
    """One option of a route: the field and its value; no field for what changes nothing here."""
    if word == "table":
        return "table", table_of(words)
    if word in ("metric", "priority", "preference"):
        return "metric", words.number(word)
    if word in ("tos", "dsfield"):
        return "tos", tos_of(words)
    if word == "src":
        return "source", words.address("src")
    if word == "scope":
        scope = words.take("a scope")
        return "scope", SCOPES[scope] if scope in SCOPES else Words(words.command, [scope]).number("scope", 255)
    if word == "proto":
        return "protocol", words.take("a protocol")
    if word == "pref":
        return "preference", PREFERENCES.get(words.take("a preference"), 0)
    if word == "mtu":
        if words.rest[:1] == ["lock"]:
            words.take("lock")
        return "mtu", words.number("mtu")
    if word == "hoplimit":
        return "hop_limit", words.number("hoplimit", 255)
    if word in ("advmss", "rtt", "window", "initcwnd", "initrwnd", "rto_min", "quickack", "congctl", "expires"):
        words.take(word)
        return "", None
    raise UnsupportedFeatureError(f"ip {words.command}: route option {word} is not emulated")


def parse_hop_word(word: str, words: Words, hop: dict[str, object]) -> None:
    """One of `via [inet6] GATEWAY`, `dev DEVICE`, `onlink`, `weight N`."""
    if word == "via":
        if words.rest[:1] in (["inet6"], ["inet"]):
            words.take("a family")
        hop["gateway"] = words.address("a gateway")
    elif word == "dev":
        hop["device"] = words.take("a device")
    elif word == "weight":
        hop["weight"] = words.number("weight", 256)
    elif word == "onlink":
        hop["flags"] = frozenset({"onlink"})
    hop.setdefault("device", None)


def parse_nexthop(words: Words) -> NextHop:
    """What follows `nexthop`."""
    hop: dict[str, object] = {}
    while words.rest and words.rest[0] in ("via", "dev", "onlink", "weight"):
        parse_hop_word(words.take("an option"), words, hop)
    return NextHop(**hop)       # type: ignore[arg-type]


def apply_rule(host: Host, action: str, words: Words, family: int) -> Host:
    """Rule add, del, flush."""
    family = family or (6 if any(":" in word for word in words.rest) else 4)
    if action == "flush":
        return edit.without_rules(host, [rule for rule in host.rules if rule.family == family and rule.priority != 0])
    rule, given = parse_rule(words, family)
    if action == "add":
        return edit.with_rule(host, rule if "priority" in given else replace(rule, priority=edit.next_priority(host, family)))
    if action not in ("del", "delete"):
        raise words.error(f"rule {action} is not understood: expected add, del or flush")
    for other in host.rules:
        if other.family == family and all(getattr(other, name) == getattr(rule, name) for name in given):
            return edit.without_rules(host, [other])
    raise words.error("no such rule")


def parse_rule(words: Words, family: int) -> tuple[PolicyRule, frozenset[str]]:
    """Selectors and action; the names of the fields that were given."""
    found: dict[str, object] = {}
    while words.rest:
        found |= parse_rule_word(words.take("a selector"), words, family)
    if found.get("action", "lookup") == "lookup" and "table" not in found:
        found["table"] = TABLES["main"]
    return PolicyRule(**{"family": family, "priority": 0, **found}), frozenset(found)      # type: ignore[arg-type]


def parse_rule_word(word: str, words: Words, family: int) -> dict[str, object]:
    """One selector or action."""
    if word == "not":
        return {"negated": True}
    if word in ("from", "to"):
        prefix = words.prefix(word, family)
        return {"source" if word == "from" else "destination": prefix if prefix.prefixlen else None}
    if word in ("iif", "dev", "oif"):
        return {"out_interface" if word == "oif" else "in_interface": words.take("a device")}
    if word == "fwmark":
        mark, _, mask = words.take("a mark").partition("/")
        return {"mark": int(mark, 0), "mark_mask": int(mask, 0) if mask else U32}
    if word in ("table", "lookup"):
        return {"table": table_of(words)}
    if word in ("priority", "preference", "order", "pref"):
        return {"priority": words.number("priority")}
    if word in ("blackhole", "unreachable", "prohibit", "nop"):
        return {"action": word}
    if word == "goto":
        return {"action": "goto", "goto": words.number("goto")}
    if word in ("tos", "dsfield"):
        return {"tos": tos_of(words)}
    if word == "ipproto":
        text = words.take("a protocol")
        return {"protocol": PROTOCOLS[text] if text in PROTOCOLS else Words(words.command, [text]).number("ipproto", 255)}
    if word in ("sport", "dport", "uidrange"):
        low, _, high = words.take(word).partition("-")
        name = {"sport": "source_ports", "dport": "destination_ports", "uidrange": "uid_range"}[word]
        return {name: (int(low), int(high or low))}
    if word in ("suppress_prefixlength", "sup_pl"):
        return {"suppress_prefix_length": words.number(word, 128)}
    if word in ("suppress_ifgroup", "sup_group"):
        return {"suppress_group": words.number(word)}
    if word == "l3mdev":
        return {"l3mdev": True}
    raise UnsupportedFeatureError(f"ip {words.command}: rule selector {word} is not emulated")
