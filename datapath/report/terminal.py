"""A replay on a terminal: a block of lines per packet, readable at a glance."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from datapath.capture.played import Played, Role, Summary
from datapath.engine.transit import Transit
from datapath.model.verdicts import Outcome
from datapath.report import way
from datapath.report.captured import headers_of

VERDICT_STYLES = {
    Outcome.FORWARDED: "green", Outcome.DELIVERED: "cyan", Outcome.DROPPED: "bold red",
    Outcome.QUEUED: "yellow", Outcome.UNKNOWN: "bold magenta",
}  # fmt: skip
LABEL_WIDTH = 11


def verdict_text(transit: Transit) -> Text:
    """`FORWARDED eth1`, `DROPPED NETFILTER_DROP`: what became of it."""
    text = Text(transit.verdict.value, VERDICT_STYLES.get(transit.verdict, ""))
    if transit.drop_reason is not None:
        text.append(f" {transit.drop_reason}")
    elif transit.outputs:
        text.append(" " + ", ".join(interface for interface, _ in transit.outputs))
    return text


def packet_block(played: Played, start_ns: int, *, rules: bool = False) -> Text:
    """The lines of one packet: number, time, interface, headers and outcome, then its way."""
    text = Text()
    record = played.record
    number = "timer" if record is None else str(record.number)
    now_ns = record.time_ns if record is not None else played.transit.now_ns if played.transit else start_ns
    text.append(f"{number:>6} {(now_ns - start_ns) / 1e9:>11.6f} ", "dim")
    text.append(f"{played.interface or '-':<10} ", "bold")
    if record is not None:
        text.append(str(headers_of(record)))
    text.append("  ")
    if played.transit is not None:
        text.append_text(verdict_text(played.transit))
    elif played.role is Role.COPY:
        text.append(f"is packet {played.copy_of}, {'differs' if played.differences else 'as predicted'}", "dim")
    else:
        text.append(played.role.value, "dim")
    text.append("\n")
    if played.transit is not None:
        append_way(text, played.transit, rules=rules)
    for difference in played.differences:
        text.append(f"{'':>19}{'contradicts':<{LABEL_WIDTH}} {difference}\n", "bold red")
    for note in played.notes:
        text.append(f"{'':>19}{'note':<{LABEL_WIDTH}} {note}\n", "yellow")
    return text


def append_way(text: Text, transit: Transit, *, rules: bool = False) -> None:
    """The lines of a packet's way."""
    for line in way.lines(transit.steps, rules=rules):
        indent = 19 + 2 * line.depth
        text.append(f"{'':>{indent}}{line.label:<{LABEL_WIDTH}} ", "blue")
        first, *rest = line.text.split("\n")
        text.append(f"{first}\n", "bold" if line.strong else "")
        for more in rest:
            text.append(f"{'':>{indent + LABEL_WIDTH + 1}}{more}\n", "dim")


def tried_line(transit: Transit) -> str:
    """How many rules Linux tries for this packet, in all and per chain."""
    tried = transit.rules_tried
    return f"{sum(tried.values())} rules tried: " + ", ".join(f"{chain} {count}" for chain, count in tried.items() if count)


def print_summary(console: Console, summary: Summary) -> None:
    """What a whole replay comes to."""
    console.print(
        f"{summary.records} records: {summary.received} received, {summary.sent} sent by the node, {summary.copies} copies, "
        f"{summary.ignored} not played; {summary.contradictions} contradict the prediction, "
        f"{summary.draws_shown} draws taken from the capture",
        highlight=False,
    )
