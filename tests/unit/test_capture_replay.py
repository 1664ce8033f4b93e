import struct

import pytest

from datapath.capture.played import Role
from datapath.capture.window import Bounds
from datapath.errors import CaptureError
from datapath.model.verdicts import Outcome
from tests.unit.capture_files import enhanced, ether, interface, ip, pcap, pcapng, section, tcp, udp
from tests.unit.replay_node import (
    BALANCED,
    CNI0,
    ETH0,
    ETH1,
    MASQUERADED,
    OUTSIDE,
    POD,
    PORT,
    SERVER,
    SERVER2,
    SERVICE,
    TRACKED,
    WIRE,
    contradictions,
    replay,
    roles,
)  # fmt: skip

SLL_IN, SLL_OUT = 0, 4


def named(*frames, names=("eth0", "eth1", "cni0", "veth5", "eth1.7", "lo", "nope")):
    """A pcapng of (interface name, direction flag, frame), a millisecond apart."""
    data = section() + b"".join(interface(options=[(2, name.encode()), (9, b"\x09")]) for name in names)
    for i, (name, direction, frame) in enumerate(frames):
        flags = [(2, struct.pack("<I", direction))] if direction else []
        data += enhanced(frame, interface_id=names.index(name), ticks=1_000_000_000 + i * 1_000_000, options=flags)
    return data


def sll2(packet, ifindex, packet_type, *, protocol=0x0800):
    return struct.pack(">HHIHBB8s", protocol, 0, ifindex, 1, packet_type, 6, bytes.fromhex("020000000099") + b"\0\0") + packet


def sll(packet, packet_type, *, mac="020000000099"):
    return struct.pack(">HHH8sH", packet_type, 1, 6, bytes.fromhex(mac) + b"\0\0", 0x0800) + packet


FORWARDED = udp(OUTSIDE, SERVER, 4000, 9)
FORWARDED_OUT = udp(OUTSIDE, SERVER, 4000, 9, ttl=63)
IN, OUT = 1, 2


