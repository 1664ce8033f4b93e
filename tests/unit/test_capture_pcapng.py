import struct

import pytest

from datapath.capture.record import Direction
from datapath.errors import CaptureError, UnsupportedFeatureError
from tests.unit.capture_files import block, enhanced, interface, open_bytes, option, pad, pcapng, section


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders(order):
    capture = open_bytes(pcapng([(1_700_000_000_000_000_001, b"one"), (1_700_000_000_000_000_002, b"frame")], order=order))
    assert [(r.number, r.time_ns, r.data, r.interface.name) for r in capture] == [
        (1, 1_700_000_000_000_000_001, b"one", "eth0"), (2, 1_700_000_000_000_000_002, b"frame", "eth0")]


def test_sections_have_their_own_order_and_interfaces():
    data = pcapng([(1, b"one")], name="a") + pcapng([(2, b"two")], order=">", name="b") + section() + interface()
    capture = open_bytes(data)
    assert [(r.data, r.interface.name, r.interface.id) for r in capture] == [(b"one", "a", 0), (b"two", "b", 1)]
    assert [i.name for i in capture.interfaces] == ["a", "b", None]


@pytest.mark.parametrize(
    ("options", "ticks", "expected_ns"),
    [
        pytest.param([], 1_500_000, 1_500_000_000, id="microseconds unless said"),
        pytest.param([(9, b"\x03")], 1500, 1_500_000_000, id="milliseconds"),
        pytest.param([(9, b"\x09")], 7, 7, id="nanoseconds"),
        pytest.param([(9, b"\x0c")], 7_999, 7, id="picoseconds are cut"),
        pytest.param([(9, b"\x81")], 3, 1_500_000_000, id="halves of a second"),
        pytest.param([(9, b"\x00")], 3, 3_000_000_000, id="seconds"),
        pytest.param([(14, struct.pack("<q", 100))], 1, 100_000_001_000, id="offset"),
        pytest.param([(14, struct.pack("<q", -100))], 101_000_000, 1_000_000_000, id="offset backwards"),
    ],
)
def test_time(options, ticks, expected_ns):
    (record,) = open_bytes(section() + interface(options=options) + enhanced(b"x", ticks=ticks))
    assert record.time_ns == expected_ns


@pytest.mark.parametrize("ticks", [(1 << 64) - 1, 1 << 63])
def test_a_time_that_no_clock_shows_is_said_and_held_back(ticks):
    capture = open_bytes(section() + interface() + enhanced(b"x", ticks=ticks))
    (record,) = capture
    assert record.time_ns == (1 << 63) - 1
    assert "1970 to 2262" in capture.warnings[0]


def test_flags_and_comments():
    options = [(1, b"first"), (2, struct.pack("<I", 2)), (1, "zwölf".encode()), (0, b"")]
    one, two = open_bytes(section() + interface() + enhanced(b"x", options=options) + enhanced(b"y", options=[(2, struct.pack("<I", 1))]))
    assert (one.direction, one.comments) == (Direction.OUT, ("first", "zwölf"))
    assert two.direction is Direction.IN


def test_simple_packet_blocks_take_the_time_before_them():
    simple = block("<", 3, struct.pack("<I", 100) + b"abcd")
    capture = open_bytes(section() + interface(snaplen=4) + enhanced(b"x", ticks=5) + simple)
    one, two = capture
    assert (two.time_ns, two.data, two.length) == (one.time_ns, b"abcd", 100)
    assert "no time" in capture.warnings[0]


def test_obsolete_packet_blocks():
    old = block("<", 2, struct.pack("<HHIIII", 0, 0xFFFF, 0, 9, 3, 60) + pad(b"abc") + option("<", 2, struct.pack("<I", 1)))
    (record,) = open_bytes(section() + interface() + old)
    assert (record.time_ns, record.data, record.length, record.direction) == (9000, b"abc", 60, Direction.IN)


def test_unknown_blocks_are_passed_over():
    data = section() + block("<", 0xBAD, bytes(8)) + interface() + block("<", 5, bytes(12)) + enhanced(b"x")
    assert [r.data for r in open_bytes(data)] == [b"x"]


def test_a_section_without_packets_is_an_empty_capture():
    assert list(open_bytes(section(">"))) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(section() + enhanced(b"x"), "of interface 0: the section has 0", id="no interface"),
        pytest.param(section() + struct.pack("<II", 6, 8), "a block of 8 bytes", id="too small"),
        pytest.param(section() + struct.pack("<II", 6, 33) + bytes(40), "a multiple of 4", id="odd"),
        pytest.param(section() + interface()[:-4] + struct.pack("<I", 24), "at its end", id="trailer"),
        pytest.param(section() + block("<", 1, b"\0\0\0\0"), "too short for its fixed fields", id="short interface"),
        pytest.param(section() + interface() + block("<", 6, struct.pack("<5I", 0, 0, 0, 500, 500)), "claims 500", id="captured length"),
        pytest.param(section() + interface() + block("<", 6, bytes(20) + struct.pack("<HH", 1, 99)), "runs past", id="option"),
        pytest.param(section()[:8] + bytes(4) + section()[12:], "byte-order magic", id="byte order"),
    ],
)
def test_damage_is_named(data, expected):
    with pytest.raises(CaptureError, match=expected):
        list(open_bytes(data))


def test_a_version_that_does_not_exist():
    with pytest.raises(UnsupportedFeatureError, match=r"pcapng version 2\.0"):
        list(open_bytes(section(version=(2, 0))))


def test_every_cut_is_a_warning():
    first = section() + interface() + enhanced(b"abcdefg")
    second = enhanced(b"hijklmn")
    for keep in range(1, len(second)):
        capture = open_bytes(first + second[:keep])
        assert [r.data for r in capture] == [b"abcdefg"], keep
        assert len(capture.warnings) == 1, keep
