"""The owner match: the user and group of the process that sent a packet.

Kernel: net/netfilter/xt_owner.c, owner_mt. Manual: iptables-extensions(8), section owner. A packet has an owner when
the one who sends it says so (`uid`, `gid`); supplementary groups are not known, so --suppl-groups adds none.
"""

from __future__ import annotations

import grp
import pwd
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetError, RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, number, one_of_each
from datapath.extensions.values import UINT32_MAX, negation

UID, GID, SOCKET, SUPPLEMENTARY = 1, 2, 4, 8        # XT_OWNER_*
LAYOUT = struct.Struct("<4I2B2x")


@dataclass(frozen=True, slots=True)
class Owner(Match):
    """`-m owner`. Ranges of ids, both ends included, None for not asked; `inverted` of UID, GID, SOCKET."""

    NAME: ClassVar[str] = "owner"
    HOOKS: ClassVar[frozenset[str] | None] = frozenset({"OUTPUT", "POSTROUTING"})
    SUMMARY: ClassVar[str] = "user and group of the process that sent the packet"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--socket-exists",), arguments=0, negatable=True),
        Option(("--uid-owner",), negatable=True),
        Option(("--gid-owner",), negatable=True),
        Option(("--suppl-groups",), arguments=0),
    )

    socket: bool = False
    uid: tuple[int, int] | None = None
    gid: tuple[int, int] | None = None
    supplementary: bool = False
    inverted: int = 0

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("owner", given)
        if not found:
            raise RulesetSyntaxError("owner: at least one of --uid-owner, --gid-owner or --socket-exists is required")
        names = [item.name for item in given]
        if "--suppl-groups" in names and "--gid-owner" not in names[: names.index("--suppl-groups")]:
            raise RulesetSyntaxError("owner: --suppl-groups needs --gid-owner before it")
        uid, gid = found.get("--uid-owner"), found.get("--gid-owner")
        bits = {"--uid-owner": UID, "--gid-owner": GID, "--socket-exists": SOCKET}
        return cls(
            "--socket-exists" in found,
            parse_ids(uid.argument, user_id(uid.argument)) if uid else None,
            parse_ids(gid.argument, group_id(gid.argument)) if gid else None,
            "--suppl-groups" in found,
            sum(bits[item.name] for item in given if item.negated),
        )

    def format(self) -> str:
        words = [*negation(bool(self.inverted & SOCKET)), "--socket-exists"] if self.socket else []
        for option, ids, bit in (("--uid-owner", self.uid, UID), ("--gid-owner", self.gid, GID)):
            if ids is not None:
                words += [*negation(bool(self.inverted & bit)), option, str(ids[0]) if ids[0] == ids[1] else f"{ids[0]}-{ids[1]}"]
        return " ".join(words + ["--suppl-groups"] * self.supplementary)

    def check(self, rule: RuleContext) -> None:
        Match.check(self, rule)
        for ids in (self.uid, self.gid):
            if ids is not None and ids[0] > ids[1]:
                raise RulesetError(f"owner: range {ids[0]}-{ids[1]} is reversed")

    def lower(self) -> Op:
        asked = UID * (self.uid is not None) | GID * (self.gid is not None) | SOCKET * self.socket | SUPPLEMENTARY * self.supplementary
        return Op("owner", LAYOUT.pack(*(self.uid or (0, 0)), *(self.gid or (0, 0)), asked, self.inverted))


def user_id(name: str) -> int | None:
    """The id of a user of this machine."""
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def group_id(name: str) -> int | None:
    """The id of a group of this machine."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def parse_ids(text: str, known: int | None) -> tuple[int, int]:
    """`ID`, `ID-ID` or a name that is known."""
    if known is not None:
        return known, known
    low, *rest = re.split(r"[-:]", text, maxsplit=1)
    first = number(low, 0, UINT32_MAX - 1, "id")
    return first, number(rest[0], 0, UINT32_MAX - 1, "id") if rest else first
