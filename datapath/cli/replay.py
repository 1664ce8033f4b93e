"""`datapath replay`: a capture through a node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from datapath.capture.bulk import play_bulk
from datapath.capture.played import Played, Role
from datapath.capture.reader import open_capture
from datapath.capture.replay import Replay
from datapath.capture.writer import PcapngWriter
from datapath.cli.failing import NO
from datapath.engine.datapath import Datapath
from datapath.engine.host import Host
from datapath.errors import DatapathError, InputError
from datapath.report import records, terminal
from datapath.report.written import LineFile, write_outputs, write_record

TALK = Console(stderr=True, highlight=False)


def replay(
    capture: Annotated[str, typer.Argument(help="A pcap or pcapng file, plain or gzip; - for standard input.")],
    host: Annotated[Path, typer.Option(help="The host directory, or a tar of it.")],
    write: Annotated[str | None, typer.Option("--write", "-w", help="Write the packets that leave; their path as comments.")] = None,
    trace: Annotated[str | None, typer.Option(help="Write a record per packet, as JSON lines (docs/trace.schema.json).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON document instead of text.")] = False,
    why: Annotated[int | None, typer.Option(metavar="N", help="Explain packet N: why each rule tried did not match.")] = None,
    rules: Annotated[bool, typer.Option("--rules", "-r", help="Show the text of each rule that matched.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the summary, the connections and the counters.")] = False,
    bulk: Annotated[bool, typer.Option("--bulk", help="A pcap at full speed: every frame is received, only counts.")] = False,
    interface: Annotated[str | None, typer.Option(help="The interface of frames that do not tell theirs.")] = None,
    rename: Annotated[list[str] | None, typer.Option("--map", metavar="CAPTURED=HOST", help="Rename an interface of the capture.")] = None,
    strict: Annotated[bool, typer.Option(help="No allowance for checksum and segmentation offload.")] = False,
    lenient: Annotated[bool, typer.Option(help="Rules that are not emulated make an outcome unknown, instead of being refused.")] = False,
    answer: Annotated[bool, typer.Option(help="Local sockets and the echo service answer what is delivered.")] = False,
    kernel: Annotated[str | None, typer.Option(help="6.18 or 6.1; default: the nearest to the host's own.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything that Linux draws at random.")] = 0,
) -> None:
    """Play a capture through a node: the way of each packet, what NAT did to it, and what the node holds at the end."""
    if "-" in (write, trace):
        raise InputError("standard output holds the report: give -w and --trace the names of files")
    node = Datapath(Host.load(host), seed=seed, kernel=kernel, lenient=lenient, answer=answer, why=why is not None)
    if bulk:
        if trace or as_json or why is not None or rules or rename:
            raise InputError("--bulk keeps no report per packet: it goes with --host, --interface, -w, --seed, --kernel and --lenient only")
        replay_bulk(node, capture, interface, write)
        return
    run = Replay(node, open_capture(capture), interface=interface, rename=names(rename or []), strict=strict)
    view: View = JsonView(node, run) if as_json else TextView(node, run, why=why, rules=rules, quiet=quiet)
    error = play(run, view, write, trace)
    view.end()
    if error is not None:
        raise error
    if why is not None and not view.explained:
        raise InputError(f"there is no packet {why}: the capture has {run.summary.records}", capture)
    if run.summary.contradictions:
        raise typer.Exit(NO)


def replay_bulk(node: Datapath, capture: str, interface: str | None, write: str | None) -> None:
    """Counts of a capture that is played as fast as it can be: outcomes, connections and counters."""
    with ExitStack() as files:
        writer = files.enter_context(PcapngWriter(write)) if write else None
        summary = play_bulk(node.core, node.host, capture, interface=interface, write=writer)
    console = Console(highlight=False, soft_wrap=True)
    print_state(console, node)
    outcomes = ", ".join(f"{count} {outcome.lower()}" for outcome, count in summary.outcomes.items())
    console.print(f"{summary.records} records: {summary.received} received ({outcomes}), {summary.left} left the node, "
                  f"{summary.strangers} for no device of it")
    for line in summary.warnings:
        TALK.print(f"note: {line}", style="yellow", soft_wrap=True)


def names(given: list[str]) -> dict[str, str]:
    """`CAPTURED=HOST` options as a mapping."""
    mapping = {}
    for item in given:
        captured, equals, host = item.partition("=")
        if not equals or not captured or not host:
            raise InputError(f"--map {item}: expected CAPTURED=HOST")
        mapping[captured] = host
    return mapping


def play(run: Replay, view: View, write: str | None, trace: str | None) -> DatapathError | None:
    """Play to the end, or to the damage: what stands before it has been answered and written. The error, if any."""
    with ExitStack() as files:
        writer = files.enter_context(PcapngWriter(write)) if write else None
        lines = files.enter_context(LineFile(trace)) if trace else None
        try:
            for played in watched(run):
                if writer is not None:
                    write_outputs(writer, played)
                if lines is not None:
                    write_record(lines, played)
                view.show(played)
        except DatapathError as error:
            return error
    return None


def watched(run: Replay) -> Iterator[Played]:
    """The records, with a line on standard error that says how far it is, when somebody looks at a terminal there."""
    if not TALK.is_terminal:
        yield from run
        return
    columns = (SpinnerColumn(), TextColumn("{task.completed} records"), TimeElapsedColumn())
    with Progress(*columns, console=TALK, transient=True) as progress:
        task = progress.add_task("replay", total=None)
        for played in run:
            progress.advance(task)
            yield played


@dataclass(slots=True)
class View:
    """Where a replay is shown."""

    node: Datapath
    run: Replay
    explained: bool = False

    def show(self, played: Played) -> None:
        """One record."""
        raise NotImplementedError

    def end(self) -> None:
        """What the node holds when all is played."""
        raise NotImplementedError


@dataclass(slots=True)
class TextView(View):
    """For a reader at a terminal."""

    why: int | None = None
    rules: bool = False
    quiet: bool = False
    start_ns: int | None = None
    console: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))

    def show(self, played: Played) -> None:
        """The record's block of lines."""
        if self.start_ns is None and played.record is not None:
            self.start_ns = played.record.time_ns
        wanted = self.why is None or (played.record is not None and played.record.number == self.why)
        if (self.quiet and self.why is None) or not wanted:
            return
        self.console.print(terminal.packet_block(played, self.start_ns or 0, rules=self.rules or self.why is not None), end="")
        if self.why is not None:
            self.explained = True
            if played.role is Role.COPY:
                self.console.print(f"it is a copy of packet {played.copy_of}: --why {played.copy_of} explains that one")
            elif played.transit is not None:
                self.console.print(terminal.tried_line(played.transit))

    def end(self) -> None:
        """Connections, counters, the summary, and what was assumed."""
        if self.why is not None:
            return
        print_state(self.console, self.node)
        terminal.print_summary(self.console, self.run.summary)
        for line in (*self.node.host.assumptions, *self.run.summary.said):
            TALK.print(f"note: {line}", style="yellow", soft_wrap=True)


