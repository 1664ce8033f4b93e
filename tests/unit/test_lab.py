"""The kernel lab's own parts that need no kernel."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from datapath.lab.case import Case, CasePacket, Happened, Recording, load_case, save_case
from datapath.lab.compare import same_conntrack, same_outputs, split_seconds
from datapath.lab.counters import saved_counters
from datapath.lab.coverage import numbered_rules
from datapath.lab.generate.build import Header, ip_packet, udp
from datapath.lab.generate.damage import fragments4, fragments6
from datapath.lab.generate.parse import see_packet
from datapath.lab.generate.world import World, family4, family6
from datapath.lab.masks import checksum
from datapath.lab.refused import emulated_rules
from datapath.lab.shrink import smaller

MACS = bytes.fromhex("020000000102020000000001")


def error_frame(identification: int, *, right: bool = True) -> bytes:
    """An ICMP time exceeded from 192.0.2.1, as the kernel makes them."""
    header = bytearray.fromhex("45c00038" + f"{identification:04x}" + "000040010000c0000201c0000202")
    header[10:12] = (checksum(bytes(header)) ^ (0 if right else 1)).to_bytes(2, "big")
    return MACS + b"\x08\x00" + bytes(header) + bytes.fromhex("0b00f4ff00000000") + bytes(28)


@pytest.mark.parametrize(
    ("ours", "same"),
    [
        pytest.param(error_frame(0x1234), True, id="equal"),
        pytest.param(error_frame(0x4321), True, id="another identification of a packet that the kernel made"),
        pytest.param(error_frame(0x4321, right=False), False, id="a wrong header checksum"),
        pytest.param(error_frame(0x1234)[:-1] + b"\1", False, id="another quotation"),
    ],
)
def test_only_what_linux_draws_may_differ(ours: bytes, same: bool) -> None:
    assert same_outputs([("eth0", error_frame(0x1234))], [("eth0", ours)]) is same


def test_an_identification_that_came_with_a_packet_is_kept() -> None:
    kernel, ours = [("eth0", error_frame(0x1234))], [("eth0", error_frame(0x4321))]
    assert not same_outputs(kernel, ours, b"\x12\x34")


def test_forwarded_udp_must_keep_its_identification() -> None:
    def frame(identification: int) -> bytes:
        header = Header("192.0.2.2", "198.51.100.2", 17, identification=identification)
        return MACS + b"\x08\x00" + ip_packet(header, udp("192.0.2.2", "198.51.100.2", 1, 2))

    assert not same_outputs([("eth1", frame(5))], [("eth1", frame(6))])


ENDS = "src=192.0.2.2 dst=192.0.2.3 sport=1 dport=2 src=192.0.2.3 dst=192.0.2.2 sport=2 dport=1"
TCP_LINE = "ipv4     2 tcp      6 {}CLOSE " + ENDS + " mark=0 use=1"


def test_seconds_are_split_off() -> None:
    assert split_seconds(TCP_LINE.format("9 ")) == (" ".join(TCP_LINE.format("").split()), 9)


@pytest.mark.parametrize(("slack", "same"), [(None, True), (1, False), (2, True)])
def test_seconds_may_differ_by_the_slack(slack: int | None, same: bool) -> None:
    assert same_conntrack([TCP_LINE.format("9 ")], [TCP_LINE.format("7 ")], slack) is same


def test_counters_of_a_save_text() -> None:
    text = "*filter\n:INPUT DROP [7:700]\n:CHAIN - [0:0]\n[3:300] -A INPUT -j CHAIN\n[1:10] -A CHAIN\n[0:0] -A INPUT -j ACCEPT\nCOMMIT\n"
    assert saved_counters(text) == {
        "filter/INPUT/policy": (7, 700), "filter/INPUT/1": (3, 300), "filter/CHAIN/1": (1, 10), "filter/INPUT/2": (0, 0)}  # fmt: skip


def test_rules_are_numbered_per_chain() -> None:
    text = "*raw\n:OUTPUT ACCEPT\n-A OUTPUT -j DROP\n-A A\n-A OUTPUT\nCOMMIT\n*nat\n-A OUTPUT\n"
    assert [name for name, _ in numbered_rules(text)] == ["raw/OUTPUT/1", "raw/A/1", "raw/OUTPUT/2", "nat/OUTPUT/1"]


def test_smaller_keeps_what_is_needed() -> None:
    assert smaller(list(range(100)), lambda items: {3, 77} <= set(items), float("inf")) == [3, 77]


def test_smaller_stops_when_time_is_over() -> None:
    assert smaller([1, 2, 3], lambda items: True, 0) == [1, 2, 3]


def test_rules_that_are_not_emulated_are_taken_out() -> None:
    text = "*filter\n-A FORWARD -m nosuch --x -j ACCEPT\n-A FORWARD -p tcp -j ACCEPT\n-A FORWARD -j NOSUCH\n-A FORWARD -j chain\nCOMMIT\n"
    assert emulated_rules(text, 4) == "*filter\n-A FORWARD -p tcp -j ACCEPT\n-A FORWARD -j chain\nCOMMIT\n"


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("seed", range(5))
def test_fragments_hold_the_whole(version: int, seed: int) -> None:
    world = World(random.Random(seed), {4: family4(False), 6: family6()})
    source, destination = world.families[version].all_peers()[:2]
    whole = ip_packet(Header(source, destination, 17), udp(source, destination, 1, 2, bytes(range(100))))
    pieces = fragments4(world, whole) if version == 4 else fragments6(world, whole)
    begin = 20 if version == 4 else 48
    assert len(pieces) > 1
    assert b"".join(piece[begin:] for piece in pieces) == whole[20 if version == 4 else 40 :]
    assert all(len(piece[begin:]) % 8 == 0 for piece in pieces[:-1])
    assert all((seen := see_packet(piece)) is not None and seen.fragment for piece in pieces)


def test_a_case_directory_gives_the_case_back(tmp_path: Path) -> None:
    packets = [CasePacket(b"\1\2", "eth0", 5), CasePacket(b"\x45", mark=3, uid=7)]
    happened = [Happened([("eth1", b"\3")], {"6:filter/INPUT/1": 1}, ["OTHERHOST"]), Happened(error=1)]
    case = Case("name", {"interfaces": {}}, {4: "*filter\nCOMMIT\n", 6: ""}, packets)
    case.recording = Recording("6.18", happened, {"x": (1, 2)}, ["line"])
    save_case(case, tmp_path / "name")
    again = load_case(tmp_path / "name")
    assert (again.packets, again.rules, again.recording) == (case.packets, case.rules, case.recording)
