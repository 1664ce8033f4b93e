"""What an entry's translation lives through: changed routes, closed connections, loopback, devices without addresses."""

from __future__ import annotations

from typing import Any

from tests.kernel.nat_packets import FAMILIES, address, echo, tcp, udp
from tests.kernel.table import KernelCase, check, each, local, node, rules, wire
from tests.kernel.test_nat_bindings import case, to

FAR = {4: "172.16.5.5", 6: "fd00:5::5"}


def other_route(family: int) -> dict[str, Any]:
    """A node where the mark 1 leads to eth2."""
    where = "default via 203.0.113.3 table 100" if family == 4 else "default via fd00:3::3 table 100"
    usual = node()
    routes, policy = ("routes", "rules") if family == 4 else ("routes6", "rules6")
    return node(**{routes: [*usual[routes], where], policy: ["fwmark 1 table 100"]})


def changed_routes(family: int) -> list[KernelCase]:
    client = address(family, "client", 2)
    found = []
    for target in ("MASQUERADE", f"SNAT --to-source {address(family, 'server', 50)}"):
        text = rules("-t mangle -A PREROUTING -m dscp --dscp 1 -j MARK --set-mark 1", f"-t nat -A POSTROUTING -j {target}")
        given = {"rules": text} if family == 4 else {"rules": "", "rules6": text}
        marked = {"tos": 4} if family == 4 else {"tc": 4}
        found.append(KernelCase(
            f"{target.split()[0]}, then another way out IPv{family}", **given, node=other_route(family),  # type: ignore[arg-type]
            packets=[wire("eth0", udp(client, 2000, FAR[family], 53)), wire("eth0", udp(client, 2000, FAR[family], 53, **marked)),
                     wire("eth0", udp(client, 2000, FAR[family], 53, **marked)), wire("eth0", udp(client, 2000, FAR[family], 53))]))
    return found


def closed(client: str, sport: int, server: str, outside: str, oport: int) -> list:
    """A connection from its first packet to TIME_WAIT."""
    return [
        wire("eth0", tcp(client, sport, server, 80, "S", 1000)), wire("eth1", tcp(server, 80, outside, oport, "SA", 5000, 1001)),
        wire("eth0", tcp(client, sport, server, 80, "A", 1001, 5001)), wire("eth0", tcp(client, sport, server, 80, "FA", 1001, 5001)),
        wire("eth1", tcp(server, 80, outside, oport, "FA", 5001, 1002)), wire("eth0", tcp(client, sport, server, 80, "A", 1002, 5002))]


def time_wait(family: int) -> list[KernelCase]:
    """A port of a connection in TIME_WAIT is taken over when sequence numbers have gone on, else not."""
    client, other, server = address(family, "client", 2), address(family, "client", 3), address(family, "server", 2)
    outside = address(family, "server", 1)
    one_port = "-A POSTROUTING -p tcp -j MASQUERADE --to-ports 4000"
    few_ports = "-A POSTROUTING -p tcp -j MASQUERADE --to-ports 4000-4001"
    return [
        case("a port in TIME_WAIT is taken over", family, [one_port],
             [*closed(client, 2000, server, outside, 4000), wire("eth0", tcp(other, 3000, server, 80, "S", 1003)),
              wire("eth1", tcp(server, 80, outside, 4000, "SA", 9000, 1004))]),
        case("a port in TIME_WAIT is not taken over by older numbers", family, [one_port],
             [*closed(client, 2000, server, outside, 4000),
              *(wire("eth0", tcp(other, 3000, server, 80, "S", seq)) for seq in (900, 1001, 1002))]),
        case("a port in TIME_WAIT is not taken over without a SYN", family, [one_port],
             [*closed(client, 2000, server, outside, 4000), wire("eth0", tcp(other, 3000, server, 80, "A", 2000, 1))]),
        case("a port of a live connection is not taken over", family, [one_port],
             [*closed(client, 2000, server, outside, 4000)[:4], wire("eth0", tcp(other, 3000, server, 80, "S", 2000))]),
        case("one of few ports may be one in TIME_WAIT", family, [few_ports],
             [*closed(client, 4000, server, outside, 4000), wire("eth0", tcp(other, 4001, server, 80, "S", 2000)),
              wire("eth0", tcp(other, 4000, server, 80, "S", 2000))]),
        case("the same client again after TIME_WAIT", family, [one_port],
             [*closed(client, 2000, server, outside, 4000), wire("eth0", tcp(client, 2000, server, 80, "S", 9000)),
              wire("eth1", tcp(server, 80, outside, 4000, "SA", 9000, 9001))]),
    ]


