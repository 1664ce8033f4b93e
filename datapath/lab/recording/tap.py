"""Recording on several interfaces at once into a pcapng file with names, nanoseconds and directions."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from pathlib import Path

from datapath.capture.record import Direction
from datapath.capture.writer import PcapngWriter
from datapath.lab.namespace import Namespace
from datapath.lab.wire import ETH_P_ALL, with_vlan_tag

SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33
PACKET_OUTGOING = 4
SETTLE_SECONDS = 0.3


class Tap:
    """Everything that passes the named devices of a namespace, from entering the context to leaving it."""

    def __init__(self, namespace: Namespace, devices: tuple[str, ...], path: Path) -> None:
        self._namespace, self._devices, self._path = namespace, devices, path
        self._frames: list[tuple[int, str, bool, bytes]] = []
        self._ended = threading.Event()

    def __enter__(self) -> Tap:
        with self._namespace:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self._socket.settimeout(SETTLE_SECONDS)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        return self

    def _listen(self) -> None:
        while True:
            try:
                frame, ancillary, _, address = self._socket.recvmsg(1 << 17, 256)
            except TimeoutError:
                if self._ended.is_set():
                    return
                continue
            if address[0] in self._devices:
                self._frames.append((_time_ns(ancillary), address[0], address[2] == PACKET_OUTGOING, with_vlan_tag(frame, ancillary)))

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()
        if kind is None:
            with PcapngWriter(self._path, "datapath.lab.recording") as writer:
                numbers = {device: writer.interface(device) for device in self._devices}
                for time_ns, device, outgoing, frame in self._frames:
                    direction = Direction.OUT if outgoing else Direction.IN
                    writer.packet(numbers[device], time_ns, frame, direction=direction)


def _time_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("=qq", data[:16])
            return int(seconds * 1_000_000_000 + nanoseconds)
    return 0


class AnyTap:
    """tcpdump on the "any" device: an SLL2 capture."""

    def __init__(self, namespace: Namespace, path: Path) -> None:
        self._namespace, self._path = namespace, path

    def __enter__(self) -> AnyTap:
        import subprocess

        with self._namespace:
            self._process = subprocess.Popen(
                ["tcpdump", "-Z", "root", "-i", "any", "-n", "-s", "0", "--immediate-mode", "-U", "-w", str(self._path)],
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
