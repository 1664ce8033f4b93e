"""A real node and an emulated one side by side: after every packet the frames that left and all connections are compared.

What rules see of a connection (-m conntrack --ctstate) shows in the TTL of the forwarded packet: each state has its own.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from datapath import Datapath, Host
from datapath.lab.hostdir import write_node_files, write_rule_files
from datapath.lab.node import Node
from datapath.model.conntrack import ConntrackEntry
from datapath.syntax.conntrack_list import parse_conntrack_list
from tests.kernel.table import NODE_MACS, node, peer_mac

STATE_TTLS = {"INVALID": 10, "NEW": 11, "RELATED": 12, "ESTABLISHED": 13, "UNTRACKED": 14}
PREFIX = "net.netfilter.nf_conntrack_"


def state_rules(target: str) -> str:
    """Rules that write the connection's state into the TTL or hop limit."""
    lines = [f"-A FORWARD -m conntrack --ctstate {state} -j {target}-set {ttl}" for state, ttl in STATE_TTLS.items()]
    return "*mangle\n" + "\n".join(lines) + "\nCOMMIT\n"


RULES = {4: state_rules("TTL --ttl"), 6: state_rules("HL --hl")}


class Pair:
    """The two nodes. Rules are loaded once; `begin` empties the tables and sets sysctls for the next script."""

    def __init__(self, rules: Mapping[int, str] = RULES) -> None:
        self.kernel = Node(node())
        self.kernel.restore(dict(rules))
        self._directory = tempfile.TemporaryDirectory()
        host = Path(self._directory.name)
        write_node_files(self.kernel.namespace, host)
        write_rule_files(self.kernel.namespace, host, tuple(rules))
        self._host = Host.load(host)
        self._usual: dict[str, str] = {}
        self.begin({})

    def close(self) -> None:
        self.kernel.close()
        self._directory.cleanup()

    def begin(self, sysctls: Mapping[str, int]) -> None:
        """New tables; sysctls by their name behind nf_conntrack_."""
        for name, value in self._usual.items():
            self.kernel.namespace.set_sysctl(name, value)
        self._usual = {}
        self.emulator = Datapath(self._host)
        for short, value in sysctls.items():
            name = PREFIX + short
            self._usual[name] = self._host.sysctls[name]
            self.kernel.namespace.set_sysctl(name, str(value))
            self.emulator.sysctl(name, value)
        with contextlib.suppress(Exception):    # an empty table is an error of the tool's
            self.kernel.namespace.run("conntrack", "-F")
        list(self.kernel.wire.received())
        self._last = ""

    def send(self, interface: str, packet: bytes) -> tuple[Any, Any]:
        """Give both an IP packet from the wire: ([frames out], [connections]) of the kernel, and of the emulator."""
        ethertype = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
        frame = mac(NODE_MACS[interface]) + mac(peer_mac(interface, 2)) + ethertype + packet
        self.kernel.wire.send(interface, frame)
        now_ns = time.monotonic_ns()
        transit = self.emulator.receive(frame, interface, now_ns)
        outputs = sorted(self.kernel.wire.received())
        return (outputs, self.listed()), (sorted(transit.outputs), self.emulator.conntrack())

    def listed(self) -> list[ConntrackEntry]:
        """The kernel's connections. What /proc says otherwise than the tool is put right."""
        lines = "\n".join(self.kernel.connections())
        return [replace(entry, use=entry.use - 1) for entry in parse_conntrack_list(lines)]


def differences(kernel: tuple[Any, Any], emulator: tuple[Any, Any]) -> list[str]:
    """What differs: frames, and the lines of connections; a second more or less of a timeout is none."""
    found = [f"kernel    sends {name} {frame.hex()}" for name, frame in kernel[0] if (name, frame) not in emulator[0]]
    found += [f"emulator  sends {name} {frame.hex()}" for name, frame in emulator[0] if (name, frame) not in kernel[0]]
    ours = {str(replace(entry, timeout=0)): entry.timeout for entry in emulator[1]}
    theirs = {str(replace(entry, timeout=0)): entry.timeout for entry in kernel[1]}
    for who, here, there in (("kernel  ", theirs, ours), ("emulator", ours, theirs)):
        found += [f"{who}  {line} ({timeout} s left)" for line,
                  timeout in here.items() if line not in there or abs(there[line] - timeout) > 1]
    return found


def mac(text: str) -> bytes:
    """Its bytes."""
    return bytes.fromhex(text.replace(":", ""))


@contextlib.contextmanager
def pair(rules: Mapping[int, str] = RULES) -> Iterator[Pair]:
    """Both nodes, taken down at the end."""
    both = Pair(rules)
    try:
        yield both
    finally:
        both.close()
