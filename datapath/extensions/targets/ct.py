"""The CT target: how conntrack shall treat the packet.

Kernel: net/netfilter/xt_CT.c, xt_ct_target. Manual: iptables-extensions(8), section CT. Which events are reported
(--ctevents, --expevents) makes no difference to packets. Helpers and timeout policies are not emulated.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError, UnsupportedFeatureError
from datapath.extensions.base import Given, Op, Option, RuleContext, Target, number, one_of_each

LAYOUT = struct.Struct("<HBB")
UNSUPPORTED = ("--helper", "--timeout")
ORIGINAL, REPLY = 1, 2      # NF_CT_ZONE_DIR_*
ZONE_OPTIONS = {"--zone": 0, "--zone-orig": ORIGINAL, "--zone-reply": REPLY}
ZONE_NAMES = {ORIGINAL: "--zone-orig", REPLY: "--zone-reply", ORIGINAL | REPLY: "--zone"}
EVENTS = ("new", "related", "destroy", "reply", "assured", "protoinfo", "helper", "mark", "natseqinfo", "secmark")
EXPECT_EVENTS = ("new",)
MARK = "mark"


@dataclass(frozen=True, slots=True)
class Ct(Target):
    """`-j CT --notrack`; what else CT can say is a CtTemplate. Rules that only say --notrack do not switch conntrack on."""

    NAME: ClassVar[str] = "CT"
    SUMMARY: ClassVar[str] = "--notrack: conntrack passes the packet by; --zone, --zone-orig, --zone-reply (a number or mark)"
    TABLES: ClassVar[frozenset[str] | None] = frozenset({"raw"})
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--notrack",), arguments=0),
        *(Option((name,)) for name in (*UNSUPPORTED, "--ctevents", "--expevents", *ZONE_OPTIONS)),
    )

    notrack: bool = True
    events: tuple[str, ...] = ()
    expect_events: tuple[str, ...] = ()
    zone: int | str = 0                 # a number, or "mark": the packet's
    directions: int = ORIGINAL | REPLY  # that the zone holds for

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("CT", given)
        for name in UNSUPPORTED:
            if name in found:
                raise UnsupportedFeatureError(f"target CT {name} is not emulated")
        zone: int | str = 0
        directions = 0
        for item in given:
            if item.name in ZONE_OPTIONS:   # the last one says the zone; directions add up
                zone = MARK if item.argument.lower() == MARK else number(item.argument, 0, 0xFFFF, "zone")
                directions |= ZONE_OPTIONS[item.name]
        kind = cls if "--notrack" in found else CtTemplate
        events, expect_events = parse_events(found, "--ctevents", EVENTS), parse_events(found, "--expevents", EXPECT_EVENTS)
        return kind("--notrack" in found, events, expect_events, zone, directions or ORIGINAL | REPLY)  # type: ignore[return-value]

    def format(self) -> str:
        parts = ["--notrack"] if self.notrack else []
        if self.events:
            parts.append(f"--ctevents {','.join(self.events)}")
        if self.expect_events:
            parts.append(f"--expevents {','.join(self.expect_events)}")
        if self.zone:
            parts.append(f"{ZONE_NAMES[self.directions]} {self.zone}")
        return " ".join(parts)

    def lower(self) -> Op:
        return Op("NOTRACK")


@dataclass(frozen=True, slots=True)
class CtTemplate(Ct):
    """`-j CT` without --notrack: the packet is tracked, in a zone."""

    NEEDS_CONNTRACK: ClassVar[bool] = True

    def lower(self) -> Op:
        from_mark = self.zone == MARK
        return Op("CT", LAYOUT.pack(0 if from_mark else int(self.zone), self.directions, from_mark))


def parse_events(found: dict[str, Given], name: str, known: Sequence[str]) -> tuple[str, ...]:
    """The events of a list, in the order in which iptables prints them."""
    if name not in found:
        return ()
    events = found[name].argument.split(",")
    for event in events:
        if event not in known:
            raise RulesetSyntaxError(f'CT {name}: Unknown event type "{event}"')
    return tuple(event for event in known if event in events)
