"""A capture of stacked devices on the real kernel: each packet is seen on a port and its bridge, and on every device of
"any"; the rules draw endpoints and ports. It replays without a contradiction, whatever the seed."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest

from datapath import Datapath, Host
from datapath.capture.played import Role
from datapath.capture.reader import open_capture
from datapath.capture.replay import Replay
from datapath.lab.hostdir import write_node_files, write_rule_files
from datapath.lab.namespace import Namespace
from datapath.lab.recording.tap import AnyTap, Tap

pytestmark = pytest.mark.kernel
CAPTURES = ("devices.pcapng", "any.pcap")

DEVICES = ("eth0", "br0", "port1", "eth1")
SERVICE, ON_BRIDGE, PLAIN = "203.0.113.80", "10.1.0.2", "10.5.0.2"
RULES = f"""*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:SVC - [0:0]
-A PREROUTING -d {SERVICE}/32 -p udp -m udp --dport 53 -j SVC
-A PREROUTING -d {SERVICE}/32 -p tcp -m tcp --dport 80 -j SVC
-A SVC -m statistic --mode random --probability 0.50000000000 -j DNAT --to-destination {ON_BRIDGE}
-A SVC -j DNAT --to-destination {PLAIN}
-A POSTROUTING -o br0 -j MASQUERADE --random-fully
-A POSTROUTING -o eth1 -j MASQUERADE --random-fully
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -i eth0 -m conntrack --ctstate DNAT -j ACCEPT
COMMIT
"""
NODE = """
link set lo up
link add br0 type bridge
link set port1 master br0
address add 192.0.2.1/24 dev eth0
address add 10.1.0.1/24 dev br0
address add 10.5.0.1/24 dev eth1
"""


class Lab:
    """The node, a client, and two servers that answer by UDP and TCP."""

    def __init__(self) -> None:
        self.node, self.client, self.first, self.second = (Namespace() for _ in range(4))
        self.wire("eth0", self.client)
        self.wire("port1", self.first)
        self.wire("eth1", self.second)
        for line in NODE.strip().splitlines():
            self.node.run("ip", *line.split())
        for device in DEVICES:
            self.node.run("ip", "link", "set", device, "up")
        self.node.set_sysctl("net.ipv4.ip_forward", "1")
        self.address(self.client, "far", "192.0.2.9/24", "192.0.2.1")
        self.address(self.first, "far", f"{ON_BRIDGE}/24", "10.1.0.1")
        self.address(self.second, "far", f"{PLAIN}/24", "10.5.0.1")
        self.node.run("iptables-legacy-restore", text=RULES)
        for namespace in (self.first, self.second):
            for serve in (serve_udp, serve_tcp):
                with namespace:
                    kind, port = (socket.SOCK_DGRAM, 53) if serve is serve_udp else (socket.SOCK_STREAM, 80)
                    listening = socket.socket(socket.AF_INET, kind)
                listening.bind(("0.0.0.0", port))
                threading.Thread(target=serve, args=(listening,), daemon=True).start()

    def wire(self, device: str, far: Namespace) -> None:
        command = ["ip", "link", "add", device, "type", "veth", "peer", "name", "far", "netns", f"/proc/self/fd/{far.fd}"]
        with self.node:
            subprocess.run(command, check=True, pass_fds=[far.fd])
        far.run("ip", "link", "set", "lo", "up")
        far.run("ip", "link", "set", "far", "up")

    def address(self, namespace: Namespace, device: str, address: str, gateway: str) -> None:
        namespace.run("ip", "link", "set", device, "up")
        namespace.run("ip", "address", "add", address, "dev", device)
        namespace.run("ip", "route", "add", "default", "via", gateway)

    def ask(self) -> None:
        for number in range(12):
            with self.client:
                udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            udp.settimeout(5)
            udp.sendto(b"name %d" % number, (SERVICE, 53))
            assert udp.recv(100) == b"NAME %d" % number
            tcp.settimeout(5)
            tcp.connect((SERVICE, 80))
            tcp.sendall(b"get %d" % number + bytes(4000 * (number % 3)))
            tcp.shutdown(socket.SHUT_WR)
            while tcp.recv(65536):
                pass
            udp.close()
            tcp.close()

    def close(self) -> None:
        for namespace in (self.node, self.client, self.first, self.second):
            namespace.close()


def serve_udp(listening: socket.socket) -> None:
    while True:
        data, sender = listening.recvfrom(2000)
        listening.sendto(data.upper(), sender)


def serve_tcp(listening: socket.socket) -> None:
    listening.listen(16)
    while True:
        connection, _ = listening.accept()
        with connection:
            while data := connection.recv(65536):
                connection.sendall(data.upper())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording; on a busy machine the taps may lose or reorder frames, so that a bad one is made again, a few times."""
    for _ in range(8):
        directory = tmp_path_factory.mktemp("stacks")
        record(directory)
        if all(whole(directory, name) for name in CAPTURES):
            break
    return directory


def whole(directory: Path, name: str) -> bool:
    played = list(Replay(Datapath(Host.load(directory / "host")), open_capture(directory / name)))
    roles = Counter((one.role, one.interface) for one in played)
    enough = roles[Role.RECEIVED, "eth0"] > 50 and roles[Role.COPY, "br0"] > 20 and roles[Role.COPY, "eth1"] > 20
    return enough and not any(one.differences for one in played)


def record(directory: Path) -> None:
    lab = Lab()
    try:
        lab.ask()  # neighbours are known from here on
        write_node_files(lab.node, directory / "host")
        write_rule_files(lab.node, directory / "host", (4,))
        (directory / "host" / "conntrack.txt").write_text(lab.node.run("conntrack", "-L", "-o", "extended"))
        with Tap(lab.node, DEVICES, directory / "devices.pcapng"), AnyTap(lab.node, directory / "any.pcap"):
            lab.ask()
    finally:
        lab.close()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", CAPTURES)
def test_nothing_contradicts(recorded: Path, name: str, seed: int) -> None:
    run = Replay(Datapath(Host.load(recorded / "host"), seed=seed), open_capture(recorded / name))
    played = list(run)
    wrong = [(one.record.number, str(difference)) for one in played if one.record for difference in one.differences]
    assert wrong == []
    roles = Counter((one.role, one.interface) for one in played)
    assert roles[Role.RECEIVED, "eth0"] > 50
    assert roles[Role.COPY, "br0"] > 20
    assert roles[Role.COPY, "eth1"] > 20
    assert roles[Role.RECEIVED, "br0"] == 0
    assert roles[Role.RECEIVED, "port1"] > 20
    assert run.summary.draws_shown >= 2 * 24
