"""The facade: what a user of the library sees of one node."""

import json
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether

from datapath import Datapath, Host, Outcome
from datapath.capture.reader import open_capture
from datapath.capture.record import Direction
from datapath.capture.replay import Replay
from datapath.capture.writer import PcapngWriter
from datapath.errors import HostError, InputError, RulesetError, UnsupportedFeatureError
from datapath.model.steps import DeliveredLocally, Dropped, LeftBy, PolicyApplied, Rewritten, Routed, RuleMatched, RuleNotMatched, Tracked

CLIENT, ROUTER, ROUTER_INSIDE, SERVER = "192.0.2.10", "192.0.2.1", "198.51.100.1", "198.51.100.10"
MACS = {CLIENT: "02:00:00:00:01:10", ROUTER: "02:00:00:00:01:01", ROUTER_INSIDE: "02:00:00:00:02:01", SERVER: "02:00:00:00:02:10"}
LINKS = [
    {"ifindex": 1, "ifname": "lo", "flags": ["LOOPBACK", "UP", "LOWER_UP"], "mtu": 65536, "link_type": "loopback",
     "address": "00:00:00:00:00:00"},
    {"ifindex": 2, "ifname": "eth0", "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"], "mtu": 1500, "link_type": "ether",
     "address": MACS[ROUTER]},
    {"ifindex": 3, "ifname": "eth1", "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"], "mtu": 1500, "link_type": "ether",
     "address": MACS[ROUTER_INSIDE]},
]  # fmt: skip


def address(device: dict[str, object], ip: str, length: int) -> dict[str, object]:
    scope = "host" if ip.startswith("127.") else "global"
    info = {"family": "inet", "local": ip, "prefixlen": length, "scope": scope, "label": device["ifname"]}
    return {**device, "addr_info": [info]}


def host(rules: str = "", **files: str) -> Host:
    addresses = [address(LINKS[0], "127.0.0.1", 8), address(LINKS[1], ROUTER, 24), address(LINKS[2], ROUTER_INSIDE, 24)]
    neighbours = [
        {"dst": ip, "dev": device, "lladdr": MACS[ip], "state": ["PERMANENT"]} for ip, device in ((CLIENT, "eth0"), (SERVER, "eth1"))
    ]
    return Host.from_files({
        "ip-link.json": json.dumps(LINKS), "ip-addr.json": json.dumps(addresses), "ip-neigh.json": json.dumps(neighbours),
        "sysctl.txt": "net.ipv4.ip_forward = 1\nnet.ipv4.conf.all.forwarding = 1\nnet.ipv4.conf.eth0.forwarding = 1\n"
                      "net.ipv4.conf.eth1.forwarding = 1\n",
        "uname.txt": "Linux node 6.18.1", "iptables-save.txt": rules, **files,
    })  # fmt: skip


def from_client(payload: object, dst: str = SERVER, ttl: int = 64) -> bytes:
    return bytes(Ether(src=MACS[CLIENT], dst=MACS[ROUTER]) / IP(src=CLIENT, dst=dst, ttl=ttl) / payload)


FILTER = """*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:web - [0:0]
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -p tcp -j web
-A web -p tcp -m tcp --dport 443 -j ACCEPT
-A web -p tcp -m tcp --dport 80 -j ACCEPT
COMMIT
"""
DNAT = """*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -d 192.0.2.1/32 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 198.51.100.10:80
-A POSTROUTING -o eth1 -j MASQUERADE
COMMIT
"""


