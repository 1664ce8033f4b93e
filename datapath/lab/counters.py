"""Rule counters of the kernel, called "table/chain/number" as the emulator calls them.

The legacy back end gives them by one getsockopt per table (linux/netfilter_ipv4/ip_tables.h, IPT_SO_GET_ENTRIES),
in a few microseconds; the nft back end by its save command.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from datapath.lab.case import Counters
from datapath.lab.errors import LabError
from datapath.lab.namespace import Namespace

_LIBC = ctypes.CDLL(None, use_errno=True)
SO_GET_INFO, SO_GET_ENTRIES = 64, 65
GETINFO = struct.Struct("=32sI5I5III")
COUNT = struct.Struct("=QQ")
HOOKS = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")
SAVED_RULE = re.compile(r"^\[(\d+):(\d+)\] -A (\S+)")
SAVED_CHAIN = re.compile(r"^:(\S+) (\S+) \[(\d+):(\d+)\]")


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """Offsets in struct ipt_entry or struct ip6t_entry."""

    level: int  # of getsockopt
    target_offset: int
    counters: int


LAYOUTS = {4: EntryLayout(socket.SOL_IP, 88, 96), 6: EntryLayout(socket.IPPROTO_IPV6, 140, 152)}


def tables_of(rules: str) -> list[str]:
    """The tables that a save text names."""
    return list(dict.fromkeys(line[1:].strip() for line in rules.splitlines() if line.startswith("*")))


class LegacyCounters:
    """Counters of one family's tables in a namespace. Made after the rules are loaded, useless once they are replaced."""

    def __init__(self, namespace: Namespace, family: int, tables: list[str]) -> None:
        self._layout = LAYOUTS[family]
        with namespace:
            self._socket = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self._tables: list[tuple[bytes, int, list[tuple[int, str]]]] = []
        for table in tables:
            info = GETINFO.unpack(self._get(SO_GET_INFO, table.encode().ljust(GETINFO.size, b"\0")))
            size = info[-1]
            entries = self._entries(table.encode(), size)
            self._tables.append((table.encode(), size, list(_named_entries(entries, self._layout, table, info))))

    def _get(self, option: int, request: bytes) -> bytes:
        buffer = ctypes.create_string_buffer(request, len(request))
        length = ctypes.c_uint(len(request))
        if _LIBC.getsockopt(self._socket.fileno(), self._layout.level, option, buffer, ctypes.byref(length)) != 0:
            raise LabError(f"reading a table: {os.strerror(ctypes.get_errno())}")
        return buffer.raw

    def _entries(self, table: bytes, size: int) -> bytes:
        return self._get(SO_GET_ENTRIES, struct.pack("=32sI4x", table, size) + bytes(size))[40:]

    def read(self) -> Counters:
        """All counters now, policies included."""
        found: Counters = {}
        for table, size, places in self._tables:
            entries = self._entries(table, size)
            for offset, name in places:
                found[name] = COUNT.unpack_from(entries, offset)
        return found

    def close(self) -> None:
        """Close the socket that it asks with."""
        self._socket.close()


def _named_entries(entries: bytes, layout: EntryLayout, table: str, info: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    """Where each rule's counters are, and its name."""
    valid, hook_entry, underflow = info[1], info[2:7], info[7:12]
    starts = {hook_entry[hook]: name for hook, name in enumerate(HOOKS) if valid >> hook & 1}
    policies = {underflow[hook]: name for hook, name in enumerate(HOOKS) if valid >> hook & 1}
    chain, number, pending = "", 0, None
    at = 0
    while at < len(entries):
        target, following = struct.unpack_from("=HH", entries, at + layout.target_offset)
        if at in starts:
            chain, number = starts[at], 0
        if entries[at + target + 2 : at + target + 8] == b"ERROR\0":
            pending = None  # what came last before a chain's head is the end of the chain before, not a rule
            chain, number = entries[at + target + 32 : at + target + 62].split(b"\0")[0].decode(), 0
        else:
            if pending is not None:
                yield pending
            number += 1
            last = at in policies
            name = f"{table}/{chain}/{'policy' if last else number}"
            pending = (at + layout.counters, name)
            if last:
                yield pending
                pending = None
        at += following


class NftCounters:
    """The same of the nft back end."""

    def __init__(self, namespace: Namespace, family: int) -> None:
        self._namespace = namespace
        self._command = "iptables-nft-save" if family == 4 else "ip6tables-nft-save"

    def read(self) -> Counters:
        """All counters now, policies included."""
        return saved_counters(self._namespace.run(self._command, "-c"))

    def close(self) -> None:
        """Nothing to close."""


def saved_counters(text: str) -> Counters:
    """Counters from what `iptables-save -c` prints."""
    found: Counters = {}
    table, numbers = "", dict[str, int]()
    for line in text.splitlines():
        if line.startswith("*"):
            table, numbers = line[1:].strip(), {}
        elif (chain := SAVED_CHAIN.match(line)) is not None and chain[2] != "-":
            found[f"{table}/{chain[1]}/policy"] = (int(chain[3]), int(chain[4]))
        elif (rule := SAVED_RULE.match(line)) is not None:
            numbers[rule[3]] = numbers.get(rule[3], 0) + 1
            found[f"{table}/{rule[3]}/{numbers[rule[3]]}"] = (int(rule[1]), int(rule[2]))
    return found


def open_counters(namespace: Namespace, family: int, rules: str, backend: str) -> LegacyCounters | NftCounters:
    """The counters of a family's rules, as its back end gives them."""
    return LegacyCounters(namespace, family, tables_of(rules)) if backend == "legacy" else NftCounters(namespace, family)
