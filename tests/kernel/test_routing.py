"""Routing against the running kernel: random tables and rules, thousands of questions to `ip route get`."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest

from datapath._core.net import NetNamespace
from datapath.compiler.host import compile_host
from datapath.engine.host import Host
from datapath.model.host import ROUTE_TYPES, Route
from tests.kernel.routing_lab import RoutingLab

pytestmark = pytest.mark.kernel

QUESTIONS = int(os.environ.get("ROUTING_QUESTIONS", "400"))
FIRST_SEED = int(os.environ.get("ROUTING_SEED", "1"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("ROUTING_CASES", "4")))
ERRNO = {
    "Network is unreachable": 101, "No route to host": 113, "Permission denied": 13, "Invalid argument": 22,
    "Invalid cross-device link": 22, "No such device": 19, "Cannot assign requested address": 99,
}
TYPE_NAMES = {number: name for name, number in ROUTE_TYPES.items()}
SUBNETS = {
    4: ["192.0.2.1/24", "198.51.100.1/24", "203.0.113.1/25", "10.9.0.1/16"],
    6: ["2001:db8:1::1/64", "2001:db8:2::1/64", "fd00:3::1/64", "fd00:4::1/48"],
}
POOL = {
    4: [IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "127.0.0.0/8")],
    6: [IPv6Network(text) for text in ("2001:db8::/32", "fd00::/8", "2001:db8:1::/48", "2001:db8:2::/64", "fd00:3::/64")],
}
SYSCTLS = {
    "all.rp_filter": (0, 0, 1, 2), "eth1.rp_filter": (0, 1, 2), "eth2.accept_local": (0, 1), "eth0.route_localnet": (0, 1),
    "eth1.src_valid_mark": (0, 1), "eth0.forwarding": (0, 1, 1), "all.send_redirects": (0, 1), "eth1.shared_media": (0, 1),
    "all.bc_forwarding": (0, 1), "eth0.bc_forwarding": (0, 1),
}
SPECIAL4 = [IPv4Address(text) for text in (
    "255.255.255.255", "224.0.0.1", "224.0.0.9", "239.1.2.3", "192.0.2.255", "0.0.0.0", "0.0.0.9", "127.0.0.1", "127.5.5.5", "192.0.2.77",
    "172.16.5.2",
)]
SPECIAL6 = [IPv6Address(text) for text in ("ff02::1", "ff05::1", "fe80::9", "::1", "::", "2001:db8:1::", "ff02::2")]
LENGTHS = {4: (0, 8, 9, 12, 16, 17, 20, 24, 25, 28, 30, 31, 32), 6: (0, 8, 16, 32, 33, 48, 56, 64, 65, 96, 112, 127, 128)}
TABLES = ("main", "main", "main", "100", "101", "102", "local", "default")


class Scene:
    """A random node of one family: commands that make it, and questions about it."""

    def __init__(self, family: int, seed: int) -> None:
        self.family, self.draw = family, random.Random(seed * 100 + family)
        self.places = [self.place() for _ in range(24)]
        self.uids = False       # some rule asks for the user
        self.multipath = seed % 3 == 0

    def place(self) -> IPv4Address | IPv6Address:
        """An address in the networks that routes are made of."""
        network = self.draw.choice(POOL[self.family])
        return network[self.draw.choice((0, 1, 2, 5, 77, 130, self.draw.randrange(network.num_addresses), -1))]

    def prefix(self) -> str:
        address = self.draw.choice(self.places)
        network_type = IPv4Network if self.family == 4 else IPv6Network
        return str(network_type((address, self.draw.choice(LENGTHS[self.family])), strict=False))

    def device(self) -> str:
        return f"eth{self.draw.randrange(4)}"

    def hop(self) -> str:
        number = self.draw.randrange(4)
        subnet = (IPv4Network if self.family == 4 else IPv6Network)(SUBNETS[self.family][number], strict=False)
        gateway = subnet[self.draw.randrange(2, 9)]
        kind = self.draw.random()
        if kind < 0.2:
            return f"dev eth{number}"
        if kind < 0.3:
            return f"via {gateway} dev {self.device()} onlink"
        if kind < 0.36 and self.family == 4:
            return f"via inet6 fe80::{number + 1} dev eth{number}"
        if kind < 0.45 and self.family == 6:
            return f"via fe80::{number + 1} dev eth{number}"
        return f"via {gateway} dev eth{number}"

    def route(self) -> str:
        # Routes that IPv6 appends become next hops of one multipath route, whose own sources are not printed.
        words = ["add" if self.family == 6 else self.draw.choice(("add", "append", "prepend"))]
        kind = self.draw.random()
        if kind < 0.25:
            words.append(self.draw.choice(("blackhole", "unreachable", "prohibit", "throw")))
        elif kind < 0.31:
            words.append(self.draw.choice(("local", "broadcast", "multicast") if self.family == 4 else ("local", "anycast")))
        plain = kind >= 0.25
        multipath = self.multipath and kind > 0.92
        prefix = self.prefix()
        if "local" in words and self.family == 4:
            prefix = f"172.16.{self.draw.randrange(9)}.0/24"    # what covers gateways depends on which came first
        words += [prefix]
        if plain and not multipath:
            words.append(self.hop() if kind >= 0.31 else f"dev {self.device()}")
        words.append(f"table {self.draw.choice(TABLES)}")
        if self.draw.random() < 0.4:
            words.append(f"metric {self.draw.choice((5, 100, 256, 1024, 2000))}")
        if self.family == 4 and self.draw.random() < 0.12:
            words.append(f"tos {self.draw.choice(('0x04', '0x08', '0x10', '0x1c'))}")
        if plain and kind >= 0.31 and self.draw.random() < 0.2:
            words.append(f"src {SUBNETS[self.family][self.draw.randrange(4)].split('/')[0]}")
        if self.family == 6 and self.draw.random() < 0.15:
            words.append(f"from {self.prefix()}")
        if self.family == 6 and self.draw.random() < 0.2:
            words.append(f"pref {self.draw.choice(('low', 'high'))}")
        if multipath:
            words += [f"nexthop {self.hop()} weight {self.draw.randrange(1, 4)}" for _ in range(self.draw.randrange(2, 4))]
        return "route " + " ".join(words)

    def rule(self) -> str:
        words = ["not"] if self.draw.random() < 0.15 else []
        selectors = [
            lambda: f"from {self.prefix()}", lambda: f"to {self.prefix()}",
            lambda: f"iif {self.draw.choice((self.device(), 'lo', 'nope'))}",
            lambda: f"oif {self.device()}", lambda: f"fwmark {self.draw.randrange(4)}/{self.draw.choice((1, 3, 0xFF))}",
            lambda: f"tos {self.draw.choice(('0x04', '0x08', '0x10'))}", lambda: "ipproto tcp", lambda: "ipproto udp",
            lambda: f"dport {self.draw.choice(('53', '80', '50-100'))}", lambda: f"sport {self.draw.choice(('1000-2000', '999'))}",
            lambda: f"uidrange {self.draw.choice(('0-0', '5-1000'))}",
        ]
        words += [pick() for pick in self.draw.sample(selectors, self.draw.choice((0, 1, 1, 1, 2, 3)))]
        priority = self.draw.randrange(1, 34000)
        kind = self.draw.random()
        if kind < 0.75:
            words.append(f"lookup {self.draw.choice(('100', '101', '102', 'main', 'local', '777'))}")
            if self.draw.random() < 0.25:
                words.append(f"suppress_prefixlength {self.draw.choice((0, 8, 16, 24))}")
            if self.draw.random() < 0.1:
                words.append(f"suppress_ifgroup {self.draw.randrange(2)}")
        elif kind < 0.9:
            words.append(self.draw.choice(("blackhole", "unreachable", "prohibit")))
        elif kind < 0.96:
            words.append(f"goto {self.draw.choice((32766, 32767, 40000, priority + 1000))}")
        else:
            words.append("nop")
        self.uids |= any(word.startswith("uidrange") for word in words)
        if not any(word.startswith(("from", "not")) for word in words):
            words.insert(0, "from all")
        return f"rule add {' '.join(words)} priority {priority}"

    def addresses(self) -> list[str]:
        lines = [f"addr add {text} dev eth{i}{' nodad' if self.family == 6 else ''}" for i, text in enumerate(SUBNETS[self.family])]
        if self.family == 4:
            lines += ["addr add 192.0.2.77/24 dev eth0", "addr add 198.51.100.9/32 dev eth0"]
            lines += ["addr add 172.16.5.1 peer 172.16.5.2/30 dev eth1"]
        return [*lines, "link set eth3 group 1"]

    def routes_and_rules(self) -> list[str]:
        routes = [self.route() for _ in range(self.draw.randrange(10, 60))]
        return routes + [self.rule() for _ in range(self.draw.choice((0, 0, 2, 5, 9)))]

    def question(self) -> dict[str, object]:
        draw = self.draw
        near = [ip_address(text.split("/")[0]) for text in SUBNETS[self.family]]
        targets = [*self.places, self.place(), self.place(), *near]
        if self.family == 4:
            targets += SPECIAL4
        else:
            targets += SPECIAL6
        question: dict[str, object] = {
            "dst": draw.choice(targets), "tos": draw.choice((0, 0, 0, 0x10, 0x08, 0xB8)), "mark": draw.choice((0, 0, 1, 2, 7)),
        }
        # IPv6's `ip route get` takes no user for a packet that arrives; source validation depends on the hop that is drawn.
        if draw.random() < 0.5 and not (self.family == 6 and self.uids) and not (self.family == 4 and self.multipath):
            question["iif"] = draw.choice((0, 1, 2, 3))
            question["src"] = draw.choice(targets)
            if self.family == 6 and question["dst"].is_multicast:   # type: ignore[attr-defined]
                question["dst"] = targets[0]    # `ip route get` asks the multicast routing table then, and fails
        else:
            question["uid"] = draw.choice((0, 7, 5000))
            if draw.random() < 0.4:
                # Whether a loopback source may be used depends on the hop that is drawn.
                question["src"] = draw.choice(near + [target for target in targets[:4] if not (self.multipath and target.is_loopback)])
            if draw.random() < 0.3:
                question["oif"] = draw.randrange(4)
        if draw.random() < 0.6:
            question |= {"protocol": draw.choice((6, 17)), "sport": draw.choice((1500, 999)), "dport": draw.choice((53, 80, 99))}
        return question


def words_of(question: dict[str, object]) -> str:
    """The question as `ip route get` reads it."""
    words = [str(question["dst"])]
    if "src" in question:
        words.append(f"from {question['src']}")
    words += [f"{key} eth{question[key]}" for key in ("iif", "oif") if key in question]
    if question["tos"]:
        words.append(f"tos {question['tos']:#x}")
    if question["mark"]:
        words.append(f"mark {question['mark']}")
    if "uid" in question:
        words.append(f"uid {question['uid']}")
    if "protocol" in question:
        words.append(f"ipproto {'tcp' if question['protocol'] == 6 else 'udp'} sport {question['sport']} dport {question['dport']}")
    return " ".join(words)


def ask(node: NetNamespace, host: Host, family: int, question: dict[str, object]) -> dict[str, object]:
    """The emulator's answer in the words of the comparison."""
    names = host.interfaces
    source = question.get("src")
    extra = {key: question[key] for key in ("mark", "tos", "uid", "protocol", "sport", "dport") if key in question}
    for key in ("iif", "oif"):
        if key in question:
            extra[key] = names.index(f"eth{question[key]}")
    extra.setdefault("protocol", 17 if family == 4 else 0)     # what `ip route get` takes
    destination = question["dst"]
    assert isinstance(destination, IPv4Address | IPv6Address)
    kind = "input" if "iif" in question else "output"
    src = source.packed if isinstance(source, IPv4Address | IPv6Address) else b""
    return node.route_query(kind, family, destination.packed, src=src, **extra)    # type: ignore[arg-type]


