import struct

import pytest

from datapath.errors import CaptureError, UnsupportedFeatureError
from tests.unit.capture_files import MICROSECONDS, NANOSECONDS, open_bytes, pcap

FRAMES = [(1_700_000_000_123_456_789, b"first frame"), (1_700_000_001_000_000_000, b"second")]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [MICROSECONDS, NANOSECONDS])
def test_both_byte_orders_and_resolutions(order, magic):
    capture = open_bytes(pcap(FRAMES, order=order, magic=magic))
    records = list(capture)
    unit = 1 if magic == NANOSECONDS else 1000
    assert [(r.number, r.time_ns, r.data) for r in records] == [
        (1, FRAMES[0][0] // unit * unit, b"first frame"), (2, FRAMES[1][0], b"second")]
    assert capture.warnings == []


def test_snap_length_leaves_the_length_on_the_wire():
    data = pcap([(0, b"abcd")])
    data = data[:36] + struct.pack("<I", 1500) + data[40:]
    (record,) = open_bytes(data)
    assert (record.length, record.data, record.cut) == (1500, b"abcd", True)


@pytest.mark.parametrize("keep", range(1, 16 + 6))
def test_a_last_record_that_is_cut_is_a_warning(keep):
    whole = pcap(FRAMES[:1])
    capture = open_bytes(whole + pcap(FRAMES[1:])[24 : 24 + keep])
    assert [r.data for r in capture] == [b"first frame"]
    assert capture.warnings == ["record 2 is cut by the end of the file and was left out"]


def test_a_length_that_nothing_has_is_damage_when_the_file_goes_on():
    damaged = pcap(FRAMES[:1]) + struct.pack("<4I", 0, 0, 300_000, 300_000) + bytes(300_000) + pcap(FRAMES[1:])[24:]
    records = []
    with pytest.raises(CaptureError, match="test: record 2 claims 300000 captured bytes"):
        records.extend(open_bytes(damaged))
    assert [r.data for r in records] == [b"first frame"]


def test_a_length_beyond_the_end_of_the_file_is_a_cut():
    capture = open_bytes(pcap(FRAMES[:1]) + struct.pack("<4I", 0, 0, 4_000_000_000, 0) + b"rest")
    assert len(list(capture)) == 1
    assert "record 2 is cut" in capture.warnings[0]


@pytest.mark.parametrize(
    ("magic", "name"),
    [(0xA1B2CD34, "Kuznetzov's modified pcap"), (0xA1B234CD, "another modified pcap"), (0x1C0001AC, "IXIA lcap")],
)
@pytest.mark.parametrize("order", ["<", ">"])
def test_modified_formats_are_refused_by_name(magic, name, order):
    with pytest.raises(UnsupportedFeatureError, match=name):
        open_bytes(struct.pack(order + "I", magic) + bytes(20))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty or shorter than four bytes"),
        (b"\xd4\xc3", "empty or shorter than four bytes"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "ends inside the pcap file header"),
        (b"PK\x03\x04" + bytes(40), "starts with 504b0304: expected a pcap or pcapng capture"),
    ],
)
def test_what_is_no_capture(data, expected):
    with pytest.raises(CaptureError, match=expected):
        list(open_bytes(data))


def test_versions_that_do_not_exist_are_refused():
    with pytest.raises(UnsupportedFeatureError, match=r"pcap version 1\.4"):
        open_bytes(pcap(FRAMES, version=(1, 4)))


def test_link_types_are_refused_by_name():
    with pytest.raises(UnsupportedFeatureError, match=r"link type 105 \(IEEE802_11\)"):
        list(open_bytes(pcap(FRAMES, linktype=105)))


def test_a_frame_check_sequence_is_taken_off():
    (record,) = open_bytes(pcap([(0, b"frame-dataFCS!")], linktype=1 | 0x04000000 | 2 << 28))
    assert (record.data, record.length) == (b"frame-data", 10)


def test_a_fraction_beyond_a_second_is_said_once():
    data = pcap([(0, b"a"), (0, b"b")])
    bad = struct.pack("<I", 1_000_000_000)
    data = data[:28] + bad + data[32 : 28 + 17] + bad + data[28 + 21 :]
    capture = open_bytes(data)
    assert [r.time_ns for r in capture] == [1_000_000_000, 1_000_000_000]
    assert len(capture.warnings) == 1
    assert "record 1" in capture.warnings[0]
