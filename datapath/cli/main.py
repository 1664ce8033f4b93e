"""The `datapath` command."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from datapath.cli import failing
from datapath.cli.replay import replay

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="The Linux packet datapath in user space: replay captures through a node's netfilter hooks, conntrack, NAT and routing.",
)
app.command()(replay)


def print_version(wanted: bool) -> None:
    """Print the version and stop, when it is asked for."""
    if wanted:
        try:
            print(f"datapath {version('datapath')}")
        except PackageNotFoundError:
            print("datapath, run from a folder where it is not installed")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[bool, typer.Option("--version", is_eager=True, callback=print_version, help="Print the version and stop.")] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Run the command line; ends the process with 0 (done), 1 (an answer of "no") or 2 (bad input)."""
    code = failing.run(app)
    sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    main()
