"""Play a recorded case through the emulator and find where it differs from the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from datapath.lab.case import Case, CasePacket, Counters, Happened, Hits, Output
from datapath.lab.draws import Drawn
from datapath.lab.masks import identification, mask, network_offset

# Reasons that the kernel gives before a packet reaches a transport protocol.
ON_THE_WAY = frozenset({
    "NETFILTER_DROP", "IP_INHDR", "IP_CSUM", "IP_RPFILTER", "IP_INNOROUTES", "IP_LOCALNET", "IP_INVALID_SOURCE", "IP_INVALID_DEST",
    "IP_LOCAL_SOURCE", "IP_INADDRERRORS", "IP_OUTNOROUTES", "OTHERHOST", "PKT_TOO_BIG", "NEIGH_FAILED",
    "INVALID_PROTO", "UNICAST_IN_L2_MULTICAST", "IPV6DISABLED",
})  # fmt: skip
CONNTRACK_SECONDS = re.compile(r"^(\S+\s+\d+ \S+\s+\d+) (\d+) ")


@dataclass(slots=True)
class Difference:
    """One thing that the kernel and the emulator did differently. `packet` is an index into the case, -1 for the end."""

    case: Case
    packet: int
    what: str  # outputs, hits, drops, counters, conntrack, crash
    kernel: Any
    emulator: Any
    steps: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Comparison:
    """What was compared: packets, and the differences found (only the first unless all were asked for).

    `blurred`: the comparison ended early, at a redirect of IPv6 that one of both sent and the other did not.
    """

    case: Case
    packets: int = 0
    blurred: bool = False
    differences: list[Difference] = field(default_factory=list)


def compare(case: Case, *, seed: int = 0, all_differences: bool = False, seconds_slack: int | None = None) -> Comparison:
    """Play `case` (with `host` and `recording`) through a Datapath and compare packet by packet.

    `seconds_slack`: compare also the seconds left of conntrack entries, this much apart at most.
    """
    comparison = Comparison(case)
    for difference in _differences(case, seed, seconds_slack, comparison):
        comparison.differences.append(difference)
        if not all_differences:
            break
    return comparison


def _differences(case: Case, seed: int, seconds_slack: int | None, comparison: Comparison) -> Iterator[Difference]:
    from datapath import Datapath, Host

    if case.recording is None or case.host is None:
        raise ValueError(f"case {case.name} was not recorded")
    node = Datapath(Host.load(case.host), seed=seed, answer=bool(case.recipe.get("answers")))
    node.allow_offload(False)
    drawn = Drawn(case.recording)
    counters = all_counters(case, node)
    for index, packet in enumerate(case.packets):
        for family, text in packet.restore:
            node.restore(text, family=family)
            counters = all_counters(case, node)
        node.show(*drawn.shown(index, packet), statistic=False)
        transit = play(node, packet)
        after = all_counters(case, node)
        hits = moved(counters, after)
        if not case.recording.in_order:  # built-in chains that the rules' text did not name were not counted there
            hits = {name: packets for name, packets in hits.items() if name in case.recording.counters}
        counters = after
        comparison.packets += 1
        ours = [(name, bytes(data)) for name, data in transit.outputs]
        if not case.recording.in_order:
            ours.sort(key=interface_of)  # a stable sort: within an interface the order counts
        came_with = identification(packet.data, 0 if packet.local else network_offset(packet.data))
        wrong = list(_wrong(case.recording.packets[index], transit, ours, hits, came_with))
        if wrong and case.recording.in_order and redirects_differ(case.recording.packets[index], ours, transit, came_with):
            comparison.blurred = True
            return
        for what, kernel, emulator in wrong:
            yield Difference(case, index, what, kernel, emulator, way(transit))
    yield from _final_differences(case, node, counters, seconds_slack)


def _wrong(happened: Happened, transit: Any, ours: list[Output], hits: Hits, came_with: bytes) -> Iterator[tuple[str, Any, Any]]:
    """What differs for one packet: what it is, the kernel's, the emulator's."""
    if not same_outputs(happened.outputs, ours, came_with):
        yield "outputs", happened.outputs, ours
    if hits != happened.hits:
        yield "hits", happened.hits, hits
    if happened.drops is not None and not same_drops(happened, transit):
        yield "drops", happened.drops, transit.drop_reason


def redirects_differ(happened: Happened, ours: list[Output], transit: Any, came_with: bytes) -> bool:
    """Only one of both sent an IPv6 redirect. There is no switch for them, and Linux counts the tokens of their rate in jiffies."""
    kernel, emulator = without_redirects(happened.outputs), without_redirects(ours)
    if len(kernel) != len(happened.outputs) or len(emulator) != len(ours):
        return same_outputs(kernel, emulator, came_with) and len(happened.outputs) != len(ours)
    # One that the rules dropped on its way shows only in the steps.
    return same_outputs(kernel, emulator, came_with) and any("ICMPv6 type 137" in str(step) for step in transit.steps)


def without_redirects(outputs: list[Output]) -> list[Output]:
    """The frames that are not IPv6 redirects."""
    return [(name, frame) for name, frame in outputs if frame[12:14] != b"\x86\xdd" or frame[20] != 58 or frame[54:55] != b"\x89"]


def way(transit: Any) -> list[str]:
    """The way of a packet through the emulator for a reader."""
    return [f"verdict {transit.verdict}, drop reason {transit.drop_reason}", *map(show_step, transit.steps)]


def _final_differences(case: Case, node: Any, counters: Counters, seconds_slack: int | None) -> Iterator[Difference]:
    assert case.recording is not None
    ours = {name: tuple(counters[name]) if name in counters else None for name in case.recording.counters}
    wrong = [name for name, count in case.recording.counters.items() if ours[name] != tuple(count)]
    if wrong:
        kernel = {name: case.recording.counters[name] for name in wrong}
        yield Difference(case, -1, "counters", kernel, {name: ours[name] for name in wrong})
    lines = [str(entry) for entry in node.conntrack()]
    if not same_conntrack(case.recording.conntrack, lines, seconds_slack):
        yield Difference(case, -1, "conntrack", sorted(case.recording.conntrack), sorted(lines))


def interface_of(output: Output) -> str:
    """The interface by which it left."""
    return output[0]


def show_step(step: Any) -> str:
    """One step of the emulator's way on one line."""
    record = step.as_record()
    depth: int = record.pop("depth", 0)
    return "  " * depth + " ".join([str(record.pop("step")), *(f"{name}={value}" for name, value in record.items())])


