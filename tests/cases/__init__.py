"""Recorded cases: what Linux 6.18 did with random rules and random traffic, one group per archive.

`ipv4`, `ipv6`; `timed` (conntrack timeouts over seconds); `corners` (policy rules, small MTUs, unknown neighbours, ipsets).
`python -m tests.cases.run [CASE...]` plays them and prints the first difference of each.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

HERE = Path(__file__).parent
GROUPS = ("ipv4", "ipv6", "timed", "corners")


def case_names() -> list[str]:
    """All cases as group/number, in order."""
    names = []
    for group in GROUPS:
        with tarfile.open(HERE / f"{group}.tar.xz") as archive:
            members = [member.name for member in archive if member.isdir() and member.name.count("/") == 1]
        names += sorted(members, key=lambda name: int(name.split("/")[1]))
    return names


def unpack(directory: Path) -> None:
    """Write all groups into a directory."""
    for group in GROUPS:
        with tarfile.open(HERE / f"{group}.tar.xz") as archive:
            archive.extractall(directory, filter="data")
