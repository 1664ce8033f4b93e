"""Packing rules into the structs of the core (program.pxd, match_base.pxd)."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from datapath._core.match_table import MATCH_KINDS
from datapath._core.target_table import TARGET_KINDS
from datapath.errors import RulesetError
from datapath.extensions.base import Extension, Op
from datapath.extensions.matches.tcp import Tcp
from datapath.extensions.matches.udp import Udp
from datapath.model.ruleset import ANY_HEADER, AddressMask, HeaderMatch, Jump, Rule
from datapath.model.verdicts import RuleVerdict

RULE = struct.Struct("<16sQQHHBBBBIiIiiHH")
OP = struct.Struct("<HHIQ")
WIDE = struct.Struct("<16s16s16s16sB7x")
NOT_SOURCE, NOT_DESTINATION, NOT_IN, NOT_OUT, NOT_PROTOCOL, FRAGMENT, NOT_FRAGMENT, UNCONDITIONAL = (1 << bit for bit in range(8))
ACTION_NONE, ACTION_VERDICT, ACTION_RETURN, ACTION_JUMP, ACTION_GOTO, ACTION_TARGET = range(6)
VERDICTS = {"ACCEPT": RuleVerdict.ACCEPT, "DROP": RuleVerdict.DROP, "QUEUE": RuleVerdict.QUEUE}
ANY_IPV6 = (bytes(16), bytes(16))
ALL_PORTS = (0, 65535)
NO_SHAPE = 4 << 4       # the core chooses a rule's shape
MOST_INTERFACES = 65535
INTERFACE_SIZE = 16

# Matches that never drop a packet and keep no memory: an index may pass over them to the port that a rule insists on.
PASSIVE = frozenset({"comment", "conntrack", "state", "mark", "connmark", "addrtype", "pkttype", "mac"})


class Packer:
    """Packs the rules of one table."""

    def __init__(self, family: int, chains: Mapping[str, int], *, counters: bool, nft: bool) -> None:
        self.family, self.chains, self.counters, self.nft = family, chains, counters, nft
        self.rules: list[bytes] = []
        self.ops: list[bytes] = []
        self.size = 0                               # bytes in ops
        self.wide: list[bytes] = [bytes(WIDE.size)]     # number 0 means none
        self.interfaces: list[bytes] = [bytes(2 * INTERFACE_SIZE)]
        self.patterns: dict[str, int] = {"": 0}
        self.references: list[tuple[int, str, str]] = []
        self.headers: dict[int, tuple[bytes, int, int, int, int, int]] = {}
        self.lowered: dict[tuple[int, int], tuple[bytes, Op]] = {}

    @property
    def count(self) -> int:
        """How many rules are packed so far."""
        return len(self.rules)

    def rule(self, rule: Rule) -> None:
        """Struct Rule."""
        header = self.headers.get(id(rule.header))
        if header is None:
            header = self.headers[id(rule.header)] = self.pack_header(rule.header)
        addresses, in_pattern, out_pattern, protocol, flags, wide = header
        matches, n_matches = self.size, 0
        for place, match in enumerate(rule.matches):
            if match.NAME != "comment":
                self.add_op(match, place, MATCH_KINDS)
                n_matches += 1
        action, operand = self.action(rule)
        if not rule.matches and action in (ACTION_VERDICT, ACTION_RETURN) and rule.header == ANY_HEADER:
            flags |= UNCONDITIONAL
        ports = insisted_ports(rule) if rule.matches else ALL_PORTS
        packets, octets = (rule.packets, rule.bytes) if self.counters else (0, 0)
        self.rules.append(RULE.pack(
            addresses, packets, octets, in_pattern, out_pattern, protocol, flags, action | NO_SHAPE, n_matches, matches, operand, wide,
            -1, -1, *ports))

    def action(self, rule: Rule) -> tuple[int, int]:
        """RuleAction and its operand."""
        target = rule.target
        if target is None:
            return ACTION_NONE, 0
        if isinstance(target, Jump):
            return ACTION_GOTO if target.goto else ACTION_JUMP, self.chains[target.chain]
        if target.NAME == "RETURN":
            return ACTION_RETURN, 0
        if target.NAME in VERDICTS:
            return ACTION_VERDICT, VERDICTS[target.NAME]
        operand = self.size
        self.add_op(target, 0, TARGET_KINDS)
        return ACTION_TARGET, operand

    def add_op(self, extension: object, place: int, kinds: Mapping[str, tuple[int, int]]) -> None:
        """OpHeader and payload."""
        found = self.lowered.get((id(extension), place))
        if found is None:
            assert isinstance(extension, Extension)
            found = self.lowered[id(extension), place] = pack_op(extension, place, kinds, self.nft)
        packed, op = found
        for offset, namespace, name in op.references:
            self.references.append((self.size + OP.size + offset, namespace, name))
        self.ops.append(packed)
        self.size += len(packed)

    def pack_header(self, header: HeaderMatch) -> tuple[bytes, int, int, int, int, int]:
        """Addresses, interface patterns, protocol, flags, and the number of the IPv6 addresses."""
        flags = (NOT_IN * header.in_negated | NOT_OUT * header.out_negated | NOT_PROTOCOL * header.protocol_negated
                 | FRAGMENT * header.fragment | NOT_FRAGMENT * header.fragment_negated)
        negations = NOT_SOURCE * header.source_negated | NOT_DESTINATION * header.destination_negated
        if self.family == 4:
            addresses, wide = quick_addresses(header, 0), 0
            flags |= negations
        else:
            addresses, wide = quick_addresses(header, 12), self.add_wide(header, negations)
        return (addresses, self.interface(header.in_interface), self.interface(header.out_interface), header.protocol, flags, wide)

    def add_wide(self, header: HeaderMatch, negations: int) -> int:
        """Struct WideAddresses; 0 when the rule names no address."""
        if not (header.source or header.destination):
            return 0
        source, source_mask = pair(header.source)
        destination, destination_mask = pair(header.destination)
        self.wide.append(WIDE.pack(source, source_mask, destination, destination_mask, negations))
        return len(self.wide) - 1

    def interface(self, name: str) -> int:
        """The number of an InterfacePattern."""
        found = self.patterns.get(name)
        if found is None:
            if len(self.patterns) > MOST_INTERFACES:
                raise RulesetError(f"more than {MOST_INTERFACES} interface names in one table")
            found = self.patterns[name] = len(self.patterns)
            raw = name.encode()
            length = len(raw) - 1 if name.endswith("+") else len(raw) + 1
            mask = b"\xff" * length
            self.interfaces.append(raw[:length].ljust(INTERFACE_SIZE, b"\0") + mask.ljust(INTERFACE_SIZE, b"\0"))
        return found


def quick_addresses(header: HeaderMatch, at: int) -> bytes:
    """Source, its mask, destination, its mask: four bytes of each. Negated ones of IPv6 are left to the wide form."""
    words = b""
    for value, negated in ((header.source, header.source_negated), (header.destination, header.destination_negated)):
        usable = value is not None and not (negated and at)
        words += value.address[at:at + 4] + value.mask[at:at + 4] if usable and value is not None else bytes(8)
    return words


def pair(value: AddressMask | None) -> tuple[bytes, bytes]:
    """Address and mask of IPv6."""
    return ANY_IPV6 if value is None else (value.address, value.mask)


def pack_op(extension: Extension, place: int, kinds: Mapping[str, tuple[int, int]], nft: bool) -> tuple[bytes, Op]:
    """An op with its header; the payload must have the size that the core expects."""
    op = extension.lower_nft() if nft else extension.lower()
    if op.kind not in kinds:
        raise RuntimeError(f"{extension.NAME} lowers to {op.kind!r}, which the core does not have")
    kind, size = kinds[op.kind]
    if len(op.payload) != size:
        raise RuntimeError(f"{extension.NAME}: a payload of {len(op.payload)} bytes, where the core expects {size}")
    payload = op.payload.ljust(-(-size // 8) * 8, b"\0")
    return OP.pack(kind, place, len(payload), 0) + payload, op


def insisted_ports(rule: Rule) -> tuple[int, int]:
    """The destination ports that a rule of TCP or UDP insists on, when nothing before that has a memory."""
    if rule.header.protocol not in (6, 17) or rule.header.protocol_negated:
        return ALL_PORTS
    for match in rule.matches:
        if match.NAME in ("tcp", "udp") and isinstance(match, Tcp | Udp):
            ports = match.destination
            return ALL_PORTS if ports.negated or ports.low > ports.high else (ports.low, ports.high)
        if match.NAME not in PASSIVE:
            break
    return ALL_PORTS
