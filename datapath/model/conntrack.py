"""Entries of the connection table, as `conntrack -L -o extended` shows them."""

from __future__ import annotations

from dataclasses import dataclass

PROTOCOL_NAMES = {1: "icmp", 6: "tcp", 17: "udp", 33: "dccp", 47: "gre", 58: "icmpv6", 132: "sctp", 136: "udplite"}
FAMILY_NUMBERS = {4: 2, 6: 10}  # AF_INET, AF_INET6
ICMP_PROTOCOLS = (1, 58)
PORT_PROTOCOLS = (6, 17, 33, 132, 136)
GRE = 47

TCP_STATES = ("NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2")
SCTP_STATES = ("NONE", "CLOSED", "COOKIE_WAIT", "COOKIE_ECHOED", "ESTABLISHED", "SHUTDOWN_SENT", "SHUTDOWN_RECD",
               "SHUTDOWN_ACK_SENT", "HEARTBEAT_SENT")


@dataclass(frozen=True, slots=True)
class FlowTuple:
    """One direction of a connection. Addresses are text as inet_ntop prints it.

    `sport` and `dport` are ports; for ICMP the id, and type << 8 | code; for GRE the keys; else 0.
    `zone` is the conntrack zone in which this direction is looked up.
    """

    family: int
    protocol: int
    src: str
    dst: str
    sport: int = 0
    dport: int = 0
    zone: int = 0

    @property
    def icmp_type(self) -> int:
        """The type of an ICMP question or answer."""
        return self.dport >> 8

    @property
    def icmp_code(self) -> int:
        """The code of an ICMP question or answer."""
        return self.dport & 0xFF

    def __str__(self) -> str:
        text = f"src={self.src} dst={self.dst}"
        if self.protocol in PORT_PROTOCOLS:
            return f"{text} sport={self.sport} dport={self.dport}"
        if self.protocol in ICMP_PROTOCOLS:
            return f"{text} type={self.icmp_type} code={self.icmp_code} id={self.sport}"
        if self.protocol == GRE:
            return f"{text} srckey={self.sport:#x} dstkey={self.dport:#x}"
        return text


@dataclass(frozen=True, slots=True)
class Traffic:
    """What was counted in one direction."""

    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ConntrackEntry:
    """A connection. `str()` is its line in `conntrack -L -o extended`.

    `timeout` is what is left of its life in whole seconds, rounded down. `state` is the TCP or SCTP state. `counted`
    has the packets of both directions when nf_conntrack_acct was on as the entry began. `use` counts who holds it:
    the table, and packets that wait. `age` is how many seconds ago it began, with nf_conntrack_timestamp.
    """

    original: FlowTuple
    reply: FlowTuple
    timeout: int
    state: str | None = None
    seen_reply: bool = True
    assured: bool = False
    mark: int = 0
    use: int = 1
    counted: tuple[Traffic, Traffic] | None = None
    helper: str | None = None
    age: int | None = None
    secctx: str | None = None
    id: int | None = None

    @property
    def family(self) -> int:
        """4 or 6."""
        return self.original.family

    @property
    def protocol(self) -> int:
        """The transport protocol's number."""
        return self.original.protocol

    @property
    def source_translated(self) -> bool:
        """Replies go to another address or port than the connection came from (SNAT, MASQUERADE)."""
        return (self.reply.dst, self.reply.sport if self._icmp else self.reply.dport) != (self.original.src, self.original.sport)

    @property
    def destination_translated(self) -> bool:
        """Replies come from another address or port than the connection went to (DNAT, REDIRECT)."""
        return self.reply.src != self.original.dst or (not self._icmp and self.reply.sport != self.original.dport)

    @property
    def _icmp(self) -> bool:
        return self.protocol in ICMP_PROTOCOLS

    def __str__(self) -> str:
        protocol = PROTOCOL_NAMES.get(self.protocol, "unknown")
        parts = [f"{f'ipv{self.family}':<8} {FAMILY_NUMBERS[self.family]} {protocol:<8} {self.protocol} {self.timeout}"]
        if self.state is not None:
            parts.append(self.state)
        zone = self.original.zone if self.original.zone == self.reply.zone else 0
        parts += self._direction(0, "zone-orig", zone)
        if not self.seen_reply:
            parts.append("[UNREPLIED]")
        parts += self._direction(1, "zone-reply", zone)
        if self.assured:
            parts.append("[ASSURED]")
        parts.append(f"mark={self.mark}")
        optional = (("secctx", self.secctx), ("zone", zone or None), ("delta-time", self.age), ("helper", self.helper))
        parts += [f"{name}={value}" for name, value in optional if value is not None]
        parts.append(f"use={self.use}")
        if self.id is not None:
            parts.append(f"id={self.id}")
        return " ".join(parts)

    def _direction(self, direction: int, zone_name: str, zone: int) -> list[str]:
        flow = (self.original, self.reply)[direction]
        parts = [str(flow)]
        if flow.zone != zone:
            parts.append(f"{zone_name}={flow.zone}")
        if self.counted is not None:
            parts.append(f"packets={self.counted[direction].packets} bytes={self.counted[direction].bytes}")
        return parts
