"""The state match: the conntrack match's states under their older name.

Kernel: net/netfilter/xt_conntrack.c, conntrack_mt (iptables hands `-m state` over as conntrack revision 2 or 3).
Manual: iptables-extensions(8), section state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.matches.conntrack import Conntrack
from datapath.extensions.matches.conntrack_states import STATE_NAMES, STATES, format_names, parse_names
from datapath.extensions.values import negation


@dataclass(frozen=True, slots=True)
class State(Match):
    """`-m state`; SNAT and DNAT are not among its states."""

    NAME: ClassVar[str] = "state"
    NEEDS_CONNTRACK: ClassVar[bool] = True
    SUMMARY: ClassVar[str] = "the connection's state as the packet sees it"
    OPTIONS: ClassVar[tuple[Option, ...]] = (Option(("--state",), negatable=True),)

    states: int
    negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        item = one_of_each("state", given).get("--state")
        if item is None:
            raise RulesetSyntaxError("state: option --state must be specified")
        return cls(parse_names(item.argument, STATE_NAMES[:5], STATES, "state"), item.negated)

    def format(self) -> str:
        return " ".join([*negation(self.negated), "--state", format_names(self.states, STATES)])

    def lower(self) -> Op:
        return Conntrack(states=self.states, negated=frozenset({"--ctstate"} if self.negated else ())).lower()
