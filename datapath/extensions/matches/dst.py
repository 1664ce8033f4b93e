"""The dst match: length and options of an IPv6 destination options header.

Kernel: net/ipv6/netfilter/ip6t_hbh.c, hbh_mt6. Manual: iptables-extensions(8), section dst.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from datapath.extensions.base import Option
from datapath.extensions.matches.ipv6_options import Ipv6Options


@dataclass(frozen=True, slots=True)
class Dst(Ipv6Options):
    """`-m dst`."""

    NAME: ClassVar[str] = "dst"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({6})
    SUMMARY: ClassVar[str] = "length and options of an IPv6 destination options header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--dst-len",), negatable=True), Option(("--dst-opts",)))
    HEADER: ClassVar[int] = 60
