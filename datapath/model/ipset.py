"""IP sets and their elements (ipset(8)), and how the core is given them.

Kernel: net/netfilter/ipset. An element has a value for each dimension of its set's type.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

# Type: its dimensions. `ip` is one address, `net` a network, `port` protocol and port, `bare port` a port alone.
TYPES: dict[str, tuple[str, ...]] = {
    "hash:ip": ("ip",),
    "hash:mac": ("mac",),
    "hash:ip,mac": ("ip", "mac"),
    "hash:net": ("net",),
    "hash:net,net": ("net", "net"),
    "hash:ip,port": ("ip", "port"),
    "hash:net,port": ("net", "port"),
    "hash:ip,port,ip": ("ip", "port", "ip"),
    "hash:ip,port,net": ("ip", "port", "net"),
    "hash:ip,mark": ("ip", "mark"),
    "hash:net,port,net": ("net", "port", "net"),
    "hash:net,iface": ("net", "iface"),
    "bitmap:ip": ("ip",),
    "bitmap:ip,mac": ("ip", "mac"),
    "bitmap:port": ("bare port",),
    "list:set": ("set",),
}
FIELDS = {"ip": 1, "net": 2, "port": 3, "mac": 4, "iface": 5, "mark": 6, "bare port": 7, "set": 8}     # enum SetField in ipset.pxd
KEY = struct.Struct("<16s16s6sHI4B")       # struct SetKey
ALL_ONES = b"\xff" * 16


@dataclass(frozen=True, slots=True)
class Network:
    """An address (4 or 16 bytes) and its prefix length; 0 for `ip` dimensions, which are single addresses."""

    address: bytes
    length: int


@dataclass(frozen=True, slots=True)
class Port:
    """A protocol's number and a port, or for ICMP type << 8 | code."""

    protocol: int
    port: int


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface's name, the beginning of one (`wildcard`), or of a bridge port (`physdev`)."""

    name: str
    physdev: bool = False
    wildcard: bool = False


Value = Network | Port | Interface | bytes | int | str | None


@dataclass(frozen=True, slots=True)
class Element:
    """Values by dimension: Network, Port, Interface, a MAC address (None: whatever comes first), a mark, or a set's name.

    `timeout` is in seconds, None or 0 for never.
    """

    values: tuple[Value, ...]
    nomatch: bool = False
    timeout: int | None = None
    packets: int = 0
    bytes: int = 0
    comment: str | None = None
    skb: tuple[str, ...] = ()       # skbmark, skbprio and skbqueue options, as they were given

    def row(self, compare_mac: bool) -> tuple[Any, ...]:
        """As NetNamespace.add_to_set takes it. `compare_mac`: the MAC address is no part of the key (bitmap:ip,mac)."""
        networks: list[Network] = []
        mac: bytes | None = None
        port, mark, interface, has_mac = Port(0, 0), 0, Interface(""), False
        head: Any = None
        for value in self.values:
            if isinstance(value, Network):
                networks.append(value)
            elif isinstance(value, Port):
                port = value
            elif isinstance(value, Interface):
                interface = value
            elif isinstance(value, int):
                mark = value
            elif isinstance(value, str):
                head = value
            else:
                mac, has_mac = value, True
        first, second = (*networks, Network(b"", 0), Network(b"", 0))[:2]
        if head is None:
            key_mac = mac if has_mac and not compare_mac and mac else b""
            head = KEY.pack(first.address, second.address, key_mac, port.port, mark, port.protocol, first.length, second.length, 0)
        flags = (self.nomatch, interface.physdev, interface.wildcard)
        left = (self.timeout or 0) * 1_000_000_000
        return head, interface.name.encode(), mac if compare_mac else None, flags, self.packets, self.bytes, left


@dataclass(frozen=True, slots=True)
class IpSet:
    """A set. `range` (first and last address or port as numbers) is the bitmap types'; `mask` 4 or 16 bytes."""

    name: str
    type: str
    family: int                     # 4, 6; 0 for both
    range: tuple[int, int] | None = None
    mask: bytes = ALL_ONES
    mark_mask: int = 0xFFFFFFFF
    timeout: int | None = None      # of elements that say none
    counters: bool = False
    comment: bool = False
    skbinfo: bool = False
    options: tuple[str, ...] = ()   # what only Linux's memory depends on, as it was given
    elements: tuple[Element, ...] = field(default=())

    @property
    def dimensions(self) -> tuple[str, ...]:
        """What it looks at."""
        return TYPES[self.type]

    @property
    def compares_mac(self) -> bool:
        """bitmap:ip,mac finds an element by its address alone."""
        return self.type == "bitmap:ip,mac"

    def compiled(self) -> dict[str, Any]:
        """As NetNamespace.create_set takes it."""
        given: dict[str, Any] = {
            "name": self.name, "family": self.family, "fields": [FIELDS[kind] for kind in self.dimensions],
            "mask": self.mask.ljust(16, b"\xff"), "mark_mask": self.mark_mask, "counters": self.counters,
        }
        if self.timeout is not None:
            given["timeout_ns"] = self.timeout * 1_000_000_000
        if "maxelem" in self.options:
            given["most"] = int(self.options[self.options.index("maxelem") + 1], 0)
        return given if self.range is None else given | {"range": self.range}
