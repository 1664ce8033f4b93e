"""What a packet met on its way: one frozen dataclass per thing that can happen.

`Transit.steps` holds them in order. `depth` is 0 for the packet itself and counts up for packets that the kernel
made on its account (ICMP errors, resets) or that came back through the loopback device. Readers match on the
type; `as_record` gives the JSON form that docs/trace.schema.json describes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Step:
    """Anything that a packet met."""

    KIND: ClassVar[str] = ""

    depth: int

    def as_record(self) -> dict[str, Any]:
        """`{"step": KIND, ...}` with the fields that say something."""
        record: dict[str, Any] = {"step": self.KIND}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (field.name == "depth" and value == 0):
                record[field.name] = value
        return record


@dataclass(frozen=True, slots=True)
class Received(Step):
    """A frame came in by a device; `packet_type` is HOST, BROADCAST, MULTICAST, OTHERHOST or LOOPBACK."""

    KIND: ClassVar[str] = "receive"
    device: str
    packet_type: str


@dataclass(frozen=True, slots=True)
class SentLocally(Step):
    """A process of the node, or the kernel itself, sends a packet."""

    KIND: ClassVar[str] = "send"
    device: str | None = None


@dataclass(frozen=True, slots=True)
class HookEntered(Step):
    """The packet enters a hook."""

    KIND: ClassVar[str] = "hook"
    hook: str
    in_device: str | None = None
    out_device: str | None = None


@dataclass(frozen=True, slots=True)
class RuleMatched(Step):
    """A rule matched. `tried` rules of the chain were tried for that in this visit, this one included.

    `action` is what it did: the target's name, or `jump CHAIN` or `goto CHAIN`, or nothing for a rule that only counts.
    """

    KIND: ClassVar[str] = "rule"
    hook: str
    table: str
    chain: str
    rule: int
    text: str
    action: str
    verdict: str
    tried: int


@dataclass(frozen=True, slots=True)
class ChainEnded(Step):
    """A user chain ran out of rules, after `tried` more of them were tried."""

    KIND: ClassVar[str] = "chain end"
    hook: str
    table: str
    chain: str
    tried: int


@dataclass(frozen=True, slots=True)
class PolicyApplied(Step):
    """A base chain ran out of rules and its policy decided."""

    KIND: ClassVar[str] = "policy"
    hook: str
    table: str
    chain: str
    verdict: str
    tried: int


@dataclass(frozen=True, slots=True)
class RuleNotMatched(Step):
    """A rule that was tried and did not match; `condition` is the first one that failed, as the rule spells it."""

    KIND: ClassVar[str] = "no match"
    hook: str
    table: str
    chain: str
    rule: int
    text: str
    condition: str


@dataclass(frozen=True, slots=True)
class Routed(Step):
    """A routing decision: its type as `ip route` names it, the route and the policy rule that matched."""

    KIND: ClassVar[str] = "route"
    type: str
    device: str | None
    route: str | None
    rule: str | None


@dataclass(frozen=True, slots=True)
class Tracked(Step):
    """Conntrack has looked at the packet. `state` as --ctstate spells it, `entry` the serial number of its entry.

    `how` says how it came to that state, for INVALID why. `cut`: the snap length kept conntrack from verifying all of it.
    """

    KIND: ClassVar[str] = "conntrack"
    state: str
    entry: int | None
    direction: str | None
    how: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Bound(Step):
    """NAT was decided for the connection: by a rule, or by a null binding (`rule` is None: nothing is translated).

    `manip` is the end of this packet that it is about: a reply's source is what a DNAT rule decided. `by_entry`: an
    earlier packet decided; this one only follows.
    """

    KIND: ClassVar[str] = "nat"
    manip: str
    rule: str | None
    by_entry: bool


@dataclass(frozen=True, slots=True)
class Rewritten(Step):
    """An end of the packet was rewritten."""

    KIND: ClassVar[str] = "rewrite"
    manip: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Defragmented(Step):
    """A fragment was kept for reassembly, or completed its packet."""

    KIND: ClassVar[str] = "defrag"
    complete: bool


@dataclass(frozen=True, slots=True)
class Dropped(Step):
    """The end: `reason` is a name of enum skb_drop_reason."""

    KIND: ClassVar[str] = "drop"
    reason: str


@dataclass(frozen=True, slots=True)
class LeftBy(Step):
    """A frame left by a device."""

    KIND: ClassVar[str] = "output"
    device: str


@dataclass(frozen=True, slots=True)
class DeliveredLocally(Step):
    """The local stack has it."""

    KIND: ClassVar[str] = "deliver"


@dataclass(frozen=True, slots=True)
class Generated(Step):
    """The kernel makes a packet on this one's account."""

    KIND: ClassVar[str] = "generate"
    what: str


@dataclass(frozen=True, slots=True)
class NeighbourAsked(Step):
    """The next hop's link address is looked up: resolved, asked (the packet waits), or failed."""

    KIND: ClassVar[str] = "neighbour"
    state: str


@dataclass(frozen=True, slots=True)
class Logged(Step):
    """A line that LOG, NFLOG or TRACE writes."""

    KIND: ClassVar[str] = "log"
    text: str


@dataclass(frozen=True, slots=True)
class NotEmulated(Step):
    """A rule that is not emulated would have decided (--lenient): from here on the outcome is unknown."""

    KIND: ClassVar[str] = "unknown"
    table: str
    chain: str
    rule: int
    text: str


@dataclass(frozen=True, slots=True)
class Drawn(Step):
    """Linux draws at random here. `shown`: the capture shows what it drew; else the seed decided."""

    KIND: ClassVar[str] = "draw"
    what: str
    value: int
    shown: bool


@dataclass(frozen=True, slots=True)
class MarkChanged(Step):
    """The packet's mark changed."""

    KIND: ClassVar[str] = "mark"
    mark: int


@dataclass(frozen=True, slots=True)
class ThroughDevice(Step):
    """A stacked device (VLAN, bridge, tunnel) is passed."""

    KIND: ClassVar[str] = "device"
    device: str
    direction: str


@dataclass(frozen=True, slots=True)
class Fragmented(Step):
    """The packet was cut on its way out."""

    KIND: ClassVar[str] = "fragment"
    fragments: int
