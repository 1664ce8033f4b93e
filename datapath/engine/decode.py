"""The core's raw steps to the typed steps of `datapath.model.steps`: numbers get the names of this node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from ipaddress import ip_address

from datapath._core import conn, verdict
from datapath._core.record import StepKind
from datapath.compiler.program import CompiledTable
from datapath.model import steps
from datapath.model.host import Host
from datapath.model.route_words import policy_rule_text, route_text
from datapath.model.ruleset import Jump, Rule
from datapath.model.verdicts import Hook, RuleVerdict
from datapath.syntax.iptables_save import header_words, match_text, rule_text

RawStep = tuple[int, int, int, int, int, int, int, int]  # kind, hook, table, arg, a, b, depth, value
RawRewrite = tuple[int, int, bytes, int, bytes, int]  # family, protocol, address and port before, address and port after
CONNTRACK_STATES = {0: "ESTABLISHED", 1: "RELATED", 2: "NEW", 3: "ESTABLISHED", 4: "RELATED", 7: "UNTRACKED"}
ROUTE_TYPES = (
    "none", "unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable", "prohibit", "throw", "nat", "xresolve",
)  # fmt: skip
HEADER_OPTIONS = {1: "-s", 2: "-d", 3: "-i", 4: "-o", 5: "-p", 6: "-f"}
PACKET_TYPES = ("HOST", "BROADCAST", "MULTICAST", "OTHERHOST", "OUTGOING", "LOOPBACK")
DRAWS = ("statistic", "nat port", "icmp id", "ip id", "flow label", "nat address", "scheduler")
MANIPS = ("source", "destination")
NEIGHBOUR_STATES = ("resolved", "asked, the packet waits", "failed")
FIRST_INVALID = 16  # CtHow: from here on a reason for INVALID


class Decoder:
    """Turns the raw steps of one packet into typed ones. `lines` are the texts of its log steps, by the steps' values."""

    def __init__(
        self,
        host: Host,
        tables: Mapping[int, Mapping[int, CompiledTable]],
        nat_rules: Sequence[str],
        lines: Mapping[int, str],
    ) -> None:
        self._host = host
        self._tables = tables
        self._nat_rules = nat_rules
        self._lines = lines
        self._family = 4
        self._reply = False  # a reply's source is what the destination's binding rewrites, and the other way round

    @cached_property
    def _devices(self) -> tuple[str, ...]:
        return tuple(link.name for link in self._host.links)

    def decode(self, raw: Sequence[RawStep], rewrites: Sequence[RawRewrite]) -> tuple[steps.Step, ...]:
        """All steps of one call, in order."""
        return tuple(self._decode(raw, rewrites))

    def _decode(self, raw: Sequence[RawStep], rewrites: Sequence[RawRewrite]) -> Iterator[steps.Step]:
        for kind, hook, table, arg, a, b, depth, value in raw:
            match kind:
                case StepKind.STEP_HOOK:
                    self._family = arg or self._family
                    yield steps.HookEntered(depth, Hook(hook).name, self._device(a), self._device(signed(value)))
                case StepKind.STEP_RULE | StepKind.STEP_RETURN | StepKind.STEP_POLICY | StepKind.STEP_NOT_MATCHED | StepKind.STEP_UNKNOWN:
                    yield self._rule_step(kind, Hook(hook).name, self._tables[self._family][table], arg, a, b, depth, value)
                case StepKind.STEP_REWRITE:
                    yield rewritten(arg, depth, rewrites[value]) if value < len(rewrites) else steps.Rewritten(depth, MANIPS[arg], "", "")
                case _:
                    step = self._other(kind, arg, a, b, depth, value)
                    if step is not None:
                        yield step

    def _rule_step(self, kind: int, hook: str, table: CompiledTable, arg: int, a: int, b: int, depth: int, value: int) -> steps.Step:
        chain, tried = table.chain_names[a], value >> 32
        if kind == StepKind.STEP_RETURN:
            return steps.ChainEnded(depth, hook, table.label, chain, tried)
        if kind == StepKind.STEP_POLICY:
            return steps.PolicyApplied(depth, hook, table.label, chain, RuleVerdict(arg).name, tried)
        rule = table.rule(a, b)
        text = rule_text(rule, chain)
        if kind == StepKind.STEP_NOT_MATCHED:
            return steps.RuleNotMatched(depth, hook, table.label, chain, b, text, failed_condition(rule, arg, value))
        if kind == StepKind.STEP_UNKNOWN:
            return steps.NotEmulated(depth, table.label, chain, b, text)
        return steps.RuleMatched(depth, hook, table.label, chain, b, text, action_of(rule), RuleVerdict(arg).name, tried)

    def _other(self, kind: int, arg: int, a: int, b: int, depth: int, value: int) -> steps.Step | None:
        match kind:
            case StepKind.STEP_RECEIVE:
                return steps.Received(depth, self._device(a) or "?", PACKET_TYPES[arg])
            case StepKind.STEP_LOCAL_SEND:
                return steps.SentLocally(depth, self._device(a))
            case StepKind.STEP_ROUTE:
                return self._routed(arg, a, b, depth, signed(value))
            case StepKind.STEP_CONNTRACK:
                step = tracked(arg, a, b, depth, value)
                self._reply = step.direction == "reply"
                return step
            case StepKind.STEP_NAT:
                return steps.Bound(depth, MANIPS[arg ^ self._reply], self._nat_rule(a), b == 1)
            case StepKind.STEP_DEFRAG:
                return steps.Defragmented(depth, arg == 1)
            case StepKind.STEP_DROP:
                return steps.Dropped(depth, drop_reason_name(arg))
            case StepKind.STEP_OUTPUT:
                return steps.LeftBy(depth, self._device(a) or "?")
            case StepKind.STEP_DELIVER:
                return steps.DeliveredLocally(depth)
            case StepKind.STEP_GENERATE:
                return steps.Generated(depth, generated_text(arg, a, b))
            case StepKind.STEP_NEIGHBOUR:
                return steps.NeighbourAsked(depth, NEIGHBOUR_STATES[arg]) if arg else None
            case StepKind.STEP_LOG:
                return steps.Logged(depth, self._lines[value])
            case StepKind.STEP_DRAW:
                return steps.Drawn(depth, DRAWS[arg], value, a == 1)
            case StepKind.STEP_MARK:
                return steps.MarkChanged(depth, value)
            case StepKind.STEP_DEVICE:
                return steps.ThroughDevice(depth, self._device(a) or "?", "out" if arg else "in")
            case StepKind.STEP_FRAGMENT:
                return steps.Fragmented(depth, a)
            case _:
                raise ValueError(f"the core recorded a step of kind {kind}")

    def _device(self, number: int) -> str | None:
        return self._devices[number] if 0 <= number < len(self._devices) else None

    def _routed(self, route_type: int, route: int, rule: int, depth: int, device: int) -> steps.Routed:
        by = route_text(self._host.routes[route]) if 0 <= route < len(self._host.routes) else None
        policy = policy_rule_text(self._host.rules[rule]) if 0 <= rule < len(self._host.rules) else None
        return steps.Routed(depth, ROUTE_TYPES[route_type], self._device(device), by, policy)

    def _nat_rule(self, number: int) -> str | None:
        if not 0 <= number < len(self._nat_rules):
            return None
        return self._nat_rules[number]


