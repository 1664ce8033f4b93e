"""The words for what happens to a packet, as numbers that the core uses (verdict.pxd) and as names."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Hook(IntEnum):
    """Netfilter's hooks (enum nf_inet_hooks)."""

    PREROUTING = 0
    INPUT = 1
    FORWARD = 2
    OUTPUT = 3
    POSTROUTING = 4


class TableId(IntEnum):
    """Tables in the order in which a hook runs them."""

    RAW = 0
    MANGLE = 1
    NAT = 2
    FILTER = 3
    SECURITY = 4


class RuleVerdict(IntEnum):
    """What a rule or a policy did (NF_* of netfilter.h and the x_tables answers)."""

    DROP = 0
    ACCEPT = 1
    STOLEN = 2
    QUEUE = 3
    REPEAT = 4
    CONTINUE = 16
    RETURN = 17
    UNKNOWN = 18
    JUMP = 32
    GOTO = 33


class Outcome(StrEnum):
    """How a packet's walk ended."""

    NONE = "NONE"
    FORWARDED = "FORWARDED"  # it left the node
    DELIVERED = "DELIVERED"  # to the local stack
    DROPPED = "DROPPED"
    QUEUED = "QUEUED"  # waits: for a neighbour, for its other fragments, in NFQUEUE
    STOLEN = "STOLEN"  # something took it: IPVS, a protocol of the link
    UNKNOWN = "UNKNOWN"  # a rule that is not emulated decides (--lenient)


# By number, as the core counts (enum Outcome in verdict.pxd). A packet of the node itself that left counts as forwarded.
OUTCOMES = (
    Outcome.NONE, Outcome.FORWARDED, Outcome.DELIVERED, Outcome.DROPPED,
    Outcome.QUEUED, Outcome.STOLEN, Outcome.FORWARDED, Outcome.UNKNOWN,
)  # fmt: skip
