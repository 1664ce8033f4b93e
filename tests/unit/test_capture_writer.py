import io
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from datapath.capture.reader import open_capture
from datapath.capture.record import Direction
from datapath.capture.writer import PcapngWriter
from datapath.errors import CaptureError, InputError
from tests.unit.capture_files import ether, udp

FRAME = ether(udp("192.0.2.1", "192.0.2.2", 1000, 9999))


def write(path, *, comments=("one", "two")):
    with PcapngWriter(path) as out:
        eth0, tun0 = out.interface("eth0"), out.interface("tun0", 101)
        assert out.interface("eth0") == eth0
        out.packet(eth0, 1_700_000_000_000_000_001, FRAME, direction=Direction.OUT, comments=comments)
        out.packet(tun0, (1 << 62) + 3, FRAME[14:40], length=1000, direction=Direction.IN)


def test_what_is_written_is_read_back(tmp_path):
    write(tmp_path / "out.pcapng")
    one, two = open_capture(tmp_path / "out.pcapng")
    assert (one.interface.name, one.interface.linktype, one.time_ns, one.data) == ("eth0", 1, 1_700_000_000_000_000_001, FRAME)
    assert (one.direction, one.comments, one.length) == (Direction.OUT, ("one", "two"), len(FRAME))
    assert (two.interface.name, two.interface.linktype, two.time_ns, two.data) == ("tun0", 101, (1 << 62) + 3, FRAME[14:40])
    assert (two.direction, two.length) == (Direction.IN, 1000)
    assert [p.name for p in tmp_path.iterdir()] == ["out.pcapng"]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_wireshark_reads_it(tmp_path):
    write(tmp_path / "out.pcapng", comments=["nat: 10.0.0.1 → 10.0.0.2"])
    fields = ["frame.interface_name", "frame.time_epoch", "frame.packet_flags_direction", "frame.comment", "udp.dstport", "_ws.malformed"]
    command = ["tshark", "-r", str(tmp_path / "out.pcapng"), "-T", "fields", *(word for f in fields for word in ("-e", f))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first = done.stdout.splitlines()[0].split("\t")
    assert first[0] == "eth0"
    assert first[1].startswith("1700000000.000000001") or first[1].startswith("2023-11-14T22:13:20.000000001")
    assert int(first[2], 0) == 2
    assert first[3:] == ["nat: 10.0.0.1 → 10.0.0.2", "9999", ""]


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "out.pcapng"
    path.write_bytes(b"old")
    out = PcapngWriter(path)
    out.packet(out.interface("eth0"), 0, FRAME)
    assert path.read_bytes() == b"old"  # what a process that is killed here leaves
    out.commit()
    assert len(list(open_capture(path))) == 1


def test_a_fault_leaves_the_old_file_and_bad_input_keeps_what_was_written(tmp_path):
    path = tmp_path / "out.pcapng"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), PcapngWriter(path):
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.pcapng"]
    with pytest.raises(CaptureError), PcapngWriter(path) as out:
        out.packet(out.interface("eth0"), 0, FRAME)
        raise CaptureError("damaged")
    assert len(list(open_capture(path))) == 1


def test_a_comment_longer_than_an_option_is_cut_between_characters(tmp_path):
    path = tmp_path / "out.pcapng"
    with PcapngWriter(path) as out:
        out.packet(out.interface("eth0"), 0, FRAME, comments=["é" * 40000])
    (record,) = open_capture(path)
    assert record.comments[0].endswith("é…")
    assert len(record.comments[0].encode()) <= 65535


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        PcapngWriter(tmp_path / "missing" / "out.pcapng")
    with PcapngWriter("/dev/null") as out:
        out.packet(out.interface("eth0"), 0, FRAME)
    assert Path("/dev/null").is_char_device()


def test_standard_output(monkeypatch):
    stream = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(stream))
    with PcapngWriter("-") as out:
        out.packet(out.interface("eth0"), 0, FRAME)
    assert stream.getvalue()[:4] == struct.pack("<I", 0x0A0D0D0A)
