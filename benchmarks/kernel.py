"""What this machine's Linux takes for the same packets and rules (root): frames into a namespace that forwards them.

The way in is a veth pair, the way out an ifb device, which swallows what it gets. The sender works in the same thread, so its
time is measured too; it is known from a run in which the first rule drops everything, and taken off. What is taken off
contains the receiving of the packet, so Linux looks faster than it is.
"""

from __future__ import annotations

import ctypes
import os
import socket
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.traffic import NODE_INSIDE
from datapath.lab.namespace import Namespace

PACKET_QDISC_BYPASS = 20
BATCH = 512
MOST = 200_000
DROP_ALL = "*raw\n:PREROUTING DROP [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n"
DEVICES = {"eth0": ("02:00:00:00:0a:01", "198.51.100.254/24"), "eth1": ("02:00:00:00:0b:01", "10.1.255.254/16")}


class IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Message(ctypes.Structure):  # struct mmsghdr
    _fields_ = (
        ("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32), ("vectors", ctypes.POINTER(IoVec)), ("count", ctypes.c_size_t),
        ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t), ("flags", ctypes.c_size_t), ("sent", ctypes.c_size_t),
    )  # fmt: skip


def nanoseconds(rules: str, warm: Path | None, capture: Path, runs: int) -> float:
    """Processor time per packet, the median of `runs`, the sender's own taken off."""
    sender = statistics.median(_timed(DROP_ALL, None, capture) for _ in range(runs))
    return statistics.median(_timed(rules, warm, capture) for _ in range(runs)) - sender


def _timed(rules: str, warm: Path | None, capture: Path) -> float:
    node, wire = Namespace(), Namespace()
    try:
        outside = next(_frames(capture))[:6] != NODE_INSIDE
        _build(node, wire, "eth0" if outside else "eth1", rules)
        with wire:
            out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            out.bind(("wire", 0))
        out.setsockopt(263, PACKET_QDISC_BYPASS, 1)
        if warm is not None:
            _send(out, warm)
        took = _send(out, capture)
        out.close()
        return took
    finally:
        node.close()
        wire.close()


def _build(node: Namespace, wire: Namespace, way_in: str, rules: str) -> None:
    way_out = "eth1" if way_in == "eth0" else "eth0"
    with node:
        node.run("ip", "link", "add", way_in, "address", DEVICES[way_in][0], "type", "veth", "peer", "name", "wire")
        node.run("ip", "link", "add", way_out, "address", DEVICES[way_out][0], "type", "ifb")
    node.run("ip", "link", "set", "wire", "netns", _held_by_a_process(wire))
    wire.run("ip", "link", "set", "wire", "up")
    for device, (_, address) in DEVICES.items():
        node.run("ip", "address", "add", address, "dev", device)
        node.run("ip", "link", "set", device, "up")
    node.run("ip", "route", "add", "10.0.0.0/8", "dev", "eth1")
    node.run("ip", "link", "set", way_out, "arp", "off")
    node.set_sysctl("net.ipv4.ip_forward", "1")
    for device in ("all", "default", "eth0", "eth1"):
        node.set_sysctl(f"net.ipv4.conf.{device}.rp_filter", "0")
    node.run("iptables-legacy-restore", text=rules)


def _held_by_a_process(namespace: Namespace) -> str:
    """`ip link set netns` takes a process; any descriptor of ours is one of this process's own entries."""
    return f"/proc/{os.getpid()}/fd/{namespace.fd}"


def _frames(capture: Path) -> Iterator[bytes]:
    with capture.open("rb") as file:
        file.seek(24)
        while header := file.read(16):
            yield file.read(int.from_bytes(header[8:12], "little"))


def _send(out: socket.socket, capture: Path) -> float:
    """Nanoseconds of this thread per frame: the softirq that forwards it runs as a part of sending."""
    frames = list(_frames(capture))[:MOST]
    data = ctypes.create_string_buffer(b"".join(frames))
    length, start = len(frames[0]), ctypes.addressof(data)
    vectors = (IoVec * len(frames))(*(IoVec(start + i * length, length) for i in range(len(frames))))
    messages = (Message * len(frames))()
    size = ctypes.sizeof(IoVec)
    for i in range(len(frames)):
        messages[i].vectors = ctypes.cast(ctypes.addressof(vectors) + i * size, ctypes.POINTER(IoVec))
        messages[i].count = 1
    send, descriptor, at = ctypes.CDLL(None, use_errno=True).sendmmsg, out.fileno(), ctypes.addressof(messages)
    began = time.thread_time()
    for i in range(0, len(frames), BATCH):
        send(descriptor, ctypes.c_void_p(at + i * ctypes.sizeof(Message)), min(BATCH, len(frames) - i), 0)
    return (time.thread_time() - began) * 1e9 / len(frames)