class TestPlaces:
    def test_names_and_flags(self):
        played, run = replay(named(("eth0", IN, ether(FORWARDED, dst=ETH0)), ("eth1", OUT, ether(FORWARDED_OUT, src=ETH1))))
        assert roles(played) == [(Role.RECEIVED, "eth0"), (Role.COPY, "eth1")]
        assert played[0].transit.verdict is Outcome.FORWARDED
        assert played[1].copy_of == 1
        assert contradictions(played) == []
        assert run.summary.said == []

    def test_link_addresses_tell_interface_and_way(self):
        frames = [(0, ether(FORWARDED, dst=ETH0, src=WIRE)), (1, ether(FORWARDED_OUT, src=ETH1, dst=WIRE))]
        played, run = replay(pcap(frames))
        assert roles(played) == [(Role.RECEIVED, "eth0"), (Role.COPY, "eth1")]
        assert any("owns their link address (eth0)" in said for said in run.summary.said)

    def test_sll2_index_and_packet_type(self):
        played, _ = replay(pcap([(0, sll2(FORWARDED, 2, SLL_IN)), (1, sll2(FORWARDED_OUT, 3, SLL_OUT))], linktype=276))
        assert roles(played) == [(Role.RECEIVED, "eth0"), (Role.COPY, "eth1")]
        assert contradictions(played) == []

    def test_sll_enters_by_the_route_to_the_source(self):
        played, run = replay(pcap([(0, sll(FORWARDED, SLL_IN)), (1, sll(FORWARDED_OUT, SLL_OUT, mac=ETH1.replace(":", "")))], linktype=113))
        assert roles(played) == [(Role.RECEIVED, "eth0"), (Role.COPY, "eth1")]
        assert run.summary.said[0].startswith("frames that do not tell their interface came in where the route to their source")
        assert run.summary.said[0].endswith("(eth0)")

    def test_raw_needs_a_route_or_an_interface(self):
        played, run = replay(pcap([(0, FORWARDED), (1, udp("10.1.0.1", SERVER, 1, 2, payload=b"another"))], linktype=101))
        assert roles(played) == [(Role.RECEIVED, "eth0"), (Role.SENT, None)]
        assert "(eth0)" in run.summary.said[0]
        with pytest.raises(CaptureError, match=r"no route leads to 8\.8\.8\.8: expected --interface NAME"):
            replay(pcap([(0, udp("8.8.8.8", SERVER, 1, 2))], linktype=101))
        played, _ = replay(pcap([(0, udp("8.8.8.8", SERVER, 1, 2))], linktype=101), interface="eth1")
        assert roles(played) == [(Role.RECEIVED, "eth1")]

    def test_null_and_loop(self):
        for linktype, family in ((0, b"\2\0\0\0"), (0, b"\0\0\0\2"), (108, b"\0\0\0\2")):
            played, _ = replay(pcap([(0, family + FORWARDED)], linktype=linktype))
            assert roles(played) == [(Role.RECEIVED, "eth0")]

    def test_map_renames(self):
        capture = named(("nope", IN, ether(FORWARDED, dst=ETH0)))
        with pytest.raises(CaptureError, match=r"record 1: interface nope is not a device .* \(or --map nope=NAME\)"):
            replay(capture)
        played, _ = replay(capture, rename={"nope": "eth0"})
        assert roles(played) == [(Role.RECEIVED, "eth0")]
        with pytest.raises(CaptureError, match="--map nope=eth9 is not a device"):
            replay(capture, rename={"nope": "eth9"})
        with pytest.raises(CaptureError, match="--interface eth9 is not a device"):
            replay(capture, interface="eth9")

    def test_an_unknown_index(self):
        capture = pcap([(0, sll2(FORWARDED, 77, SLL_IN))], linktype=276)
        with pytest.raises(CaptureError, match="record 1: no device has index 77"):
            replay(capture)
        assert roles(replay(capture, rename={"77": "eth0"})[0]) == [(Role.RECEIVED, "eth0")]

    def test_loopback_frames_were_sent(self):
        frame = ether(udp("127.0.0.1", "127.0.0.1", 5, 6), src="00:00:00:00:00:00", dst="00:00:00:00:00:00")
        played, _ = replay(named(("lo", IN, frame), ("lo", 0, frame)))
        assert {role for role, _ in roles(played)} <= {Role.SENT, Role.COPY}
        assert contradictions(played) == []

    def test_everything_before_an_unknown_interface_is_answered(self):
        capture = named(("eth0", IN, ether(FORWARDED, dst=ETH0)), ("nope", IN, ether(FORWARDED, dst=ETH0)))
        seen = []
        with pytest.raises(CaptureError, match="record 2"):
            seen.extend(one.role for one in iterate(capture))
        assert seen == [Role.RECEIVED]


def iterate(capture, rules=""):
    from datapath.capture.replay import Replay
    from tests.unit.capture_files import open_bytes
    from tests.unit.replay_node import node

    return Replay(node(rules), open_bytes(capture))


class TestContradictions:
    def test_a_field_that_differs(self):
        wrong = udp(OUTSIDE, SERVER, 4000, 9, ttl=64)
        played, run = replay(named(("eth0", IN, ether(FORWARDED, dst=ETH0)), ("eth1", OUT, ether(wrong, src=ETH1))))
        assert contradictions(played) == [(2, "ttl: predicted 63, captured 64")]
        assert run.summary.contradictions == 1

    def test_another_interface(self):
        played, _ = replay(named(("eth0", IN, ether(FORWARDED, dst=ETH0)), ("eth0", OUT, ether(FORWARDED_OUT, src=ETH0))))
        assert contradictions(played) == [(2, "interface: predicted eth1, captured eth0")]

    def test_a_drop_that_left(self):
        rules = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n"
        played, _ = replay(named(("eth0", IN, ether(FORWARDED, dst=ETH0)), ("eth1", OUT, ether(FORWARDED_OUT, src=ETH1))), rules)
        assert contradictions(played) == [(2, "drop: predicted dropped (NETFILTER_DROP), captured left by eth1")]

    def test_the_same_difference_of_a_connection_is_one_contradiction(self):
        frames = []
        for i in range(3):
            frames.append(("eth0", IN, ether(udp(OUTSIDE, SERVER, 4000, 9, ident=i), dst=ETH0)))
            frames.append(("eth1", OUT, ether(udp(OUTSIDE, SERVER2, 4000, 9, ident=i, ttl=63), src=ETH1)))
        played, run = replay(named(*frames))
        assert contradictions(played) == [(2, f"destination: predicted {SERVER}:9, captured {SERVER2}:9")]
        assert run.summary.contradictions == 1
        assert played[3].notes == ("differs as an earlier packet of the connection did",)

    def test_checksums_left_to_hardware_are_as_good(self):
        half = bytearray(FORWARDED_OUT)
        pseudo = FORWARDED_OUT[12:20] + struct.pack(">HH", 17, len(FORWARDED_OUT) - 20)
        total = sum(struct.unpack(">6H", pseudo))
        half[26:28] = struct.pack(">H", (total & 0xFFFF) + (total >> 16))
        capture = named(("eth0", IN, ether(FORWARDED, dst=ETH0)), ("eth1", OUT, ether(bytes(half), src=ETH1)))
        assert contradictions(replay(capture)[0]) == []
        assert [what.partition(":")[0] for _, what in contradictions(replay(capture, strict=True)[0])] == ["checksum"]

    def test_frames_that_were_predicted_and_not_seen_are_counted(self):
        _, run = replay(named(("eth0", IN, ether(FORWARDED, dst=ETH0))))
        assert run.summary.unseen == 1
        assert run.summary.contradictions == 0


