"""Random rules of many matches against random packets, many of them malformed, compared with the kernel."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6

from datapath.lab.case import CasePacket
from tests.kernel.table import KernelCase, check, each, rules, wire

Draw = random.Random
PORTS = (0, 1, 53, 79, 80, 81, 443, 1000, 65535)
PROTOCOLS = {"tcp": 6, "udp": 17, "icmp": 1, "ipv6-icmp": 58, "sctp": 132, "dccp": 33, "esp": 50, "ah": 51, "udplite": 136}
PORT_WORDS = ("sports", "dports", "ports")
WITH_PORTS = ("tcp", "udp", "sctp", "dccp", "udplite")
HEADERS = (0, 43, 44, 50, 51, 59, 60)
ADDRESSES = {
    4: ["192.0.2.2", "192.0.2.3", "198.51.100.2", "203.0.113.9", "10.0.0.1"],
    6: ["fd00:1::2", "fd00:1::3", "fd00:2::2", "fd00:3::9", "2001:db8::1"],
}


def sign(draw: Draw) -> str:
    return draw.choice(("", "", "! "))


def port_range(draw: Draw) -> str:
    """Never all ports: iptables-save leaves such a condition out, even a negated one, which then matches everything."""
    low, high = sorted(draw.sample(PORTS[1:-1], 2))
    return draw.choice((str(low), "0", "65535", f"{low}:{high}", f":{high}", f"{low}:"))


def numbers(draw: Draw, most: int) -> str:
    low, high = sorted(draw.randint(0, most) for _ in range(2))
    return draw.choice((str(low), f"{low}:{high}"))


def some(draw: Draw, choices: str) -> str:
    words = choices.split()
    return ",".join(draw.sample(words, draw.randint(1, min(3, len(words)))))


def addresses(draw: Draw, family: int) -> str:
    return "-".join(draw.choice(ADDRESSES[family]) for _ in range(2))


def header_options(draw: Draw, name: str) -> str:
    options = ",".join(draw.choice(("0", "1", "5", "1:4", "5:2", "1:0", "194")) for _ in range(draw.randint(1, 3)))
    return (
        f"-m {name}"
        + draw.choice(("", f" {sign(draw)}--{name}-len {draw.choice((8, 16, 24))}"))
        + draw.choice(("", f" --{name}-opts {options}"))
    )


BOTH: list[Callable[[Draw, int], str]] = [
    lambda draw, _: f"-p tcp -m tcp {sign(draw)}--dport {port_range(draw)}",
    lambda draw, _: f"-p tcp -m tcp {sign(draw)}--sport {port_range(draw)} {sign(draw)}--dport {port_range(draw)}",
    lambda draw, _: (
        f"-p tcp -m tcp {sign(draw)}--tcp-flags {some(draw, 'FIN SYN RST PSH ACK URG')} {some(draw, 'FIN SYN RST PSH ACK URG NONE')}"
    ),
    lambda draw, _: f"-p tcp -m tcp {sign(draw)}--tcp-option {draw.choice((1, 2, 3, 4, 8, 30, 255))}",
    lambda draw, _: f"-p udp -m udp {sign(draw)}--sport {port_range(draw)} {sign(draw)}--dport {port_range(draw)}",
    lambda draw, _: (
        f"-p {draw.choice(('tcp', 'udp', 'sctp', 'dccp', 'udplite'))} -m multiport {sign(draw)}--{draw.choice(PORT_WORDS)}"
        f" {some(draw, '0 1 53:80 443 999:65535')}"
    ),
    lambda draw, _: (
        f"-p sctp -m sctp {sign(draw)}--chunk-types {draw.choice(('any', 'all', 'only'))}"
        f" {some(draw, 'DATA INIT SACK ABORT:T DATA:Be HEARTBEAT')}"
    ),
    lambda draw, _: (
        f"-p dccp -m dccp {sign(draw)}--dccp-types {some(draw, 'REQUEST RESPONSE DATA ACK RESET INVALID')}"
        f" {sign(draw)}--dccp-option {draw.choice((1, 2, 32, 255))}"
    ),
    lambda draw, _: f"-p esp -m esp {sign(draw)}--espspi {numbers(draw, (1 << 32) - 1)}",
    lambda draw, _: f"-p tcp -m ecn {sign(draw)}--ecn-tcp-{draw.choice(('cwr', 'ece'))} {sign(draw)}--ecn-ip-ect {draw.randint(0, 3)}",
    lambda draw, _: f"-m tos {sign(draw)}--tos {draw.randint(0, 255)}/{draw.randint(0, 255)}",
    lambda draw, _: f"-m dscp {sign(draw)}--dscp {draw.randint(0, 63)}",
    lambda draw, _: f"-m length {sign(draw)}--length {numbers(draw, 120)}",
    lambda draw, family: f"-m iprange {sign(draw)}--{draw.choice(('src', 'dst'))}-range {addresses(draw, family)}",
    lambda draw, _: (
        f"-m addrtype {sign(draw)}--{draw.choice(('src', 'dst'))}-type {some(draw, 'UNICAST LOCAL MULTICAST UNREACHABLE UNSPEC')}"
    ),
    lambda draw, _: f"-m mac {sign(draw)}--mac-source 02:00:00:00:01:0{draw.randint(2, 3)}",
    lambda draw, _: f"-m statistic --mode nth {sign(draw)}--every {draw.choice((1, 2, 5))} --packet 0",
    lambda draw, _: f"-m quota {sign(draw)}--quota {draw.randint(0, 3000)}",
]
OF_FAMILY: dict[int, list[Callable[[Draw, int], str]]] = {
    4: [
        lambda draw, _: f"-p icmp -m icmp {sign(draw)}--icmp-type {draw.choice(('any', '0', '8', '3', '3/1', '11/0', '5/1'))}",
        lambda draw, _: f"-p ah -m ah {sign(draw)}--ahspi {numbers(draw, (1 << 32) - 1)}",
        lambda draw, _: f"-m ttl {sign(draw)}--ttl-eq {draw.choice((1, 63, 64))}",
        lambda draw, _: f"{sign(draw)}-f",
    ],
    6: [
        lambda draw, _: f"-p ipv6-icmp -m icmp6 {sign(draw)}--icmpv6-type {draw.choice(('1', '128', '129', '1/4', '3/0'))}",
        lambda draw, _: f"-m ah {sign(draw)}--ahspi {numbers(draw, (1 << 32) - 1)} {sign(draw)}--ahlen {draw.choice((12, 16, 24))}",
        lambda draw, _: f"-m hl {sign(draw)}--hl-eq {draw.choice((1, 63, 64))}",
        lambda draw, _: (
            f"-m frag {sign(draw)}--fragid {numbers(draw, 9)} {draw.choice(('', '--fragfirst', '--fragmore', '--fraglast', '--fragres'))}"
        ),
        lambda draw, _: header_options(draw, "hbh"),
        lambda draw, _: header_options(draw, "dst"),
        lambda draw, _: (
            f"-m rt {sign(draw)}--rt-type {draw.choice((0, 2, 4))} {sign(draw)}--rt-segsleft {numbers(draw, 3)}"
            f" {sign(draw)}--rt-len {draw.choice((8, 24, 40))}"
        ),
        lambda draw, _: (
            f"-m ipv6header {sign(draw)}--header {some(draw, 'hop dst route frag auth esp none prot')} {draw.choice(('', '--soft'))}"
        ),
        lambda draw, _: f"{sign(draw)}-p {draw.choice((43, 44, 59, 60, 99))}",
    ],
}


def transport(draw: Draw, protocol: int) -> bytes:
    """A transport header with fields that rules ask for; cut short now and then."""
    ports = b"".join(draw.choice(PORTS).to_bytes(2, "big") for _ in range(2))
    noise = draw.randbytes(60)
    match protocol:
        case 6:
            options = bytes(draw.choice((0, 1, 2, 3, 4, 8, 30)) for _ in range(8))
            body = ports + noise[:8] + bytes([draw.choice((5, 5, 6, 7, 15, 4)) << 4, draw.randint(0, 255)]) + noise[8:14] + options
        case 132:
            chunks = [
                bytes([draw.choice((0, 1, 3, 4, 6)), draw.choice((0, 1, 2, 3)), 0, draw.choice((4, 5, 8, 8, 8, 0, 64))]) + noise[:4]
                for _ in range(3)
            ]
            body = ports + noise[:8] + b"".join(chunks)
        case 33:
            body = (
                ports
                + bytes([draw.choice((3, 4, 5, 6, 7, 8)), 0, 0, 0, draw.randint(0, 31), 0, 0, 0])
                + bytes(draw.choice((0, 1, 2, 32)) for _ in range(24))
            )
        case 1 | 58:
            body = bytes([draw.choice((0, 1, 3, 5, 8, 11, 128, 129)), draw.randint(0, 5)]) + noise[:10]
        case 51:
            body = bytes([draw.choice((6, 17, 59)), draw.choice((1, 2, 4, 9)), 0, draw.choice((0, 0, 1))]) + noise[:20]
        case _:
            body = ports + noise[:16]
    return body[: draw.randint(0, len(body))] if draw.random() < 0.15 else body


def extension(draw: Draw, kind: int, following: int) -> bytes:
    """An IPv6 extension header, now and then with a length that is wrong."""
    match kind:
        case 44:
            return (
                bytes([following, draw.choice((0, 0, 1))])
                + (draw.choice((0, 0, 1, 2, 9)) << 3 | draw.randint(0, 7)).to_bytes(2, "big")
                + draw.randint(0, 9).to_bytes(4, "big")
            )
        case 51:
            return bytes([following, draw.choice((1, 1, 2, 9)), 0, 0]) + draw.randbytes(8)
        case 43:
            return bytes([following, draw.choice((0, 0, 2, 4)), draw.choice((0, 2, 4)), draw.randint(0, 3), 0, 0, 0, 0])
        case _:
            options = draw.choice((b"\x01\x04\0\0\0\0", b"\x05\x02\0\0\x01\0", b"\0\0\0\0\0\0", b"\x01\x00\x05\x02\0\0"))
            return bytes([following, draw.choice((0, 0, 0, 1, 9))]) + options


def packet(draw: Draw, family: int) -> CasePacket:
    protocol = draw.choice([*PROTOCOLS.values(), 6, 17, 99])
    source, destination = draw.choice(ADDRESSES[family]), draw.choice(ADDRESSES[family][1:])
    mac = f"02:00:00:00:01:0{draw.randint(2, 3)}"
    body = transport(draw, protocol)
    if family == 4:
        fragment = {"frag": draw.choice((0, 1, 2, 20)), "flags": draw.choice((0, "MF"))} if draw.random() < 0.15 else {}
        made = IP(src=source, dst=destination, proto=protocol, id=1, ttl=draw.choice((64, 64, 65, 2)), tos=draw.randint(0, 255), **fragment)
        return wire("eth0", made / body, src=mac)
    chain = [draw.choice(HEADERS) for _ in range(draw.choice((0, 0, 1, 1, 2, 3)))]
    # Linux itself looks at hop-by-hop options, and answers some; they are another test's subject.
    chain = [kind for number, kind in enumerate(chain) if kind != 0 or number]
    kinds = [*chain, protocol]
    for kind, following in zip(reversed(chain), reversed(kinds[1:]), strict=False):
        body = b"" if kind == 59 else extension(draw, kind, following) + body if kind != 50 else body
    if draw.random() < 0.1:
        body = body[: draw.randint(0, len(body))]
    made = IPv6(src=source, dst=destination, nh=kinds[0], hlim=draw.choice((64, 64, 65, 2)), tc=draw.randint(0, 255))
    return wire("eth0", made / body, src=mac)


def random_case(seed: int, packets: int = 60) -> KernelCase:
    draw = random.Random(seed)
    family = draw.choice((4, 6))
    makers = BOTH + OF_FAMILY[family] * 2
    chosen = [draw.choice(makers)(draw, family) for _ in range(30)]
    # The draws of statistic and the bytes of quota follow the order of the packets: one hook only.
    ordered = ("statistic", "quota")
    chains = ["PREROUTING" if any(name in line for name in ordered) else draw.choice(("PREROUTING", "FORWARD")) for line in chosen]
    text = rules(*(f"-t mangle -A {chain} {line}" for chain, line in zip(chains, chosen, strict=True)))
    traffic = [packet(draw, family) for _ in range(packets)]
    given = {"rules": text} if family == 4 else {"rules": "", "rules6": text}
    return KernelCase(f"seed {seed}", packets=traffic, skip=frozenset({"outputs", "drops"}), **given)  # type: ignore[arg-type]


@each([random_case(seed) for seed in range(12)])
def test_random_rules(case: KernelCase) -> None:
    check(case)


def test_the_same_seed_makes_the_same_case() -> None:
    assert random_case(3).rules == random_case(3).rules
    assert [one.data for one in random_case(3).packets] == [one.data for one in random_case(3).packets]


pytestmark = pytest.mark.timeout(300)
