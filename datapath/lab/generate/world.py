"""The small world that rules and packets are drawn from."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from ipaddress import ip_network

PORTS = (22, 53, 80, 443, 1023, 1024, 8080, 30080, 40000, 40001, 65535)
MARKS = ("0x1", "0x2", "0x3", "0x4000", "0x8000")
INTERFACES = ("eth0", "eth1", "eth2")


@dataclass(frozen=True)
class Family:
    """Addresses of one family: per interface the net, the node's own addresses, the neighbours; and those farther away."""

    number: int
    nets: dict[str, str]
    own: dict[str, tuple[str, ...]]
    peers: dict[str, tuple[str, ...]]
    far: dict[str, tuple[str, ...]]  # by the interface behind which they are
    services: tuple[str, ...]  # addresses that only rules know
    special: tuple[str, ...]  # broadcast, multicast, loopback, blackholed

    def all_own(self) -> list[str]:
        """Every address of the node."""
        return [address for addresses in self.own.values() for address in addresses]

    def all_peers(self) -> list[str]:
        """Every neighbour."""
        return [address for addresses in self.peers.values() for address in addresses]

    def all_addresses(self) -> list[str]:
        """Everything that a rule may name."""
        far = [address for addresses in self.far.values() for address in addresses]
        return [*self.all_own(), *self.all_peers(), *far, *self.services, *self.special]


def family4(second_addresses: bool) -> Family:
    """The IPv4 world."""
    prefixes = {"eth0": "192.0.2", "eth1": "198.51.100", "eth2": "203.0.113"}
    return Family(
        4,
        nets={name: f"{prefix}.0/24" for name, prefix in prefixes.items()},
        own={name: (f"{prefix}.1", f"{prefix}.100")[: 1 + second_addresses] for name, prefix in prefixes.items()},
        peers={name: tuple(f"{prefix}.{n}" for n in range(2, 8)) for name, prefix in prefixes.items()},
        far={"eth2": ("8.8.8.8", "10.0.0.9"), "eth1": ("172.16.5.5", "172.16.9.9")},
        services=("10.96.0.1", "10.96.0.10", "203.0.113.77", "198.51.100.77"),
        special=("192.0.2.255", "224.0.0.5", "127.0.0.1", "172.17.0.1", "255.255.255.255"),
    )


def family6() -> Family:
    """The IPv6 world."""
    prefixes = {"eth0": "fd00:1:", "eth1": "fd00:2:", "eth2": "fd00:3:"}
    return Family(
        6,
        nets={name: f"{prefix}:/64" for name, prefix in prefixes.items()},
        own={name: (f"{prefix}:1",) for name, prefix in prefixes.items()},
        peers={name: tuple(f"{prefix}:{n}" for n in range(2, 8)) for name, prefix in prefixes.items()},
        far={"eth2": ("2001:db8::8",), "eth1": ("fd00:5::5", "fd00:5::9")},
        services=("fd00:96::1", "fd00:96::a", "fd00:3::77", "fd00:2::77"),
        special=("fd00:6::1", "ff02::5", "::1"),
    )


@dataclass
class World:
    """The families that are there, and the generator that all draws of a campaign case come from."""

    rng: random.Random
    families: dict[int, Family] = field(default_factory=dict)
    mtus: dict[str, int] = field(default_factory=dict)  # of interfaces with another one than 1500

    def chance(self, probability: float) -> bool:
        """True this often."""
        return self.rng.random() < probability

    def port(self) -> int:
        """A port that rules and packets know."""
        return self.rng.choice(PORTS)

    def address(self, family: int) -> str:
        """Any address; those of nodes and peers more often."""
        members = self.families[family]
        pool = self.rng.choices((members.all_peers(), members.all_own(), members.services, members.all_addresses()), (5, 3, 1, 1))[0]
        return self.rng.choice(pool)

    def network(self, family: int) -> str:
        """An address with a random mask around it."""
        lengths = (8, 16, 24, 25, 29, 30, 32) if family == 4 else (16, 32, 48, 64, 120, 125, 128)
        weights = (1, 2, 5, 3, 2, 2, 6)
        length = self.rng.choices(lengths, weights)[0]
        return str(ip_network(f"{self.address(family)}/{length}", strict=False))
