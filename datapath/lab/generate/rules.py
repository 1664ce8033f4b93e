"""Random rule sets: all tables, all hooks, user chains with jump, goto and RETURN."""

from __future__ import annotations

from dataclasses import dataclass

from datapath.lab.generate.matches import Place, draw_match
from datapath.lab.generate.targets import draw_target
from datapath.lab.generate.world import INTERFACES, World

TABLES: dict[str, tuple[str, ...]] = {
    "raw": ("PREROUTING", "OUTPUT"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "security": ("INPUT", "FORWARD", "OUTPUT"),
}
PLAIN_TARGETS = ("", "", "", "-j RETURN", "-j ACCEPT")
PRESENCE = {"raw": 0.5, "mangle": 0.6, "nat": 0.85, "filter": 0.9, "security": 0.2}


@dataclass(frozen=True)
class Flavour:
    """What kind of rule set: which matches stay out, how many rules a chain has at most."""

    left_out: frozenset[str] = frozenset()
    rules_per_chain: int = 5
    drop_policies: float = 0.05
    plain: float = 0.0  # how often a rule has only addresses, ports, interfaces


def rule_set(world: World, family: int, flavour: Flavour) -> str:
    """A save text."""
    serial = world.rng.randrange(10**6)
    tables = [name for name in TABLES if world.chance(PRESENCE[name])] or ["filter"]
    return "".join(_table(world, family, name, flavour, serial) for name in tables)


def _table(world: World, family: int, table: str, flavour: Flavour, serial: int) -> str:
    declared: list[str] = []
    rules: list[str] = []
    for hook in TABLES[table]:
        droppable = table != "nat" and world.chance(flavour.drop_policies)
        declared.append(f":{hook} {'DROP' if droppable else 'ACCEPT'} [0:0]")
        users = [f"{table[0]}{hook[0]}{number}-{hook}" for number in range(world.rng.choice((0, 0, 1, 1, 2, 3)))]
        declared += [f":{name} - [0:0]" for name in users]
        # A chain may go only to chains after it: no loops. Each user chain is entered from somewhere.
        chains = [hook, *users]
        for position, chain in enumerate(chains):
            content = [
                rule(world, family, table, hook, flavour, chains[position + 1 :], serial)
                for _ in range(world.rng.randint(1 if position else 0, flavour.rules_per_chain))
            ]
            if position + 1 < len(chains):
                jump = entering_rule(world, family, hook, chains[position + 1])
                content.insert(world.rng.randint(0, len(content)), jump)
            rules += [f"-A {chain} {text}" for text in content]
    return "\n".join([f"*{table}", *declared, *rules, "COMMIT", ""])


def rule(world: World, family: int, table: str, hook: str, flavour: Flavour, chains: list[str], serial: int) -> str:
    """Everything after `-A CHAIN`."""
    rng = world.rng
    protocol = rng.choices(("", "tcp", "udp", "icmp" if family == 4 else "ipv6-icmp"), (4, 3, 3, 1))[0]
    place = Place(world, family, table, frozenset({hook}), protocol, serial)
    parts = [] if flavour.plain else [_address(world, family, option) for option in ("-s", "-d") if world.chance(0.35)]
    parts += _interfaces(world, hook) if not flavour.plain or world.chance(0.2) else []
    if protocol:
        parts.append(f"-p {protocol}")
    if world.chance(flavour.plain):
        return " ".join([*parts, *_plain(world, family, protocol), rng.choice(PLAIN_TARGETS)])
    if family == 4 and world.chance(0.03):
        parts.append(f"{'! ' if world.chance(0.5) else ''}-f")
    for _ in range(rng.choices((0, 1, 2, 3), (4, 5, 2, 1))[0]):
        match = draw_match(place, flavour.left_out)
        if match is not None and match.split()[1] not in [part.split()[1] for part in parts if part.startswith("-m ")]:
            parts.append(match)
    if chains and world.chance(0.35):
        parts.append(f"{'-g' if world.chance(0.25) else '-j'} {rng.choice(chains)}")
    else:
        parts.append(draw_target(place))
    return " ".join(part for part in parts if part)


def _plain(world: World, family: int, protocol: str) -> list[str]:
    """Exact addresses and single ports: what an index over rules is made of."""
    rng = world.rng
    pool = world.families[family].all_addresses()
    parts = [f"{option} {rng.choice(pool)}" for option in rng.choice((("-s",), ("-d",), ("-s", "-d"), ()))]
    if protocol in ("tcp", "udp") and world.chance(0.7):
        ports = rng.choice((f"--dport {world.port()}", f"--sport {world.port()}", f"--dport {world.port()} --sport {world.port()}"))
        parts.append(f"-m {protocol} {ports}")
    return parts


def entering_rule(world: World, family: int, hook: str, chain: str) -> str:
    """A rule with few conditions that goes to a user chain."""
    parts = [_address(world, family, option) for option in ("-s", "-d") if world.chance(0.1)]
    parts += _interfaces(world, hook) if world.chance(0.3) else []
    return " ".join([*parts, f"{'-g' if world.chance(0.1) else '-j'} {chain}"])


def _address(world: World, family: int, option: str) -> str:
    return f"{'! ' if world.chance(0.15) else ''}{option} {world.network(family)}"


def _interfaces(world: World, hook: str) -> list[str]:
    parts = []
    names = (*INTERFACES, "eth+", "lo")
    if hook in ("PREROUTING", "INPUT", "FORWARD") and world.chance(0.25):
        parts.append(f"{'! ' if world.chance(0.2) else ''}-i {world.rng.choice(names)}")
    if hook in ("FORWARD", "OUTPUT", "POSTROUTING") and world.chance(0.25):
        parts.append(f"{'! ' if world.chance(0.2) else ''}-o {world.rng.choice(names)}")
    return parts
