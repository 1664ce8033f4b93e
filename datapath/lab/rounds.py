"""The kinds of rounds of a campaign: what node, rules and traffic each has, and how it is played on the kernel."""

from __future__ import annotations

import contextlib
import random
import time
from dataclasses import replace
from pathlib import Path

from datapath.lab.case import Case
from datapath.lab.generate.corners import CornerTraffic, add_corners, ipsets, with_sets
from datapath.lab.generate.nat import NatTraffic, nat_rule_set, second_way_out
from datapath.lab.generate.nodes import random_recipe
from datapath.lab.generate.rules import Flavour, rule_set
from datapath.lab.generate.traffic import Traffic
from datapath.lab.generate.world import World, family4, family6
from datapath.lab.kernel import KernelRun
from datapath.lab.refused import accepted_rules, emulated_rules, split_tables

# `plain`: all tables and extensions; `nat`: every form of the NAT targets, clashing tuples; `corners`: policy rules, small
# MTUs, unknown neighbours, ARP, ipsets; `timed`: conntrack timeouts of seconds.
# `wide`: hundreds of rules with exact addresses and ports; `nft`: plain, loaded by the nft back end; `replaced`: new rules in
# the midst of the traffic.
KINDS = ("plain", "nat", "corners", "timed", "wide", "nft", "replaced")
CONNTRACK_EVERY = 8  # packets between two looks at the kernel's table, from which traffic is drawn too
TIMED_AT_ONCE = 8  # rounds that wait together
# Packets of a timed round come in groups; the timeouts end well between two of them.
GROUP_SECONDS = (0, 2, 4, 6)
TIMEOUTS = {
    "udp_timeout": "13", "udp_timeout_stream": "37", "icmp_timeout": "13", "icmpv6_timeout": "13", "generic_timeout": "37",
    "tcp_timeout_syn_sent": "37", "tcp_timeout_syn_recv": "37", "tcp_timeout_established": "7", "tcp_timeout_fin_wait": "37",
    "tcp_timeout_close_wait": "37", "tcp_timeout_last_ack": "3", "tcp_timeout_time_wait": "37", "tcp_timeout_close": "13",
    "tcp_timeout_unacknowledged": "3", "tcp_timeout_max_retrans": "3",
}  # fmt: skip


def play_round(kind: str, name: str, scratch: Path, packets: int) -> list[Case]:
    """Random cases of a kind, played on the kernel: all from the name."""
    if kind == "timed":
        return play_timed([f"{name}.{number}" for number in range(TIMED_AT_ONCE)], scratch, packets)
    case, world = random_case(kind, name)
    traffic = random_traffic(kind, world)
    with KernelRun(case, scratch / "host", clock=False, drops=True) as run:
        for number in range(packets):
            if number % CONNTRACK_EVERY == 0:
                traffic.entries = run.node.connections()
            packet = traffic.next()
            if kind == "replaced" and number and number % (packets // 4) == 0:
                packet = replace(packet, restore=tuple(_texts(kind, world).items()))
            traffic.learn(run.send(packet))
        run.finish()
    return [case]


def random_case(kind: str, name: str) -> tuple[Case, World]:
    """A node and its rules, without packets yet."""
    rng = random.Random(f"{kind} {name}")
    world = World(rng)
    # IPv6's redirects cannot be switched off, and their rate depends on the jiffy: over seconds that would blur the answer.
    families = (4,) if kind == "timed" else rng.choices(((4,), (6,), (4, 6)), (5, 3, 2))[0]
    if 4 in families:
        world.families[4] = family4(rng.random() < 0.5)
    if 6 in families:
        world.families[6] = family6()
    recipe = random_recipe(world)
    sets = ""
    marking = second_way_out(world, recipe) if kind == "nat" and world.chance(0.4) else {}
    if kind == "corners":
        add_corners(world, recipe)
        sets = ipsets(world)
    if kind == "nft":
        recipe["backend"] = "nft"
    if kind == "timed":
        recipe["sysctl"] |= {f"net.netfilter.nf_conntrack_{key}": rng.choice(values) for key, values in TIMEOUTS.items()}
    texts = {family: marking.get(family, "") + text for family, text in _texts(kind, world, sets).items()}
    return Case(name, recipe, texts, [], sets), world


def _texts(kind: str, world: World, sets: str = "") -> dict[int, str]:
    """Rules of each family, without those that the kernel refuses or that are not emulated."""
    found = {}
    for family in world.families:
        text = nat_rule_set(world, family) if kind == "nat" else rule_set(world, family, _flavour(kind, world))
        if sets:
            text = with_sets(world, text, family)
        if kind == "nft":  # iptables-nft hooks its security table behind nat's INPUT (150), which is not emulated
            text = "".join(table for table in split_tables(text) if not table.startswith("*security"))
        found[family] = accepted_rules(emulated_rules(text, family), family, sets, "nft" if kind == "nft" else "legacy")
    return found


def _flavour(kind: str, world: World) -> Flavour:
    if kind == "wide":
        return Flavour(rules_per_chain=80, plain=0.9, drop_policies=0)
    return Flavour(rules_per_chain=world.rng.choice((2, 4, 6)), drop_policies=world.rng.choice((0, 0.05, 0.2)))


def random_traffic(kind: str, world: World) -> Traffic:
    """The traffic of a kind."""
    make = {"nat": NatTraffic, "corners": CornerTraffic}.get(kind, Traffic)
    return make(world, oddity=world.rng.choice((0, 0.1, 0.3)), owners=world.chance(0.3))


def play_timed(names: list[str], scratch: Path, packets: int) -> list[Case]:
    """Several cases whose packets come in groups some seconds apart; they wait together."""
    made = [random_case("timed", name) for name in names]
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(KernelRun(case, scratch / case.name, clock=False, drops=True)) for case, _ in made]
        traffics = [random_traffic("timed", world) for _, world in made]
        start = time.monotonic()
        for seconds in GROUP_SECONDS:
            time.sleep(max(0.0, start + seconds - time.monotonic()))
            for run, traffic in zip(runs, traffics, strict=True):
                traffic.entries = run.node.connections()
                for _ in range(packets // len(GROUP_SECONDS) // 2):
                    traffic.learn(run.send(traffic.next()))
        for run in runs:
            run.finish()
    return [case for case, _ in made]
