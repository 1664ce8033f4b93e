"""What happened to one packet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

from datapath.model.steps import ChainEnded, PolicyApplied, RuleMatched, Step
from datapath.model.verdicts import Outcome


class Transit:
    """One packet's walk through the node.

    `outputs` are (interface, frame) in the order in which they left; errors and resets that the kernel made are among
    them. `drop_reason` is a name of Linux 6.18's enum skb_drop_reason without its prefix, None when it was not
    dropped. `steps` are typed (`datapath.model.steps`); they are worked out when first asked for. `now_ns` is the
    node's time.
    """

    def __init__(
        self,
        verdict: Outcome,
        drop_reason: str | None,
        outputs: tuple[tuple[str, bytes], ...],
        now_ns: int,
        decode_steps: Callable[[], tuple[Step, ...]] = tuple,
    ) -> None:
        self.verdict = verdict
        self.drop_reason = drop_reason
        self.outputs = outputs
        self.now_ns = now_ns
        self._decode_steps = decode_steps

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The path, in order."""
        return self._decode_steps()

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

    def __repr__(self) -> str:
        reason = f" {self.drop_reason}" if self.drop_reason else ""
        return f"<Transit {self.verdict}{reason}, {len(self.outputs)} outputs>"