def play(node: Any, packet: CasePacket) -> Any:
    """Give one packet to a Datapath; its Transit."""
    if packet.local:
        owner = packet.uid or 0, packet.gid or 0  # root's, unless the case says whose
        return node.send(packet.data, now_ns=packet.time_ns, uid=owner[0], gid=owner[1], mark=packet.mark, interface=packet.device)
    return node.receive(packet.data, interface=packet.interface, now_ns=packet.time_ns)


def all_counters(case: Case, node: Any) -> Counters:
    """Every counter of the emulator, called as the recording calls them."""
    return {
        case.counter_key(family, name): (count[0], count[1])
        for family in case.families
        for name, count in node.counters(family=family).items()
    }


def moved(before: Counters, after: Counters) -> Hits:
    """By how much each packet counter moved."""
    hits = {name: count[0] - before.get(name, (0, 0))[0] for name, count in after.items()}
    return {name: packets for name, packets in hits.items() if packets}


def same_outputs(kernel: list[Output], ours: list[Output], came_with: bytes = b"") -> bool:
    """The same frames out of the same interfaces in the same order, what Linux draws left out."""
    if kernel == ours:
        return True
    return [(name, mask(data, came_with)) for name, data in kernel] == [(name, mask(data, came_with)) for name, data in ours]


def same_drops(happened: Happened, transit: Any) -> bool:
    """A drop of the emulator is for a reason that the kernel gave; what it delivers the kernel did not drop on the way.

    The kernel gives a reason too for what a node of the lab swallows after INPUT: XFRM_POLICY, or one of the transport's.
    """
    reasons = happened.drops or []
    if transit.drop_reason is not None:
        return transit.drop_reason in reasons or (happened.error != 0 and not reasons)  # the sender got an error instead
    return transit.verdict != "DELIVERED" or not reasons or not set(reasons) <= ON_THE_WAY


def same_conntrack(kernel: list[str], ours: list[str], seconds_slack: int | None) -> bool:
    """The same entries in any order."""
    left, right = sorted(map(split_seconds, kernel)), sorted(map(split_seconds, ours))
    if [line for line, _ in left] != [line for line, _ in right]:
        return False
    if seconds_slack is None:
        return True
    return all(abs(seconds - other) <= seconds_slack for (_, seconds), (_, other) in zip(left, right, strict=True))


def split_seconds(line: str) -> tuple[str, int]:
    """A line of `conntrack -L -o extended` without the seconds left, and these (-1: it shows none)."""
    line = " ".join(line.split())
    found = CONNTRACK_SECONDS.match(line)
    return (line, -1) if found is None else (f"{found[1]} {line[found.end() :]}", int(found[2]))
