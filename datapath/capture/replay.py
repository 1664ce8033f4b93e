"""A capture played through a node, record by record.

    replay = Replay(node, open_capture("out.pcapng"))
    for played in replay:           # one Played per record (and per thing that time alone made happen), in order
        ...
    replay.summary                  # counts; .contradictions decides the exit code

A frame that came in is received; one that left is first looked for among the predicted frames and compared, and only
what is left over was sent by a process of the node. docs/captures.md says how.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from datapath.capture.compare import differences
from datapath.capture.draws import DrawnConnections
from datapath.capture.expected import Expected, Leaving, Passage
from datapath.capture.frame import Frame, ethernet, read_frame
from datapath.capture.node import Node
from datapath.capture.offload import offload_notes
from datapath.capture.packet import IpPacket, read_packet
from datapath.capture.place import Place, Places
from datapath.capture.played import Difference, Played, Role, Summary
from datapath.capture.reader import Capture
from datapath.capture.record import Record, owner_of
from datapath.capture.shown import LeavingCopies, Shown, shown_by, shown_by_reply
from datapath.capture.stack import Stacks
from datapath.capture.window import Bounds, Sight, Window
from datapath.engine.transit import Transit
from datapath.model.steps import Rewritten, Tracked
from datapath.model.verdicts import Outcome

OF_CONNECTIONS = frozenset({"source", "destination", "drop", "interface"})  # differences that every packet of one has
MOST_TOLD, MOST_SAID = 100_000, 200
ORIGINAL_UNKNOWN = "captured after NAT, original unknown"


class Replay:
    """Plays a capture through a node.

    `interface` is the device of frames that do not tell theirs, `rename` maps names of the capture to names of the host,
    `strict` makes no allowance for offload. Iterating raises CaptureError (damage, an interface that the host does not
    know) when everything before it has been played and given out.
    """

    def __init__(
        self,
        node: Node,
        capture: Capture,
        *,
        interface: str | None = None,
        rename: Mapping[str, str] | None = None,
        strict: bool = False,
        bounds: Bounds | None = None,
    ) -> None:
        self.summary = Summary()
        self._node = node
        self._capture = capture
        self._strict = strict
        self._stacks = Stacks(node.host)
        self._places = Places(
            node.host,
            interface=interface,
            rename=rename or {},
            is_local=node.is_local,
            device_of_route=node.device_of_route,
            say=self._say,
        )
        self._window = Window(capture, self._look, bounds or Bounds())
        self._expected = Expected([link.name for link in node.host.links if link.link_type == "none"])
        self._copies = LeavingCopies()
        self._drawn = DrawnConnections()
        self._told: set[tuple[str, tuple[Difference, ...]]] = set()
        node.allow_offload(not strict)

    def __iter__(self) -> Iterator[Played]:
        try:
            for sight in self._window:
                for transit in self._node.advance(sight.time_ns):
                    self._expected.add(Passage(sight.record.number, sight.time_ns, None, None), transit.outputs)
                    yield Played(Role.TIMER, None, transit=transit)
                played = self._play(sight)
                self._count(played)
                yield played
        finally:
            self._expected.end()
            self.summary.draws_shown = self._node.draw_counts()[1]
            self.summary.unseen = sum(self._expected.unseen.values())
            for warning in self._capture.warnings:
                self._say(warning)

    def _look(self, record: Record) -> tuple[Frame | None, IpPacket | None, Place | None]:
        frame = read_frame(record)
        if frame is None:
            return None, None, None
        packet = read_packet(record.data[frame.network :], record.length - frame.network) if frame.is_ip else None
        return frame, packet, self._places.place(record, frame, packet)

    def _play(self, sight: Sight) -> Played:
        if sight.frame is None or sight.place is None:
            return Played(Role.IGNORED, sight.record, notes=("too short for its link header",))
        if sight.place.outgoing:
            return self._left(sight, sight.frame, sight.place)
        return self._came(sight, sight.frame, sight.place)

    def _came(self, sight: Sight, frame: Frame, place: Place) -> Played:
        """A frame from the wire: received, unless it was seen lower in the stack already."""
        device = place.device or ""
        below = self._expected.entered(sight.packet, device) if sight.packet is not None else None
        if below is not None and below.device is not None and self._stacks.is_above(device, below.device):
            below.seen_on.add(device)
            found = self._compare(below.packet, sight.packet, generated=False)
            return self._copy(sight, device, below.number, () if self._translated_on_bridge(below, sight, device, found) else found)
        data = ethernet(sight.record, frame, self._places.link(device).mac)
        entry = self._stacks.entry(device, data[:6])
        if entry is None:
            return Played(Role.IGNORED, sight.record, device, notes=("handed on by the bridge from port to port: not played",))
        shown = self._show(sight)
        seeded, taken = self._node.draw_counts()
        wire_length = sight.record.length + len(data) - len(sight.record.data)
        transit = self._node.receive(data, entry, sight.time_ns, wire_length=wire_length)
        self._enter(sight, device, transit)
        contradiction = self._drawn.contradicted(sight, transit)
        seeded_now, taken_now = self._node.draw_counts()
        if seeded_now > seeded:
            self._drawn.remember(sight, transit)
        notes = (*offload_notes(sight, self._places.link(device), self._strict), *self._shown_notes(shown if taken_now > taken else None))
        return Played(Role.RECEIVED, sight.record, device, transit, differences=contradiction, notes=notes)

    def _translated_on_bridge(self, below: Passage, sight: Sight, device: str, found: tuple[Difference, ...]) -> bool:
        """Whether a copy on a bridge shows its packet behind PREROUTING: with br_netfilter that runs before the bridge."""
        if self._places.link(device).kind != "bridge" or below.transit is None or sight.packet is None:
            return False
        ends = {step.after for step in below.transit.own_steps() if isinstance(step, Rewritten) and step.manip == "destination"}
        return sight.packet.end(1) in ends and {difference.what for difference in found} <= {"destination", "id"}

    def _left(self, sight: Sight, frame: Frame, place: Place) -> Played:
        """A leaving frame: predicted, or sent by the node itself."""
        content = b"" if frame.is_ip else ethernet(sight.record, frame, bytes(6))
        leaving = self._expected.leaving(sight.packet, content, place.device)
        if leaving is not None:
            return self._predicted(sight, place, leaving)
        whole = self._expected.segmented(sight.packet) if sight.packet is not None else None
        if whole is not None:
            whole.seen_on.add(place.device)
            note = f"offload: one of the segments of packet {whole.passage.number}"
            return Played(Role.COPY, sight.record, place.device, copy_of=whole.passage.number, notes=(note,))
        if sight.packet is None:
            return Played(Role.IGNORED, sight.record, place.device, notes=("left the node and holds no IP packet",))
        passed = self._expected.entered(sight.packet, place.device)
        if passed is not None and passed.device != place.device:
            passed.seen_on.add(place.device)
            return self._copy(sight, place.device, passed.number, self._left_after_all(passed, place.device))
        return self._sent(sight, place, sight.packet)

    def _left_after_all(self, passed: Passage, device: str | None) -> tuple[Difference, ...]:
        """What is wrong with a frame of which the walk predicted none: nothing, if it was seen leaving higher in the stack."""
        if passed.sent and passed.device is not None and device is not None and self._stacks.related(passed.device, device):
            return ()
        return (Difference("drop", outcome_of(passed.transit), f"left by {device or 'an unknown device'}"),)

    def _predicted(self, sight: Sight, place: Place, leaving: Leaving) -> Played:
        leaving.seen_on.add(place.device)
        found = list(self._compare(leaving.packet, sight.packet, generated=leaving.generated))
        if place.device is not None and not self._stacks.related(place.device, leaving.device):
            found.insert(0, Difference("interface", leaving.device, place.device))
        return self._copy(sight, place.device, leaving.passage.number, tuple(found))

    def _sent(self, sight: Sight, place: Place, packet: IpPacket) -> Played:
        """Sent by a process of the node, and captured behind POSTROUTING."""
        original = self._node.before_nat(packet.data)
        shown = shown_by(packet, sight.record.number)
        self._node.show(shown.source, shown.destination)
        bound = self._stacks.bridge_of(place.device) if packet.is_for_link and place.device is not None else None
        uid, gid = owner_of(sight.record)
        transit = self._node.send(original or packet.data, sight.time_ns, uid, gid, wire_length=packet.length, interface=bound)
        passage = self._enter(sight, place.device, transit)
        passage.sent = True
        notes = () if original is not None else (ORIGINAL_UNKNOWN,)
        found: tuple[Difference, ...] = ()
        leaving = self._expected.leaving(packet, b"", place.device)
        if leaving is not None and leaving.passage is passage:
            leaving.seen_on.add(place.device)
            found = self._compare(leaving.packet, packet, generated=False)
        elif transit.verdict is not Outcome.QUEUED and not self._may_be_loopback(place, transit):
            found = (Difference("drop", outcome_of(transit), f"left by {place.device or 'an unknown device'}"),)
        if original is None:
            notes, found = (*notes, *(f"differs: {difference}" for difference in found)), ()
        return Played(
            Role.SENT, sight.record, place.device, transit, differences=found, notes=notes, original_unknown=original is None
        )

    def _may_be_loopback(self, place: Place, transit: Transit) -> bool:
        """What the node sends to itself is not among the frames that leave."""
        if place.device is None:
            return transit.verdict is Outcome.DELIVERED
        return self._places.is_loopback(place.device)

    def _copy(self, sight: Sight, device: str | None, number: int, found: tuple[Difference, ...]) -> Played:
        """A frame that shows a packet again. The same difference of the same flows is one contradiction."""
        key = (sight.packet.flow if sight.packet is not None else "", found)
        if found and key in self._told:
            return Played(Role.COPY, sight.record, device, copy_of=number, notes=("differs as an earlier packet of the connection did",))
        if found and len(self._told) < MOST_TOLD and any(difference.what in OF_CONNECTIONS for difference in found):
            self._told.add(key)
        return Played(Role.COPY, sight.record, device, copy_of=number, differences=found)

    def _enter(self, sight: Sight, device: str | None, transit: Transit) -> Passage:
        passage = Passage(sight.record.number, sight.time_ns, device, sight.packet)
        passage.seen_on.add(device)
        if transit.verdict is not Outcome.FORWARDED or (device is not None and self._places.link(device).master is not None):
            passage.transit = transit
        self._expected.add(passage, transit.outputs)
        return passage

    def _compare(self, predicted: IpPacket | None, captured: IpPacket | None, *, generated: bool) -> tuple[Difference, ...]:
        if predicted is None or captured is None:
            return ()
        return differences(predicted, captured, generated=generated, strict=self._strict)

    def _show(self, sight: Sight) -> Shown | None:
        shown = self._copies.shown(sight, self._window) or shown_by_reply(sight, self._window, self._node.is_local)
        if shown is not None:
            self._node.show(shown.source, shown.destination)
        return shown

    @staticmethod
    def _shown_notes(shown: Shown | None) -> tuple[str, ...]:
        return () if shown is None else (f"what Linux drew is taken from record {shown.by}",)

    def _count(self, played: Played) -> None:
        summary = self.summary
        summary.records += 1
        summary.received += played.role is Role.RECEIVED
        summary.sent += played.role is Role.SENT
        summary.copies += played.role is Role.COPY
        summary.ignored += played.role is Role.IGNORED
        summary.contradictions += bool(played.differences)

    def _say(self, what: str) -> None:
        if what not in self.summary.said and len(self.summary.said) < MOST_SAID:
            self.summary.said.append(what)


def outcome_of(transit: Transit | None) -> str:
    """How a walk ended, in words, and why conntrack found the packet invalid if it did."""
    if transit is None:
        return "forwarded"
    text = transit.verdict.lower() + (f" ({transit.drop_reason})" if transit.drop_reason else "")
    invalid = next((step for step in transit.own_steps() if isinstance(step, Tracked) and step.state == "INVALID"), None)
    return text if invalid is None else f"{text}, invalid to conntrack ({invalid.how})"
