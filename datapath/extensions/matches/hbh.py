"""The hbh match: length and options of an IPv6 hop-by-hop options header.

Kernel: net/ipv6/netfilter/ip6t_hbh.c, hbh_mt6. Manual: iptables-extensions(8), section hbh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from datapath.extensions.base import Option
from datapath.extensions.matches.ipv6_options import Ipv6Options


@dataclass(frozen=True, slots=True)
class Hbh(Ipv6Options):
    """`-m hbh`."""

    NAME: ClassVar[str] = "hbh"
    FAMILIES: ClassVar[frozenset[int]] = frozenset({6})
    SUMMARY: ClassVar[str] = "length and options of an IPv6 hop-by-hop options header"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--hbh-len",), negatable=True), Option(("--hbh-opts",)))
    HEADER: ClassVar[int] = 0
