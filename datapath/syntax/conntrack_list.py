"""`conntrack -L -o extended` (conntrack-tools): one line per connection.

Lines without the family (`conntrack -L`), lines of /proc/net/nf_conntrack, and the tool's own remark on how many it
has shown are understood too.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable

from datapath.errors import InputError
from datapath.model.conntrack import (
    FAMILY_NUMBERS,
    ICMP_PROTOCOLS,
    SCTP_STATES,
    TCP_STATES,
    ConntrackEntry,
    FlowTuple,
    Traffic,
)
from datapath.model.digits import is_digits

REMARK = re.compile(r"conntrack v\S+ \(conntrack-tools\): \d+ flow entries have been shown\.")
FLAGS = ("[UNREPLIED]", "[ASSURED]", "[OFFLOAD]", "[HW_OFFLOAD]")
GRE_TIMEOUTS = ("timeout", "stream_timeout")  # in /proc only; they repeat the sysctls

Fields = list[tuple[str, str]]


def parse_conntrack_list(text: str, source: str | None = None) -> list[ConntrackEntry]:
    """The connections in the order of the lines. Raises InputError with the line's number."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not REMARK.fullmatch(line.strip()):
            try:
                entries.append(parse_conntrack_line(line))
            except InputError as error:
                raise error.at(source or "conntrack", number) from None
    return entries


TIMEOUT_MAX = 0xFFFFFFFF    # CTA_TIMEOUT has 32 bits


def format_conntrack_list(entries: Iterable[ConntrackEntry]) -> str:
    """The text that the tool would print."""
    return "".join(f"{entry}\n" for entry in entries)


def parse_conntrack_line(line: str) -> ConntrackEntry:
    """One connection."""
    words = line.split()
    family = _family(words)
    if len(words) < 3 or not all(is_digits(word) for word in words[1:3]):
        raise InputError(f"expected a line of `conntrack -L -o extended`, not {line.strip()!r}")
    protocol, timeout = int(words[1]), int(words[2])
    if protocol > 255 or timeout > TIMEOUT_MAX:
        raise InputError(f"bad protocol {protocol} or timeout {timeout} in a conntrack line: at most 255, {TIMEOUT_MAX} seconds")
    state = None
    flags = [word for word in words[3:] if word in FLAGS]
    fields: Fields = []
    for word in words[3:]:
        name, equals, value = word.rstrip(",").partition("=")
        if equals:
            fields.append((name, value))
        elif word in TCP_STATES or word in SCTP_STATES:
            state = word
        elif word not in FLAGS:
            raise InputError(f"unknown word {word!r} in a conntrack line")
    original, reply, rest = _directions(fields)
    family = family or (6 if ":" in dict(original).get("src", "") else 4)
    return _entry(family, protocol, timeout, state, flags, original, reply, rest)


def _family(words: list[str]) -> int | None:
    """Take the family off the front, when it is there."""
    for family, number in FAMILY_NUMBERS.items():
        if words[:2] == [f"ipv{family}", str(number)]:
            del words[:2]
            return family
    return None


def _directions(fields: Fields) -> tuple[Fields, Fields, dict[str, str]]:
    """The fields of each direction, and those that follow: the second `src` begins the reply, `mark` or `use` ends it."""
    starts = [place for place, (name, _) in enumerate(fields) if name == "src"]
    if len(starts) != 2 or any(name not in GRE_TIMEOUTS for name, _ in fields[: starts[0]]):
        raise InputError("expected src= and dst= twice in a conntrack line, for the connection and for its replies")
    both = ("src", "dst", "sport", "dport", "type", "code", "id", "srckey", "dstkey", "zone-orig", "zone-reply", "packets", "bytes")
    end = starts[1]
    seen: set[str] = set()
    while end < len(fields) and fields[end][0] in both and fields[end][0] not in seen:
        seen.add(fields[end][0])
        end += 1
    return fields[starts[0]:starts[1]], fields[starts[1]:end], dict(fields[end:])


def _entry(family: int, protocol: int, timeout: int, state: str | None, flags: list[str], original: Fields, reply: Fields,
           rest: dict[str, str]) -> ConntrackEntry:
    first, second = dict(original), dict(reply)
    zone = _number(rest, "zone")
    counted = None
    if "packets" in first and "packets" in second:
        counted = (_traffic(first), _traffic(second))
    unknown = rest.keys() - {"mark", "secctx", "secmark", "zone", "delta-time", "helper", "use", "id", "labels"}
    if unknown:
        raise InputError(f"unknown field {min(unknown)}= in a conntrack line")
    return ConntrackEntry(
        original=_tuple(family, protocol, first, _number(first, "zone-orig") or zone),
        reply=_tuple(family, protocol, second, _number(second, "zone-reply") or zone),
        timeout=timeout,
        state=state,
        seen_reply="[UNREPLIED]" not in flags,
        assured=any(flag in flags for flag in FLAGS[1:]),
        mark=_word(rest, "mark"),
        use=_number(rest, "use", 1),
        counted=counted,
        helper=rest.get("helper"),
        age=_number(rest, "delta-time") if "delta-time" in rest else None,
        secctx=rest.get("secctx"),
        id=_number(rest, "id") if "id" in rest else None,
    )


def _tuple(family: int, protocol: int, fields: dict[str, str], zone: int) -> FlowTuple:
    src, dst = _address(family, fields.get("src", "")), _address(family, fields.get("dst", ""))
    if protocol in ICMP_PROTOCOLS:
        return FlowTuple(family, protocol, src, dst, _port(fields, "id"), _port(fields, "type") << 8 | _port(fields, "code"), zone)
    if "srckey" in fields or "dstkey" in fields:
        return FlowTuple(family, protocol, src, dst, _port(fields, "srckey"), _port(fields, "dstkey"), zone)
    return FlowTuple(family, protocol, src, dst, _port(fields, "sport"), _port(fields, "dport"), zone)


def _traffic(fields: dict[str, str]) -> Traffic:
    return Traffic(_number(fields, "packets"), _number(fields, "bytes"))


def _address(family: int, text: str) -> str:
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    try:
        return socket.inet_ntop(kind, socket.inet_pton(kind, text))
    except OSError:
        raise InputError(f"bad IPv{family} address {text!r} in a conntrack line") from None


def _port(fields: dict[str, str], name: str) -> int:
    value = _number(fields, name)
    if value > 0xFFFF:
        raise InputError(f"bad {name}={value} in a conntrack line: expected at most 65535")
    return value


def _word(fields: dict[str, str], name: str) -> int:
    value = _number(fields, name)
    if value > 0xFFFFFFFF:
        raise InputError(f"bad {name}={value} in a conntrack line: expected at most 4294967295")
    return value


def _number(fields: dict[str, str], name: str, default: int = 0) -> int:
    text = fields.get(name)
    if text is None:
        return default
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if value < 0:
        raise InputError(f"bad {name}={text} in a conntrack line: expected a number")
    return value