def signed(value: int) -> int:
    """A device number that the core stored in an unsigned word."""
    return value - (1 << 64) if value >> 63 else value


def drop_reason_name(number: int) -> str:
    """The name of enum skb_drop_reason, without its prefix."""
    return verdict.DropReason(number).name.removeprefix("DROP_")


def action_of(rule: Rule) -> str:
    """What a rule does when it matches: its target's name, a jump, or nothing."""
    if rule.target is None:
        return ""
    if isinstance(rule.target, Jump):
        return f"{'goto' if rule.target.goto else 'jump'} {rule.target.chain}"
    return rule.target.NAME


def failed_condition(rule: Rule, number: int, part: int) -> str:
    """The first condition of a rule that failed, as the rule spells it: a part of the header (0) or a match (its number)."""
    if number:
        return match_text(rule.matches[number - 1]) if number <= len(rule.matches) else f"condition {number}"
    words = header_words(rule.header)
    option = HEADER_OPTIONS.get(part, "")
    if option not in words:
        return "the packet is not a fragment with a header that can be read"
    at = words.index(option)
    first = at - 1 if at and words[at - 1] == "!" else at
    return " ".join(words[first : at + (1 if option == "-f" else 2)])


def tracked(ctinfo: int, how: int, cut: int, depth: int, entry: int) -> steps.Tracked:
    """Conntrack's look at a packet."""
    reason = conn.CtHow(how).name.removeprefix("HOW_").lower().replace("_", " ")
    if entry == 0:
        state = "UNTRACKED" if ctinfo == 7 else "INVALID"
        return steps.Tracked(depth, state, None, None, reason, bool(cut))
    return steps.Tracked(
        depth, CONNTRACK_STATES.get(ctinfo, "INVALID"), entry, "reply" if ctinfo in (3, 4) else "original", reason, bool(cut)
    )


def rewritten(manip: int, depth: int, raw: RawRewrite) -> steps.Rewritten:
    """The end before and after."""
    family, protocol, before, before_key, after, after_key = raw
    ends = end_text(family, protocol, before, before_key), end_text(family, protocol, after, after_key)
    return steps.Rewritten(depth, MANIPS[manip], *ends)


def end_text(family: int, protocol: int, address: bytes, key: int) -> str:
    """`192.0.2.1:80`, `[2001:db8::1]:80`, `192.0.2.1 id 7`, or the address alone."""
    text = str(ip_address(address[:4] if family == 4 else address[:16]))
    if protocol in (6, 17, 33, 132, 136):
        return f"[{text}]:{key}" if family == 6 else f"{text}:{key}"
    return f"{text} id {key}" if protocol in (1, 58) else text


ETH_P_ARP = 0x0806
ARP_REQUEST = 1


def generated_text(protocol: int, kind: int, code: int) -> str:
    """What the kernel made: an ICMP message by type and code, a TCP reset, ARP."""
    if protocol == 0 and kind == ETH_P_ARP:
        return "ARP request" if code == ARP_REQUEST else "ARP reply"
    names = {1: "ICMP", 58: "ICMPv6"}
    return f"{names[protocol]} type {kind} code {code}" if protocol in names else "TCP reset" if protocol == 6 else f"protocol {protocol}"
