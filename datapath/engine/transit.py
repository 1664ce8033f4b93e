"""What happened to one packet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from datapath.model.steps import ChainEnded, PolicyApplied, RuleMatched, Step
from datapath.model.verdicts import Outcome


@dataclass(frozen=True, slots=True)
class Transit:
    """One packet's walk through the node.

    `outputs` are (interface, frame) in the order in which they left; errors and resets that the kernel made are among
    them. `drop_reason` is a name of Linux 6.18's enum skb_drop_reason without its prefix, None when it was not
    dropped. `entry` is the conntrack entry's serial number, None without one.
    """

    verdict: Outcome
    drop_reason: str | None
    outputs: tuple[tuple[str, bytes], ...]
    steps: tuple[Step, ...]
    now_ns: int

    @property
    def rules_tried(self) -> dict[str, int]:
        """Rules that Linux tries for this packet itself, by "table/chain", in the order of first visit."""
        tried: Counter[str] = Counter()
        for step in self.own_steps():
            if isinstance(step, RuleMatched | ChainEnded | PolicyApplied):
                tried[f"{step.table}/{step.chain}"] += step.tried
        return dict(tried)

    def own_steps(self) -> Iterator[Step]:
        """The steps of the packet itself, without those of packets made on its account."""
        return (step for step in self.steps if step.depth == 0)