def host_family(route: Route | None) -> int:
    return 4 if route is None else route.family


def differences(question: dict[str, object], host: Host, mine: dict[str, object], error: str, theirs: dict[str, object]) -> Iterator[str]:
    """Where the answers differ."""
    if error and "src" not in question and "iif" not in question and question["dst"].version == 6:    # type: ignore[attr-defined]
        return      # a packet that is sent gets its source then, and is looked up again; `ip route get` stops here
    failed = 22 if mine.get("reason") else mine["error"]
    if error or failed:
        if failed != ERRNO.get(error, error or 0):
            yield f"error {failed} is {error!r}"
        return
    kind = theirs.get("type", "unicast")
    if TYPE_NAMES[mine["type"]] != kind:    # type: ignore[index]
        yield f"type {TYPE_NAMES[mine['type']]} is {kind}"  # type: ignore[index]
    route = host.routes[mine["route"]] if mine["route"] >= 0 else None  # type: ignore[index, operator]
    via = theirs.get("gateway") or theirs.get("via", {}).get("host")    # type: ignore[attr-defined]
    gateway = None if mine["gateway"] is None else str(ip_address(mine["gateway"]))     # type: ignore[arg-type]
    way = (host.interfaces[mine["dev"]], gateway)   # type: ignore[index]
    by_device = [hop for hop in route.next_hops if f"eth{question.get('oif')}" == hop.device] if route is not None else []
    drawn = len(by_device) != 1 or (host_family(route) == 6 and "src" in question)      # the hop is by a hash of the boot
    if route is not None and len(route.next_hops) > 1 and drawn:
        plain = theirs["dst"] != "255.255.255.255" and not ip_address(str(theirs["dst"])).is_multicast
        hops = {(hop.device, str(hop.gateway) if hop.gateway and plain else None) for hop in route.next_hops}
        if (theirs["dev"], via) not in hops or way not in hops:
            yield f"hops {hops} do not have {theirs['dev'], via}"
        return
    if way != (theirs["dev"], via):
        yield f"way {way} is {theirs['dev'], via}"
    if "iif" not in question:
        source = str(ip_address(mine["source"]))    # type: ignore[arg-type]
        expected = theirs.get("prefsrc") or theirs.get("from")
        if expected is not None and source != expected and "src" not in question:
            yield f"source {source} is {expected}"
    elif mine["redirect"] != ("redirect" in theirs.get("cache", ())):   # type: ignore[operator]
        yield f"redirect {mine['redirect']} is {theirs.get('cache')}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", [4, 6])
def test_random_tables_and_rules(family: int, seed: int) -> None:
    scene = Scene(family, seed)
    with RoutingLab("routing-k") as lab:
        lab.sysctl(f"net.ipv4.ip_forward={int(seed % 4 > 0)}", "net.ipv6.conf.all.forwarding=1")
        lab.sysctl(*(f"net.ipv4.conf.{name}={scene.draw.choice(values)}" for name, values in SYSCTLS.items()))
        lab.batch(scene.addresses())
        lab.batch(scene.routes_and_rules(), family=family, force=True)
        host = lab.host()
        node = NetNamespace()
        node.load_host(compile_host(host))
        questions = [scene.question() for _ in range(QUESTIONS)]
        answers = lab.get(family, [words_of(question) for question in questions])
        wrong = []
        for question, (error, theirs) in zip(questions, answers, strict=True):
            answer = ask(node, host, family, question)
            wrong += [f"{words_of(question)}: {text} ({answer})" for text in differences(question, host, answer, error, theirs)]
        assert not wrong, f"{len(wrong)} of {len(questions)} differ:\n" + "\n".join(wrong[:10])

