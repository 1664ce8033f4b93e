"""The host directory of a node in a namespace, written by the standard commands (docs/host_directory.md)."""

from __future__ import annotations

from pathlib import Path

from datapath.lab.namespace import Namespace

COMMANDS = {
    "ip-link.json": ("ip", "-d", "-j", "link", "show"),
    "ip-addr.json": ("ip", "-j", "addr", "show"),
    "ip-route.json": ("ip", "-j", "route", "show", "table", "all"),
    "ip6-route.json": ("ip", "-6", "-j", "route", "show", "table", "all"),
    "ip-rule.json": ("ip", "-j", "rule", "show"),
    "ip6-rule.json": ("ip", "-6", "-j", "rule", "show"),
    "ip-neigh.json": ("ip", "-j", "neigh", "show"),
    "sysctl.txt": ("sysctl", "-a", "--pattern", "^net"),
    "uname.txt": ("uname", "-a"),
}
ON_DEMAND = {
    "bridge-fdb.json": ("bridge", "-j", "fdb", "show"),
    "ipset-save.txt": ("ipset", "save"),
    "conntrack.txt": ("conntrack", "-L", "-o", "extended"),
    "nft.json": ("nft", "-j", "list", "ruleset"),
}


def write_node_files(namespace: Namespace, directory: Path, also: tuple[str, ...] = ()) -> None:
    """What does not depend on the rules; `also` names files of ON_DEMAND."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, command in COMMANDS.items():
        (directory / name).write_text(namespace.run(*command))
    for name in also:
        (directory / name).write_text(namespace.run(*ON_DEMAND[name]))


def write_rule_files(
    namespace: Namespace, directory: Path, families: tuple[int, ...], backend: str = "legacy", counters: bool = False
) -> None:
    """`iptables-save.txt` and `ip6tables-save.txt`; with the counters as they are now."""
    directory.mkdir(parents=True, exist_ok=True)
    for family in families:
        command = f"{'iptables' if family == 4 else 'ip6tables'}-{backend}-save"
        text = namespace.run(command, *["-c"] * counters)
        (directory / f"{'iptables' if family == 4 else 'ip6tables'}-save.txt").write_text(text)
