"""Kernel extensions: one file per match in `matches/`, per target in `targets/`, and the one table of them all.

A new extension is entered in `MATCHES` or `TARGETS` below and nowhere else in Python; its evaluation is entered in
the core's `match_table.pyx` or `target_table.pyx`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from datapath.errors import RulesetError, UnsupportedFeatureError
from datapath.extensions.base import Extension, Match, Target
from datapath.extensions.matches.addrtype import Addrtype
from datapath.extensions.matches.ah import Ah
from datapath.extensions.matches.comment import Comment
from datapath.extensions.matches.connbytes import Connbytes
from datapath.extensions.matches.connmark import Connmark
from datapath.extensions.matches.conntrack import Conntrack
from datapath.extensions.matches.dccp import Dccp
from datapath.extensions.matches.dscp import Dscp
from datapath.extensions.matches.dst import Dst
from datapath.extensions.matches.ecn import Ecn
from datapath.extensions.matches.esp import Esp
from datapath.extensions.matches.frag import Frag
from datapath.extensions.matches.hbh import Hbh
from datapath.extensions.matches.hl import Hl
from datapath.extensions.matches.icmp import Icmp
from datapath.extensions.matches.icmp6 import Icmp6
from datapath.extensions.matches.iprange import Iprange
from datapath.extensions.matches.ipv6header import Ipv6header
from datapath.extensions.matches.length import Length
from datapath.extensions.matches.limit import Limit
from datapath.extensions.matches.mac import Mac
from datapath.extensions.matches.mark import Mark
from datapath.extensions.matches.multiport import Multiport
from datapath.extensions.matches.owner import Owner
from datapath.extensions.matches.pkttype import Pkttype
from datapath.extensions.matches.quota import Quota
from datapath.extensions.matches.recent import Recent
from datapath.extensions.matches.rpfilter import Rpfilter
from datapath.extensions.matches.rt import Rt
from datapath.extensions.matches.sctp import Sctp
from datapath.extensions.matches.set import Set
from datapath.extensions.matches.state import State
from datapath.extensions.matches.statistic import Statistic
from datapath.extensions.matches.tcp import Tcp
from datapath.extensions.matches.tos import Tos
from datapath.extensions.matches.ttl import Ttl
from datapath.extensions.matches.udp import Udp
from datapath.extensions.targets.connmark import Connmark as ConnmarkTarget
from datapath.extensions.targets.ct import Ct
from datapath.extensions.targets.dnat import Dnat
from datapath.extensions.targets.dscp import Dscp as DscpTarget
from datapath.extensions.targets.hl import Hl as HlTarget
from datapath.extensions.targets.log import Log
from datapath.extensions.targets.mark import Mark as MarkTarget
from datapath.extensions.targets.masquerade import Masquerade
from datapath.extensions.targets.netmap import Netmap
from datapath.extensions.targets.nflog import Nflog
from datapath.extensions.targets.nfqueue import Nfqueue
from datapath.extensions.targets.notrack import Notrack
from datapath.extensions.targets.redirect import Redirect
from datapath.extensions.targets.reject import Reject
from datapath.extensions.targets.set import Set as SetTarget
from datapath.extensions.targets.snat import Snat
from datapath.extensions.targets.standard import Accept, Drop, Queue, Return
from datapath.extensions.targets.tos import Tos as TosTarget
from datapath.extensions.targets.trace import Trace
from datapath.extensions.targets.ttl import Ttl as TtlTarget

Kind = Literal["match", "target"]

MATCHES: tuple[type[Match], ...] = (
    Addrtype,
    Ah,
    Comment,
    Connbytes,
    Connmark,
    Conntrack,
    Dccp,
    Dscp,
    Dst,
    Ecn,
    Esp,
    Frag,
    Hbh,
    Hl,
    Icmp,
    Icmp6,
    Iprange,
    Ipv6header,
    Length,
    Limit,
    Mac,
    Mark,
    Multiport,
    Owner,
    Pkttype,
    Quota,
    Recent,
    Rpfilter,
    Rt,
    Sctp,
    Set,
    State,
    Statistic,
    Tcp,
    Tos,
    Ttl,
    Udp,
)

TARGETS: tuple[type[Target], ...] = (
    Dnat,
    Masquerade,
    Netmap,
    Redirect,
    Reject,
    SetTarget,
    Snat,
    ConnmarkTarget,
    Ct,
    DscpTarget,
    HlTarget,
    Log,
    MarkTarget,
    Nflog,
    Nfqueue,
    Notrack,
    TosTarget,
    Trace,
    TtlTarget,
    Accept,
    Drop,
    Queue,
    Return,
)


def registry(entries: Iterable[tuple[Kind, type[Extension]]]) -> dict[tuple[Kind, int, str], type[Extension]]:
    """The extensions by (kind, family, name). One that stands twice is a fault of the program: RuntimeError."""
    table: dict[tuple[Kind, int, str], type[Extension]] = {}
    for kind, extension in entries:
        for family in sorted(extension.FAMILIES):
            key = (kind, family, extension.NAME)
            if key in table:
                raise RuntimeError(f"{kind} {extension.NAME} is entered twice for IPv{family}")
            table[key] = extension
    return table


REGISTRY = registry([*(("match", match) for match in MATCHES), *(("target", target) for target in TARGETS)])


def find_match(family: int, name: str) -> type[Match]:
    """The match that `-m NAME` means. Raises as missing()."""
    found = REGISTRY.get(("match", family, name))
    if found is None or not issubclass(found, Match):
        raise missing("match", family, name)
    return found


def find_target(family: int, name: str) -> type[Target]:
    """The target that `-j NAME` means. Raises as missing()."""
    found = REGISTRY.get(("target", family, name))
    if found is None or not issubclass(found, Target):
        raise missing("target", family, name)
    return found


def missing(kind: Kind, family: int, name: str, *, lenient: bool = False) -> UnsupportedFeatureError:
    """The error for an extension that is not emulated. With `lenient` it is for the caller to go on without it.

    Raises RulesetError, lenient or not, for one that only the other family has.
    """
    if (kind, 10 - family, name) in REGISTRY:
        raise RulesetError(f"{kind} {name} exists only for IPv{10 - family}")
    error = UnsupportedFeatureError(f"{kind} {name} is not emulated")
    if not lenient:
        raise error
    return error
