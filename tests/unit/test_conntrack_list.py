"""Lines of conntrack -L: those that conntrack-tools 1.4.7 printed on Linux 6.18 come back unchanged; bad ones are named."""

import pytest

from datapath.errors import InputError
from datapath.model.conntrack import ConntrackEntry, FlowTuple
from datapath.syntax.conntrack_list import format_conntrack_list, parse_conntrack_line, parse_conntrack_list

PRINTED = """\
ipv4     2 tcp      6 431999 ESTABLISHED src=192.0.2.2 dst=10.96.0.1 sport=40000 dport=443 src=198.51.100.2 dst=192.0.2.2 sport=6443 dport=40000 [ASSURED] mark=0 use=1
ipv4     2 tcp      6 119 SYN_SENT src=192.0.2.2 dst=198.51.100.2 sport=1 dport=21 packets=1 bytes=40 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 sport=21 dport=1 packets=0 bytes=0 mark=4294967295 delta-time=0 helper=ftp use=1
ipv4     2 udp      17 29 src=192.0.2.2 dst=198.51.100.2 sport=1 dport=2 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 sport=2 dport=1 mark=0 use=2
ipv4     2 udp      17 29 src=192.0.2.5 dst=198.51.100.2 sport=1 dport=2 packets=1 bytes=28 [UNREPLIED] src=198.51.100.2 dst=192.0.2.5 sport=2 dport=1 packets=0 bytes=0 mark=1 zone=7 delta-time=0 use=1
ipv4     2 udp      17 29 src=192.0.2.6 dst=198.51.100.2 sport=1 dport=2 zone-orig=8 packets=1 bytes=28 [UNREPLIED] src=198.51.100.2 dst=192.0.2.6 sport=2 dport=1 packets=0 bytes=0 mark=0 use=1
ipv4     2 udp      17 29 src=192.0.2.7 dst=198.51.100.2 sport=1 dport=2 [UNREPLIED] src=198.51.100.2 dst=192.0.2.7 sport=2 dport=1 zone-reply=9 mark=0 use=1 id=259695769
ipv4     2 icmp     1 29 src=192.0.2.2 dst=198.51.100.2 type=13 code=0 id=5 src=198.51.100.2 dst=192.0.2.2 type=14 code=0 id=5 mark=0 use=1
ipv4     2 gre      47 29 src=192.0.2.2 dst=198.51.100.2 srckey=0x0 dstkey=0x1234 src=198.51.100.2 dst=192.0.2.2 srckey=0x1234 dstkey=0x0 [ASSURED] mark=0 use=1
ipv4     2 dccp     33 599 src=192.0.2.2 dst=198.51.100.2 sport=0 dport=0 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 sport=0 dport=0 mark=0 use=1
ipv4     2 sctp     132 9 CLOSED src=192.0.2.2 dst=198.51.100.2 sport=1 dport=2 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 sport=2 dport=1 mark=0 use=1
ipv4     2 unknown  50 599 src=192.0.2.2 dst=198.51.100.2 packets=1 bytes=40 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 packets=0 bytes=0 mark=0 use=1
ipv6     10 icmpv6   58 29 src=fd00:1::2 dst=fd00:2::2 type=128 code=0 id=7 [UNREPLIED] src=fd00:2::2 dst=fd00:1::2 type=129 code=0 id=7 mark=0 use=1
ipv6     10 udp      17 119 src=fd00:1::2 dst=2001:db8::8 sport=1 dport=53 src=2001:db8::8 dst=fd00:1::2 sport=53 dport=1 [ASSURED] mark=0 use=1
"""  # noqa: E501
ONE = PRINTED.splitlines()[0]


@pytest.mark.parametrize("line", PRINTED.splitlines(), ids=lambda line: " ".join(line.split()[:5]))
def test_printed_lines_come_back(line: str) -> None:
    assert str(parse_conntrack_line(line)) == line


def test_a_listing_comes_back_without_the_remark() -> None:
    text = PRINTED + "conntrack v1.4.7 (conntrack-tools): 13 flow entries have been shown.\n\n"
    assert format_conntrack_list(parse_conntrack_list(text)) == PRINTED


def test_fields() -> None:
    assert parse_conntrack_line(ONE) == ConntrackEntry(
        original=FlowTuple(4, 6, "192.0.2.2", "10.96.0.1", 40000, 443), reply=FlowTuple(4, 6, "198.51.100.2", "192.0.2.2", 6443, 40000),
        timeout=431999, state="ESTABLISHED", assured=True)


@pytest.mark.parametrize(("place", "source", "destination"), [(0, False, True), (2, False, False), (6, False, False)])
def test_translation_shows_in_the_tuples(place: int, source: bool, destination: bool) -> None:
    entry = parse_conntrack_line(PRINTED.splitlines()[place])
    assert (entry.source_translated, entry.destination_translated) == (source, destination)


def test_without_the_family_the_address_tells() -> None:
    assert parse_conntrack_line(PRINTED.splitlines()[-1].partition("10 ")[2]).family == 6
    assert parse_conntrack_line(ONE.partition("2 ")[2]) == parse_conntrack_line(ONE)


def test_proc_prints_timeouts_of_gre_and_zone_zero() -> None:
    line = ("ipv4     2 gre      47 29 timeout=30, stream_timeout=180 src=192.0.2.2 dst=198.51.100.2 srckey=0x0 dstkey=0x0 [UNREPLIED] "
            "src=198.51.100.2 dst=192.0.2.2 srckey=0x0 dstkey=0x0 mark=0 zone=0 use=2")
    assert parse_conntrack_line(line).original == FlowTuple(4, 47, "192.0.2.2", "198.51.100.2")


@pytest.mark.parametrize(("line", "message"), [
    ("hello", "expected a line of `conntrack -L -o extended`"),
    (ONE.replace("ESTABLISHED", "OPEN"), "unknown word 'OPEN'"),
    (ONE.replace("10.96.0.1", "10.96.0.256"), "bad IPv4 address '10.96.0.256'"),
    (ONE.replace("dport=443", "dport=65536"), "bad dport=65536"),
    (ONE.replace("mark=0", "mark=x"), "bad mark=x"),
    (ONE.replace("use=1", "colour=1"), "unknown field colour="),
    (ONE.partition(" src=198")[0], "src= and dst= twice"),
    (ONE.replace("ipv4     2", "ipv6     10"), "bad IPv6 address"),
])
def test_bad_lines_are_named(line: str, message: str) -> None:
    with pytest.raises(InputError, match=f"conntrack.txt:2: .*{message}"):
        parse_conntrack_list(f"{ONE}\n{line}\n", "conntrack.txt")


@pytest.mark.parametrize(("old", "new"), [("6 431999", "6 4294967296"), ("6 431999", "256 431999"), ("mark=0", "mark=4294967296")])
def test_numbers_that_do_not_fit_are_refused(old: str, new: str) -> None:
    with pytest.raises(InputError, match="in a conntrack line"):
        parse_conntrack_line(ONE.replace(old, new))
