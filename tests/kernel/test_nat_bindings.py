"""Every form of every NAT rule, both families, both directions, compared with the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scapy.packet import Packet

from tests.kernel.nat_packets import FAMILIES, address, echo, ip, tcp, udp
from tests.kernel.table import KernelCase, check, each, local, node, rules, wire

MORE_ADDRESSES = {
    "eth0": {"mac": "02:00:00:00:00:01",
             "addresses": ["192.0.2.1/24", "192.0.2.101/24", "192.0.2.102/24", "fd00:1::1/64", "fd00:1::101/64"]},
    "eth1": {"mac": "02:00:00:00:00:02",
             "addresses": ["198.51.100.1/24", "198.51.100.101/24", "172.18.0.1/16", "fd00:2::1/64", "fd00:2::101/64"]},
    "eth2": {"mac": "02:00:00:00:00:03", "addresses": ["203.0.113.1/24", "fd00:3::1/64", "fd00:3::101/64"]},
}  # fmt: skip


def to(family: int, role: str, first: int, last: int | None = None, ports: str = "") -> str:
    """An address or a range of them, with ports, as NAT options spell it."""
    text = address(family, role, first) + (f"-{address(family, role, last)}" if last else "")
    return f"{f'[{text}]' if family == 6 else text}:{ports}" if ports else text


def case(name: str, family: int, lines: list[str], packets: list, **more: object) -> KernelCase:
    text = rules(*(f"-t nat {line}" for line in lines))
    given = {"rules": text} if family == 4 else {"rules": "", "rules6": text}
    return KernelCase(f"{name} IPv{family}", **given, packets=packets, **more)  # type: ignore[arg-type]


def both(make: Callable[[int], list[KernelCase]]) -> list[KernelCase]:
    return [item for family in FAMILIES for item in make(family)]


def there_and_back(family: int, vip: str, vport: int, server: str, sport: int) -> list:
    """A client asks a virtual address over TCP and UDP and the server answers, twice."""
    client = address(family, "client", 2)
    packets = []
    for turn in range(2):
        packets += [
            wire("eth0", udp(client, 2000, vip, vport, b"q%d" % turn)),
            wire("eth1", udp(server, sport, client, 2000, b"a%d" % turn))]
    return [
        *packets, wire("eth0", tcp(client, 3000, vip, vport, "S", 100)),
        wire("eth1", tcp(server, sport, client, 3000, "SA", 500, 101)),
        wire("eth0", tcp(client, 3000, vip, vport, "A", 101, 501)),
        wire("eth0", tcp(client, 3000, vip, vport, "PA", 101, 501, b"hello")),
        wire("eth1", tcp(server, sport, client, 3000, "FA", 501, 106))]


def many(family: int, role: str, numbers: Iterable[int]) -> list:
    """Six clients, each with a port of its own, to several addresses."""
    return [wire("eth0", udp(address(family, "client", n), 2000 + n, address(family, role, m), 53)) for n in range(2, 8) for m in numbers]


def dnat(family: int) -> list[KernelCase]:
    vip, server, client = address(family, "client", 1), address(family, "server", 2), address(family, "client", 2)
    one = to(family, "server", 2)
    return [
        case("DNAT to an address", family, [f"-A PREROUTING -j DNAT --to-destination {one}"],
             [*there_and_back(family, vip, 80, server, 80), wire("eth0", echo(client, vip, 7)),
              wire("eth1", echo(server, client, 7, reply=True))]),
        *(case(f"DNAT to an address and port, {protocol}", family,
               [f"-A PREROUTING -p {protocol} --dport 80 -j DNAT --to-destination {to(family, 'server', 2, ports='8080')}"],
               [*there_and_back(family, vip, 80, server, 8080), wire("eth0", udp(client, 9, vip, 81))]) for protocol in ("tcp", "udp")),
        case("DNAT to a port alone", family, ["-A PREROUTING -p udp -j DNAT --to-destination :8080"],
             [wire("eth0", udp(client, 2000, vip, 53)), local(udp(vip, 8080, client, 2000)), wire("eth0", udp(client, 2000, server, 53)),
              wire("eth1", udp(server, 8080, client, 2000))]),
        case("DNAT to a range of addresses", family, [f"-A PREROUTING -j DNAT --to-destination {to(family, 'server', 2, 7)}"],
             many(family, "beyond", range(5))),
        case("DNAT to a range, persistent", family, [f"-A PREROUTING -j DNAT --to-destination {to(family, 'server', 2, 7)} --persistent"],
             many(family, "beyond", range(5))),
        case("DNAT to a range of ports takes the first that is free, and a new source port at its end", family,
             [f"-A PREROUTING -p udp -j DNAT --to-destination {to(family, 'server', 2, ports='8000-8003')}"],
             [wire("eth0", udp(client, 2000, address(family, "beyond", m), 53)) for m in range(2, 9)]),
        case("DNAT to a range of ports that has the port", family,
             [f"-A PREROUTING -p udp -j DNAT --to-destination {to(family, 'server', 2, ports='50-60')}"],
             [wire("eth0", udp(client, 2000, address(family, "beyond", m), port)) for m in (2, 3) for port in (53, 60, 61, 49)]),
        case("DNAT to a range of ports, random", family,
             [f"-A PREROUTING -p udp -j DNAT --to-destination {to(family, 'server', 2, ports='8000-8009')} --random"],
             [wire("eth0", udp(client, 2000 + m % 3, address(family, "beyond", m % 7), 8000 + m)) for m in range(20)]),
        case("DNAT with a base port", family,
             [f"-A PREROUTING -p udp --dport 5000:5009 -j DNAT --to-destination {to(family, 'server', 2, ports='8000-8009/5000')}"],
             [wire("eth0", udp(client, 2000, vip, port)) for port in (5000, 5003, 5009)]
             + [wire("eth1", udp(server, 8003, client, 2000)), wire("eth0", udp(client, 2000, address(family, "client", 9), 5003))]),
        case("DNAT with a base port beyond the range", family,
             [f"-A PREROUTING -p tcp -j DNAT --to-destination {to(family, 'server', 2, ports='8000-8002/5000')}"],
             [wire("eth0", tcp(client, 2000, vip, port)) for port in (4999, 5000, 5004, 1, 65535)]),
        case("a second DNAT rule is not asked", family,
             ["-A PREROUTING -p udp -j ACCEPT", f"-A PREROUTING -j DNAT --to-destination {one}"],
             [wire("eth0", udp(client, 2000, vip, 53)), wire("eth0", tcp(client, 2000, vip, 53))]),
    ]


def local_dnat(family: int) -> list[KernelCase]:
    vip, server, own = address(family, "client", 9), address(family, "server", 2), address(family, "client", 1)
    loop = "127.0.0.1" if family == 4 else "::1"
    return [
        case("DNAT of a local packet is routed anew", family,
             [f"-A OUTPUT -p udp -j DNAT --to-destination {to(family, 'server', 2, ports='8053')}"],
             [local(udp(own, 2000, vip, 53)), wire("eth1", udp(server, 8053, own, 2000)), local(udp(own, 2000, vip, 53, b"again")),
              local(udp(address(family, "server", 1), 2001, vip, 53))]),
        case("DNAT of a local packet to the node", family, [f"-A OUTPUT -p udp -j DNAT --to-destination {own}"],
             [local(udp(own, 2000, vip, 53)), local(udp(own, 53, own, 2000))]),
        case("REDIRECT in OUTPUT", family, ["-A OUTPUT -p udp -j REDIRECT --to-ports 5300"],
             [local(udp(own, 2000, vip, 53)), local(udp(loop, 5300, own, 2000))]),
        case("REDIRECT in OUTPUT of an echo", family, ["-A OUTPUT -j REDIRECT"], [local(echo(own, vip, 5))],
             skip=frozenset({"hits", "counters", "conntrack"})),   # through lo the kernel's echo service does answer
    ]


def redirect(family: int) -> list[KernelCase]:
    client, vip, own = address(family, "client", 2), address(family, "beyond", 9), address(family, "client", 1)
    return [
        case("REDIRECT goes to the first address of the device", family, ["-A PREROUTING -j REDIRECT"],
             [wire("eth0", udp(client, 2000, vip, 53)), local(udp(own, 53, client, 2000)), wire("eth0", echo(client, vip, 5)),
              wire("eth1", udp(address(family, "server", 2), 2000, vip, 53))], node=node(interfaces=MORE_ADDRESSES)),
        case("REDIRECT to a port", family, ["-A PREROUTING -p tcp -j REDIRECT --to-ports 8080"],
             [wire("eth0", tcp(client, 2000, vip, 80)), local(tcp(own, 8080, client, 2000, "SA", 7, 1001)),
              wire("eth0", tcp(client, 2000, vip, 80, "A", 1001, 8))]),
        case("REDIRECT to a range of ports", family, ["-A PREROUTING -p udp -j REDIRECT --to-ports 8080-8081"],
             [wire("eth0", udp(client, 2000, address(family, "beyond", m), 53)) for m in range(2, 6)], skip=frozenset({"conntrack"})),
        case("REDIRECT to a range of ports, random", family, ["-A PREROUTING -p udp -j REDIRECT --to-ports 8080-8080 --random"],
             [wire("eth0", udp(client, 2000, vip, 53))]),
    ]


def link_local_redirect() -> list[KernelCase]:
    return [case("REDIRECT of a packet to a link-local address stays in its scope", 6, ["-A PREROUTING -j REDIRECT"],
                 [wire("eth0", udp("fd00:1::2", 2000, "fe80::99", 53))], skip=frozenset({"conntrack"}))]


def snat(family: int) -> list[KernelCase]:
    client, server, outside = address(family, "client", 2), address(family, "server", 2), address(family, "server", 50)
    exchange = [wire("eth0", udp(client, 2000, server, 53)), wire("eth1", udp(server, 53, outside, 2000)),
                wire("eth0", udp(client, 2000, server, 53, b"again")), wire("eth0", tcp(client, 2000, server, 80)),
                wire("eth1", tcp(server, 80, outside, 2000, "SA", 7, 1001)), wire("eth0", echo(client, server, 77)),
                wire("eth1", echo(server, outside, 77, reply=True))]
    clashing = [wire("eth0", udp(address(family, "client", n), 2000, server, 53)) for n in range(2, 8)]
    post = "-A POSTROUTING -o eth1"
    return [
        case("SNAT to an address", family, [f"{post} -j SNAT --to-source {outside}"], exchange),
        case("SNAT to an address and port", family, [f"{post} -p udp -j SNAT --to-source {to(family, 'server', 50, ports='7777')}"],
             [wire("eth0", udp(client, 2000, server, 53)), wire("eth1", udp(server, 53, outside, 7777)),
              wire("eth0", udp(client, 2001, server, 54)), wire("eth0", udp(client, 2001, server, 53))]),
        case("SNAT to a range of addresses", family, [f"{post} -j SNAT --to-source {to(family, 'server', 50, 99)}"],
             many(family, "server", (2, 3, 4))),
        case("SNAT to a range of addresses, persistent", family,
             [f"{post} -j SNAT --to-source {to(family, 'server', 50, 99)} --persistent"],
             many(family, "server", (2, 3, 4))),
        case("SNAT to a wide range of addresses", family,
             [f"{post} -j SNAT --to-source {'10.1.2.3-10.9.8.7' if family == 4 else 'fd00:2:1::5-fd00:2:9:3::4'}"],
             many(family, "server", (2, 3, 4))),
        case("the same source keeps its translation", family, [f"{post} -j SNAT --to-source {to(family, 'server', 50, 99)}"],
             [wire("eth0", udp(client, 2000, address(family, "server", m), port)) for m in (2, 3, 4) for port in (53, 54)]),
        case("SNAT clash of ports", family, [f"{post} -j SNAT --to-source {outside}"], clashing),
        case("SNAT clash of low ports", family, [f"{post} -j SNAT --to-source {outside}"],
             [wire("eth0", udp(address(family, "client", n), port, server, 53))
              for port in (7, 511, 512, 1023, 1024, 65535) for n in (2, 3, 4)]),
        case("SNAT clash of echo ids", family, [f"{post} -j SNAT --to-source {outside}"],
             [wire("eth0", echo(address(family, "client", n), server, 77, seq=n)) for n in range(2, 8)]),
        case("SNAT to a range of ports", family, [f"{post} -p udp -j SNAT --to-source {to(family, 'server', 50, ports='7000-7009')}"],
             [*clashing, wire("eth0", udp(client, 7005, server, 53)), wire("eth0", udp(address(family, "client", 3), 7005, server, 53))]),
        case("SNAT drops when its range is exhausted", family,
             [f"{post} -p udp -j SNAT --to-source {to(family, 'server', 50, ports='7000-7003')}"], clashing),
        case("SNAT to one port drops a clash", family,
             [f"{post} -p udp -j SNAT --to-source {to(family, 'server', 50, ports='2000')}"], clashing),
        *(case(f"SNAT {option}", family, [f"{post} -j SNAT --to-source {outside} {option}"],
               [*exchange[:1], *clashing, *exchange[3:4], *exchange[5:6]])
          for option in ("--random", "--random-fully")),
        case("SNAT to a range of ports, random", family,
             [f"{post} -p udp -j SNAT --to-source {to(family, 'server', 50, 51, ports='7000-7063')} --random-fully"], clashing),
        case("SNAT of what is delivered", family, [f"-A INPUT -p udp -j SNAT --to-source {to(family, 'beyond', 50, ports='4000')}"],
             [wire("eth0", udp(client, 2000, address(family, "client", 1), 53)),
              local(udp(address(family, "client", 1), 53, address(family, "beyond", 50), 4000)),
              wire("eth0", udp(client, 2000, address(family, "client", 1), 53, b"again"))]),
        case("SNAT of a local packet", family, [f"-A POSTROUTING -p udp -j SNAT --to-source {outside}"],
             [local(udp(address(family, "server", 1), 2000, server, 53)), wire("eth1", udp(server, 53, outside, 2000))]),
    ]


def icmp_ids() -> list[KernelCase]:
    server = address(4, "server", 2)
    return [case("SNAT to a range of echo ids", 4, ["-A POSTROUTING -p icmp -j SNAT --to-source 198.51.100.50:5-9"],
                 [wire("eth0", echo(address(4, "client", n), server, 77, seq=n)) for n in range(2, 8)]
                 + [wire("eth0", echo(address(4, "client", 2), server, 5))]),
            case("DNAT to a range of echo ids", 4, ["-A PREROUTING -p icmp -j DNAT --to-destination 198.51.100.2:5-6"],
                 [wire("eth0", echo(address(4, "client", 2), address(4, "beyond", n), 77, seq=n)) for n in range(2, 6)])]


def masquerade(family: int) -> list[KernelCase]:
    client, server = address(family, "client", 2), address(family, "server", 2)
    post = "-A POSTROUTING -o eth1 -j MASQUERADE"
    far = "172.16.5.5" if family == 4 else "fd00:5::5"
    packets = [wire("eth0", udp(client, 2000, server, 53)), wire("eth1", udp(server, 53, address(family, "server", 1), 2000)),
               wire("eth0", udp(client, 2000, far, 53)), wire("eth0", tcp(client, 80, server, 80)), wire("eth0", echo(client, server, 5)),
               wire("eth0", udp(client, 2000, address(family, "beyond", 9), 53))]
    return [
        case("MASQUERADE", family, [post], packets),
        case("MASQUERADE with several addresses", family, [post], packets, node=node(interfaces=MORE_ADDRESSES)),
        case("MASQUERADE to ports", family, ["-A POSTROUTING -o eth1 -p udp -j MASQUERADE --to-ports 4000-4003"],
             [wire("eth0", udp(address(family, "client", n), 2000, server, 53)) for n in range(2, 8)]),
        case("MASQUERADE random-fully", family, [f"{post} --random-fully"],
             [wire("eth0", udp(address(family, "client", n), 2000, server, 53)) for n in range(2, 8)]),
        case("MASQUERADE avoids what a local process uses", family, [post],
             [local(udp(address(family, "server", 1), 2000, server, 53)), wire("eth0", udp(client, 2000, server, 53))]),
        case("a local process gets another port than it asked for", family, [post],
             [wire("eth0", udp(client, 2000, server, 53)), local(udp(address(family, "server", 1), 2000, server, 53))]),
    ]


def netmap(family: int) -> list[KernelCase]:
    client, server, own = address(family, "client", 2), address(family, "server", 2), address(family, "client", 1)
    inside, outer = ("198.51.100.0/24", "203.0.113.128/25") if family == 4 else ("fd00:2::/64", "fd00:3::100:0/112")
    vip = "192.0.2.2" if family == 4 else "fd00:3::2"
    mapped = "203.0.113.130" if family == 4 else "fd00:3::100:2"
    return [
        case("NETMAP of destinations", family, [f"-A PREROUTING -i eth0 -j NETMAP --to {inside}"],
             [wire("eth0", udp(client, 2000, vip, 53)), wire("eth1", udp(server, 53, client, 2000)), wire("eth0", echo(client, vip, 9))]),
        case("NETMAP of sources", family, [f"-A POSTROUTING -j NETMAP --to {outer}"],
             [wire("eth0", udp(client, 2000, server, 53)), wire("eth1", udp(server, 53, mapped, 2000)),
              wire("eth0", tcp(client, 5, server, 80))]),
        case("NETMAP of local packets", family, [f"-A OUTPUT -j NETMAP --to {inside}"],
             [local(udp(own, 2000, vip, 53)), wire("eth1", udp(server, 53, own, 2000))]),
        case("NETMAP in INPUT", family, [f"-A INPUT -j NETMAP --to {outer}"], [wire("eth0", udp(client, 2000, own, 53))]),
        case("NETMAP to a single address", family, [f"-A PREROUTING -j NETMAP --to {server}"], [wire("eth0", udp(client, 2000, vip, 53))]),
    ]


def together(family: int) -> list[KernelCase]:
    client, server, own = address(family, "client", 2), address(family, "server", 2), address(family, "client", 1)
    other = address(family, "client", 3)
    service = f"-A PREROUTING -p udp --dport 53 -j DNAT --to-destination {to(family, 'server', 2, ports='5353')}"
    return [
        case("DNAT and MASQUERADE on one connection", family, [service, "-A POSTROUTING -j MASQUERADE"],
             [wire("eth0", udp(client, 2000, own, 53)), wire("eth1", udp(server, 5353, address(family, "server", 1), 2000)),
              wire("eth0", udp(client, 2000, own, 53, b"again"))]),
        case("hairpin", family, [f"-A PREROUTING -p udp -j DNAT --to-destination {other}", "-A POSTROUTING -j MASQUERADE"],
             [wire("eth0", udp(client, 2000, own, 53)), wire("eth0", udp(other, 53, own, 2000)),
              wire("eth0", udp(other, 2000, own, 53))]),
        case("two DNATs to one server get different source ports", family,
             [f"-A PREROUTING -j DNAT --to-destination {server}"],
             [wire("eth0", packet) for m in (5, 6, 7) for packet in (
                 udp(client, 2000, address(family, "beyond", m), 53), tcp(client, 2000, address(family, "beyond", m), 80),
                 echo(client, address(family, "beyond", m), 9))]),
        case("a connection that no rule matches has a null binding that others keep clear of", family,
             [f"-A POSTROUTING -s {other} -j SNAT --to-source {client}"],
             [wire("eth0", udp(client, 2000, server, 53)), wire("eth0", udp(other, 2000, server, 53)),
              wire("eth0", udp(other, 3000, server, 53)), wire("eth0", udp(client, 3000, server, 53))]),
        case("other protocols are translated by address", family,
             [f"-A PREROUTING -j DNAT --to-destination {server}", f"-A POSTROUTING -j SNAT --to-source {address(family, 'server', 50)}"],
             [wire("eth0", packet_of(family, protocol, client, own)) for protocol in (253, 132, 136, 33, 47, 50, 2)]),
    ]


def packet_of(family: int, protocol: int, source: str, destination: str) -> Packet:
    header = ip(source, destination)
    if family == 4:
        header.proto = protocol
    else:
        header.nh = protocol
    return header / bytes.fromhex("07d00035001400000000000000000000000000000000")


CASES = [
    *both(dnat), *both(local_dnat), *both(redirect), *link_local_redirect(), *both(snat), *icmp_ids(), *both(masquerade), *both(netmap),
    *both(together),
]


@each(CASES)
def test_binding(case: KernelCase) -> None:
    check(case)
