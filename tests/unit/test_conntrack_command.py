"""What `conntrack -D` selects, as conntrack-tools 1.4.7 did on this table, and what it refuses."""

import pytest

from datapath.errors import InputError, UnsupportedFeatureError
from datapath.syntax.conntrack_command import parse_conntrack_delete
from datapath.syntax.conntrack_list import parse_conntrack_list

TABLE = parse_conntrack_list("""\
ipv4     2 icmp     1 29 src=192.0.2.2 dst=198.51.100.2 type=8 code=0 id=5 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 type=0 code=0 id=5 mark=0 use=1
ipv4     2 unknown  50 599 src=192.0.2.2 dst=198.51.100.2 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 mark=0 use=1
ipv4     2 tcp      6 119 SYN_SENT src=192.0.2.2 dst=198.51.100.2 sport=1 dport=2 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 sport=2 dport=1 mark=0 use=1
ipv4     2 udp      17 29 src=192.0.2.5 dst=198.51.100.2 sport=1 dport=53 [UNREPLIED] src=198.51.100.2 dst=198.51.100.9 sport=53 dport=4558 mark=0 use=1
ipv4     2 udp      17 29 src=192.0.2.2 dst=198.51.100.2 sport=1 dport=53 [UNREPLIED] src=198.51.100.2 dst=192.0.2.2 sport=53 dport=1 mark=0 use=1
ipv6     10 udp      17 29 src=fd00:1::2 dst=fd00:2::2 sport=1 dport=53 [UNREPLIED] src=fd00:2::2 dst=fd00:1::2 sport=53 dport=1 mark=0 use=1
ipv6     10 tcp      6 119 SYN_SENT src=fd00:1::2 dst=fd00:2::2 sport=1 dport=53 [UNREPLIED] src=fd00:2::2 dst=fd00:1::2 sport=53 dport=1 mark=0 use=1
ipv6     10 icmpv6   58 29 src=fd00:1::2 dst=fd00:2::2 type=128 code=0 id=7 [UNREPLIED] src=fd00:2::2 dst=fd00:1::2 type=129 code=0 id=7 mark=0 use=1
""")  # noqa: E501
ICMP, ESP, TCP, SNAT, UDP, UDP6, TCP6, ICMP6 = range(8)
ALL = set(range(8))


@pytest.mark.parametrize(("options", "selected"), [
    ("", ALL),
    ("-p udp", {SNAT, UDP, UDP6}),
    ("-p UDP -f ipv6", {UDP6}),
    ("-pudp", {SNAT, UDP, UDP6}),
    ("-f ipv6", {UDP6, TCP6, ICMP6}),
    ("-s 192.0.2.0/24", {ICMP, ESP, TCP, SNAT, UDP}),
    ("-s192.0.2.2", {ICMP, ESP, TCP, UDP}),
    ("--src=192.0.2.2", {ICMP, ESP, TCP, UDP}),
    ("-s fd00:1::2", {UDP6, TCP6, ICMP6}),
    ("-d 198.51.100.2 -p tcp --dport 2", {TCP}),
    ("-p tcp --state SYN_SENT", {TCP, TCP6}),
    ("-p tcp --state ESTABLISHED", set()),
    ("-p 50", {ESP}),
    ("-p icmp --icmp-type 8", {ICMP}),
    ("-p icmp --icmp-id 6", set()),
    ("-p icmpv6 --icmpv6-id 7", {ICMP6}),
    ("-n 198.51.100.9", {SNAT}),
    ("--src-nat", {SNAT}),
    ("-n 198.51.100.8", set()),
    ("-g", set()),
    ("-m 0", ALL),
    ("-m 1", set()),
    ("-m 0x0/0xff", ALL),
    ("-w 0", ALL),
    ("-w 1", set()),
    ("--orig-zone 0", ALL),
    ("-u ASSURED", set()),
    ("-u SEEN_REPLY", set()),
    ("-u UNSET", ALL),
    ("-r 198.51.100.2", {ICMP, ESP, TCP, SNAT, UDP}),
    ("-q 198.51.100.9", {SNAT}),
    ("-p udp --reply-port-dst 4558", {SNAT}),
    ("-p tcp --orig-port-src 1", {TCP, TCP6}),
    ("-p udp --orig-dst 198.51.100.2", {SNAT, UDP}),
    ("-p udp --dst 198.51.100.2 --mask-dst 255.255.0.0", {SNAT, UDP}),
    ("-s 192.0.2.99", set()),
    ("-t 5", ALL),
    ("-p udp extra", {SNAT, UDP, UDP6}),
    ("-d 192.0.2.1 -d 198.51.100.2", {ICMP, ESP, TCP, SNAT, UDP}),
    ("-o extended -p dccp --sport 1", set()),
])
def test_selects(options: str, selected: set[int]) -> None:
    wanted = parse_conntrack_delete(options)
    assert {place for place, entry in enumerate(TABLE) if wanted.selects(entry)} == selected


@pytest.mark.parametrize(("options", "message"), [
    ("-j", "Illegal option `--any-nat'"),
    ("--sport 1", "unknown option `--sport'"),
    ("-p udp --state NONE", "unknown option `--state'"),
    ("-p foo", "`foo' unsupported protocol"),
    ("-p 300", "`300' unsupported protocol"),
    ("-s foo", "Invalid IP address `foo'"),
    ("-s=192.0.2.2", "Invalid IP address `=192.0.2.2'"),
    ("-s 192.0.2.2/33", "Invalid netmask"),
    ("--nonsense", "unknown option `--nonsense'"),
    ("-u FOO", "Bad parameter `FOO'"),
    ("-f ipv5", "`ipv5' unsupported protocol"),
    ("-s 192.0.2.2 -f ipv6", "mismatched address family"),
    ("-p", "requires an argument"),
    ("-p tcp --dport 70000", "bad --dport `70000'"),
    ("-p tcp --state OPEN", "unknown state `OPEN'"),
    ("-m x", "bad mark `x'"),
])
def test_refuses(options: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_conntrack_delete(options)


def test_labels_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="--label"):
        parse_conntrack_delete("-l customer")
