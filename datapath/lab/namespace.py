"""Network namespaces without names: they end with the process that holds them, whatever ends it.

A namespace is entered by the calling thread (`with namespace:`); sockets made and commands started inside belong to it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from datapath.lab.errors import LabError

CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
THIS_NAMESPACE = "/proc/thread-self/ns/net"


def _call(name: str, *arguments: int) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise LabError(f"{name}: {os.strerror(number)} (network namespaces need root)")


def set_file_owner_ids(uid: int, gid: int) -> None:
    """The ids that files (and sockets) opened from now on by this thread belong to (setfsuid, setfsgid)."""
    _LIBC.setfsgid(gid)
    _LIBC.setfsuid(uid)


class Namespace:
    """A new network namespace."""

    def __init__(self) -> None:
        self._outside: list[int] = []
        home = os.open(THIS_NAMESPACE, os.O_RDONLY)
        try:
            _call("unshare", CLONE_NEWNET)
            self.fd = os.open(THIS_NAMESPACE, os.O_RDONLY)
            _call("setns", home, CLONE_NEWNET)
        finally:
            os.close(home)

    def __enter__(self) -> Self:
        self._outside.append(os.open(THIS_NAMESPACE, os.O_RDONLY))
        _call("setns", self.fd, CLONE_NEWNET)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        outside = self._outside.pop()
        _call("setns", outside, CLONE_NEWNET)
        os.close(outside)

    def close(self) -> None:
        """Let go of the namespace; the kernel takes it down when no socket or process is left in it."""
        os.close(self.fd)

    def run(self, *command: str, text: str | None = None, check: bool = True) -> str:
        """The output of a command run inside; LabError with its complaint when it fails."""
        with self:
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise LabError(f"{' '.join(command)}: {done.stderr.strip() or f'exit {done.returncode}'}")
        return done.stdout

    def set_sysctl(self, name: str, value: str) -> None:
        """Write a net.* sysctl; `name` as sysctl(8) prints it."""
        with self:
            try:
                sysctl_path(name).write_text(value)
            except OSError as error:
                raise LabError(f"sysctl {name}={value}: {error.strerror}") from None

    def get_sysctl(self, name: str) -> str:
        """Read a net.* sysctl."""
        with self:
            return sysctl_path(name).read_text().strip()


def sysctl_path(name: str) -> Path:
    """The file of a sysctl; dots in device names are written as slashes there, as sysctl(8) does."""
    separators = str.maketrans("./", "/.")
    return Path("/proc/sys") / name.translate(separators)
