"""A packet's way in words: one line per hook, translation or end. Terminal, packet comments and `--why` all read these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from datapath.model.steps import (
    Bound,
    Defragmented,
    DeliveredLocally,
    Drawn,
    Dropped,
    Fragmented,
    Generated,
    LeftBy,
    Logged,
    MarkChanged,
    NeighbourAsked,
    NotEmulated,
    PolicyApplied,
    Rewritten,
    Routed,
    RuleMatched,
    RuleNotMatched,
    Step,
    ThroughDevice,
    Tracked,
)

RuleStep = RuleMatched | PolicyApplied


@dataclass(slots=True)
class Line:
    """One line: a label (hook, "route", "nat", ...) and what happened there. `depth` > 0: a packet made on the first one's account."""

    label: str
    text: str
    depth: int = 0
    strong: bool = False


@dataclass(slots=True)
class _Tables:
    """The rules that matched one after the other in one hook, on their way to become one line."""

    hook: str
    depth: int
    by_table: list[tuple[str, list[str]]] = field(default_factory=list)

    def add(self, step: RuleStep) -> None:
        if not self.by_table or self.by_table[-1][0] != step.table:
            self.by_table.append((step.table, []))
        self.by_table[-1][1].append(_short(step))

    def line(self) -> Line:
        return Line(self.hook, "  ".join(f"[{table} {' › '.join(rules)}]" for table, rules in self.by_table), self.depth)


def lines(steps: Iterable[Step], *, rules: bool = False) -> Iterator[Line]:
    """The way as lines. With `rules`, each rule that matched, and each that did not, has a line of its own with its text."""
    tables: _Tables | None = None
    for step in steps:
        if isinstance(step, RuleMatched | PolicyApplied) and not rules:
            if tables is None or (tables.hook, tables.depth) != (step.hook, step.depth):
                if tables is not None:
                    yield tables.line()
                tables = _Tables(step.hook, step.depth)
            tables.add(step)
            continue
        for line in _line(step):
            if tables is not None:
                yield tables.line()
                tables = None
            yield line
    if tables is not None:
        yield tables.line()


def _short(step: RuleStep) -> str:
    if isinstance(step, PolicyApplied):
        return f"{step.chain} policy {step.verdict}"
    return f"{step.chain} {step.rule}" + (f" {step.action}" if step.action and not step.action.startswith(("jump", "goto")) else "")


def _line(step: Step) -> Iterator[Line]:
    """The line of a step that is not part of a hook's line; steps that say nothing to a reader give none."""
    depth = step.depth
    match step:
        case RuleMatched():
            yield Line(step.hook, f"{step.table} {step.chain} {step.rule}: {step.text}  ({step.tried} tried)", depth)
        case RuleNotMatched():
            yield Line(step.hook, f"{step.table} {step.chain} {step.rule}: {step.text}\n  no match: {step.condition}", depth)
        case PolicyApplied():
            yield Line(step.hook, f"{step.table} {step.chain} policy {step.verdict}  ({step.tried} tried)", depth)
        case Routed():
            by = f"  ({step.route})" if step.route else ""
            rule = f"  by rule {step.rule}" if step.rule else ""
            yield Line("route", f"{step.type}{f' by {step.device}' if step.device else ''}{by}{rule}", depth)
        case Tracked():
            entry = "" if step.entry is None else f" entry {step.entry}"
            how = "" if step.how == "found" else f" ({step.how})"
            yield Line("conntrack", f"{step.state}{entry}{how}{', not verified: cut by the snap length' if step.cut else ''}", depth)
        case Bound(rule=None, by_entry=False):
            return
        case Bound(rule=None):
            yield Line("nat", f"{step.manip} by the entry", depth)
        case Bound():
            yield Line("nat", f"{step.manip} by {'the entry, as it was decided by ' if step.by_entry else ''}{step.rule}", depth)
        case Rewritten():
            yield Line("nat", f"{step.manip} {step.before} → {step.after}", depth, strong=True)
        case Defragmented():
            yield Line("defrag", "whole again" if step.complete else "kept until the other fragments come", depth)
        case Dropped():
            yield Line("drop", step.reason, depth, strong=True)
        case LeftBy():
            yield Line("out", step.device, depth)
        case DeliveredLocally():
            yield Line("in", "to the local stack", depth)
        case Generated():
            yield Line("makes", step.what, depth)
        case NeighbourAsked():
            yield Line("neighbour", step.state, depth)
        case Logged():
            yield Line("log", step.text, depth)
        case NotEmulated():
            yield Line("unknown", f"{step.table} {step.chain} {step.rule} is not emulated: {step.text}", depth, strong=True)
        case Drawn():
            yield Line("draw", f"{step.what} {step.value} ({'shown by the capture' if step.shown else 'from the seed'})", depth)
        case MarkChanged():
            yield Line("mark", f"0x{step.mark:x}", depth)
        case ThroughDevice():
            yield Line("device", f"{step.direction} {step.device}", depth)
        case Fragmented():
            yield Line("fragment", f"cut into {step.fragments}", depth)
        case _:  # where it came in, hooks and ends of chains: the other lines show them
            return
