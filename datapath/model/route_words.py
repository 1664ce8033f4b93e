"""Routes and policy rules in the words of `ip route` and `ip rule`, for reports."""

from __future__ import annotations

from datapath.model.host import TABLE_MAIN, TABLES, IpNetwork, PolicyRule, Route

TABLE_NAMES = {number: name for name, number in TABLES.items()}


def table_name(number: int) -> str:
    """`main`, `local`, or the number."""
    return TABLE_NAMES.get(number, str(number))


def prefix_text(prefix: IpNetwork) -> str:
    """`default` for everything, an address alone for a single one."""
    if prefix.prefixlen == 0:
        return "default"
    return str(prefix.network_address) if prefix.prefixlen == prefix.max_prefixlen else str(prefix)


def route_text(route: Route) -> str:
    """As `ip route` prints it, without what does not decide anything."""
    words = [] if route.type == "unicast" else [route.type]
    words.append(prefix_text(route.destination))
    for hop in route.next_hops:
        words += ["nexthop"] if len(route.next_hops) > 1 else []
        words += ["via", str(hop.gateway)] if hop.gateway is not None else []
        words += ["dev", hop.device] if hop.device is not None else []
    words += ["table", table_name(route.table)] if route.table != TABLE_MAIN else []
    words += ["src", str(route.source)] if route.source is not None else []
    words += ["metric", str(route.metric)] if route.metric else []
    return " ".join(words)


def policy_rule_text(rule: PolicyRule) -> str:
    """As `ip rule` prints it: priority, selectors, action."""
    words = [f"{rule.priority}:"] + ["not"] * rule.negated
    words += ["from", "all" if rule.source is None else str(rule.source)]
    words += ["to", str(rule.destination)] if rule.destination is not None else []
    words += ["fwmark", f"{rule.mark:#x}" + (f"/{rule.mark_mask:#x}" if rule.mark_mask != 0xFFFFFFFF else "")] if rule.mark_mask else []
    words += ["iif", rule.in_interface] if rule.in_interface else []
    words += ["oif", rule.out_interface] if rule.out_interface else []
    if rule.action == "lookup":
        return " ".join([*words, "lookup", table_name(rule.table)])
    return " ".join([*words, rule.action] + ([str(rule.goto)] if rule.action == "goto" else []))
