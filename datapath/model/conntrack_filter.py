"""What `conntrack -D` selects by."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from datapath.model.conntrack import ConntrackEntry, FlowTuple

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class TupleFilter:
    """Conditions on one direction; None asks for nothing. Masks apply to addresses only."""

    src: Network | None = None
    dst: Network | None = None
    sport: int | None = None
    dport: int | None = None
    icmp_type: int | None = None
    icmp_code: int | None = None
    icmp_id: int | None = None
    zone: int | None = None

    def selects(self, flow: FlowTuple) -> bool:
        """Whether the direction meets them all."""
        wanted = ((self.sport, flow.sport), (self.dport, flow.dport), (self.icmp_type, flow.icmp_type), (self.icmp_code, flow.icmp_code),
                  (self.icmp_id, flow.sport), (self.zone, flow.zone))
        return (all(want is None or want == has for want, has in wanted)
                and all(want is None or within(has, want) for want, has in ((self.src, flow.src), (self.dst, flow.dst))))


@dataclass(frozen=True, slots=True)
class ConntrackFilter:
    """Conditions on an entry; None or empty asks for nothing.

    `source_nat` and `destination_nat`: True asks for an entry that was translated, an address for one that was
    translated to it. `status` holds ASSURED, SEEN_REPLY and the like; UNSET asks for nothing.
    """

    family: int | None = None
    protocol: int | None = None
    state: str | None = None
    original: TupleFilter = TupleFilter()
    reply: TupleFilter = TupleFilter()
    mark: int | None = None
    mark_mask: int = 0xFFFFFFFF
    status: frozenset[str] = frozenset()
    source_nat: bool | Address = False
    destination_nat: bool | Address = False

    def selects(self, entry: ConntrackEntry) -> bool:
        """Whether the entry meets them all."""
        wanted = ((self.family, entry.family), (self.protocol, entry.protocol), (self.state, entry.state))
        return (all(want is None or want == has for want, has in wanted)
                and self.original.selects(entry.original) and self.reply.selects(entry.reply)
                and (self.mark is None or entry.mark & self.mark_mask == self.mark)
                and ("ASSURED" not in self.status or entry.assured)
                and ("SEEN_REPLY" not in self.status or entry.seen_reply)
                and not self.status & {"FIXED_TIMEOUT", "EXPECTED", "OFFLOAD"}
                and self._translated(entry))

    def _translated(self, entry: ConntrackEntry) -> bool:
        asked = (
            (self.source_nat, entry.source_translated, entry.reply.dst),
            (self.destination_nat, entry.destination_translated, entry.reply.src),
        )
        return all(want is False or (done and (want is True or ipaddress.ip_address(address) == want)) for want, done, address in asked)


def within(address: str, network: Network) -> bool:
    """Whether an address is in a network of its own family."""
    return ipaddress.ip_address(address) in network