def loops(family: int) -> list[KernelCase]:
    own, far_side, vip = address(family, "client", 1), address(family, "server", 1), address(family, "beyond", 9)
    home = "127.0.0.1" if family == 4 else "::1"
    server = address(family, "server", 2)
    reachable = node(sysctl={"net.ipv4.conf.all.route_localnet": "1"})
    return [
        case("a packet of the node to itself is translated once", family,
             [f"-A OUTPUT -p udp -j DNAT --to-destination {to(family, 'client', 1, ports='5300')}",
              f"-A PREROUTING -p udp -j DNAT --to-destination {to(family, 'client', 1, ports='5400')}",
              "-A POSTROUTING -o lo -j MASQUERADE", f"-A INPUT -j SNAT --to-source {vip}"],
             [local(udp(own, 2000, vip, 53)), local(udp(far_side, 2000, vip, 53))]),
        case("from a loopback address to a server", family,
             [f"-A OUTPUT -p udp -d {home} -j DNAT --to-destination {server}", "-A POSTROUTING -o eth1 -j MASQUERADE"],
             [local(udp(home, 2000, home, 53)), wire("eth1", udp(server, 53, far_side, 2000))], node=reachable),
        case("SNAT of a loopback packet", family, [f"-A POSTROUTING -o lo -p udp -j SNAT --to-source {far_side}"],
             [local(udp(own, 2000, own, 53)), local(udp(own, 53, far_side, 2000))]),
    ]


def bare_devices() -> list[KernelCase]:
    interfaces = {name: {"mac": one["mac"], "addresses": [] if name == "eth1" else one["addresses"][:1]}
                  for name, one in node()["interfaces"].items()}
    bare = node(interfaces=interfaces, ipv6=False, routes=["172.16.0.0/16 dev eth1", "default via 203.0.113.2"], routes6=[],
                neighbours={"172.16.5.5": ["02:00:00:00:02:05", "eth1"], "203.0.113.2": ["02:00:00:00:03:02", "eth2"],
                            "192.0.2.2": ["02:00:00:00:01:02", "eth0"]})
    return [
        case("REDIRECT without an address to go to", 4, ["-A PREROUTING -j REDIRECT"],
             [wire("eth1", udp("172.16.5.5", 2000, "203.0.113.9", 53)), wire("eth0", udp("192.0.2.2", 2000, "203.0.113.9", 53))],
             node=bare),
        case("MASQUERADE by a device without an address", 4, ["-A POSTROUTING -j MASQUERADE"],
             [wire("eth0", udp("192.0.2.2", 2000, "172.16.5.5", 53))], node=bare),
    ]


def null_bindings(family: int) -> list[KernelCase]:
    client, server, own = address(family, "client", 2), address(family, "server", 2), address(family, "client", 1)
    return [
        case("what DNAT and SNAT leave alone stays so", family,
             [f"-A PREROUTING -d {own} -j DNAT --to-destination {own}", f"-A POSTROUTING -s {client} -j SNAT --to-source {client}"],
             [wire("eth0", udp(client, 2000, own, 53)), wire("eth0", udp(client, 2000, server, 53)),
              wire("eth0", echo(client, server, 1))]),
        case("a source that answers is not new", family, [f"-A POSTROUTING -o eth0 -j SNAT --to-source {own}"],
             [wire("eth0", udp(client, 2000, server, 53)), wire("eth1", udp(server, 53, client, 2000)),
              wire("eth1", udp(server, 54, client, 2000)), wire("eth0", udp(client, 2000, own, 54))]),
    ]


CASES = [*(item for make in (changed_routes, time_wait, loops, null_bindings) for family in FAMILIES for item in make(family)),
         *bare_devices()]


@each(CASES)
def test_entry(case: KernelCase) -> None:
    check(case)
