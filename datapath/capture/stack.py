"""Which devices show one packet twice: a bridge and its ports, a VLAN and its parent, a tunnel and what it runs over."""

from __future__ import annotations

from datapath.model.host import Host


class Stacks:
    """The stacking of a host's devices, asked by name."""

    def __init__(self, host: Host) -> None:
        self._above: dict[str, set[str]] = {link.name: {link.master} if link.master else set() for link in host.links}
        for link in host.links:
            if link.lower in self._above:
                self._above[link.lower].add(link.name)

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
