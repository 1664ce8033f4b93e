import gzip
import io
import tracemalloc

import pytest

from datapath.capture.reader import open_capture
from datapath.capture.source import CHUNK, Source
from datapath.errors import CaptureError, InputError
from tests.unit.capture_files import open_bytes, pcap


class Dribble(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self._data, self._step = io.BytesIO(data), step

    def read(self, n: int = -1) -> bytes:
        return self._data.read(min(self._step, n))


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_a_pipe_may_give_any_number_of_bytes(step):
    source = Source(Dribble(b"0123456789" * 50, step), "pipe")
    assert [source.read(n) for n in (1, 7, 0, 490, 5)] == [b"0", b"1234567", b"", (b"0123456789" * 50)[8:498], b"89"]
    assert source.read(1) == b""


@pytest.mark.parametrize("step", [1, 5, 1 << 20])
def test_gzip_in_several_members_with_padding(step):
    data = gzip.compress(b"abc" * 1000) + gzip.compress(b"") + gzip.compress(b"def") + bytes(20)
    source = Source(Dribble(data, step), "pipe")
    assert source.read(10_000) == b"abc" * 1000 + b"def"


def test_a_gzip_that_is_cut_ends_there():
    frames = [(i, bytes([i] * 50)) for i in range(100)]
    whole = gzip.compress(pcap(frames))
    capture = open_bytes(whole[: len(whole) // 2])
    records = list(capture)
    assert 0 < len(records) < 100
    assert [r.data for r in records] == [f for _, f in frames[: len(records)]]
    assert "cut by the end of the file" in capture.warnings[0]


def test_gzip_with_a_wrong_checksum_is_damage():
    data = bytearray(gzip.compress(pcap([(0, b"x")])))
    data[-6] ^= 1
    with pytest.raises(CaptureError, match="damaged gzip data"):
        list(open_bytes(bytes(data)))


def test_memory_does_not_grow_with_the_stream():
    bomb = gzip.compress(bytes(200 << 20), 1)
    source = Source(io.BytesIO(bomb), "bomb")
    tracemalloc.start()
    try:
        assert source.skip(200 << 20) == 200 << 20
        assert tracemalloc.get_traced_memory()[1] < 12 * CHUNK
    finally:
        tracemalloc.stop()


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be opened: No such file or directory"):
        open_capture(tmp_path / "none.pcap")
    with pytest.raises(InputError, match="Is a directory"):
        open_capture(tmp_path)


def test_standard_input(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(pcap([(5, b"frame")])))
    monkeypatch.setattr("sys.stdin", stdin)
    assert [r.data for r in open_capture("-")] == [b"frame"]