class TestOffload:
    def partial(self, packet, protocol, check):
        total = sum(struct.unpack(">4H", packet[12:20])) + protocol + len(packet) - 20
        total = (total & 0xFFFF) + (total >> 16)
        return packet[: 20 + check] + struct.pack(">H", (total & 0xFFFF) + (total >> 16)) + packet[22 + check :]

    def test_a_partial_checksum_is_valid_unless_strict(self):
        packet = self.partial(tcp(OUTSIDE, SERVER, 4000, 80), 6, 16)
        capture = named(("eth0", IN, ether(packet, dst=ETH0)))
        (one,), _ = replay(capture, TRACKED)
        assert one.transit.verdict is Outcome.FORWARDED
        assert one.notes == ("offload: its checksum holds only the pseudo-header's sum and counts as valid",)
        (_, frame), *_ = one.transit.outputs
        assert frame[14 + 20 + 16 : 14 + 20 + 18] == tcp(OUTSIDE, SERVER, 4000, 80)[36:38]  # finished on the way out
        (one,), _ = replay(capture, TRACKED, strict=True)
        assert one.transit.verdict is Outcome.DROPPED

    def test_a_wrong_checksum_stays_wrong(self):
        packet = bytearray(tcp(OUTSIDE, SERVER, 4000, 80))
        packet[37] ^= 1
        (one,), _ = replay(named(("eth0", IN, ether(bytes(packet), dst=ETH0))), TRACKED)
        assert one.transit.verdict is Outcome.DROPPED

    def test_zero_length_is_the_frame_s(self):
        packet = bytearray(tcp(OUTSIDE, SERVER, 4000, 80, payload=b"x" * 3000))
        packet[2:4] = packet[10:12] = b"\0\0"
        capture = named(("eth0", IN, ether(bytes(packet), dst=ETH0)))
        (one,), _ = replay(capture, TRACKED)
        assert one.transit.verdict is Outcome.FORWARDED
        assert "offload: its IP length is zero and is taken from the frame" in one.notes
        (one,), _ = replay(capture, TRACKED, strict=True)
        assert one.transit.verdict is Outcome.DROPPED

    def test_a_frame_above_the_mtu_is_one_packet(self):
        packet = tcp(OUTSIDE, SERVER, 4000, 80, payload=b"x" * 5000)
        packet = packet[:6] + b"\x40\0" + ip(OUTSIDE, SERVER, 6, packet[20:])[8:10] + packet[10:]
        df = bytearray(packet)
        df[10:12] = b"\0\0"
        total = sum(struct.unpack(">10H", bytes(df[:20])))
        df[10:12] = struct.pack(">H", 0xFFFF ^ ((total & 0xFFFF) + (total >> 16)))
        (one,), run = replay(named(("eth0", IN, ether(bytes(df), dst=ETH0))), TRACKED)
        assert one.transit.verdict is Outcome.FORWARDED
        assert [len(frame) for _, frame in one.transit.outputs] == [14 + 5040]
        assert run.summary.received == 1

    def test_segments_of_a_large_packet(self):
        whole = tcp(OUTSIDE, SERVER, 4000, 80, flags=0x18, seq=5000, ack=1, payload=bytes(range(256)) * 12)
        frames = [("eth0", IN, ether(whole, dst=ETH0))]
        for at in range(0, 3072, 1448):
            part = whole[40 + at : 40 + at + 1448]
            piece = tcp(OUTSIDE, SERVER, 4000, 80, flags=0x10, seq=5000 + at, ack=1, payload=part, ttl=63, ident=9)
            frames.append(("eth1", OUT, ether(piece, src=ETH1)))
        played, run = replay(named(*frames))
        assert [one.role for one in played] == [Role.RECEIVED, Role.COPY, Role.COPY, Role.COPY]
        assert contradictions(played) == []
        assert played[1].notes == ("offload: one of the segments of packet 1",)
        assert run.summary.unseen == 0

    def test_what_the_snap_length_cut(self):
        packet = udp(OUTSIDE, SERVER, 4000, 9, payload=b"x" * 500)
        data = section() + interface(options=[(2, b"eth0"), (9, b"\x09")])
        data += enhanced(ether(packet, dst=ETH0)[:60], length=14 + len(packet), options=[(2, b"\1\0\0\0")])
        (one,), _ = replay(data, TRACKED)
        assert one.transit.verdict is Outcome.FORWARDED
        assert one.notes == ("cut by the snap length: 60 of 542 bytes; its checksum is not verified",)


