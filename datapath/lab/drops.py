"""Drop reasons: the tracepoint skb:kfree_skb, as far as this process caused it.

The kernel handles a packet in the context of the process that sent it, so that a filter on the process id leaves out
the rest of the machine. tracefs is mounted without a place in the file system, and its instance is removed again.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from pathlib import Path

from datapath.lab.errors import LabError

_LIBC = ctypes.CDLL(None, use_errno=True)
SYS_FSOPEN, SYS_FSCONFIG, SYS_FSMOUNT = 430, 431, 432
FSCONFIG_CMD_CREATE = 6
SOCKET_CLOSED = "QUEUE_PURGE"  # what a closed socket had not read
REASON = re.compile(r"reason: (\w+)")


def open_tracefs() -> int:
    """A directory descriptor of a tracefs that is mounted nowhere."""
    context = _LIBC.syscall(SYS_FSOPEN, b"tracefs", 1)
    if context < 0 or _LIBC.syscall(SYS_FSCONFIG, context, FSCONFIG_CMD_CREATE, None, None, 0) < 0:
        raise LabError(f"tracefs: {os.strerror(ctypes.get_errno())}")
    mount = _LIBC.syscall(SYS_FSMOUNT, context, 1, 0)
    os.close(context)
    if mount < 0:
        raise LabError(f"tracefs: {os.strerror(ctypes.get_errno())}")
    return int(mount)


class DropWatcher:
    """Collects the reasons with which the kernel freed packets on account of this process."""

    def __init__(self) -> None:
        self._tracefs = open_tracefs()
        self._sweep()
        self._name = f"instances/datapath-{os.getpid()}-{id(self):x}"
        os.mkdir(self._name, dir_fd=self._tracefs)
        self._write("events/skb/kfree_skb/filter", f"common_pid == {os.getpid()}")
        self._write("events/skb/kfree_skb/enable", "1")
        self._pipe = self._open("trace_pipe", os.O_RDONLY | os.O_NONBLOCK)

    def _open(self, name: str, flags: int) -> int:
        return os.open(f"{self._name}/{name}", flags, dir_fd=self._tracefs)

    def _write(self, name: str, text: str) -> None:
        descriptor = self._open(name, os.O_WRONLY)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def _sweep(self) -> None:
        """Remove what processes that are gone left behind."""
        instances = Path(f"/proc/self/fd/{self._tracefs}/instances")
        for instance in instances.glob("datapath-*-*"):
            if not Path(f"/proc/{instance.name.split('-')[1]}").exists():
                with contextlib.suppress(OSError):
                    instance.rmdir()

    def reasons(self) -> list[str]:
        """The reasons since the last call, in order."""
        text = b""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._pipe, 65536):
                text += part
        return [reason for reason in REASON.findall(text.decode()) if reason != SOCKET_CLOSED]

    def close(self) -> None:
        """Stop watching."""
        os.close(self._pipe)
        self._write("events/skb/kfree_skb/enable", "0")
        os.rmdir(self._name, dir_fd=self._tracefs)
        os.close(self._tracefs)
