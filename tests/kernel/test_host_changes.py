"""Changes of a host against the running kernel: the same `ip` commands in a namespace and on a Host leave the same state."""

from __future__ import annotations

import os
import random
import time

import pytest

from datapath.engine.host import Host
from datapath.errors import HostError
from tests.kernel.routing_lab import RoutingLab, run

pytestmark = pytest.mark.kernel

COMMANDS = int(os.environ.get("CHANGES", "25"))
FIRST_SEED = int(os.environ.get("ROUTING_SEED", "1"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("ROUTING_CASES", "2")))


def commands(draw: random.Random, family: int) -> list[str]:
    """One change, as `ip` understands it."""
    device = f"eth{draw.randrange(3)}"
    net = draw.randrange(3)
    host = draw.randrange(1, 4)
    if family == 4:
        address, prefix = f"10.{net}.0.{host}/{draw.choice((24, 24, 16, 32))}", f"10.{draw.randrange(3, 6)}.0.0/{draw.choice((16, 24))}"
        gateway = f"10.{net}.0.{draw.randrange(1, 9)}"
    else:
        address, prefix = f"fd00:{net}::{host}/{draw.choice((64, 64, 128))}", f"fd00:{draw.randrange(3, 6)}::/{draw.choice((48, 64))}"
        gateway = f"fd00:{net}::{draw.randrange(1, 9):x}"
    kind = draw.random()
    if kind < 0.3:
        extra = draw.choice(("", " brd +", "", " scope link")) if family == 4 else " nodad"
        return [f"addr add {address} dev {device}{extra}"]
    if kind < 0.4:
        return [f"addr del {address} dev {device}"]
    if kind < 0.5:
        return [f"link set {device} {draw.choice(('down', 'up'))}"]
    if kind < 0.85:
        how = draw.choice(("add", "add", "append", "prepend", "replace", "del", "del"))
        words = [f"route {how}"]
        if draw.random() < 0.15:
            words += [draw.choice(("blackhole", "unreachable", "throw")), prefix]
        elif draw.random() < 0.3:
            words += [prefix, f"dev {device}"]
        else:
            words += [prefix, f"via {gateway} dev {device}"]
        if draw.random() < 0.3:
            words.append(f"metric {draw.choice((5, 1024, 2000))}")
        if draw.random() < 0.2:
            words.append(f"table {draw.choice((77, 'main'))}")
        return [" ".join(words)]
    how = draw.choice(("add", "del"))
    selector = draw.choice((f"from {prefix}", f"to {prefix}", f"iif {device}", "fwmark 3/7"))
    return [f"rule {how} {selector} lookup {draw.choice((77, 78))}" + draw.choice(("", " priority 500"))]


def state(host: Host, family: int) -> dict[str, list[str]]:
    """What is compared, as text: addresses and rules in their order, equal routes in theirs."""
    routes: dict[str, list[str]] = {}
    for route in host.routes:
        if route.family == family:
            hops = sorted(f"{hop.device} {hop.gateway} {hop.weight}" for hop in route.next_hops)
            key = f"{route.table} {route.destination} tos {route.tos} metric {route.metric}"
            routes.setdefault(key, []).append(f"{route.type} scope {route.scope} src {route.source} {hops}")
    # Routes of one key over different devices that the kernel made stand in no particular order.
    return {
        "addresses": [f"{a.device} {a.local}/{a.prefix_length} scope {a.scope} {'secondary' in a.flags} {a.broadcast}"
                      for a in host.addresses if a.family == family],
        "routes": [f"{key}: {' | '.join(routes[key])}" for key in sorted(routes)],
        "rules": [f"{r.priority} {r.source} {r.destination} {r.in_interface} {r.mark} {r.table}" for r in host.rules if r.family == family],
        "links": [f"{link.name} {'UP' in link.flags}" for link in host.links],
    }


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", [4, 6])
def test_same_commands_leave_the_same_state(family: int, seed: int) -> None:
    draw = random.Random(seed * 10 + family)
    with RoutingLab("routing-c", 3) as lab:
        lab.sysctl(f"net.ipv6.conf.all.forwarding={draw.randrange(2)}", *(f"net.ipv6.conf.eth{i}.accept_dad=0" for i in range(3)))
        lab.sysctl(f"net.ipv4.conf.all.promote_secondaries={draw.randrange(2)}")
        time.sleep(2.5 if family == 6 else 0)      # duplicate address detection of the link-local addresses
        mine = lab.host()
        said = []
        for _ in range(COMMANDS):
            for command in commands(draw, family):
                done = run("ip", "-n", lab.name, f"-{family}", *command.split(), check=False)
                try:
                    after = mine.after_ip(f"-{family} {command}")
                except HostError as refused:
                    assert done.returncode, f"{command}: {refused}; after {said}"
                    continue
                assert not done.returncode, f"{command} was refused: {done.stderr}; after {said}"
                said.append(command)
                if family == 6 and "link set" in command:
                    time.sleep(1.1)     # the kernel looks at a device's carrier once a second
                theirs = lab.host()
                for part, lines in state(after, family).items():
                    expected = state(theirs, family)[part]
                    differing = [line for line in lines if line not in expected], [line for line in expected if line not in lines]
                    assert lines == expected, f"{part} after {said}: mine {differing[0]}, theirs {differing[1]}"
                mine = theirs
