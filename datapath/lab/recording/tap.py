"""Recording on several interfaces at once into a pcapng file with names, nanoseconds and directions."""

from __future__ import annotations

import contextlib
import mmap
import select
import socket
import struct
import threading
from pathlib import Path

from datapath.capture.record import Direction
from datapath.capture.writer import PcapngWriter
from datapath.lab.namespace import Namespace
from datapath.lab.wire import ETH_P_ALL

SOL_PACKET, PACKET_RX_RING, PACKET_VERSION, TPACKET_V2 = 263, 5, 10, 1
TP_STATUS_USER, TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1, 1 << 4, 1 << 6
TPACKET2_HEADER = struct.Struct("=IIIHHIIHH4x")  # status, len, snaplen, mac, net, sec, nsec, vlan_tci, vlan_tpid
SOCKADDR_LL = struct.Struct("=HHiHBB")
SLOT, SLOTS = 1 << 17, 512  # room for the largest segment; the kernel waits for nobody when all are full
PACKET_OUTGOING = 4
SETTLE_SECONDS = 0.3


class Tap:
    """Everything that passes the named devices of a namespace, from entering the context to leaving it.

    Through a ring: there the kernel copies each frame as it passes. What an ordinary packet socket gives may have been
    rewritten meanwhile, since fragments share their bytes with the packet that they are put together to.
    """

    def __init__(self, namespace: Namespace, devices: tuple[str, ...], path: Path) -> None:
        self._namespace, self._devices, self._path = namespace, devices, path
        self._frames: list[tuple[int, str, bool, bytes]] = []
        self._ended = threading.Event()

    def __enter__(self) -> Tap:
        with self._namespace:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            self._names = {socket.if_nametoindex(device): device for device in self._devices}
            self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
            self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("=4I", SLOT, SLOTS, SLOT, SLOTS))
            self._ring = mmap.mmap(self._socket.fileno(), SLOT * SLOTS)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        return self

    def _listen(self) -> None:
        slot, waiting = 0, select.poll()
        waiting.register(self._socket, select.POLLIN)
        while True:
            header = TPACKET2_HEADER.unpack_from(self._ring, slot * SLOT)
            if header[0] & TP_STATUS_USER:
                self._take(slot * SLOT, header)
                self._ring[slot * SLOT : slot * SLOT + 4] = bytes(4)  # the kernel's again
                slot = (slot + 1) % SLOTS
            elif not waiting.poll(SETTLE_SECONDS * 1000) and self._ended.is_set():
                return

    def _take(self, at: int, header: tuple[int, ...]) -> None:
        status, _, length, mac, _, seconds, nanoseconds, tag, tag_type = header
        _, _, index, _, packet_type, _ = SOCKADDR_LL.unpack_from(self._ring, at + TPACKET2_HEADER.size)
        if index not in self._names:
            return
        frame = self._ring[at + mac : at + mac + length]
        if status & TP_STATUS_VLAN_VALID:
            kind = tag_type if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
            frame = frame[:12] + struct.pack(">HH", kind, tag) + frame[12:]
        self._frames.append((seconds * 1_000_000_000 + nanoseconds, self._names[index], packet_type == PACKET_OUTGOING, frame))

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._ended.set()
        self._thread.join()
        self._ring.close()
        self._socket.close()
        if kind is None:
            with PcapngWriter(self._path, "datapath.lab.recording") as writer:
                numbers = {device: writer.interface(device) for device in self._devices}
                for time_ns, device, outgoing, frame in self._frames:
                    direction = Direction.OUT if outgoing else Direction.IN
                    writer.packet(numbers[device], time_ns, frame, direction=direction)


class AnyTap:
    """tcpdump on the "any" device: an SLL2 capture."""

    def __init__(self, namespace: Namespace, path: Path) -> None:
        self._namespace, self._path = namespace, path

    def __enter__(self) -> AnyTap:
        import subprocess

        with self._namespace:
            self._process = subprocess.Popen(
                ["tcpdump", "-Z", "root", "-i", "any", "-n", "-s", "0", "-B", "16384", "-U", "-w", str(self._path)],
                stderr=subprocess.PIPE)  # fmt: skip
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if b"listening" in line:
                break
        return self

    def __exit__(self, *reason: object) -> None:
        import signal
        import time

        time.sleep(SETTLE_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        self._process.wait()