def test_forwarded_packet_tells_its_way() -> None:
    node = Datapath(host(FILTER))
    transit = node.receive(from_client(TCP(sport=40000, dport=80, flags="S")), "eth0")
    assert transit.verdict is Outcome.FORWARDED
    assert transit.verdict == "FORWARDED"
    assert transit.drop_reason is None
    [(interface, frame)] = transit.outputs
    assert interface == "eth1"
    assert Ether(frame).dst == MACS[SERVER]
    assert Ether(frame)[IP].ttl == 63
    rules = [(step.chain, step.rule, step.action, step.tried) for step in transit.steps if isinstance(step, RuleMatched)]
    assert rules == [("FORWARD", 2, "jump web", 2), ("web", 2, "ACCEPT", 2)]
    assert transit.rules_tried == {"filter/FORWARD": 2, "filter/web": 2}
    assert next(step.state for step in transit.steps if isinstance(step, Tracked)) == "NEW"
    assert [step.device for step in transit.steps if isinstance(step, LeftBy)] == ["eth1"]
    routed = next(step for step in transit.steps if isinstance(step, Routed))
    assert (routed.type, routed.device, routed.route) == ("unicast", "eth1", "198.51.100.0/24 dev eth1 src 198.51.100.1")


def test_policy_drops_and_counts() -> None:
    node = Datapath(host(FILTER))
    transit = node.receive(from_client(UDP(sport=40000, dport=53)), "eth0")
    assert (transit.verdict, transit.drop_reason, transit.outputs) == (Outcome.DROPPED, "NETFILTER_DROP", ())
    policy = next(step for step in transit.steps if isinstance(step, PolicyApplied))
    assert (policy.table, policy.chain, policy.verdict, policy.tried) == ("filter", "FORWARD", "DROP", 2)
    assert isinstance(transit.steps[-1], Dropped)
    counters = node.counters()
    assert counters["filter/FORWARD/policy"] == (1, 28)
    assert counters["filter/FORWARD/2"] == (0, 0)
    assert node.conntrack() == []  # dropped before it was confirmed


def test_why_names_the_condition_that_failed() -> None:
    node = Datapath(host(FILTER), why=True)
    transit = node.receive(from_client(TCP(sport=40000, dport=22, flags="S")), "eth0")
    failed = [(step.chain, step.rule, step.condition) for step in transit.steps if isinstance(step, RuleNotMatched)]
    assert failed == [
        ("FORWARD", 1, "-m conntrack --ctstate RELATED,ESTABLISHED"),
        ("web", 1, "-m tcp --dport 443"),
        ("web", 2, "-m tcp --dport 80"),
    ]


def test_nat_both_ways() -> None:
    node = Datapath(host(DNAT))
    transit = node.receive(from_client(TCP(sport=40000, dport=8080, flags="S"), dst=ROUTER), "eth0")
    ends = [(step.manip, step.before, step.after) for step in transit.steps if isinstance(step, Rewritten)]
    assert ends == [
        ("destination", f"{ROUTER}:8080", f"{SERVER}:80"),
        ("source", f"{CLIENT}:40000", f"{ROUTER_INSIDE}:40000"),
    ]
    segment = TCP(sport=80, dport=40000, flags="SA", ack=1)
    reply = Ether(src=MACS[SERVER], dst=MACS[ROUTER_INSIDE]) / IP(src=SERVER, dst=ROUTER_INSIDE) / segment
    back = node.receive(bytes(reply), "eth1", 1_000_000)
    [(interface, frame)] = back.outputs
    answer = Ether(frame)
    assert (interface, answer[IP].src, answer[IP].dst, answer[TCP].sport, answer[TCP].dport) == ("eth0", ROUTER, CLIENT, 8080, 40000)
    checked = answer.copy()
    del checked[TCP].chksum, checked[IP].chksum
    assert bytes(checked.__class__(bytes(checked))) == frame  # both checksums are right
    [entry] = node.conntrack()
    assert str(entry) == (
        f"ipv4     2 tcp      6 60 SYN_RECV src={CLIENT} dst={ROUTER} sport=40000 dport=8080 "
        f"src={SERVER} dst={ROUTER_INSIDE} sport=80 dport=40000 mark=0 use=1"
    )
    assert node.conntrack_delete(f"-p tcp --orig-dst {ROUTER}") == 1
    assert node.conntrack() == []


