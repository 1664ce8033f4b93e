"""The lists of the recent match: the host's files xt_recent/NAME, and what they would say now."""

from __future__ import annotations

from datapath._core.net import NetNamespace
from datapath.model.host import Host
from datapath.syntax.xt_recent import at_packet_time, format_recent, parse_recent

FOLDER = "xt_recent/"


def load_recent(core: NetNamespace, host: Host) -> None:
    """Fill the lists that loaded rules refer to. The youngest stamp of all files is the first packet's moment.

    Raises HostError for a line that makes no sense.
    """
    files = {name.removeprefix(FOLDER): text for name, text in host.texts.items() if name.startswith(FOLDER)}
    lists = {name: parse_recent(text, FOLDER + name) for name, text in files.items()}
    for name, entries in at_packet_time(lists, 0).items():
        core.load_recent(name, [entry.row() for entry in entries])


def recent_files(core: NetNamespace) -> dict[str, str]:
    """The text of each list's file by name."""
    return {name: format_recent(rows) for name, rows in core.recent_lists().items()}
