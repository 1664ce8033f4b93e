"""Which devices show one packet twice: a bridge and its ports, a VLAN and its parent, a tunnel and what it runs over."""

from __future__ import annotations

from datapath.model.host import Host

GROUP_BIT = 0x01


class Stacks:
    """The stacking of a host's devices, asked by name."""

    def __init__(self, host: Host) -> None:
        self._links = {link.name: link for link in host.links}
        self._above: dict[str, set[str]] = {link.name: {link.master} if link.master else set() for link in host.links}
        for link in host.links:
            if link.lower in self._above:
                self._above[link.lower].add(link.name)

    def entry(self, device: str, destination_mac: bytes) -> str | None:
        """Where a frame that came in by `device` enters: a bridge's own frames enter on the bridge, behind its port.

        None: the bridge hands the frame on from port to port, it is not for this node's IP.
        """
        link = self._links[device]
        master = self._links.get(link.master) if link.master else None
        if master is None or master.kind != "bridge":
            return device
        if destination_mac in (master.mac, link.mac) or destination_mac[0] & GROUP_BIT:
            return master.name
        return None

    def bridge_of(self, device: str) -> str:
        """The device that has the addresses: a port's bridge, else the device itself."""
        master = self._links[device].master
        return master if master is not None and self._links[master].kind == "bridge" else device

    def is_above(self, upper: str, lower: str) -> bool:
        """Whether a packet that came in by `lower` may then be seen on `upper`."""
        found, waiting = {lower}, [lower]
        while waiting:
            for name in self._above.get(waiting.pop(), ()):
                if name not in found:
                    found.add(name)
                    waiting.append(name)
        return upper in found and upper != lower

    def related(self, one: str, other: str) -> bool:
        """Whether they are the same device or stand in one stack."""
        return one == other or self.is_above(one, other) or self.is_above(other, one)
