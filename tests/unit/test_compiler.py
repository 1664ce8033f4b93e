"""The compiler: hooks that lead to a chain, loops, what a ruleset needs, and the sizes of what it packs."""

from __future__ import annotations

import struct

import pytest

from datapath._core import program_tables
from datapath.compiler import packing, program
from datapath.compiler.chains import hooks_of_chains
from datapath.compiler.program import CompiledTable, compile_ruleset
from datapath.errors import RulesetError, UnsupportedFeatureError
from datapath.syntax.iptables_save import parse_ruleset


def compiled(text: str, family: int = 4) -> CompiledTable:
    (table,) = compile_ruleset(parse_ruleset(text, family, "save.txt")).tables
    return table


def test_packed_structs_have_the_cores_sizes() -> None:
    assert packing.RULE.size == program_tables.RULE_SIZE == 64
    assert packing.WIDE.size == program_tables.WIDE_SIZE
    assert packing.OP.size == program_tables.OP_HEADER_SIZE
    assert program.CHAIN.size == program_tables.CHAIN_SIZE


def test_hooks_of_chains_follow_jumps_and_gotos() -> None:
    ruleset = parse_ruleset(
        "*filter\n:a - [0:0]\n:b - [0:0]\n:c - [0:0]\n:d - [0:0]\n-A INPUT -j a\n-A OUTPUT -g b\n-A a -j b\n-A d -j c\n"
        "-A FORWARD -j ACCEPT\nCOMMIT\n")
    assert hooks_of_chains(ruleset.tables["filter"], None) == {
        "INPUT": {"INPUT"}, "FORWARD": {"FORWARD"}, "OUTPUT": {"OUTPUT"}, "a": {"INPUT"}, "b": {"INPUT", "OUTPUT"}, "c": set(), "d": set(),
    }


def test_a_deep_ladder_of_chains_is_no_loop() -> None:
    n = 3000
    lines = [f":c{i} - [0:0]" for i in range(n)] + ["-A INPUT -j c0"]
    for i in range(n - 1):
        lines += [f"-A c{i} -j c{i + 1}", f"-A c{i} -g c{i + 1}"]
    assert len(compiled("*filter\n" + "\n".join(lines) + "\nCOMMIT\n").rules) == 64 * (2 * n - 1)


def test_a_loop_is_named_with_its_line() -> None:
    with pytest.raises(RulesetError, match=r"^save\.txt:7: loop between chains of table filter: b -> c -> b$"):
        compiled("*filter\n:a - [0:0]\n:b - [0:0]\n:c - [0:0]\n-A INPUT -j b\n-A b -j c\n-A c -g b\nCOMMIT\n")


@pytest.mark.parametrize(("text", "needs"), [
    pytest.param("*filter\n-A INPUT -j DROP\nCOMMIT\n", 0, id="filter rules alone"),
    pytest.param("*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n", program.NEED_NAT, id="an empty nat table does not switch conntrack on"),
    pytest.param("*nat\n-A PREROUTING -p udp -j ACCEPT\nCOMMIT\n", program.NEED_NAT, id="nor do rules that translate nothing"),
    pytest.param("*nat\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n", program.NEED_CONNTRACK | program.NEED_NAT, id="a NAT target"),
    pytest.param("*filter\n:a - [0:0]\n-A a -m conntrack --ctstate NEW\nCOMMIT\n", program.NEED_CONNTRACK,
                 id="a match in a chain that nothing refers to"),
    pytest.param("*filter\n-A INPUT -m state --state NEW\nCOMMIT\n", program.NEED_CONNTRACK, id="state"),
    pytest.param("*raw\n-A PREROUTING -j CT --notrack\nCOMMIT\n", 0, id="CT --notrack alone"),
    pytest.param("*mangle\n-A PREROUTING -j CONNMARK --restore-mark\nCOMMIT\n", program.NEED_CONNTRACK, id="CONNMARK"),
])
def test_what_a_table_needs(text: str, needs: int) -> None:
    assert compiled(text).needs == needs


