"""The sctp match: ports and chunk types of an SCTP packet.

Kernel: net/netfilter/xt_sctp.c, sctp_mt and match_packet. Manual: iptables-extensions(8), section sctp.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from datapath.errors import RulesetSyntaxError
from datapath.extensions.base import Given, Match, Op, Option, RuleContext, one_of_each
from datapath.extensions.ports import PortRange
from datapath.extensions.values import negation

# name: (type, index in iptables' own table, names of the flag bits from bit 7 down)
CHUNKS = {
    name: (kind, index, flags)
    for index, (name, kind, flags) in enumerate((
        ("DATA", 0, "----IUBE"), ("INIT", 1, ""), ("INIT_ACK", 2, ""), ("SACK", 3, ""), ("HEARTBEAT", 4, ""),
        ("HEARTBEAT_ACK", 5, ""), ("ABORT", 6, "-------T"), ("SHUTDOWN", 7, ""), ("SHUTDOWN_ACK", 8, ""), ("ERROR", 9, ""),
        ("COOKIE_ECHO", 10, ""), ("COOKIE_ACK", 11, ""), ("ECN_ECNE", 12, ""), ("ECN_CWR", 13, ""),
        ("SHUTDOWN_COMPLETE", 14, "-------T"), ("I_DATA", 64, "----IUBE"), ("RE_CONFIG", 130, ""), ("PAD", 132, ""),
        ("ASCONF", 193, ""), ("ASCONF_ACK", 128, ""), ("FORWARD_TSN", 192, ""), ("I_FORWARD_TSN", 194, ""),
    ))
}
SCOPES = ("any", "all", "only")
EVERY_CHUNK = (1 << 256) - 1
MOST_FLAGS = 4
LAYOUT = struct.Struct("<4H4B32s12B")


@dataclass(frozen=True, slots=True)
class Sctp(Match):
    """`-m sctp`. `chunks` is a bit mask of types; `flags` are (type as the kernel is told, mask, wanted).

    iptables numbers the types of `flags` by their place in its own table: for types above 14 the kernel
    compares with another chunk's type, so their flags are never looked at. That is kept.
    """

    NAME: ClassVar[str] = "sctp"
    SUMMARY: ClassVar[str] = "ports and chunk types of an SCTP packet"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option(("--sport", "--source-port"), negatable=True),
        Option(("--dport", "--destination-port"), negatable=True),
        Option(("--chunk-types",), arguments=2, negatable=True),
    )

    source: PortRange | None = None
    destination: PortRange | None = None
    scope: str = ""
    chunks: int = 0
    flags: tuple[tuple[int, int, int], ...] = ()
    chunks_negated: bool = False

    @classmethod
    def parse(cls, given: Sequence[Given], rule: RuleContext) -> Self:
        found = one_of_each("sctp", given)
        source, destination = (PortRange.given(found[name], "sctp") if name in found else None for name in ("--sport", "--dport"))
        item = found.get("--chunk-types")
        if item is None:
            return cls(source, destination)
        scope = item.arguments[0].lower()
        if scope not in SCOPES:
            raise RulesetSyntaxError(f"sctp: bad match type {item.arguments[0]!r}: expected any, all or only")
        return cls(source, destination, scope, *parse_chunks(item.arguments[1]), item.negated)

    def format(self) -> str:
        words = []
        for option, port in (("--sport", self.source), ("--dport", self.destination)):
            if port is not None:
                words += [*negation(port.negated), option, f"{port.low}:{port.high}" if port.low != port.high else str(port.low)]
        if self.scope:
            words += [*negation(self.chunks_negated), "--chunk-types", self.scope, format_chunks(self.chunks, self.flags)]
        return " ".join(words)

    def check(self, rule: RuleContext) -> None:
        rule.require_protocol("sctp", 132)

    def lower(self) -> Op:
        source, destination = self.source or PortRange(), self.destination or PortRange()
        flat = [byte for item in self.flags for byte in item]
        return Op("sctp", LAYOUT.pack(
            source.low, source.high, destination.low, destination.high,
            source.negated | destination.negated << 1 | self.chunks_negated << 2,
            SCOPES.index(self.scope) + 1 if self.scope else 0, len(self.flags), 0,
            self.chunks.to_bytes(32, "little"), *flat, *[0] * (3 * MOST_FLAGS - len(flat))))


def parse_chunks(text: str) -> tuple[int, tuple[tuple[int, int, int], ...]]:
    """(bit mask of types, flags) of `NAME[:FLAGS],...`, ALL or NONE; a small letter wants its flag clear."""
    if text.upper() in ("ALL", "NONE"):
        return (EVERY_CHUNK if text.upper() == "ALL" else 0), ()
    chunks = 0
    flags: dict[int, tuple[int, int]] = {}
    for word in filter(None, text.split(",")):
        name, _, letters = word.partition(":")
        if name.upper() not in CHUNKS:
            raise RulesetSyntaxError(f"sctp: unknown chunk {name!r}: expected {', '.join(CHUNKS)}")
        kind, index, names = CHUNKS[name.upper()]
        chunks |= 1 << kind
        for letter in letters:
            place = names.find(letter.upper())
            if place < 0 or letter == "-":
                raise RulesetSyntaxError(f"sctp: chunk {name} has no flag {letter!r}")
            mask, wanted = flags.get(index, (0, 0))
            bit = 1 << 7 - place
            flags[index] = (mask | bit, wanted | (bit if letter.isupper() else 0))
    if len(flags) > MOST_FLAGS:
        raise RulesetSyntaxError(f"sctp: flags for more than {MOST_FLAGS} chunk types")
    return chunks, tuple((index, mask, wanted) for index, (mask, wanted) in flags.items())


def format_chunks(chunks: int, flags: tuple[tuple[int, int, int], ...]) -> str:
    """As iptables-save prints them, by type."""
    if chunks in (0, EVERY_CHUNK):
        return "ALL" if chunks else "NONE"
    words = []
    for name, (kind, index, names) in sorted(CHUNKS.items(), key=lambda item: item[1][0]):
        if chunks & 1 << kind:
            # iptables looks the flags up by type, and so prints them only where type and place agree.
            found = next(((mask, wanted) for number, mask, wanted in flags if number == kind and kind == index), (0, 0))
            letters = "".join(
                letter if found[1] & 1 << 7 - place else letter.lower()
                for place, letter in enumerate(names) if found[0] & 1 << 7 - place)
            words.append(f"{name}:{letters}" if letters else name)
    return ",".join(words)
