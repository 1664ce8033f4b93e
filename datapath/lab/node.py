"""A node made from a recipe: interfaces whose far ends lie in a second namespace, the wire.

The recipe is a dict as `host.json` holds it:
`interfaces` {name: {mac, addresses, mtu}}, `routes`, `routes6` (as after `ip route add`), `rules`, `rules6` (after
`ip rule add`), `neighbours` {address: [mac, interface]} (permanent), `sysctl` {name: value}, `ipv6` (true: IPv6 is on),
`backend` (whose rules are loaded, legacy or nft), `ip` (further lines for `ip -batch`, run after the interfaces are up:
stacked devices), `answers` (true: nothing is swallowed, so that the node's own sockets and its echo service answer).

What is delivered to the node is swallowed after INPUT by a blocking xfrm policy, so that nothing answers; neighbour
discovery passes. Offload is off on both ends.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from datapath.lab.errors import LabError
from datapath.lab.namespace import Namespace
from datapath.lab.wire import LocalProcesses, Wire, bring_up, switch_off_offload

# What would blur an answer: limits of ICMP errors, redirects, address checks that take a second.
QUIET = {
    "net.ipv4.icmp_ratelimit": "0", "net.ipv4.icmp_msgs_per_sec": "100000", "net.ipv4.icmp_msgs_burst": "100000",
    "net.ipv4.conf.all.send_redirects": "0", "net.ipv4.conf.default.send_redirects": "0",
    "net.ipv4.conf.lo.disable_policy": "0",     # else what comes by lo is not swallowed
}  # fmt: skip
QUIET6 = {
    "net.ipv6.icmp.ratelimit": "0", "net.ipv6.conf.all.accept_ra": "0", "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.default.accept_dad": "0", "net.ipv6.conf.all.accept_dad": "0", "net.ipv6.conf.default.dad_transmits": "0",
    "net.ipv6.conf.default.mldv2_unsolicited_report_interval": "1", "net.ipv6.conf.default.mldv1_unsolicited_report_interval": "1",
}  # fmt: skip
NO_IPV6 = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
SWALLOW = """\
xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir in priority 100 action block
xfrm policy add src ::/0 dst ::/0 dir in priority 100 action block
"""
NEIGHBOUR_DISCOVERY = "".join(
    f"xfrm policy add src ::/0 dst ::/0 proto ipv6-icmp type {kind} dir in priority 1 action allow\n" for kind in range(133, 138)
)
MULTICAST_REPORTS_SECONDS = 0.12
# A classifier on each far end that answers TC_ACT_STOLEN: what the packet socket has seen ends there without a drop reason.
STEAL = "1,6 0 0 4"


class Node:
    """Namespaces, the wire and the local processes of one node. Close it, or use it as a context manager."""

    def __init__(self, recipe: dict[str, Any]) -> None:
        self.recipe = recipe
        self.namespace, self._far = Namespace(), Namespace()
        try:
            self._build()
            self.wire = Wire(self._far)
            self.processes = LocalProcesses(self.namespace)
        except BaseException:
            self._close_namespaces()
            raise

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Take it down."""
        self.wire.close()
        self.processes.close()
        self._close_namespaces()

    def _close_namespaces(self) -> None:
        self.namespace.close()
        self._far.close()

    def _build(self) -> None:
        recipe, node = self.recipe, self.namespace
        ipv6 = recipe.get("ipv6", False)
        for name, value in NO_IPV6.items():
            self._far.set_sysctl(name, value)
        for name, value in (QUIET6 if ipv6 else NO_IPV6).items():
            node.set_sysctl(name, value)
        for name, value in QUIET.items():
            node.set_sysctl(name, value)
        self._make_links()
        node.run("ip", "-batch", "-", text=self._address_lines() + ("" if recipe.get("answers") else SWALLOW + NEIGHBOUR_DISCOVERY))
        for name, value in recipe.get("sysctl", {}).items():
            node.set_sysctl(name, str(value))
        self._add_routes()
        if ipv6:
            time.sleep(MULTICAST_REPORTS_SECONDS)

    def _make_links(self) -> None:
        interfaces = self.recipe["interfaces"]
        with self.namespace, IPRoute() as netlink:
            for name, interface in interfaces.items():
                netlink.link(
                    "add",
                    ifname=name,
                    kind="veth",
                    address=interface["mac"],
                    mtu=interface.get("mtu", 1500),
                    peer={"ifname": name, "net_ns_fd": self._far.fd, "mtu": 65535},
                )
            for name in ("lo", *interfaces):
                switch_off_offload(name)
                bring_up(name)
        with self._far:
            for name in interfaces:
                switch_off_offload(name)
                bring_up(name, arp=False)
        lines = [f'qdisc add dev {name} clsact\nfilter add dev {name} ingress bpf da bytecode "{STEAL}"\n' for name in interfaces]
        self._far.run("tc", "-batch", "-", text="".join(lines))

    def _address_lines(self) -> str:
        lines = list(self.recipe.get("ip", []))
        for name, interface in self.recipe["interfaces"].items():
            lines += [address_line(address, name) for address in interface.get("addresses", [])]
        return "".join(f"{line}\n" for line in lines)

    def _add_routes(self) -> None:
        recipe = self.recipe
        neighbours = [
            f"neigh replace {address} lladdr {mac} dev {device} nud permanent"
            for address, (mac, device) in recipe.get("neighbours", {}).items()
        ]
        for option, suffix in (("-4", ""), ("-6", "6")):
            lines = [line for line in neighbours if (":" in line.split()[2]) == (suffix == "6")]
            lines += [f"route add {route}" for route in recipe.get("routes" + suffix, [])]
            lines += [f"rule add {rule}" for rule in recipe.get("rules" + suffix, [])]
            if lines:
                self.namespace.run("ip", option, "-batch", "-", text="".join(f"{line}\n" for line in lines))

    def restore(self, rules: dict[int, str], ipsets: str = "", backend: str = "legacy") -> None:
        """Load ipsets and rules (by family) with the tools of a back end, legacy or nft."""
        if ipsets:
            self.namespace.run("ipset", "restore", text=ipsets)
        for family, text in rules.items():
            self.namespace.run(f"{tool(family)}-{backend}-restore", text=text)

    def conntrack(self) -> list[str]:
        """The lines of `conntrack -L -o extended`, of both families."""
        return self.namespace.run("conntrack", "-L", "-o", "extended").splitlines()

    def connections(self) -> list[str]:
        """The same table as /proc/net/nf_conntrack prints it, in a hundredth of the time."""
        with self.namespace:
            return Path("/proc/net/nf_conntrack").read_text().splitlines()


def address_line(address: str, device: str) -> str:
    """The line for `ip -batch` that adds an address (with what else `ip addr add` takes)."""
    return f"addr add {address} dev {device}" + " nodad" * (":" in address)


def tool(family: int) -> str:
    """The name of iptables for a family."""
    if family not in (4, 6):
        raise LabError(f"no such family: {family}")
    return "iptables" if family == 4 else "ip6tables"
