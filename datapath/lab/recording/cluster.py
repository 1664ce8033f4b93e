"""A node with pods, a client and the outside, each in its own namespace.

client 192.0.2.10 -- eth0 192.0.2.1 NODE 198.51.100.1 eth1 -- router 198.51.100.10 -- far 203.0.113.5;
pods web1 10.244.1.2, web2 10.244.1.3 and dns 10.244.1.4, each on a veth of the node.
"""

from __future__ import annotations

import subprocess
import time

from datapath.lab.errors import LabError
from datapath.lab.namespace import Namespace
from datapath.lab.wire import switch_off_offload

NODE_POD_ADDRESSES = ("10.244.1.1/32", "fd00:244::1/128")
NODE_LINKS = {
    # device of the node: (its addresses, namespace of the far end, that one's addresses, the node's MAC, the far end's)
    "eth0": (("192.0.2.1/24", "fd00:10::1/64"), "client", ("192.0.2.10/24", "fd00:10::10/64"), "02:00:00:00:01:01", "02:00:00:00:01:10"),
    "eth1": (("198.51.100.1/24",), "router", ("198.51.100.10/24",), "02:00:00:00:02:01", "02:00:00:00:02:10"),
    "veth-web1": (NODE_POD_ADDRESSES, "web1", ("10.244.1.2/32", "fd00:244::2/128"), "02:00:00:00:03:01", "02:00:00:00:03:02"),
    "veth-web2": (NODE_POD_ADDRESSES, "web2", ("10.244.1.3/32", "fd00:244::3/128"), "02:00:00:00:04:01", "02:00:00:00:04:03"),
    "veth-dns": (NODE_POD_ADDRESSES, "dns", ("10.244.1.4/32", "fd00:244::4/128"), "02:00:00:00:05:01", "02:00:00:00:05:04"),
}  # fmt: skip
NODE_SYSCTLS = {
    "net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1", "net.ipv4.conf.all.send_redirects": "0",
    "net.netfilter.nf_conntrack_acct": "1",
}  # fmt: skip
# Addresses are there at once, and multicast reports and router solicitations do not come while something is recorded.
QUIET6 = {
    "net.ipv6.conf.all.accept_dad": "0", "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.default.router_solicitations": "0", "net.ipv6.conf.default.mldv2_unsolicited_report_interval": "1",
}  # fmt: skip
SETTLE_SECONDS = 0.5


class Cluster:
    """The namespaces and the processes started in them. Use it as a context manager."""

    def __init__(self, *, offload: bool) -> None:
        self._offload = offload
        self._processes: list[subprocess.Popen[bytes]] = []
        self.spaces = {name: Namespace() for name in ("node", "client", "router", "far", "web1", "web2", "dns")}
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    @property
    def node(self) -> Namespace:
        """The node's namespace."""
        return self.spaces["node"]

    def close(self) -> None:
        """End the processes that were started, let the namespaces go."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait()
        for space in self.spaces.values():
            space.close()

    def _build(self) -> None:
        for space in self.spaces.values():
            for name, value in QUIET6.items():
                space.set_sysctl(name, value)
            space.run("ip", "link", "set", "lo", "up")
        for device, (own, where, theirs, own_mac, their_mac) in NODE_LINKS.items():
            self._link(device, where, own_mac, their_mac)
            self._addresses("node", device, own)
            self._addresses(where, "eth0", theirs)
            self._neighbours(device, where, own_mac, their_mac)
        self._link_far()
        for name, value in NODE_SYSCTLS.items():
            self.node.set_sysctl(name, value)
        self.spaces["router"].set_sysctl("net.ipv4.ip_forward", "1")
        self._routes()
        time.sleep(SETTLE_SECONDS)

    def _link(self, device: str, where: str, own_mac: str, their_mac: str) -> None:
        far = f"/proc/self/fd/{self.spaces[where].fd}"
        command = ("ip", "link", "add", device, "address", own_mac, "type", "veth")
        peer = ("peer", "name", "eth0", "address", their_mac, "netns", far)
        with self.node:
            done = subprocess.run([*command, *peer], pass_fds=[self.spaces[where].fd], capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"ip link add {device}: {done.stderr.strip()}")
        for space, name in ((self.node, device), (self.spaces[where], "eth0")):
            if not self._offload:
                with space:
                    switch_off_offload(name)
            space.run("ip", "link", "set", name, "up")

    def _addresses(self, where: str, device: str, addresses: tuple[str, ...]) -> None:
        for address in addresses:
            self.spaces[where].run("ip", "addr", "add", address, "dev", device, *["nodad"] * (":" in address))

    def _neighbours(self, device: str, where: str, own_mac: str, their_mac: str) -> None:
        own, _, theirs = NODE_LINKS[device][:3]
        for address in theirs:
            self.node.run("ip", "neigh", "replace", address.split("/")[0], "lladdr", their_mac, "dev", device, "nud", "permanent")
            if device.startswith("veth"):
                self.node.run("ip", "route", "add", address, "dev", device)
        for address in own:
            self.spaces[where].run("ip", "neigh", "replace", address.split("/")[0], "lladdr", own_mac, "dev", "eth0", "nud", "permanent")

    def _link_far(self) -> None:
        router = self.spaces["router"]
        far = f"/proc/self/fd/{self.spaces['far'].fd}"
        with router:
            subprocess.run(["ip", "link", "add", "eth1", "type", "veth", "peer", "name", "eth0", "netns", far],
                           pass_fds=[self.spaces["far"].fd], check=True)  # fmt: skip
        router.run("ip", "addr", "add", "203.0.113.1/24", "dev", "eth1")
        router.run("ip", "link", "set", "eth1", "up")
        self.spaces["far"].run("ip", "addr", "add", "203.0.113.5/24", "dev", "eth0")
        self.spaces["far"].run("ip", "link", "set", "eth0", "up")

    def _routes(self) -> None:
        self.node.run("ip", "route", "add", "default", "via", "198.51.100.10")
        self.spaces["client"].run("ip", "route", "add", "default", "via", "192.0.2.1")
        self.spaces["client"].run("ip", "-6", "route", "add", "default", "via", "fd00:10::1")
        self.spaces["router"].run("ip", "route", "add", "192.0.2.0/24", "via", "198.51.100.1")
        self.spaces["far"].run("ip", "route", "add", "default", "via", "203.0.113.1")
        for pod in ("web1", "web2", "dns"):
            self.spaces[pod].run("ip", "route", "add", "default", "via", "10.244.1.1", "dev", "eth0", "onlink")
            self.spaces[pod].run("ip", "-6", "route", "add", "default", "via", "fd00:244::1", "dev", "eth0", "onlink")

    def start(self, where: str, *command: str, ready: str = "") -> subprocess.Popen[bytes]:
        """Start a process in a namespace; `ready` is a listening port ("tcp:80") to wait for."""
        with self.spaces[where]:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._processes.append(process)
        if ready:
            self.wait_for_port(where, ready)
        return process

    def wait_for_port(self, where: str, port: str) -> None:
        """Until something listens there, ten seconds at most."""
        protocol, number = port.split(":")
        for _ in range(200):
            if f":{number} " in self.spaces[where].run("ss", "-Hnl", f"--{protocol}"):
                return
            time.sleep(0.05)
        raise LabError(f"nothing listens on {port} in {where}")

    def run(self, where: str, *command: str) -> str:
        """Run a client to its end; how it ends is part of the traffic."""
        return self.spaces[where].run(*command, check=False)


DEVICES = ("lo", *NODE_LINKS)