@pytest.mark.parametrize(("line", "ports"), [
    ("-p tcp -m tcp --dport 80", (80, 80)),
    ("-p udp -m udp --sport 5 --dport 53", (53, 53)),
    ("-p tcp -m comment --comment x -m conntrack --ctstate NEW -m tcp --dport 80", (80, 80)),
    ("-p tcp -m tcp --dport 80:81", (80, 81)),
    ("-p tcp -m tcp ! --dport 80", (0, 65535)),
    ("-p tcp", (0, 65535)),
    ("-p sctp -m sctp --dport 80", (0, 65535)),
    # A counter in front counts packets to other ports too.
    ("-p tcp -m statistic --mode nth --every 2 --packet 0 -m tcp --dport 80", (0, 65535)),
    ("-p tcp -m limit --limit 1/sec -m tcp --dport 80", (0, 65535)),
    ("-p tcp -m tcp --dport 80 -m limit --limit 1/sec", (80, 80)),
])
def test_a_rule_is_passed_over_by_its_port_only_where_nothing_is_skipped(line: str, ports: tuple[int, int]) -> None:
    assert packing.RULE.unpack(compiled(f"*filter\n-A INPUT {line}\nCOMMIT\n").rules)[-2:] == ports


def test_addresses_and_interfaces_are_packed_as_linux_compares_them() -> None:
    table = compiled("*filter\n-A FORWARD -s 192.0.2.7/24 ! -i eth0 -o wg+ -p 6\nCOMMIT\n")
    fields = packing.RULE.unpack(table.rules)
    assert fields[0] == bytes([192, 0, 2, 0, 255, 255, 255, 0]) + bytes(8)
    assert fields[3:7] == (1, 2, 6, packing.NOT_IN)
    assert table.interfaces[32:64] == b"eth0".ljust(16, b"\0") + (b"\xff" * 5).ljust(16, b"\0")
    assert table.interfaces[64:96] == b"wg".ljust(16, b"\0") + (b"\xff" * 2).ljust(16, b"\0")


def test_ipv6_addresses_stand_in_full_beside_the_rule() -> None:
    table = compiled("*filter\n-A FORWARD -s 2001:db8::/32 ! -d 2001:db8::1/128\nCOMMIT\n", 6)
    source, source_mask, destination, destination_mask, negations = packing.WIDE.unpack(table.wide[packing.WIDE.size:])
    assert (source, source_mask) == (bytes.fromhex("20010db8") + bytes(12), b"\xff" * 4 + bytes(12))
    assert (destination, destination_mask) == (bytes.fromhex("20010db8") + bytes(11) + b"\1", b"\xff" * 16)
    assert negations == packing.NOT_DESTINATION
    # The quick check looks at the last word, and leaves what is negated to the full comparison.
    assert struct.unpack_from("<4I", table.rules) == (0, 0, 0, 0)


@pytest.mark.parametrize("how", ["-j", "-g"])
def test_a_base_chain_is_no_target(how: str) -> None:
    with pytest.raises(RulesetError, match=r"^save\.txt:3: chain FORWARD of table filter jumps to INPUT: a base chain is no target$"):
        compiled(f"*filter\n:INPUT ACCEPT [0:0]\n-A FORWARD {how} INPUT\nCOMMIT\n")


def test_more_matches_than_a_rule_can_hold_are_refused() -> None:
    compiled(f"*filter\n-A FORWARD {'-m mark --mark 1 ' * 255}-j DROP\nCOMMIT\n")
    with pytest.raises(UnsupportedFeatureError, match=r"^save\.txt:2: a rule of 256 matches is not emulated"):
        compiled(f"*filter\n-A FORWARD {'-m mark --mark 1 ' * 256}-j DROP\nCOMMIT\n")
