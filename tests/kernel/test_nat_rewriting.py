"""What NAT does to the bytes of packets: ICMP errors with their quotations, checksums, fragments, headers in between."""

from __future__ import annotations

from scapy.layers.inet import IP, UDP, IPOption, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, fragment6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from datapath.lab.case import CasePacket
from tests.kernel.nat_packets import FAMILIES, address, echo, icmp_error, ip, tcp, udp
from tests.kernel.table import NODE_MACS, KernelCase, check, each, node, peer_mac, rules, wire
from tests.kernel.test_nat_bindings import case, to

UNREACHABLE = {4: [(3, code) for code in (0, 1, 2, 3, 4, 13)], 6: [(1, code) for code in (0, 1, 3, 4)]}
OTHER_ERRORS = {4: [(4, 0), (11, 0), (11, 1), (12, 0)], 6: [(2, 0), (3, 0), (3, 1), (4, 1)]}


def errors(family: int) -> list[KernelCase]:
    """About requests and replies of DNATed, SNATed and doubly translated connections, from the peer and from a router between."""
    client, server, own = address(family, "client", 2), address(family, "server", 2), address(family, "client", 1)
    outside = address(family, "server", 50)
    router, near_router = address(family, "server", 3), address(family, "client", 3)
    found = []
    for name, lines, asked, told, seen in (
            ("DNAT", [f"-A PREROUTING -i eth0 -j DNAT --to-destination {server}"], own, server, client),
            ("SNAT", [f"-A POSTROUTING -o eth1 -j SNAT --to-source {outside}"], server, server, outside),
            ("DNAT and SNAT", [f"-A PREROUTING -i eth0 -j DNAT --to-destination {server}",
                               f"-A POSTROUTING -o eth1 -j SNAT --to-source {outside}"], own, server, outside)):
        packets = []
        for number, (kind, code) in enumerate(UNREACHABLE[family] + OTHER_ERRORS[family]):
            port = 3000 + number
            request, translated = udp(client, port, asked, 53, b"question"), udp(seen, port, told, 53, b"question", ttl=61)
            reply, back = udp(told, 53, seen, port, b"answer!!"), udp(asked, 53, client, port, b"answer!!", ttl=61)
            packets += [
                wire("eth0", request), wire("eth1", icmp_error(told, seen, kind, code, translated, 1400)),
                wire("eth1", icmp_error(router, seen, kind, code, translated, 1400)),
                wire("eth1", reply), wire("eth0", icmp_error(client, asked, kind, code, back, 1400)),
                wire("eth0", icmp_error(near_router, asked, kind, code, back, 1400))]
        found.append(case(f"errors about UDP through {name}", family, lines, packets))
        request, translated = tcp(client, 3000, asked, 80), tcp(seen, 3000, told, 80, ttl=60)
        quoted = bytes(translated)
        header = 20 if family == 4 else 40
        found.append(case(f"errors about TCP and echoes through {name}, the quotation short or whole", family, lines, [
            wire("eth0", request),
            *(wire("eth1", icmp_error(router, seen, *UNREACHABLE[family][0], quoted[:header + n])) for n in (20, 19, 16, 8, 7, 4)),
            wire("eth0", echo(client, asked, 99)),
            wire("eth1", icmp_error(router, seen, *UNREACHABLE[family][0], echo(seen, told, 99, ttl=60))),
            wire("eth1", echo(told, seen, 99, reply=True)),
            wire("eth0", icmp_error(client, asked, *UNREACHABLE[family][0], echo(asked, client, 99, reply=True)))]))
    return found


