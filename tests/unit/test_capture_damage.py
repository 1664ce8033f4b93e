"""No crash for any truncation or any flipped byte of a capture, and no memory for what a length only claims."""

import gzip
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datapath.capture.frame import read_frame
from datapath.capture.packet import read_packet
from datapath.capture.place import Place
from datapath.capture.window import Sight, keys_of
from datapath.errors import DatapathError
from tests.unit.capture_files import MICROSECONDS, ether, ip, open_bytes, pcap, pcapng, tcp, udp

PACKETS = [
    tcp("192.0.2.1", "198.51.100.7", 40000, 80, payload=b"GET /"),
    udp("2001:db8::1", "2001:db8::2", 53, 1053),
    ip("192.0.2.1", "192.0.2.9", 1, b"\x08\0\0\0\x12\x34\0\x01data"),
    ip("192.0.2.1", "192.0.2.9", 1, b"\x03\x01\0\0\0\0\0\0" + udp("192.0.2.9", "192.0.2.1", 7, 9)),
    ip("192.0.2.1", "192.0.2.9", 132, bytes(range(30))),
]
ETHERNET = [(i * 1000, ether(packet, vlans=[5] * (i % 3))) for i, packet in enumerate(PACKETS)]
SLL2 = [(i, b"\x08\0\0\0\0\0\0\x02\0\x01\0\x06\x02\0\0\0\0\x01\0\0" + packet) for i, packet in enumerate(PACKETS)]
CAPTURES = [
    pcap(ETHERNET),
    pcap(ETHERNET, order=">", magic=MICROSECONDS),
    pcap(SLL2, linktype=276),
    pcap([(i, bytes(12) + b"\0\0\x08\0" + p) for i, p in enumerate(PACKETS)], linktype=113),
    pcap([(i, p) for i, p in enumerate(PACKETS)], linktype=101),
    pcap([(i, b"\2\0\0\0" + p) for i, p in enumerate(PACKETS)], linktype=0),
    pcapng(ETHERNET),
    pcapng(ETHERNET, order=">"),
    gzip.compress(pcapng(ETHERNET)),
]


def read_through(data):
    """Everything that is done with a record before it is played."""
    try:
        for record in open_bytes(data):
            assert len(record.data) <= record.length
            assert 0 <= record.time_ns < 1 << 63
            frame = read_frame(record)
            if frame is not None:
                packet = read_packet(record.data[frame.network :], record.length - frame.network)
                if packet is not None:
                    hash(packet.full_key)
                    str(packet.flow)
                    for outgoing in (False, True):
                        keys_of(Sight(record, frame, packet, Place("eth0", outgoing), 0))
    except DatapathError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("capture", range(len(CAPTURES)))
def test_every_truncation(capture):
    data = CAPTURES[capture]
    for keep in range(len(data)):
        read_through(data[:keep])


@pytest.mark.parametrize("capture", range(len(CAPTURES)))
@pytest.mark.parametrize("value", [0x00, 0xFF, 0x80, "flip"])
def test_every_byte_changed(capture, value):
    data = bytearray(CAPTURES[capture])
    for at, old in enumerate(data):
        data[at] = old ^ 0x41 if value == "flip" else value
        read_through(bytes(data))
        data[at] = old


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(CAPTURES),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=12),
    st.integers(0, 10_000),
)
def test_many_bytes_changed_and_a_cut(data, changes, keep):
    damaged = bytearray(data)
    for at, value in changes:
        damaged[at % len(damaged)] = value
    read_through(bytes(damaged[: keep or None]))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(CAPTURES[:-1]))
def test_noise_behind_a_header(noise, capture):
    read_through(capture[:24] + noise)
    read_through(noise)


@pytest.mark.parametrize("capture", [0, 1, 6, 7])
def test_lengths_that_only_claim_take_no_memory(capture):
    data = bytearray(CAPTURES[capture])
    tracemalloc.start()
    try:
        for at in range(len(data) - 3):
            old = data[at : at + 4]
            for claim in (b"\xff\xff\xff\x7f", b"\x7f\xff\xff\xff", b"\xf0\xff\xff\x00"):
                data[at : at + 4] = claim
                read_through(bytes(data))
            data[at : at + 4] = old
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
