"""The files of a host directory, from a folder or a tar. Nothing is written to disk; sizes are limited."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from datapath.errors import HostError

FILES = frozenset({
    "ip-link.json", "ip-addr.json", "ip-route.json", "ip6-route.json", "ip-rule.json", "ip6-rule.json", "ip-neigh.json",
    "bridge-fdb.json", "sysctl.txt", "iptables-save.txt", "ip6tables-save.txt", "iptables-legacy-save.txt",
    "ip6tables-legacy-save.txt", "ipset-save.txt", "ipvsadm-save.txt", "ipvs-timeouts.txt", "ipvs-connections.txt",
    "nft.json", "conntrack.txt", "modules.txt", "uname.txt",
})
RECENT = "xt_recent"        # the folder of /proc/net/xt_recent
FILE_MAX = 256 << 20
TOTAL_MAX = 1 << 30         # bytes that a tar may unpack to
MEMBERS_MAX = 100_000


def read_host_files(path: Path) -> dict[str, str]:
    """The texts by name: those of FILES, and `xt_recent/NAME`. Other files are passed over."""
    try:
        if path.is_dir():
            return {name: decode(data) for name, data in folder_files(path)}
        if path.is_file():
            return {name: decode(data) for name, data in tar_files(path)}
    except (OSError, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
        raise HostError(f"cannot be read: {reason}", str(path)) from None
    raise HostError("no such host directory or tar", str(path))


def decode(data: bytes) -> str:
    """UTF-8; a byte that is not is replaced, as it can only stand in a comment."""
    return data.decode("utf-8-sig", "replace")


def folder_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The known files of a folder."""
    known = [path / name for name in sorted(FILES)]
    known += sorted((path / RECENT).iterdir()) if (path / RECENT).is_dir() else []
    for file in known:
        if file.is_file():
            if file.stat().st_size > FILE_MAX:
                raise HostError(f"{file.stat().st_size} bytes: expected at most {FILE_MAX}", str(file))
            yield file.relative_to(path).as_posix(), file.read_bytes()


class LimitedReader(io.RawIOBase):
    """A stream that refuses to grow beyond TOTAL_MAX: a small tar can unpack to anything."""

    def __init__(self, stream: BinaryIO, source: str) -> None:
        self.stream, self.source, self.left = stream, source, TOTAL_MAX

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes."""
        data = self.stream.read(min(size, self.left + 1) if size >= 0 else self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise HostError(f"unpacks to more than {TOTAL_MAX} bytes", self.source)
        return data


def unpacked(raw: BinaryIO, head: bytes) -> BinaryIO:
    """The stream without its compression, which its first bytes tell."""
    if head.startswith(b"\x1f\x8b"):
        return cast("BinaryIO", gzip.open(raw, "rb"))
    if head.startswith(b"\xfd7zXZ\0"):
        return cast("BinaryIO", lzma.open(raw, "rb"))
    return cast("BinaryIO", bz2.open(raw, "rb")) if head.startswith(b"BZh") else raw


def tar_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The known files of a tar, from whatever folder in it holds them; only plain files are read."""
    source = str(path)
    with path.open("rb") as raw:
        head = raw.read(6)
        raw.seek(0)
        limited = cast("BinaryIO", LimitedReader(unpacked(raw, head), source))
        roots: dict[str, str] = {}
        with tarfile.open(fileobj=limited, mode="r|") as tar:
            for number, member in enumerate(tar):
                if number >= MEMBERS_MAX:
                    raise HostError(f"holds more than {MEMBERS_MAX} files", source)
                name = known_name(PurePosixPath(member.name))
                if name is None or not member.isreg():
                    continue
                if member.size > FILE_MAX:
                    raise HostError(f"{member.name}: {member.size} bytes: expected at most {FILE_MAX}", source)
                if name in roots:
                    raise HostError(f"holds {name} twice ({roots[name]} and {member.name})", source)
                roots[name] = member.name
                content = tar.extractfile(member)
                if content is not None:
                    yield name, content.read()
        while limited.read(FILE_MAX):   # the end, with its checksum
            pass
        if not roots:
            raise HostError("holds no file of a host directory, such as ip-link.json or iptables-save.txt", source)


def known_name(path: PurePosixPath) -> str | None:
    """The name under which a member counts: FILES, or `xt_recent/NAME`."""
    if path.name in FILES:
        return path.name
    return f"{RECENT}/{path.name}" if path.parent.name == RECENT else None