def node_errors(family: int) -> list[KernelCase]:
    """The node itself answers with an error to a packet that it has translated."""
    client, server, own = address(family, "client", 2), address(family, "server", 2), address(family, "client", 1)
    nowhere = "172.17.5.5" if family == 4 else "fd00:6::5"
    return [
        case("the hop limit ends at the node", family,
             [f"-A PREROUTING -j DNAT --to-destination {to(family, 'server', 2, ports='8080')}".replace("-j", "-p udp -j"),
              "-A POSTROUTING -j MASQUERADE"],
             [wire("eth0", udp(client, 2000, own, 53, ttl=1)), wire("eth0", udp(client, 2000, own, 53)),
              wire("eth1", udp(server, 8080, address(family, "server", 1), 2000, ttl=1))]),
        case("the translated destination is a blackhole", family, [f"-A PREROUTING -j DNAT --to-destination {nowhere}"],
             [wire("eth0", udp(client, 2000, own, 53))]),
        KernelCase(f"REJECT of a translated packet IPv{family}", **{
            "rules" if family == 4 else "rules6": rules(
                f"-t nat -A PREROUTING -p udp -j DNAT --to-destination {to(family, 'server', 2, ports='8080')}",
                "-A FORWARD -p udp -j REJECT",
                f"-t nat -A PREROUTING -p tcp -j DNAT --to-destination {to(family, 'server', 2, ports='8080')}",
                "-A FORWARD -p tcp -j REJECT --reject-with tcp-reset"),
            **({"rules": ""} if family == 6 else {})},
            packets=[wire("eth0", udp(client, 2000, own, 53)), wire("eth0", tcp(client, 2000, own, 53))]),
    ]


def redirects() -> list[KernelCase]:
    """An ICMP redirect of a connection that is translated is dropped; of another one it passes."""
    client, server = address(4, "client", 2), address(4, "server", 2)
    gateway = int.from_bytes(bytes([198, 51, 100, 7]), "big")
    return [case("an ICMP redirect", 4, ["-A POSTROUTING -p udp -j SNAT --to-source 198.51.100.50"],
                 [wire("eth0", udp(client, 2000, server, 53)),
                  wire("eth1", icmp_error(address(4, "server", 3), "198.51.100.50", 5, 1, udp("198.51.100.50", 2000, server, 53), gateway)),
                  wire("eth0", tcp(client, 2000, server, 53)),
                  wire("eth1", icmp_error(address(4, "server", 3), client, 5, 1, tcp(client, 2000, server, 53), gateway))])]


def damaged(interface: str, packet: Packet, at: int) -> CasePacket:
    """It arrives with some bits of a byte turned."""
    data = bytearray(bytes(packet))
    data[at] ^= 0x55
    kind = 0x0800 if data[0] >> 4 == 4 else 0x86DD
    return wire(interface, Ether(src=peer_mac(interface, 2), dst=NODE_MACS[interface], type=kind) / Raw(bytes(data)))


def checksums(family: int) -> list[KernelCase]:
    client, server, own = address(family, "client", 2), address(family, "server", 2), address(family, "client", 1)
    header = 20 if family == 4 else 40
    lines = [f"-A PREROUTING -i eth0 -p udp -j DNAT --to-destination {to(family, 'server', 2, ports='5353')}",
             f"-A PREROUTING -i eth0 -p tcp -j DNAT --to-destination {to(family, 'server', 2, ports='8080')}"]
    unverified = node(sysctl={"net.netfilter.nf_conntrack_checksum": "0"})
    zero = ip(client, own) / UDP(sport=2000, dport=53, chksum=0) / Raw(b"data")
    packets = [wire("eth0", zero), wire("eth1", ip(server, client) / UDP(sport=5353, dport=2000, chksum=0) / Raw(b"data"))]
    packets += [wire("eth0", udp(client, 2002, own, 53, payload)) for payload in zero_sums(family, server)]
    bad = [damaged("eth0", udp(client, 2000, own, 53), header + 6), damaged("eth0", tcp(client, 2000, own, 80), header + 17),
           damaged("eth0", echo(client, own, 3), header + 2)]
    return [case("UDP checksums", family, lines, packets),
            case("a wrong checksum makes a packet INVALID: it is not translated", family, lines, bad),
            case("a wrong checksum stays wrong by as much where it is not verified", family, lines, bad, node=unverified),
            case("an error with a wrong checksum", family, [f"-A POSTROUTING -o eth1 -j SNAT --to-source {address(family, 'server', 50)}"],
                 [wire("eth0", udp(client, 2000, server, 53)),
                  damaged("eth1", icmp_error(server, address(family, "server", 50), *UNREACHABLE[family][0],
                                             udp(address(family, "server", 50), 2000, server, 53)), header + 2)], node=unverified)]


def zero_sums(family: int, server: str) -> list[bytes]:
    """Payloads whose checksum is zero after the translation."""
    client = address(family, "client", 2)
    check = UDP(bytes(udp(client, 2002, server, 5353, b"\0\0"))[-10:]).chksum
    return [check.to_bytes(2, "big"), ((check - 1) & 0xFFFF).to_bytes(2, "big")]


