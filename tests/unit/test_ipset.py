"""IP sets: reading ipset save, the types that no kernel here knows, and the commands that change sets."""

from __future__ import annotations

import pytest
from scapy.layers.inet import TCP, UDP

from datapath import Datapath
from datapath.errors import InputError, RulesetError
from datapath.model.ipset import Interface, Network, Port
from datapath.syntax.ipset_save import parse_ipset_save
from tests.unit.test_datapath import CLIENT, MACS, SERVER, from_client, host

CLIENT_BYTES = bytes([192, 0, 2, 10])


def node_with(sets: str, *questions: str) -> Datapath:
    rules = "*mangle\n" + "".join(f"-A PREROUTING -m set {question}\n" for question in questions) + "COMMIT\n"
    return Datapath(host(rules, **{"ipset-save.txt": sets}))


def hits(node: Datapath) -> list[int]:
    counters = node.counters()
    return [
        counters[f"mangle/PREROUTING/{number}"][0]
        for number in range(1, 1 + sum("PREROUTING" in name for name in counters))
        if f"mangle/PREROUTING/{number}" in counters
    ]


def matched(sets: str, question: str, payload: object = None, mark: int = 0) -> bool:
    node = node_with(sets, question)
    node.receive(from_client(payload or UDP(sport=1000, dport=53)), "eth0", mark=mark)
    return hits(node) == [1]


def test_a_file_of_every_kind_of_element_is_read() -> None:
    text = (
        "create a hash:net,iface family inet6 hashsize 1024 maxelem 65536 bucketsize 12 initval 0x1\n"
        "add a 2001:db8::/32,physdev:eth nomatch\n"
        "create b hash:ip,port timeout 60 counters comment skbinfo\n"
        'add b 192.0.2.10,icmp:8/0 timeout 5 packets 7 bytes 9 comment "two words" skbmark 0x1/0xff\n'
        "add b 192.0.2.8/31,udp:53-54\n"
        "create c list:set size 8\nadd c b\n"
    )
    a, b, c = parse_ipset_save(text)
    assert a.elements[0].values == (Network(bytes.fromhex("20010db8") + bytes(12), 32), Interface("eth", physdev=True))
    assert a.elements[0].nomatch
    assert a.options == ("hashsize", "1024", "maxelem", "65536", "bucketsize", "12", "initval", "0x1")
    assert b.elements[0].values == (Network(CLIENT_BYTES, 0), Port(1, 0x800))
    assert (b.elements[0].timeout, b.elements[0].packets, b.elements[0].bytes, b.elements[0].comment) == (5, 7, 9, "two words")
    assert b.elements[0].skb == ("skbmark", "0x1/0xff")
    assert [element.values[1] for element in b.elements[1:]] == [Port(17, 53), Port(17, 54)] * 2
    assert b.elements[1].timeout == 60
    assert c.elements[0].values == ("b",)


BAD = [
    "make a hash:ip",
    "create a hash:nosuch",
    "create a hash:ip maxelem",
    "create a hash:ip nosuch 1",
    "create a hash:ip netmask 33",
    "create a bitmap:port range 1-70000",
    "create a hash:ip\ncreate a hash:ip",
    "add nosuch 192.0.2.1",
    "create a hash:ip\nadd a 192.0.2.1,tcp:80",
    "create a hash:ip\nadd a 2001:db8::1",
    "create a hash:ip\nadd a 192.0.2.1 nomatch",
    "create a hash:ip\nadd a 192.0.2.1 timeout x",
    "create a hash:ip\nadd a 192.0.2.9-192.0.2.1",
    "create a hash:ip,port\nadd a 192.0.2.1,nosuch:80",
    "create a hash:mac\nadd a 00:11:22:33:44",
    'create a hash:ip comment\nadd a 192.0.2.1 comment "no end',
]


@pytest.mark.parametrize("text", BAD)
def test_a_bad_line_is_named(text: str) -> None:
    with pytest.raises(InputError, match=rf"^ipset-save.txt:{len(text.splitlines())}: "):
        parse_ipset_save(text)