class TestStacks:
    def test_a_bridge_and_its_port(self):
        request = udp(POD, OUTSIDE, 4000, 9)
        played, _ = replay(named(
            ("veth5", IN, ether(request, dst=CNI0, src=WIRE)), ("cni0", IN, ether(request, dst=CNI0, src=WIRE)),
            ("eth0", OUT, ether(udp(POD, OUTSIDE, 4000, 9, ttl=63), src=ETH0))))  # fmt: skip
        assert roles(played) == [(Role.RECEIVED, "veth5"), (Role.COPY, "cni0"), (Role.COPY, "eth0")]
        assert [one.copy_of for one in played] == [None, 1, 1]
        assert contradictions(played) == []

    def test_leaving_by_a_bridge(self):
        answer, left = udp(OUTSIDE, POD, 9, 4000), udp(OUTSIDE, POD, 9, 4000, ttl=63)
        played, _ = replay(named(
            ("eth0", IN, ether(answer, dst=ETH0)), ("cni0", OUT, ether(left, src=CNI0)), ("veth5", OUT, ether(left, src=CNI0))))
        assert roles(played) == [(Role.RECEIVED, "eth0"), (Role.COPY, "cni0"), (Role.COPY, "veth5")]
        assert contradictions(played) == []

    def test_a_vlan_and_its_parent(self):
        request = udp("10.7.0.9", OUTSIDE, 4000, 9)
        played, _ = replay(named(
            ("eth1", IN, ether(request, dst=ETH1, vlans=[7])), ("eth1.7", IN, ether(request, dst=ETH1)),
            ("eth0", OUT, ether(udp("10.7.0.9", OUTSIDE, 4000, 9, ttl=63), src=ETH0))))  # fmt: skip
        assert roles(played) == [(Role.RECEIVED, "eth1"), (Role.COPY, "eth1.7"), (Role.COPY, "eth0")]
        assert contradictions(played) == []

    def test_between_ports_of_a_bridge(self):
        played, _ = replay(named(("veth5", IN, ether(udp(POD, "10.2.0.8", 1, 2), dst="02:00:00:00:0c:55"))))
        assert roles(played) == [(Role.IGNORED, "veth5")]
        assert PORT != "02:00:00:00:0c:55"


class TestSentByTheNode:
    def test_as_it_stands(self):
        played, _ = replay(named(("eth1", OUT, ether(udp("10.1.0.1", SERVER, 1234, 53), src=ETH1))))
        (one,) = played
        assert (one.role, one.original_unknown) == (Role.SENT, True)
        assert one.notes == ("captured after NAT, original unknown",)
        assert one.transit.outputs[0][1][14:] == udp("10.1.0.1", SERVER, 1234, 53)

    def test_a_reply_is_translated_back_and_forth(self):
        rules = BALANCED.replace("-A SVC -j SEP2", "-A SVC -p udp -j REDIRECT --to-ports 9999").replace(
            "-A SVC -m statistic --mode random --probability 0.50000000000 -j SEP1\n", "")  # fmt: skip
        request = udp(OUTSIDE, SERVICE, 4000, 53)
        reply = udp(SERVICE, OUTSIDE, 53, 4000)
        played, _ = replay(named(("eth0", IN, ether(request, dst=ETH0)), ("eth0", OUT, ether(reply, src=ETH0))), rules)
        assert roles(played) == [(Role.RECEIVED, "eth0"), (Role.SENT, "eth0")]
        assert played[0].transit.verdict is Outcome.DELIVERED
        assert played[1].notes == ()
        assert contradictions(played) == []
        assert played[1].transit.outputs[0][1][14:] == reply

    def test_a_frame_that_holds_no_ip_is_passed_over(self):
        lldp = bytes.fromhex("0180c200000e") + bytes.fromhex(ETH0.replace(":", "")) + b"\x88\xcc" + bytes(46)
        played, _ = replay(named(("eth0", OUT, lldp)))
        assert roles(played) == [(Role.IGNORED, "eth0")]


