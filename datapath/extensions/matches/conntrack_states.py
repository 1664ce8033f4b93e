"""Connection states and statuses as the conntrack and state matches spell them.

The bits are those of include/uapi/linux/netfilter/xt_conntrack.h, of which the state bits are 1 << (ctinfo % 3 + 1).
"""

from __future__ import annotations

from datapath.errors import RulesetSyntaxError

STATES = {      # in the order in which iptables-save prints them
    "INVALID": 1 << 0,
    "NEW": 1 << 3,
    "RELATED": 1 << 2,
    "ESTABLISHED": 1 << 1,
    "UNTRACKED": 1 << 6,
    "SNAT": 1 << 4,
    "DNAT": 1 << 5,
}
STATUSES = {"EXPECTED": 1, "SEEN_REPLY": 2, "ASSURED": 4, "CONFIRMED": 8}
# The order in which iptables tries the beginnings of names that it also takes.
STATE_NAMES = ("INVALID", "NEW", "ESTABLISHED", "RELATED", "UNTRACKED", "SNAT", "DNAT")
STATUS_NAMES = ("NONE", "EXPECTED", "SEEN_REPLY", "ASSURED", "CONFIRMED")


def parse_names(text: str, names: tuple[str, ...], bits: dict[str, int], what: str) -> int:
    """The bits of a comma-separated list of names or of their beginnings, in any case."""
    mask = 0
    for word in text.split(","):
        name = next((name for name in names if word and name.startswith(word.upper())), None)
        if name is None:
            raise RulesetSyntaxError(f"bad {what} {word!r}: expected {', '.join(names)}")
        mask |= bits.get(name, 0)
    return mask


def format_names(mask: int, bits: dict[str, int]) -> str:
    """The list as iptables-save prints it."""
    return ",".join(name for name, bit in bits.items() if mask & bit)
