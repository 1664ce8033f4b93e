"""The JSON form of a replay: one object per record, as docs/trace.schema.json describes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from datapath.capture.played import Played, Summary
from datapath.engine.transit import Transit
from datapath.model.steps import Bound, Rewritten, Step, Tracked
from datapath.report import headers
from datapath.report.captured import headers_of


def of_played(played: Played) -> dict[str, Any]:
    """One record of the capture and what became of it."""
    record: dict[str, Any] = {"role": played.role.value}
    if played.record is not None:
        record |= {"number": played.record.number, "time_ns": played.record.time_ns}
    record["interface"] = played.interface
    if played.copy_of is not None:
        record["copy_of"] = played.copy_of
    if played.record is not None:
        record["packet"] = headers_of(played.record).as_record()
    if played.transit is not None:
        record |= of_transit(played.transit)
    if played.differences:
        record["differences"] = [
            {"what": item.what, "predicted": item.predicted, "captured": item.captured} for item in played.differences
        ]
    if played.notes:
        record["notes"] = list(played.notes)
    if played.original_unknown:
        record["original_unknown"] = True
    return record


def of_transit(transit: Transit) -> dict[str, Any]:
    """One packet's walk."""
    record: dict[str, Any] = {"verdict": transit.verdict.value, "drop_reason": transit.drop_reason}
    own = list(transit.own_steps())
    if tracked := next((step for step in own if isinstance(step, Tracked)), None):
        record["conntrack"] = {"state": tracked.state, "entry": tracked.entry}
    if nat := _nat(own):
        record["nat"] = nat
    record["rules_tried"] = transit.rules_tried
    record["outputs"] = [
        {"interface": interface, "length": len(frame), "frame": frame.hex(), "packet": headers.of_frame(frame).as_record()}
        for interface, frame in transit.outputs
    ]
    record["steps"] = [step.as_record() for step in transit.steps]
    return record


def _nat(steps: list[Step]) -> dict[str, Any]:
    """What NAT did to each end: before, after, the rule that decided, and whether an earlier packet's entry did."""
    nat: dict[str, Any] = {}
    for step in steps:
        if isinstance(step, Bound):
            nat.setdefault(step.manip, {}).update(rule=step.rule, by_entry=step.by_entry)
        elif isinstance(step, Rewritten):
            nat.setdefault(step.manip, {}).update(before=step.before, after=step.after)
    return nat



def of_summary(summary: Summary) -> dict[str, Any]:
    """The counts of a whole replay."""
    return asdict(summary)