def connection(number, server, *, masked=None, reply=True):
    """The frames of a TCP connection's first packets: the client's SYN, its leaving copy, the server's answer, and that one's copy."""
    port = 20000 + number
    source, sport = masked or (OUTSIDE, port)
    syn = ("eth0", IN, ether(tcp(OUTSIDE, SERVICE, port, 80, seq=number * 100), dst=ETH0))
    left = ("eth1", OUT, ether(tcp(source, server, sport, 8080, seq=number * 100, ttl=63), src=ETH1))
    answer = ("eth1", IN, ether(tcp(server, source, 8080, sport, flags=0x12, seq=7, ack=number * 100 + 1), dst=ETH1))
    back = ("eth0", OUT, ether(tcp(SERVICE, OUTSIDE, 80, port, flags=0x12, seq=7, ack=number * 100 + 1, ttl=63), src=ETH0))
    return syn, left, answer, back


SERVERS = [SERVER, SERVER2, SERVER2, SERVER, SERVER, SERVER2, SERVER, SERVER, SERVER2, SERVER2, SERVER2, SERVER2]


class TestDraws:
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_the_leaving_copy_shows_the_endpoint(self, seed):
        frames = [frame for i, server in enumerate(SERVERS) for frame in connection(i, server)]
        played, run = replay(named(*frames), BALANCED, seed=seed)
        assert contradictions(played) == []
        assert run.summary.draws_shown == len(SERVERS)
        assert played[0].notes == ("what Linux drew is taken from record 2",)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_the_leaving_copy_shows_the_port(self, seed):
        masked = [("10.1.0.1", 1024 + (i * 7919) % 60000) for i in range(len(SERVERS))]
        frames = [frame for i, server in enumerate(SERVERS) for frame in connection(i, server, masked=masked[i])]
        played, run = replay(named(*frames), MASQUERADED, seed=seed)
        assert contradictions(played) == []
        assert run.summary.draws_shown == 2 * len(SERVERS)

    @pytest.mark.parametrize("rules", [BALANCED, MASQUERADED])
    def test_the_first_reply_shows_them_where_the_leaving_copy_is_missing(self, rules):
        masked = [("10.1.0.1", 1024 + (i * 7919) % 60000) if rules == MASQUERADED else None for i in range(len(SERVERS))]
        frames = []
        for i, server in enumerate(SERVERS):
            syn, _, answer, back = connection(i, server, masked=masked[i])
            frames += [syn, answer, back]
        played, run = replay(named(*frames), rules)
        assert contradictions(played) == []
        assert [role for role, _ in roles(played)] == [Role.RECEIVED, Role.RECEIVED, Role.COPY] * len(SERVERS)
        assert run.summary.draws_shown == len(SERVERS) * (2 if rules == MASQUERADED else 1)

    def test_udp_is_shown_by_the_first_answer_from_elsewhere(self):
        frames = []
        for i, server in enumerate(SERVERS):
            frames.append(("eth0", IN, ether(udp(OUTSIDE, SERVICE, 30000 + i, 53), dst=ETH0)))
            frames.append(("eth1", IN, ether(udp(server, OUTSIDE, 5353, 30000 + i), dst=ETH1)))
            frames.append(("eth0", OUT, ether(udp(SERVICE, OUTSIDE, 53, 30000 + i, ttl=63), src=ETH0)))
        played, run = replay(named(*frames), BALANCED)
        assert contradictions(played) == []
        assert run.summary.draws_shown == len(SERVERS)

    def test_nth_is_put_right(self):
        rules = BALANCED.replace("--mode random --probability 0.50000000000", "--mode nth --every 2 --packet 0")
        frames = [frame for i, server in enumerate(SERVERS) for frame in connection(i, server)]
        assert contradictions(replay(named(*frames), rules)[0]) == []

    def test_a_reply_too_late_to_be_seen_ahead_contradicts_once(self):
        bounds = Bounds(span_ns=10_000_000)
        late = []
        for seed in range(6):
            frames = [connection(1, SERVER)[i] for i in (0,)]
            data = named(*frames)
            for i, ticks in enumerate((2_000_000_000, 3_000_000_000)):
                answer = ether(tcp(SERVER, OUTSIDE, 8080, 20001, flags=0x12, seq=7, ack=101, ident=i), dst=ETH1)
                data += enhanced(answer, interface_id=1, ticks=ticks, options=[(2, b"\1\0\0\0")])
            played, run = replay(data, BALANCED, seed=seed, bounds=bounds)
            late.append(run.summary.contradictions)
            for number, what in contradictions(played):
                assert number == 2
                predicted, captured = f"{SERVER2}:8080, drawn by the seed for packet 1", f"an answer from {SERVER}:8080 to {OUTSIDE}:20001"
                assert what == f"draw: predicted {predicted}, captured {captured}"
        assert set(late) == {0, 1}  # the seed draws either server

    def test_an_endpoint_that_no_rule_has_is_left_to_the_seed_and_contradicts(self):
        frames = connection(1, "10.1.0.77")
        played, run = replay(named(*frames), BALANCED)
        assert run.summary.draws_shown == 0
        assert any(what.startswith("destination: predicted 10.1.0.") for _, what in contradictions(played))