HASH_CASES = [
    ("hash:mac", f"{MACS[CLIENT]}", "src", "dst"),
    ("hash:ip,mac", f"{CLIENT},{MACS[CLIENT]}", "src,src", "src,dst"),
    ("hash:ip,mac", f"{CLIENT},{MACS[CLIENT]}", "src,src", "dst,src"),
    ("hash:ip,mark markmask 0xff", f"{CLIENT},0x305", "src,src", "dst,dst"),
    ("hash:net,net", "192.0.2.0/24,198.51.100.0/29", "src,dst", "dst,src"),
    ("hash:net,port,net", "192.0.2.0/24,udp:53,198.51.0.0/16", "src,dst,dst", "src,src,dst"),
]


@pytest.mark.parametrize(("kind", "element", "sides", "wrong"), HASH_CASES)
def test_types_that_no_kernel_here_knows(kind: str, element: str, sides: str, wrong: str) -> None:
    """As hash_mac4_kadt, hash_ipmac4_kadt, hash_ipmark4_kadt, hash_netnet4_kadt and hash_netportnet4_kadt read packets."""
    sets = f"create s {kind}\nadd s {element}\n"
    assert matched(sets, f"--match-set s {sides}", mark=0x205) == ("198.51.100.0/29" not in element)
    assert not matched(sets, f"--match-set s {wrong}", mark=0x205)
    assert not matched(f"create s {kind}\n", f"--match-set s {sides}", mark=0x205)


def test_the_longest_pair_of_networks_decides() -> None:
    """mtype_test_cidrs: the first dimension's lengths outside, the second's inside."""
    sets = f"create s hash:net,net\nadd s 192.0.2.0/24,{SERVER}/32\nadd s {CLIENT}/32,198.51.0.0/16 nomatch\n"
    assert not matched(sets, "--match-set s src,dst")
    assert matched(sets, "--match-set s src,dst --return-nomatch")
    assert matched(sets.replace(f"{CLIENT}/32", "192.0.2.11/32"), "--match-set s src,dst")


def test_the_mark_is_masked() -> None:
    sets = f"create s hash:ip,mark markmask 0xff\nadd s {CLIENT},0x305\n"
    assert [matched(sets, "--match-set s src,src", mark=mark) for mark in (5, 0xFF05, 6, 0)] == [True, True, False, False]


def test_commands_change_a_set_that_rules_refer_to() -> None:
    node = node_with("create s hash:ip,port counters\n", "--match-set s src,dst")

    def hit() -> bool:
        before = hits(node)
        node.receive(from_client(TCP(dport=80)), "eth0")
        return hits(node) != before

    assert not hit()
    node.ipset(f"add s {CLIENT},80")
    assert hit()
    node.ipset(f"del s {CLIENT},tcp:80")
    assert not hit()
    node.ipset(f"add s {CLIENT},tcp:79-81 timeout 5")
    assert hit()
    node.ipset("flush s")
    assert not hit()
    with pytest.raises(RulesetError, match="in use"):
        node.ipset("destroy s")
    node.restore("*mangle\nCOMMIT\n")
    node.ipset("destroy s")
    with pytest.raises(RulesetError, match="set s does not exist"):
        node.restore("*mangle\n-A PREROUTING -m set --match-set s src,dst\nCOMMIT\n")


@pytest.mark.parametrize("command", ["", "add", "add nosuch 1", "del s 192.0.2.99", "create s hash:ip", "swap s t", "destroy nosuch"])
def test_bad_commands_are_refused(command: str) -> None:
    node = node_with("create s hash:ip\n")
    with pytest.raises(InputError):
        node.ipset(command)


def test_many_elements_come_and_go() -> None:
    node = node_with("create s hash:ip\n", "--match-set s src")
    node.ipset("add s 192.0.2.0/25")
    node.ipset("add s 10.0.0.0/20")
    node.ipset("del s 10.0.0.0/20")
    node.ipset(f"del s {CLIENT}")
    node.receive(from_client(UDP()), "eth0")
    assert hits(node) == [0]
    node.ipset(f"add s {CLIENT}")
    node.receive(from_client(UDP()), "eth0")
    assert hits(node) == [1]