def fragments() -> list[KernelCase]:
    """Conntrack puts them together; the whole is translated and cut again."""
    big = UDP(sport=2000, dport=53) / Raw(bytes(range(256)) * 8)
    v4 = fragment(IP(src="192.0.2.2", dst="192.0.2.1", id=77) / big, fragsize=800)
    v6 = fragment6(IPv6(src="fd00:1::2", dst="fd00:1::1") / IPv6ExtHdrFragment(id=77) / big, 1280)
    dnat4, dnat6 = to(4, "server", 2, ports="5353"), to(6, "server", 2, ports="5353")
    return [
        case("fragments", 4, [f"-A PREROUTING -p udp -j DNAT --to-destination {dnat4}"],
             [*(wire("eth0", piece) for piece in v4), *(wire("eth0", piece) for piece in reversed(v4))]),
        case("fragments", 6, [f"-A PREROUTING -p udp -j DNAT --to-destination {dnat6}"],
             [*(wire("eth0", piece) for piece in v6), *(wire("eth0", piece) for piece in reversed(v6))]),
        case("a fragment header on a whole packet", 6, [f"-A PREROUTING -p udp -j DNAT --to-destination {dnat6}"],
             [wire("eth0", IPv6(src="fd00:1::2", dst="fd00:1::1") / IPv6ExtHdrFragment(id=5) / UDP(sport=2000, dport=53) / Raw(b"data"))]),
    ]


def headers() -> list[KernelCase]:
    dnat4, dnat6 = to(4, "server", 2, ports="5353"), to(6, "server", 2, ports="5353")
    options = IP(src="192.0.2.2", dst="192.0.2.1", options=[IPOption(b"\x94\x04\x00\x00")]) / UDP(sport=2000, dport=53) / Raw(b"data")
    base = IPv6(src="fd00:1::2", dst="fd00:1::1")
    return [
        case("IPv4 options", 4, [f"-A PREROUTING -p udp -j DNAT --to-destination {dnat4}"], [wire("eth0", options)]),
        case("IPv6 extension headers", 6, [f"-A PREROUTING -j DNAT --to-destination {to(6, 'server', 2)}"],
             [wire("eth0", base / IPv6ExtHdrDestOpt() / UDP(sport=2000, dport=53) / Raw(b"data")),
              wire("eth0", base / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / UDP(sport=2001, dport=53) / Raw(b"data")),
              wire("eth0", IPv6(src="fd00:1::2", dst="fd00:1::1", nh=59) / Raw(b"nothing follows"))]),
        case("a port rule finds the port behind extension headers", 6,
             [f"-A PREROUTING -p udp --dport 53 -j DNAT --to-destination {dnat6}"],
             [wire("eth0", base / IPv6ExtHdrDestOpt() / UDP(sport=2000, dport=53) / Raw(b"data"))]),
    ]


def untouched(family: int) -> list[KernelCase]:
    client, own = address(family, "client", 2), address(family, "client", 1)
    lines = [f"-t nat -A PREROUTING -j DNAT --to-destination {address(family, 'server', 2)}"]
    text = rules(*lines, "-t raw -A PREROUTING -p udp --dport 53 -j CT --notrack")
    given = {"rules": text} if family == 4 else {"rules": "", "rules6": text}
    return [
        KernelCase(f"an untracked packet is not translated IPv{family}", **given,  # type: ignore[arg-type]
                   packets=[wire("eth0", udp(client, 2000, own, 53)), wire("eth0", udp(client, 2000, own, 54))]),
        case("an INVALID packet is not translated", family, [lines[0].removeprefix("-t nat ")],
             [wire("eth0", tcp(client, 2000, own, 80)), wire("eth0", tcp(client, 2000, own, 80, "FSRPAU", 5)),
              wire("eth0", tcp(client, 2001, own, 80, "SR", 5)), wire("eth0", echo(client, own, 5, reply=True))]),
    ]


CASES = [*(item for make in (errors, node_errors, checksums, untouched) for family in FAMILIES for item in make(family)),
         *redirects(), *fragments(), *headers()]


@each(CASES)
def test_rewriting(case: KernelCase) -> None:
    check(case)
