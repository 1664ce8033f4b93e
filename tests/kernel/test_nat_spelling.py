"""The spellings of NAT targets, asked of iptables itself: what it prints back, what it refuses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Target
from datapath.lab.errors import LabError
from datapath.lab.namespace import Namespace
from tests.unit import test_nat_targets as unit

pytestmark = pytest.mark.kernel

CHAIN = {"DNAT": "PREROUTING", "SNAT": "POSTROUTING", "MASQUERADE": "POSTROUTING", "REDIRECT": "OUTPUT", "NETMAP": "PREROUTING"}
BACKENDS = ("legacy", "nft")
ADDRESS_OPTION = {unit.Dnat: "--to-destination", unit.Snat: "--to-source", unit.Masquerade: "--to-ports", unit.Redirect: "--to-ports",
                  unit.Netmap: "--to"}


@pytest.fixture(scope="module")
def namespace() -> Iterator[Namespace]:
    namespace = Namespace()
    yield namespace
    namespace.close()


def asked(namespace: Namespace, backend: str, target: type[Target], family: int, protocol: int, text: str) -> str | None:
    """The target's options as `iptables -S` prints them; None: refused."""
    name = target.NAME
    command = [f"{'iptables' if family == 4 else 'ip6tables'}-{backend}", "-w", "-t", "nat"]
    namespace.run(*command, "-F", CHAIN[name])
    protocols = ["-p", str(protocol)] if protocol else []
    try:
        namespace.run(*command, "-A", CHAIN[name], *protocols, "-j", name, *text.split())
    except LabError:
        return None
    line = next(line for line in namespace.run(*command, "-S", CHAIN[name]).splitlines() if line.startswith("-A"))
    return line.partition(f"-j {name}")[2].strip()


def ours(target: type[Target], family: int, protocol: int, text: str) -> str | None:
    try:
        return unit.parse(target, text, family=family, protocol=protocol).format()
    except RulesetSyntaxError:
        return None


def table(test: Any) -> list[tuple[Any, ...]]:
    return [tuple(values) for mark in test.pytestmark if mark.name == "parametrize" for values in mark.args[1]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_tables_of_the_unit_tests(namespace: Namespace, backend: str) -> None:
    for target, family, protocol, text in table(unit.test_prints_back_what_it_parsed):
        assert asked(namespace, backend, target, family, protocol, text) == text
    for target, family, protocol, text, printed in table(unit.test_prints_as_iptables_save):
        assert asked(namespace, backend, target, family, protocol, text) == printed
    for target, family, protocol, text in table(unit.test_refuses_what_iptables_refuses):
        assert asked(namespace, backend, target, family, protocol, text) is None, text


LENGTHS = ("0", "24", "32", "33", "64", "128", "0x10", "010", "129", "x", "")


def random_text(rng: random.Random, family: int) -> str:
    """Something like addresses with ports, seldom quite right."""
    address = rng.choice(["192.0.2.1", "2001:db8::1", "::1", "1.", "192.0.2.300", "", "fe80::1-fe80::2", "192.0.2.9-192.0.2.1", "host"])
    if family == 6 and rng.random() < 0.5:
        address = f"[{address}]"
    port = rng.choice(["", "0", "80", "080", "0x50", "65535", "65536", "ssh", "-1", "80x", "+80", "1-2", "2-1", "1-2/3", "1-2/0", "1-2/ssh",
                       "1-2/3x", "ssh-80", "1-", "1:2", "1-2-3", "7-7/7"])
    joint = rng.choice([":", ":", ":", "", "/", "::"])
    return address + (joint + port if rng.random() < 0.7 else "")


@pytest.mark.parametrize("seed", range(4))
def test_random_spellings(namespace: Namespace, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        target, family = rng.choice(list(CHAIN_TARGETS)), rng.choice((4, 6))
        protocol = rng.choice((0, 1, 6, 17, 33, 58, 132, 136))
        value = random_text(rng, family)
        if target in (unit.Masquerade, unit.Redirect):
            value = value.rpartition(":")[2]
        if target is unit.Netmap and rng.random() < 0.7:
            value = rng.choice(["192.0.2.1", "2001:db8::1"]) + "/" + rng.choice(LENGTHS)
        flags = [option.names[0] for option in target.OPTIONS if option.arguments == 0 and rng.random() < 0.3]
        rng.shuffle(flags)
        text = " ".join([ADDRESS_OPTION[target], value.strip(), *flags]) if value.strip() else " ".join(flags)
        expected = asked(namespace, BACKENDS[seed % 2], target, family, protocol, text)
        assert ours(target, family, protocol, text) == expected, (target.NAME, family, protocol, text)


CHAIN_TARGETS = tuple(ADDRESS_OPTION)
