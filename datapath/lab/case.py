"""A case: a node, its rules, packets; and what a kernel did with them.

A case is a directory: `host.json` (the recipe of the node), `iptables-save.txt` and `ip6tables-save.txt` (the rules
as given to the restore command), `ipset-save.txt`, `packets.json`, `host/` (the node as the standard commands print
it, rules included) and `kernel.json` (what the kernel did). `docs/lab.md` describes the files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RULE_FILES = {4: "iptables-save.txt", 6: "ip6tables-save.txt"}

Output = tuple[str, bytes]
Hits = dict[str, int]
Counters = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class CasePacket:
    """One packet: a frame that arrives on `interface`, or (`interface` None) an IP packet that a local process sends.

    `time_ns` counts from the start of the case. `uid`, `gid` and `mark` belong to the socket of a local process.
    `restore`: rules by family that are loaded right before it, as the restore command does.
    """

    data: bytes
    interface: str | None = None
    time_ns: int = 0
    uid: int | None = None
    gid: int | None = None
    mark: int = 0
    device: str | None = None  # SO_BINDTODEVICE of a local process
    restore: tuple[tuple[int, str], ...] = ()

    @property
    def local(self) -> bool:
        """Sent by a process of the node."""
        return self.interface is None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CasePacket:
        """From an item of `packets.json`."""
        data = bytes.fromhex(value["packet"] if value.get("local") else value["frame"])
        return cls(
            data,
            value.get("in"),
            round(value.get("time", 0) * 1_000_000_000),
            value.get("uid"),
            value.get("gid"),
            value.get("mark", 0),
            value.get("device"),
            tuple((int(family), text) for family, text in value.get("restore", {}).items()),
        )

    def to_json(self) -> dict[str, Any]:
        """An item of `packets.json`."""
        value: dict[str, Any] = {"time": self.time_ns / 1_000_000_000}
        value |= {"local": True, "packet": self.data.hex()} if self.local else {"in": self.interface, "frame": self.data.hex()}
        restore = {str(family): text for family, text in self.restore} or None
        optional = {"uid": self.uid, "gid": self.gid, "mark": self.mark or None, "device": self.device, "restore": restore}
        return value | {name: item for name, item in optional.items() if item is not None}


@dataclass(slots=True)
class Happened:
    """What the kernel did on account of one packet.

    `hits`: by how much each rule's packet counter moved ("table/chain/number", numbers from 1, or "policy"; IPv6
    rules of a case that has both families begin with "6:"). `drops`: names of the drop reasons that the kernel gave,
    None when nobody watched. `error`: the errno with which a local send was refused. `bound`: lines of connections
    that the nat table was asked about, as they were right after the packet.
    """

    outputs: list[Output] = field(default_factory=list)
    hits: Hits = field(default_factory=dict)
    drops: list[str] | None = None
    error: int = 0
    bound: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Happened:
        """From an item of `kernel.json`."""
        outputs = [(name, bytes.fromhex(data)) for name, data in value["outputs"] if name != "error"]
        error = next((number for name, number in value["outputs"] if name == "error"), 0)
        return cls(outputs, value["hits"], value.get("drops"), error, value.get("bound", []))

    def to_json(self) -> dict[str, Any]:
        """An item of `kernel.json`."""
        outputs: list[list[Any]] = [[name, data.hex()] for name, data in self.outputs]
        value: dict[str, Any] = {"outputs": outputs + [["error", self.error]] * bool(self.error), "hits": self.hits}
        optional = {"drops": self.drops, "bound": self.bound or None}
        return value | {name: item for name, item in optional.items() if item is not None}


@dataclass(slots=True)
class Recording:
    """What the kernel did with a case. `counters` are all rules' (packets, bytes) at the end.

    `in_order`: outputs of one packet stand in the order in which they left, also those of different interfaces.
    """

    kernel: str
    packets: list[Happened]
    counters: Counters
    conntrack: list[str]
    in_order: bool = True

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Recording:
        """From `kernel.json`."""
        counters = {name: (count[0], count[1]) for name, count in value["hits"].items()}
        packets = [Happened.from_json(item) for item in value["packets"]]
        return cls(value["kernel"], packets, counters, value["conntrack"], value.get("in_order", False))

    def to_json(self) -> dict[str, Any]:
        """What `kernel.json` holds."""
        return {
            "kernel": self.kernel,
            "packets": [item.to_json() for item in self.packets],
            "hits": self.counters,
            "conntrack": self.conntrack,
            "in_order": self.in_order,
        }


@dataclass(slots=True)
class Case:
    """A node (`recipe`, see `datapath.lab.node`), rules by family, ipsets, packets; when played also `host` and `recording`."""

    name: str
    recipe: dict[str, Any]
    rules: dict[int, str]
    packets: list[CasePacket]
    ipsets: str = ""
    host: Path | None = None
    recording: Recording | None = None

    @property
    def families(self) -> tuple[int, ...]:
        """The families that have rules."""
        return tuple(sorted(self.rules))

    def counter_key(self, family: int, name: str) -> str:
        """How `hits` calls a rule."""
        return f"6:{name}" if family == 6 and len(self.rules) > 1 else name


def load_case(directory: Path) -> Case:
    """Read a case directory."""
    recording = directory / "kernel.json"
    ipsets = directory / "ipset-save.txt"
    return Case(
        name=directory.name,
        recipe=json.loads((directory / "host.json").read_text()),
        rules={family: (directory / name).read_text() for family, name in RULE_FILES.items() if (directory / name).exists()},
        packets=[CasePacket.from_json(item) for item in json.loads((directory / "packets.json").read_text())],
        ipsets=ipsets.read_text() if ipsets.exists() else "",
        host=directory / "host",
        recording=Recording.from_json(json.loads(recording.read_text())) if recording.exists() else None,
    )


def save_case(case: Case, directory: Path) -> None:
    """Write a case directory; its `host/` is copied when it stands elsewhere."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "host.json").write_text(json.dumps(case.recipe, indent=1))
    for family, text in case.rules.items():
        (directory / RULE_FILES[family]).write_text(text)
    if case.ipsets:
        (directory / "ipset-save.txt").write_text(case.ipsets)
    (directory / "packets.json").write_text(lines_of_json([packet.to_json() for packet in case.packets]))
    if case.recording is not None:
        (directory / "kernel.json").write_text(json.dumps(case.recording.to_json()))
    if case.host is not None and case.host != directory / "host":
        (directory / "host").mkdir(exist_ok=True)
        for source in sorted(path for path in case.host.rglob("*") if path.is_file()):
            target = directory / "host" / source.relative_to(case.host)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(source.read_bytes())


def lines_of_json(items: list[Any]) -> str:
    """A JSON list with one item a line, so that a reader can count packets."""
    return "[" + ",\n".join(json.dumps(item) for item in items) + "]\n"
