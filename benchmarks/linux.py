"""What the same traffic costs the running kernel: frames are given to its receive path without a wire (root only).

A namespace has eth0 (a veth that receives) and eth1 (an ifb, which swallows). BPF_PROG_TEST_RUN in live-frame mode (Linux
5.18 and later) hands copies of a frame to the stack as if eth0 had received them; a small XDP program, assembled here, draws the
flow's number and writes it into source port and source address. The IP identification takes the opposite change, so that the
header's checksum stays right; UDP goes without a checksum. The time is this thread's CPU time, harness included.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(platform.machine(), 321)
PROG_LOAD, TEST_RUN, PROG_TYPE_XDP, LIVE_FRAMES = 5, 10, 6, 1 << 1
XDP_PASS, GET_PRANDOM_U32 = 2, 7
NAMESPACE = "datapath-bench"
libc = ctypes.CDLL(None, use_errno=True)


def checksum(header: bytes) -> int:
    """The Internet checksum."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def bpf(command: int, attribute: bytearray) -> int:
    """The bpf system call; raises OSError."""
    buffer = (ctypes.c_char * len(attribute)).from_buffer(attribute)
    result: int = libc.syscall(SYS_BPF, command, ctypes.byref(buffer), len(attribute))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def instruction(code: int, dst: int = 0, src: int = 0, offset: int = 0, value: int = 0) -> bytes:
    """One BPF instruction."""
    return struct.pack("<BBhi", code, dst | src << 4, offset, value)


def flow_program(data: bytes, flows: int) -> bytes:
    """XDP: the first 44 bytes of `data` written anew (pages are used again, with what the stack made of them), then the number of a
    flow at random below `flows` (a power of two): its low 16 bits to the source port, the rest to the source address."""
    mov, mov_i, and_i, add_i, rsh_i, xor_i, jgt = 0xBF, 0xB7, 0x57, 0x07, 0x77, 0xA7, 0x2D
    load_w, store_w_i, store_h, call, leave = 0x61, 0x62, 0x6B, 0x85, 0x95
    header = [instruction(store_w_i, 2, 0, at, struct.unpack_from("<i", data, at)[0]) for at in range(0, 44, 4)]
    return b"".join([
        instruction(mov, 6, 1),                         # r6 = context
        instruction(call, value=GET_PRANDOM_U32),
        instruction(and_i, 0, value=flows - 1),
        instruction(load_w, 2, 6, 0),                   # r2 = data, r3 = data_end
        instruction(load_w, 3, 6, 4),
        instruction(mov, 4, 2),
        instruction(add_i, 4, value=44),
        instruction(jgt, 4, 3, 6 + len(header)),        # too short: leave it
        *header,
        instruction(store_h, 2, 0, 34),                 # UDP source port
        instruction(rsh_i, 0, value=16),
        instruction(store_h, 2, 0, 28),                 # low half of the source address
        instruction(xor_i, 0, value=0xFFFF),
        instruction(and_i, 0, value=0xFFFF),
        instruction(store_h, 2, 0, 18),                 # identification: the sum of both is always 0xFFFF
        instruction(mov_i, 0, value=XDP_PASS),
        instruction(leave),
    ])  # fmt: skip


def load_program(instructions: bytes) -> int:
    """A loaded XDP program's descriptor."""
    code = ctypes.create_string_buffer(instructions)
    licence = ctypes.create_string_buffer(b"GPL")
    log = ctypes.create_string_buffer(65536)
    attribute = bytearray(128)
    places = (ctypes.addressof(code), ctypes.addressof(licence))
    struct.pack_into("<IIQQIIQ", attribute, 0, PROG_TYPE_XDP, len(instructions) // 8, *places, 1, len(log), ctypes.addressof(log))
    try:
        return bpf(PROG_LOAD, attribute)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}: {log.value.decode(errors='replace')[-300:]}") from None


def frame(destination: str, port: int) -> bytes:
    """The UDP frame that the program varies (60 bytes); source address and identification sum up to 0xFFFF in their varied halves."""
    udp = struct.pack(">HHHH", 0, port, 26, 0) + bytes(18)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 46, 0xFFFF, 0, 64, 17, 0, bytes((203, 0, 0, 0)), socket.inet_aton(destination))
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    return bytes.fromhex("020000000002 020000000001 0800") + header + udp


def nanoseconds_per_packet(program: int, data: bytes, ifindex: int, packets: int) -> float:
    """Nanoseconds of this thread's CPU time per packet."""
    buffer = ctypes.create_string_buffer(data, len(data))
    context = ctypes.create_string_buffer(struct.pack("<6I", 0, len(data), 0, ifindex, 0, 0), 24)
    attribute = bytearray(128)
    struct.pack_into("<IIIIQQIIIIQQIII", attribute, 0, program, 0, len(data), 0, ctypes.addressof(buffer), 0, packets, 0, 24, 0,
                     ctypes.addressof(context), 0, LIVE_FRAMES, 0, 64)  # fmt: skip
    before = time.thread_time_ns()
    bpf(TEST_RUN, attribute)
    return (time.thread_time_ns() - before) / packets


@contextmanager
def node(rules: str, backend: str = "legacy") -> Iterator[int]:
    """A namespace with these rules, in which this thread lives for a while; gives eth0's index."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        inside = os.open(f"/run/netns/{NAMESPACE}", os.O_RDONLY)
        if libc.setns(inside, 0):
            raise OSError(ctypes.get_errno(), "setns")
        os.close(inside)
        for line in (
            "link set lo up", "link add eth0 address 02:00:00:00:00:02 type veth peer name far", "link set eth0 up", "link set far up",
            "link add eth1 type ifb", "link set eth1 up", "addr add 192.0.2.1/24 dev eth0", "addr add 10.244.0.1/16 dev eth1",
            "route add 203.0.0.0/16 via 192.0.2.254 dev eth0", "neigh add 192.0.2.254 lladdr 02:00:00:00:00:01 dev eth0",
        ):  # fmt: skip
            subprocess.run(["ip", *line.split()], check=True)
        for name in ("net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.eth0.rp_filter=0"):
            subprocess.run(["sysctl", "-qw", name], check=True)
        if rules:
            subprocess.run([f"iptables-{backend}-restore"], input=rules, text=True, check=True)
        yield socket.if_nametoindex("eth0")
    finally:
        libc.setns(own, 0)
        os.close(own)
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)