def test_local_packets_and_delivery() -> None:
    node = Datapath(host())
    sent = node.send(bytes(IP(src=ROUTER_INSIDE, dst=SERVER) / ICMP()))
    assert (sent.verdict, [name for name, _ in sent.outputs]) == (Outcome.FORWARDED, ["eth1"])
    kept = node.receive(from_client(ICMP(), dst=ROUTER), "eth0")
    assert (kept.verdict, kept.outputs) == (Outcome.DELIVERED, ())
    assert any(isinstance(step, DeliveredLocally) for step in kept.steps)
    answering = Datapath(host(), answer=True).receive(from_client(ICMP(id=7), dst=ROUTER), "eth0")
    [(interface, frame)] = answering.outputs
    assert (interface, Ether(frame)[ICMP].type, Ether(frame)[ICMP].id) == ("eth0", 0, 7)


def test_restore_keeps_connections_and_replaces_what_it_names() -> None:
    node = Datapath(host(DNAT + FILTER.replace("FORWARD DROP", "FORWARD ACCEPT")))
    syn = TCP(sport=40000, dport=8080, flags="S")
    node.receive(from_client(syn, dst=ROUTER), "eth0")
    node.restore("*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j DNAT --to-destination 198.51.100.11:81\nCOMMIT\n")
    again = node.receive(from_client(syn, dst=ROUTER), "eth0", 1_000_000_000)
    assert [Ether(frame)[IP].dst for _, frame in again.outputs] == [SERVER]  # NAT is decided once per connection
    assert node.counters()["nat/PREROUTING/1"] == (0, 0)
    assert node.counters()["filter/FORWARD/2"] == (2, 80)  # a table that the text does not name is left alone
    fresh = node.receive(from_client(TCP(sport=40001, dport=8080, flags="S"), dst=ROUTER), "eth0", 2_000_000_000)
    assert any(isinstance(step, Rewritten) and step.after == "198.51.100.11:81" for step in fresh.steps)


def test_restore_loads_all_or_nothing() -> None:
    node = Datapath(host(FILTER))
    with pytest.raises(RulesetError):
        node.restore("*filter\n-A FORWARD -j ACCEPT\n-A FORWARD -j nowhere\nCOMMIT\n")
    assert node.receive(from_client(UDP(sport=1, dport=2)), "eth0").verdict is Outcome.DROPPED


def test_noflush_keeps_counters() -> None:
    node = Datapath(host(FILTER))
    node.receive(from_client(UDP(sport=1, dport=2)), "eth0")
    node.restore("*filter\n-A FORWARD -p udp -j ACCEPT\nCOMMIT\n", noflush=True)
    assert node.counters()["filter/FORWARD/policy"] == (1, 28)
    assert node.receive(from_client(UDP(sport=1, dport=2)), "eth0").verdict is Outcome.FORWARDED
    assert node.counters()["filter/FORWARD/3"] == (1, 28)


def test_same_seed_same_answer() -> None:
    rules = DNAT.replace("MASQUERADE", "MASQUERADE --random-fully")
    rules = rules.replace("-p tcp -m tcp", "-p tcp -m statistic --mode random --probability 0.5 -m tcp")

    def frames(seed: int) -> list[object]:
        node = Datapath(host(rules), seed=seed)
        return [node.receive(from_client(TCP(sport=port, dport=8080, flags="S"), dst=ROUTER), "eth0").outputs for port in range(2000, 2040)]

    assert frames(3) == frames(3)
    assert frames(3) != frames(4)


def test_time_never_runs_backwards() -> None:
    node = Datapath(host(FILTER))
    node.receive(from_client(TCP(sport=1, dport=80, flags="S")), "eth0", 5_000_000_000)
    assert node.receive(from_client(TCP(sport=2, dport=80, flags="S")), "eth0", 3_000_000_000).now_ns == 5_000_000_000