def test_fragments_show_it_too():
    whole = udp(OUTSIDE, SERVICE, 4000, 53, payload=b"q" * 1600)
    left = udp(OUTSIDE, SERVER2, 4000, 5353, payload=b"q" * 1600, ttl=63)
    frames = [("eth0", IN, ether(part, dst=ETH0)) for part in fragments(whole)]
    frames += [("eth1", OUT, ether(part, src=ETH1)) for part in fragments(left)]
    for seed in range(4):
        played, run = replay(named(*frames), BALANCED, seed=seed)
        assert contradictions(played) == []
        assert [role for role, _ in roles(played)] == [Role.RECEIVED, Role.RECEIVED, Role.COPY, Role.COPY]
        assert run.summary.draws_shown == 1


def fragments(packet, size=1480):
    payload = packet[20:]
    made = []
    for at in range(0, len(payload), size):
        part = payload[at : at + size]
        more = 0x2000 if at + size < len(payload) else 0
        head = bytearray(packet[:20])
        head[2:4] = struct.pack(">H", 20 + len(part))
        head[6:8] = struct.pack(">H", at // 8 | more)
        head[10:12] = b"\0\0"
        total = sum(struct.unpack(">10H", bytes(head)))
        total = (total & 0xFFFF) + (total >> 16)
        head[10:12] = struct.pack(">H", 0xFFFF ^ ((total & 0xFFFF) + (total >> 16)))
        made.append(bytes(head) + part)
    return made


def test_interfaces_are_merged_by_time():
    data = section() + interface(options=[(2, b"eth0"), (9, b"\x09")]) + interface(options=[(2, b"eth1"), (9, b"\x09")])
    data += enhanced(ether(FORWARDED_OUT, src=ETH1), interface_id=1, ticks=2000, options=[(2, b"\2\0\0\0")])
    data += enhanced(ether(FORWARDED, dst=ETH0), interface_id=0, ticks=1000, options=[(2, b"\1\0\0\0")])
    played, _ = replay(data)
    assert [(one.record.number, one.role) for one in played] == [(2, Role.RECEIVED), (1, Role.COPY)]


def test_damage_comes_after_the_answers():
    seen = []
    with pytest.raises(CaptureError, match="damaged behind record 1"):
        seen.extend(one.role for one in iterate(named(("eth0", IN, ether(FORWARDED, dst=ETH0))) + b"\6\0\0\0\x0d\0\0\0" + bytes(40)))
    assert seen == [Role.RECEIVED]


def test_a_cut_is_said():
    data = pcapng([(0, ether(FORWARDED, dst=ETH0))])
    _, run = replay(data + enhanced(b"abcd")[:-8])
    assert any("cut by the end of the file" in said for said in run.summary.said)
