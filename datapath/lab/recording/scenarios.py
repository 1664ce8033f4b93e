"""What happens in each recording."""

from __future__ import annotations

import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from datapath.lab.recording.cluster import Cluster

NGINX = """\
daemon off; pid {directory}/nginx.pid; error_log /dev/null; worker_processes 1;
events {{}}
http {{ access_log off; client_body_temp_path {directory}; proxy_temp_path {directory}; fastcgi_temp_path {directory};
uwsgi_temp_path {directory}; scgi_temp_path {directory};
server {{ listen {port}; listen [::]:{port}; location / {{ return 200 "{name} says hello\\n"; }} }} }}
"""
CURL = ("curl", "-s", "-o", "/dev/null", "--max-time", "3")


def web(cluster: Cluster, where: str, port: int = 8080) -> None:
    """Start nginx in a namespace."""
    directory = tempfile.mkdtemp(prefix="datapath-nginx-")
    Path(directory).chmod(0o777)
    (Path(directory) / "nginx.conf").write_text(NGINX.format(directory=directory, port=port, name=where))
    cluster.start(where, "nginx", "-p", directory, "-c", f"{directory}/nginx.conf", ready=f"tcp:{port}")


def nodeport(cluster: Cluster) -> None:
    """Six requests to a node port, which two pods serve."""
    for _ in range(6):
        cluster.run("client", *CURL, "http://192.0.2.1:30080/")


def clusterip(cluster: Cluster) -> None:
    """Pods and a client ask a service by its cluster address; a pod reaches itself; a service without endpoints refuses."""
    for _ in range(4):
        cluster.run("web1", *CURL, "http://10.96.0.80/")
    cluster.run("client", *CURL, "http://10.96.0.80/")
    cluster.run("client", *CURL, "http://10.96.0.99/")


def dns(cluster: Cluster) -> None:
    """Names asked from a pod and the client, by UDP and TCP."""
    for where in ("web1", "client"):
        cluster.run(where, "dig", "+tries=1", "+time=1", "@10.96.0.10", "www.example.org", "A")
        cluster.run(where, "dig", "+tries=1", "+time=1", "@10.96.0.10", "www.example.org", "AAAA")
    cluster.run("web2", "dig", "+tcp", "+tries=1", "+time=1", "@10.96.0.10", "www.example.org")


def ping(cluster: Cluster) -> None:
    """Echo to a pod, to the node, out to the world masqueraded, to nobody."""
    quiet = ("-c", "2", "-i", "0.2", "-W", "1")
    cluster.run("client", "ping", *quiet, "10.244.1.2")
    cluster.run("client", "ping", *quiet, "192.0.2.1")
    cluster.run("web1", "ping", *quiet, "203.0.113.5")
    cluster.run("web2", "ping", *quiet, "-s", "3000", "203.0.113.5")
    cluster.run("node", "ping", *quiet, "10.244.1.3")
    cluster.run("client", "ping", *quiet, "-t", "1", "203.0.113.5")


def traceroute(cluster: Cluster) -> None:
    """The way from a pod to a far host, by UDP and by ICMP: errors of the node and of the router behind it."""
    cluster.run("web1", "traceroute", "-n", "-q", "1", "-N", "1", "-w", "1", "203.0.113.5")
    cluster.run("web1", "traceroute", "-n", "-I", "-q", "1", "-N", "1", "-w", "1", "203.0.113.5")


def bulk(cluster: Cluster) -> None:
    """iperf3 through a service: segments larger than the MTU, checksums left to hardware that is not there."""
    cluster.start("web2", "iperf3", "-s", "-1", ready="tcp:5201")
    cluster.run("client", "iperf3", "-c", "10.96.0.52", "-n", "60K", "--connect-timeout", "2000")


def ftp(cluster: Cluster) -> None:
    """An FTP session of the client with a pod: a passive and an active transfer."""
    cluster.start("web1", sys.executable, "-m", "datapath.lab.recording.ftp_server", "10.244.1.2", ready="tcp:21")
    url = "ftp://10.244.1.2/file"
    cluster.run("client", *CURL, url, "--next", "-s", "-o", "/dev/null", "--max-time", "3", "-P", "-", url)


def port_reuse(cluster: Cluster) -> None:
    """Three connections in a row from one port: the entry still waits when the next one begins."""
    for _ in range(3):
        with cluster.spaces["client"]:
            client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.bind(("192.0.2.10", 40000))
        client.connect(("10.96.0.80", 80))
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        while client.recv(4096):
            pass
        client.close()
        time.sleep(0.05)


def half_dead(cluster: Cluster) -> None:
    """A pod falls silent within a connection: the client sends again and again, then gives up with a reset."""
    with cluster.spaces["client"]:
        client = socket.create_connection(("10.244.1.2", 8080), 3)
    client.sendall(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
    client.recv(4096)
    pod = cluster.spaces["web1"]
    pod.run("iptables-legacy", "-I", "INPUT", "-j", "DROP")
    client.sendall(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
    time.sleep(1.5)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()


def ipv6(cluster: Cluster) -> None:
    """The node port and the cluster address by IPv6, and echo."""
    for _ in range(3):
        cluster.run("client", *CURL, "-g", "http://[fd00:10::1]:30080/")
        cluster.run("client", *CURL, "-g", "http://[fd00:96::80]/")
    cluster.run("client", "ping", "-6", "-c", "2", "-i", "0.2", "fd00:244::2")


def on_any_device(cluster: Cluster) -> None:
    """Requests to a node port and names asked, captured on the "any" device: each packet is seen on every device it passes."""
    nodeport(cluster)
    dns(cluster)


def from_node(cluster: Cluster) -> None:
    """The node itself asks services: a capture shows its packets only after NAT, so what they were before stays unknown."""
    cluster.run("node", *CURL, "http://10.96.0.80/")
    cluster.run("node", "dig", "+tries=1", "+time=1", "@10.96.0.10", "www.example.org", "A")
    cluster.run("node", *CURL, "http://10.244.1.3:8080/")


@dataclass(frozen=True)
class Scenario:
    """A recording: what happens, and how it is captured."""

    name: str
    run: Callable[[Cluster], None]
    any_device: bool = False
    offload: bool = False

    @property
    def sentence(self) -> str:
        """What it shows."""
        return (self.run.__doc__ or "").strip()


SCENARIOS = (
    Scenario("nodeport", nodeport),
    Scenario("clusterip", clusterip),
    Scenario("dns", dns),
    Scenario("ping", ping),
    Scenario("traceroute", traceroute),
    Scenario("bulk", bulk, offload=True),
    Scenario("ftp", ftp),
    Scenario("port-reuse", port_reuse),
    Scenario("half-dead", half_dead),
    Scenario("ipv6", ipv6),
    Scenario("from-node", from_node),
    Scenario("any", on_any_device, any_device=True, offload=True),
)