def test_what_cannot_be_is_said_in_one_line() -> None:
    with pytest.raises(HostError, match="no interface 'eth9'"):
        Datapath(host()).receive(b"", "eth9")
    with pytest.raises(HostError, match=r"no profile of Linux '5\.4'"):
        Datapath(host(), kernel="5.4")
    with pytest.raises(UnsupportedFeatureError, match=r"^iptables-save.txt:3: .*nosuch"):
        Datapath(host("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m nosuch --x 1 -j DROP\nCOMMIT\n"))
    with pytest.raises(InputError, match="unknown option `--nosuch"):
        Datapath(host()).conntrack_delete("--nosuch 1")


def test_lenient_outcome_is_unknown_only_where_the_rule_decides() -> None:
    rules = FILTER.replace("-A web -p tcp -m tcp --dport 443", "-A web -p tcp -m nosuch --x 1 -m tcp --dport 443")
    node = Datapath(host(rules), lenient=True)
    assert node.receive(from_client(TCP(sport=1, dport=443, flags="S")), "eth0").verdict is Outcome.UNKNOWN
    assert node.receive(from_client(TCP(sport=1, dport=80, flags="S")), "eth0").verdict is Outcome.FORWARDED
    assert node.receive(from_client(UDP(sport=1, dport=80)), "eth0").verdict is Outcome.DROPPED


def test_sysctl_and_ip_change_a_running_node() -> None:
    node = Datapath(host())
    frame = from_client(UDP(sport=1, dport=2))
    assert node.receive(frame, "eth0").verdict is Outcome.FORWARDED
    node.ip("route add blackhole 198.51.100.10/32")
    assert node.receive(frame, "eth0").verdict is Outcome.DROPPED
    node.ip("route del blackhole 198.51.100.10/32")
    node.sysctl("net.ipv4.ip_forward", 0)
    assert node.receive(frame, "eth0").verdict is Outcome.DROPPED


NATIVE = {"nftables": [
    {"table": {"family": "inet", "name": "firewalld"}},
    {"chain": {"family": "inet", "table": "firewalld", "name": "forward", "type": "filter", "hook": "forward", "prio": 10}},
    {"rule": {"family": "inet", "table": "firewalld", "chain": "forward", "expr": [{"drop": None}]}},
]}  # fmt: skip
OWN = json.dumps(NATIVE).replace("inet", "ip").replace("firewalld", "filter")


def test_what_the_host_directory_holds_and_is_not_emulated_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"^ipvsadm-save.txt:2: IPVS is not emulated"):
        Datapath(host(**{"ipvsadm-save.txt": "\n-A -t 10.96.0.1:80 -s rr\n"}))
    with pytest.raises(UnsupportedFeatureError, match=r"^nft.json: native .* table inet firewalld, chain forward"):
        Datapath(host(**{"nft.json": json.dumps(NATIVE)}))
    with pytest.raises(UnsupportedFeatureError, match=r"table ip filter"):
        Datapath(host(**{"nft.json": OWN}))
    with pytest.raises(HostError, match=r"^nft.json: expected what"):
        Datapath(host(**{"nft.json": '{"nftables": [{"chain": {"hook": 1}}]}'}))
    assert Datapath(host(FILTER, **{"nft.json": OWN, "ipvsadm-save.txt": ""})).ruleset().rules == 4  # iptables-nft's own table


def test_a_comment_of_the_capture_names_the_sender(tmp_path: Path) -> None:
    rules = "*filter\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -m owner --uid-owner 1000 -j DROP\nCOMMIT\n"
    frame = bytes(Ether(src=MACS[ROUTER], dst=MACS[CLIENT]) / IP(src=ROUTER, dst=CLIENT) / UDP(sport=1, dport=2))
    with PcapngWriter(tmp_path / "sent.pcapng") as out:
        for comment in ("uid=1000 gid=7", "uid=1001"):
            out.packet(out.interface("eth0"), 1, frame, direction=Direction.OUT, comments=[comment])
    first, second = Replay(Datapath(host(rules)), open_capture(tmp_path / "sent.pcapng"))
    assert first.transit is not None
    assert second.transit is not None
    assert (first.transit.verdict, second.transit.verdict) == (Outcome.DROPPED, Outcome.FORWARDED)
