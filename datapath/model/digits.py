"""Numbers as the tools write them."""

from __future__ import annotations

COUNTER_MAX = (1 << 64) - 1     # where strtoull stops
LONGEST = 100   # digits; more than any number that a tool prints


def is_digits(text: str) -> bool:
    """Whether `int` takes it for a decimal number: ASCII digits only (str.isdigit takes a superscript 2 too), not too many."""
    return text.isascii() and text.isdigit() and len(text) <= LONGEST
