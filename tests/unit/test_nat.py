"""NAT as the core does it: which tuple is chosen, what is rewritten, what a capture may show of a draw."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from datapath import Datapath, Host
from datapath.lab.masks import checksum
from datapath.model.steps import Bound, Drawn, Rewritten

SERVER, OWN, CLIENT = "198.51.100.2", "192.0.2.1", "192.0.2.2"
MAC = {"eth0": "02:00:00:00:00:01", "eth1": "02:00:00:00:00:02"}
NETS = {"eth0": "192.0.2.1", "eth1": "198.51.100.1"}


def host(*rules: str, kernel: str = "6.18.1") -> Host:
    """Two networks, everybody is a neighbour; rules of the nat table."""
    links = [{"ifindex": n, "ifname": name, "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"], "mtu": 1500, "link_type": "ether",
              "address": MAC[name]} for n, name in enumerate(MAC, 2)]  # fmt: skip
    addresses = [{**link, "addr_info": [{"family": "inet", "local": NETS[link["ifname"]], "prefixlen": 16, "scope": "global"}]}
                 for link in links]  # fmt: skip
    hooks = "".join(f":{hook} ACCEPT [0:0]\n" for hook in ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"))
    return Host.from_files({
        "ip-link.json": json.dumps(links), "ip-addr.json": json.dumps(addresses), "uname.txt": f"Linux node {kernel}",
        "sysctl.txt": "net.ipv4.ip_forward = 1\nnet.ipv4.conf.all.forwarding = 1\n"
                      "net.ipv4.conf.eth0.forwarding = 1\nnet.ipv4.conf.eth1.forwarding = 1\n",
        "iptables-save.txt": f"*nat\n{hooks}" + "".join(f"-A {rule}\n" for rule in rules) + "COMMIT\n",
    })  # fmt: skip


def frame(packet: Packet, interface: str = "eth0") -> bytes:
    return bytes(Ether(src="02:00:00:00:ff:ff", dst=MAC[interface]) / packet)


def udp(sport: int = 2000, dport: int = 53, src: str = CLIENT, dst: str = SERVER, payload: bytes = b"data") -> Packet:
    return IP(src=src, dst=dst) / UDP(sport=sport, dport=dport) / Raw(payload)


def leaves(node: Datapath, packet: Packet, interface: str = "eth0") -> Packet:
    """The IP packet that leaves for one that comes."""
    outputs = node.receive(frame(packet, interface), interface).outputs
    assert len(outputs) == 1
    return Ether(outputs[0][1]).payload


def packed(address: str) -> bytes:
    return bytes(map(int, address.split(".")))


def test_an_address_of_a_range_is_the_one_that_linux_takes() -> None:
    # What Linux 6.18 took for 10.0.0.2 to 10.0.0.9 asking 10.1.0.2 port 53 through SNAT to 10.1.0.20-10.1.0.99.
    node = Datapath(host("POSTROUTING -j SNAT --to-source 10.1.0.20-10.1.0.99"))
    node.ip("route add 10.1.0.0/16 dev eth1")
    taken = [leaves(node, udp(1000 + n, src=f"10.0.0.{n}", dst="10.1.0.2")).src for n in range(2, 10)]
    assert taken == [f"10.1.0.{last}" for last in (29, 24, 98, 60, 30, 36, 79, 74)]


def test_a_persistent_range_gives_a_client_one_address() -> None:
    node = Datapath(host("POSTROUTING -j SNAT --to-source 198.51.100.20-198.51.100.99 --persistent"))
    assert len({leaves(node, udp(2000 + n, dst=f"198.51.100.{n}")).src for n in range(2, 12)}) == 1


def test_the_first_free_port_of_a_range_is_taken_but_by_older_kernels() -> None:
    rule = f"PREROUTING -p udp -j DNAT --to-destination {SERVER}:7000-7999"
    assert [leaves(Datapath(host(rule), seed=seed), udp()).dport for seed in range(3)] == [7000] * 3
    assert len({leaves(Datapath(host(rule, kernel="6.1.0"), seed=seed), udp()).dport for seed in range(5)}) > 1


@pytest.mark.parametrize(("port", "low", "high"), [(7, 1, 511), (511, 1, 511), (512, 600, 1023), (1023, 600, 1023), (1024, 1024, 65535)])
def test_a_source_port_that_clashes_keeps_its_class(port: int, low: int, high: int) -> None:
    node = Datapath(host("POSTROUTING -j MASQUERADE"))
    ports = [leaves(node, udp(port, src=f"192.0.2.{n}")).sport for n in range(2, 30)]
    assert ports[0] == port
    assert len(set(ports)) == len(ports)
    assert all(low <= other <= high for other in ports[1:])


def test_the_seed_decides_a_draw_and_the_capture_goes_before_it() -> None:
    rules = host("POSTROUTING -p udp -j MASQUERADE --random-fully")
    assert leaves(Datapath(rules, seed=1), udp()).sport == leaves(Datapath(rules, seed=1), udp()).sport
    assert leaves(Datapath(rules, seed=1), udp()).sport != leaves(Datapath(rules, seed=2), udp()).sport
    node = Datapath(rules)
    node.show((packed("198.51.100.1"), 4321), (packed(SERVER), 53))
    transit = node.receive(frame(udp()), "eth0")
    assert Ether(transit.outputs[0][1])[UDP].sport == 4321
    assert [step.shown for step in transit.steps if isinstance(step, Drawn)] == [True]


@pytest.mark.parametrize("shown", [
    pytest.param(("198.51.100.1", 80), id="a port of another class"),
    pytest.param(("198.51.100.1", 2000), id="a port that is taken"),
    pytest.param(("198.51.100.9", 4321), id="another address"),
])
def test_what_linux_cannot_have_drawn_is_not_taken_from_a_capture(shown: tuple[str, int]) -> None:
    node = Datapath(host("POSTROUTING -p udp -j MASQUERADE"))
    leaves(node, udp(2000, src="192.0.2.3"))
    node.show((packed(shown[0]), shown[1]), (packed(SERVER), 53))
    transit = node.receive(frame(udp(2000)), "eth0")
    assert Ether(transit.outputs[0][1])[UDP].sport not in (80, 2000, 4321)
    assert [step.shown for step in transit.steps if isinstance(step, Drawn)] == [False]


def test_what_a_capture_shows_holds_for_one_packet() -> None:
    node = Datapath(host("POSTROUTING -p udp -j MASQUERADE --random-fully"))
    node.show((packed("198.51.100.1"), 4321), None)
    node.receive(frame(udp(2000)), "eth0")
    assert [step.shown for step in node.receive(frame(udp(2001)), "eth0").steps if isinstance(step, Drawn)] == [False]


def test_the_steps_say_who_decided_and_what_changed() -> None:
    node = Datapath(host(f"PREROUTING -d {OWN} -p udp -j DNAT --to-destination {SERVER}:5353", "POSTROUTING -j MASQUERADE"))
    first = node.receive(frame(udp(dst=OWN)), "eth0").steps
    again = node.receive(frame(udp(dst=OWN)), "eth0").steps
    back = node.receive(frame(udp(5353, 2000, SERVER, "198.51.100.1"), "eth1"), "eth1").steps
    assert [(step.manip, step.rule, step.by_entry) for step in first if isinstance(step, Bound)] == [
        ("destination", "nat/PREROUTING/1", False), ("source", "nat/POSTROUTING/1", False)]
    assert [(step.manip, step.rule, step.by_entry) for step in again if isinstance(step, Bound)] == [
        ("destination", "nat/PREROUTING/1", True), ("source", "nat/POSTROUTING/1", True)]
    assert [(step.manip, step.before, step.after) for step in again if isinstance(step, Rewritten)] == [
        ("destination", f"{OWN}:53", f"{SERVER}:5353"), ("source", f"{CLIENT}:2000", "198.51.100.1:2000")]
    # The answer undoes the source translation where it comes in, by the rule that made it.
    assert [(step.manip, step.before, step.after) for step in back if isinstance(step, Rewritten)] == [
        ("destination", "198.51.100.1:2000", f"{CLIENT}:2000"), ("source", f"{SERVER}:5353", f"{OWN}:53")]


def test_a_changed_rule_does_not_touch_what_is_there() -> None:
    node = Datapath(host())
    node.restore("*nat\n:PREROUTING ACCEPT [0:0]\n:unused - [0:0]\n:elsewhere - [0:0]\n-A PREROUTING -j elsewhere\n-A elsewhere -p tcp\n"
                 f"-A elsewhere -p udp -j DNAT --to-destination {SERVER}\nCOMMIT\n")
    assert leaves(node, udp(dst="198.51.100.9")).dst == SERVER
    node.restore("*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j DNAT --to-destination 198.51.100.7\nCOMMIT\n")
    transit = node.receive(frame(udp(dst="198.51.100.9")), "eth0")
    assert Ether(transit.outputs[0][1])[IP].dst == SERVER
    assert [step.rule for step in transit.steps if isinstance(step, Bound)] == ["nat/elsewhere/2"]   # as it was called then
    assert leaves(node, udp(2001, dst="198.51.100.9")).dst == "198.51.100.7"


def transport_sum(packet: Packet) -> int:
    """The checksum over pseudo header and segment: 0 when it is right."""
    segment = bytes(packet.payload)
    return checksum(packed(packet.src) + packed(packet.dst) + bytes([0, packet.proto]) + len(segment).to_bytes(2, "big") + segment)


@pytest.mark.parametrize("packet", [
    pytest.param(udp(dst=OWN, payload=bytes(range(256)) * 4), id="UDP"),
    pytest.param(IP(src=CLIENT, dst=OWN) / TCP(sport=2000, dport=53, flags="S") / Raw(b"x" * 999), id="TCP"),
])
def test_the_same_is_done_to_a_packet_that_was_cut(packet: Packet) -> None:
    rules = host(*(f"PREROUTING -p {protocol} -j DNAT --to-destination {SERVER}:5353" for protocol in ("tcp", "udp")),
                 "POSTROUTING -j MASQUERADE")
    whole = frame(packet)
    (_, expected), = Datapath(rules).receive(whole, "eth0").outputs
    assert transport_sum(Ether(expected).payload) == 0
    for length in (54, 60, 96):
        (_, cut), = Datapath(rules).receive(whole[:length], "eth0", wire_length=len(whole)).outputs
        assert cut == expected[:length]


def test_a_checksum_left_to_the_network_card_is_completed_over_what_was_translated() -> None:
    packet = IP(bytes(IP(src=CLIENT, dst=OWN) / TCP(sport=2000, dport=53, flags="S") / Raw(b"x" * 9)))
    # The sum of the pseudo header.
    packet[TCP].chksum = checksum(packed(CLIENT) + packed(OWN) + bytes([0, 6]) + (29).to_bytes(2, "big")) ^ 0xFFFF
    node = Datapath(host(f"PREROUTING -p tcp -j DNAT --to-destination {SERVER}:5353", "POSTROUTING -j MASQUERADE"))
    node.allow_offload(True)
    left = leaves(node, packet)
    assert (left.src, left.dst, left.dport) == ("198.51.100.1", SERVER, 5353)
    assert transport_sum(left) == 0


def errors() -> Iterator[Packet]:
    quoted = udp(2000, 53, "198.51.100.1", SERVER, payload=b"question")
    for kind, code in ((3, 3), (11, 0), (12, 0)):
        yield IP(src=SERVER, dst="198.51.100.1") / ICMP(type=kind, code=code) / Raw(bytes(quoted))


@pytest.mark.parametrize("error", errors(), ids=lambda error: f"type {error[ICMP].type}")
def test_an_icmp_error_reaches_the_client_with_what_the_client_sent(error: Packet) -> None:
    node = Datapath(host("POSTROUTING -o eth1 -j MASQUERADE"))
    leaves(node, udp(payload=b"question"))
    left = leaves(node, error, "eth1")
    assert (left.src, left.dst) == (SERVER, CLIENT)
    assert checksum(bytes(left.payload)) == 0
    quoted = IP(bytes(left.payload)[8:])
    assert (quoted.src, quoted.sport, quoted.dst, quoted.dport) == (CLIENT, 2000, SERVER, 53)
    assert checksum(bytes(quoted)[:20]) == 0
    assert transport_sum(quoted) == 0


def test_an_icmp_error_that_was_cut_is_translated_as_far_as_it_is_there() -> None:
    node = Datapath(host("POSTROUTING -o eth1 -j MASQUERADE"))
    leaves(node, udp(payload=b"question" * 40))
    error = IP(src=SERVER, dst="198.51.100.1") / ICMP(type=3, code=3) / Raw(bytes(udp(2000, 53, "198.51.100.1", SERVER, b"question" * 40)))
    whole = frame(error, "eth1")
    (_, expected), = node.receive(whole, "eth1").outputs
    (_, cut), = node.receive(whole[:110], "eth1", wire_length=len(whole)).outputs
    assert cut == expected[:110]


def test_a_packet_that_left_is_known_as_it_was_before() -> None:
    node = Datapath(host(f"PREROUTING -p udp -d {OWN} -j DNAT --to-destination {SERVER}:5353", "POSTROUTING -j MASQUERADE"))
    sent = udp(dst=OWN)
    left = leaves(node, sent)
    before = IP(node.before_nat(bytes(left)))
    assert (before.src, before.sport, before.dst, before.dport) == (CLIENT, 2000, OWN, 53)
    assert transport_sum(before) == 0
    assert node.before_nat(bytes(udp(1, 2))) is None