@dataclass(slots=True)
class JsonView(View):
    """For a program: one document, written as it comes."""

    count: int = 0

    def show(self, played: Played) -> None:
        """One element of `records`."""
        self.explained = True
        print("," if self.count else '{"records": [', json.dumps(records.of_played(played)), sep="\n" if self.count else "")
        self.count += 1

    def end(self) -> None:
        """The rest of the document."""
        print('{"records": [' if not self.count else "", end="")
        state: dict[str, Any] = {
            "summary": records.of_summary(self.run.summary),
            "assumptions": list(self.node.host.assumptions),
            "conntrack": [str(entry) for entry in self.node.conntrack()],
            "counters": {f"ipv{family}": self.node.counters(family) for family in (4, 6)},
        }
        print("], " + json.dumps(state)[1:])


def print_state(console: Console, node: Datapath) -> None:
    """Connections, and the rules that counted something."""
    entries = node.conntrack()
    console.print(f"\n[bold]Connections[/bold] ({len(entries)})", highlight=False)
    for entry in entries:
        console.print(str(entry), markup=False)
    for family in (4, 6):
        counted = {name: count for name, count in node.counters(family).items() if count[0]}
        if counted:
            console.print(f"\n[bold]Counters, IPv{family}[/bold] (packets, bytes; rules that saw none are left out)")
            for name, (packets, octets) in counted.items():
                console.print(f"{packets:>10} {octets:>12}  {name}", markup=False)
    console.print()
