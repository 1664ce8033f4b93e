"""Rules with every match and every option, as iptables-save (legacy, 1.8.9) prints them, and other spellings of them.

A line stands for `-A INPUT LINE` in the filter table unless it names another chain or begins with `-t TABLE`. The
tests in tests/kernel compare them with what the tools print; those in tests/unit need no tool. `SPELLINGS` maps
what a person may write to what iptables-save makes of it. `REFUSED` holds lines that iptables or Linux refuses.
"""

from __future__ import annotations

SETS = "create ports bitmap:port range 0-65535 counters\ncreate members list:set counters\n"      # that the rules refer to

MATCHES: dict[str, tuple[str, ...]] = {     # IPv4 and IPv6
    "tcp": (
        "-p tcp -m tcp --dport 80",
        "-p tcp -m tcp ! --sport 1024:65535 --dport 0:79",
        "-p tcp -m tcp --sport 53",
        "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN",
        "-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN",
        "-p tcp -m tcp --tcp-flags FIN,SYN,RST,PSH,ACK,URG NONE",
        "-p tcp -m tcp --tcp-option 8",
        "-p tcp -m tcp ! --tcp-option 2",
        "-p tcp -m tcp",
        "-p tcp -m tcp --sport 1:2 ! --dport 3:4 --tcp-option 4 --tcp-flags SYN SYN",
        "-p tcp -m tcp --tcp-flags FIN,SYN,RST,PSH,ACK,URG FIN,URG",
        "-p tcp -m tcp --sport 0:1023 --dport 1024:65535",
    ),
    "udp": (
        "-p udp -m udp --dport 53",
        "-p udp -m udp ! --sport 53 ! --dport 1024:65535",
        "-p udp -m udp --sport 0:1023",
        "-p udp -m udp ! --dport 9:8",
        "-p udp -m udp",
    ),
    "sctp": (
        "-p sctp -m sctp --dport 5060",
        "-p sctp -m sctp ! --dport 5060",
        "-p sctp -m sctp ! --sport 1:2 --dport 0:65535",
        "-p sctp -m sctp --chunk-types any DATA,INIT",
        "-p sctp -m sctp ! --chunk-types all INIT_ACK,SACK",
        "-p sctp -m sctp --chunk-types only ALL",
        "-p sctp -m sctp --chunk-types any NONE",
        "-p sctp -m sctp --chunk-types any DATA:Be,ABORT:T",
        "-p sctp -m sctp --chunk-types all I_DATA,ASCONF",
        "-p sctp -m sctp --dport 1 --chunk-types any DATA:UBE",
        "-p sctp -m sctp",
    ),
    "dccp": (
        "-p dccp -m dccp --dport 5001",
        "-p dccp -m dccp --dport 9:8",
        "-p dccp -m dccp ! --sport 1:2 ! --dport 3",
        "-p dccp -m dccp --dccp-types REQUEST,DATA",
        "-p dccp -m dccp ! --dccp-types INVALID",
        "-p dccp -m dccp --dccp-option 1",
        "-p dccp -m dccp ! --dccp-option 255",
        "-p dccp -m dccp",
        "-p dccp -m dccp --dccp-types REQUEST,RESPONSE,ACK,DATAACK,CLOSEREQ,CLOSE,RESET,SYNC,SYNCACK,INVALID",
    ),
    "addrtype": (
        "-m addrtype --dst-type LOCAL",
        "-m addrtype ! --src-type UNICAST --dst-type MULTICAST",
        "-m addrtype --src-type LOCAL ! --dst-type LOCAL",
        "-A FORWARD -m addrtype --src-type UNICAST --limit-iface-in",
        "-A FORWARD -m addrtype --dst-type UNICAST,LOCAL --limit-iface-out",
        "-m addrtype --dst-type UNSPEC,UNREACHABLE",
        "-m addrtype --src-type LOCAL",
        "-m addrtype --dst-type ANYCAST --limit-iface-in",
    ),
    "comment": (
        "-m comment --comment plain",
        '-m comment --comment "two words"',
        '-m comment --comment "a \\"quoted\\" \\\\ it\\\'s"',
        "-m comment --comment with-dash_1",
        '-m comment --comment ""',
        '-m comment --comment "dot."',
        "-m comment --comment x -m comment --comment y",
    ),
    "connbytes": (
        "-m connbytes --connbytes 5:10 --connbytes-mode packets --connbytes-dir original",
        "-m connbytes ! --connbytes 0:1000 --connbytes-mode bytes --connbytes-dir reply",
        "-m connbytes --connbytes 100 --connbytes-mode avgpkt --connbytes-dir both",
        "-m connbytes --connbytes 0:7 --connbytes-mode packets --connbytes-dir both",
        "-m connbytes --connbytes 7 --connbytes-mode packets --connbytes-dir both",
        "-m connbytes --connbytes 5:5 --connbytes-mode packets --connbytes-dir both",
        "-m connbytes ! --connbytes 5 --connbytes-mode packets --connbytes-dir both",
    ),
    "connmark": (
        "-m connmark --mark 0x1",
        "-m connmark ! --mark 0x10/0xff",
        "-m connmark --mark 0x0",
        "-m connmark --mark 0xa/0x0",
        "-m connmark --mark 0xff/0xf",
    ),
    "conntrack": (
        "-m conntrack --ctstate NEW",
        "-m conntrack ! --ctstate RELATED,ESTABLISHED",
        "-m conntrack --ctstate INVALID,NEW,RELATED,ESTABLISHED,UNTRACKED,SNAT,DNAT",
        "-m conntrack --ctproto 6",
        "-m conntrack ! --ctorigsrcport 7 ! --ctreplsrcport 8 ! --ctrepldstport 9:10",
        "-m conntrack ! --ctproto 17",
        "-m conntrack --ctorigsrcport 1024:65535 ! --ctorigdstport 80 --ctreplsrcport 53 --ctrepldstport 1:2",
        "-m conntrack --ctstatus NONE",
        "-m conntrack ! --ctstatus EXPECTED,SEEN_REPLY,ASSURED,CONFIRMED",
        "-m conntrack --ctexpire 10",
        "-m conntrack ! --ctexpire 5:600",
        "-m conntrack --ctdir ORIGINAL",
        "-m conntrack --ctdir REPLY",
        "-m conntrack --ctstate ESTABLISHED --ctproto 17 --ctdir REPLY",
        "-m conntrack --ctstate RELATED,ESTABLISHED",
        "-m conntrack --ctexpire 0:7",
        "-m conntrack --ctexpire 7:4294967295",
        "-m conntrack --ctorigdstport 0:7 --ctreplsrcport 7:65535",
        "-m conntrack --ctorigdstport 0",
        "-m conntrack --ctstatus ASSURED",
        "-m conntrack --ctorigdstport 9:7",
    ),
    "set": (
        "-m set --match-set ports dst",
        "-m set ! --match-set ports src",
        "-m set --match-set members src,dst,src",
        "-m set --match-set members dst,dst --return-nomatch",
        "-m set ! --match-set ports dst ! --update-counters",
        "-m set --match-set members src ! --update-counters ! --update-subcounters",
        "-m set --match-set ports dst --packets-eq 3 ! --bytes-eq 5",
        "-m set --match-set ports dst ! --packets-eq 3 --bytes-eq 5",
        "-m set --match-set ports dst --packets-lt 3 --bytes-gt 5",
        "-m set --match-set ports dst --packets-gt 3 --bytes-lt 5",
    ),
    "state": (
        "-m state --state NEW",
        "-m state ! --state INVALID",
        "-m state --state RELATED,ESTABLISHED",
        "-m state --state UNTRACKED",
        "-m state --state NEW,ESTABLISHED",
        "-m state --state RELATED,ESTABLISHED -m state --state NEW",
    ),
    "dscp": (
        "-m dscp --dscp 0x2e",
        "-m dscp ! --dscp 0x00",
        "-m dscp ! --dscp 0x22",
        "-m dscp --dscp 0x3f",
        "-m dscp --dscp 0x08",
        "-m dscp --dscp 0x00",
    ),
    "ecn": (
        "-p tcp -m ecn --ecn-tcp-cwr",
        "-p tcp -m ecn ! --ecn-tcp-ece --ecn-tcp-cwr",
        "-m ecn --ecn-ip-ect 0",
        "-m ecn ! --ecn-ip-ect 3",
        "-p tcp -m ecn --ecn-tcp-ece ! --ecn-tcp-cwr ! --ecn-ip-ect 1",
    ),
    "esp": (
        "-p esp -m esp --espspi 500",
        "-p esp -m esp ! --espspi 1:100",
        "-p esp -m esp",
        "-p esp -m esp --espspi 16:4294967295",
    ),
    "length": (
        "-m length --length 100",
        "-m length ! --length 0:84",
        "-m length --length 1000:65535",
        "-m length --length 0:99",
        "-m length --length 99:65535",
        "-m length --length 9:7",
        "-m length --length 0",
    ),
    "limit": (
        "-m limit --limit 3/hour",
        "-m limit --limit 10/min --limit-burst 7",
        "-m limit --limit 1000/sec",
        "-m limit --limit 7/sec --limit-burst 100",
        "-m limit --limit 3/hour --limit-burst 9",
        "-m limit --limit 61/min",
        "-m limit --limit 3333/sec",
        "-m limit --limit 10000/sec",
        "-m limit --limit 25/hour",
        "-m limit --limit 5/sec",
        "-m limit --limit 40/min",
    ),
    "mac": (
        "-m mac --mac-source 02:00:00:00:00:0a",
        "-m mac ! --mac-source ff:ee:00:00:00:01",
    ),
    "mark": (
        "-m mark --mark 0x1",
        "-m mark ! --mark 0x4000/0x4000",
        "-m mark --mark 0x0",
        "-m mark --mark 0x10/0xf0",
        "-m mark --mark 0xff/0xf",
        "-m mark --mark 0x8",
        "-m mark ! --mark 0x1",
    ),
    "multiport": (
        "-p tcp -m multiport --dports 22,80,443",
        "-p tcp -m multiport ! --dports 22",
        "-p udp -m multiport ! --sports 53,1024:65535",
        "-p tcp -m multiport --ports 80,8000:8080",
        "-p sctp -m multiport --dports 1",
        "-p dccp -m multiport ! --ports 1:2",
        "-p udplite -m multiport --sports 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "-p tcp -m multiport --dports 1:2,3:4,5:6,7:8,9:10,11:12,13:14,15",
        "-p tcp -m multiport --dports 80,443",
        "-p tcp -m multiport --sports 80",
    ),
    "owner": (
        "-A OUTPUT -m owner --uid-owner 0",
        "-A OUTPUT -m owner ! --uid-owner 1000-1999",
        "-A OUTPUT -m owner --gid-owner 0",
        "-A OUTPUT -m owner ! --gid-owner 5-6",
        "-A OUTPUT -m owner --socket-exists",
        "-A OUTPUT -m owner ! --socket-exists",
        "-A OUTPUT -m owner --uid-owner 7 --gid-owner 8 --suppl-groups",
        "-A OUTPUT -m owner --uid-owner 0 --gid-owner 0",
        "-A OUTPUT -m owner --uid-owner 1-2",
    ),
    "pkttype": (
        "-m pkttype --pkt-type unicast",
        "-m pkttype ! --pkt-type broadcast",
        "-m pkttype --pkt-type multicast",
        "-m pkttype --pkt-type otherhost",
        "-m pkttype --pkt-type broadcast",
    ),
    "quota": (
        "-m quota --quota 1000",
        "-m quota ! --quota 0",
        "-m quota --quota 18446744073709551615",
    ),
    "rpfilter": (
        "-t raw -A PREROUTING -m rpfilter",
        "-t mangle -A PREROUTING -m rpfilter --invert",
        "-t raw -A PREROUTING -m rpfilter --loose --validmark --accept-local --invert",
        "-t raw -A PREROUTING -m rpfilter --loose --accept-local",
    ),
    "statistic": (
        "-m statistic --mode random --probability 0.50000000000",
        "-m statistic --mode random ! --probability 0.33333333349",
        "-m statistic --mode nth --every 3 --packet 0",
        "-m statistic --mode nth ! --every 10 --packet 9",
        "-m statistic --mode random --probability 0.00000000047",
        "-m statistic --mode random --probability 1.00000000000",
        "-m statistic --mode random --probability 0.00000000000",
        "-m statistic --mode random --probability 0.10000000009",
        "-m statistic --mode nth --every 1 --packet 0",
        "-m statistic --mode random --probability 0.00100000016",
    ),
    "tos": (
        "-m tos --tos 0x10/0xff",
        "-m tos ! --tos 0x00/0x1e",
        "-m tos --tos 0x10/0x3f",
        "-m tos --tos 0xff/0x03",
        "-m tos --tos 0x00/0x3f",
        "-m tos --tos 0xff/0x0f",
    ),
}

MATCHES_IPV4: dict[str, tuple[str, ...]] = {
    "icmp": (
        "-p icmp -m icmp --icmp-type 8",
        "-p icmp -m icmp ! --icmp-type 3/1",
        "-p icmp -m icmp --icmp-type any",
        "-p icmp -m icmp --icmp-type 3/3",
        "-p icmp -m icmp --icmp-type 3/1",
        "-p icmp -m icmp ! --icmp-type any",
        "-p icmp -m icmp --icmp-type 5/0",
        "-p icmp -m icmp --icmp-type 11",
    ),
    "addrtype": (
        "-m addrtype --dst-type BROADCAST,MULTICAST",
        "-m addrtype ! --src-type BLACKHOLE,PROHIBIT,THROW,NAT,XRESOLVE",
    ),
    "ah": (
        "-p ah -m ah --ahspi 500",
        "-p ah -m ah ! --ahspi 1:100",
        "-p ah -m ah",
    ),
    "conntrack": (
        "-m conntrack --ctorigsrc 192.0.2.0/24",
        "-m conntrack ! --ctreplsrc 192.0.2.8/29 ! --ctrepldst 192.0.2.7",
        "-m conntrack ! --ctorigdst 192.0.2.1",
        "-m conntrack --ctreplsrc 192.0.2.5",
        "-m conntrack ! --ctorigsrc 192.0.2.9/30 --ctrepldst 198.51.100.7",
        "-m conntrack --ctorigsrc 0.0.0.0/0",
    ),
    "iprange": (
        "-m iprange --src-range 192.0.2.1-192.0.2.9",
        "-m iprange ! --src-range 192.0.2.1-192.0.2.1 --dst-range 198.51.100.0-198.51.100.255",
        "-m iprange ! --dst-range 192.0.2.9-192.0.2.1",
        "-m iprange --src-range 192.0.2.7-192.0.2.7",
    ),
    "ttl": (
        "-m ttl --ttl-eq 64",
        "-m ttl ! --ttl-eq 1",
        "-m ttl --ttl-lt 5",
        "-m ttl --ttl-gt 200",
    ),
    "recent": (
        "-m recent --set --name DEFAULT --mask 255.255.255.255 --rsource",
        "-m recent ! --set --name DEFAULT --mask 255.255.255.255 --rdest",
        "-m recent ! --remove --name DEFAULT --mask 255.255.255.255 --rsource",
        "-m recent --rcheck --seconds 60 --hitcount 4 --name ssh --mask 255.255.255.255 --rsource",
        "-m recent ! --update --seconds 10 --reap --hitcount 3 --rttl --name l2 --mask 255.255.255.0 --rdest",
        "-m recent --remove --name l2 --mask 255.255.255.0 --rsource",
        "-m recent --update --name foo --mask 255.255.255.255 --rsource",
        "-m recent ! --rcheck --name foo --mask 255.255.255.255 --rsource",
    ),
}

MATCHES_IPV6: dict[str, tuple[str, ...]] = {
    "icmp6": (
        "-p ipv6-icmp -m icmp6 --icmpv6-type 128",
        "-p ipv6-icmp -m icmp6 ! --icmpv6-type 1/4",
        "-p ipv6-icmp -m icmp6 --icmpv6-type 2",
        "-p ipv6-icmp -m icmp6 --icmpv6-type 135",
        "-p ipv6-icmp -m icmp6 --icmpv6-type 129",
        "-p ipv6-icmp -m icmp6 --icmpv6-type 1/0",
        "-p ipv6-icmp -m icmp6 --icmpv6-type 3/0",
        "-p ipv6-icmp -m icmp6 --icmpv6-type 255",
    ),
    "ah": (
        "-m ah --ahspi 500",
        "-m ah ! --ahspi 1:100 ! --ahlen 32 --ahres",
        "-m ah --ahlen 24",
        "-m ah",
    ),
    "conntrack": (
        "-m conntrack --ctorigsrc 2001:db8::/32",
        "-m conntrack ! --ctorigsrc ::1 ! --ctreplsrc 2001:db8::/33 ! --ctrepldst 2001:db8::7",
        "-m conntrack ! --ctorigdst 2001:db8::1",
        "-m conntrack --ctreplsrc 2001:db8::1",
        "-m conntrack --ctrepldst 2001:db8::5/64",
    ),
    "dst": (
        "-m dst",
        "-m dst --dst-len 16",
        "-m dst ! --dst-len 8 --dst-opts 1,5:2",
        "-m dst --dst-opts 0,1:0,255:7",
    ),
    "hbh": (
        "-m hbh",
        "-m hbh --hbh-len 8",
        "-m hbh ! --hbh-len 16 --hbh-opts 5,1:4",
        "-m hbh --hbh-opts 0,1",
        "-m hbh --hbh-opts 5,44:1",
    ),
    "frag": (
        "-m frag",
        "-m frag --fragid 7",
        "-m frag ! --fragid 1:9 --fraglen 8 --fragres --fragfirst --fragmore",
        "-m frag --fraglast",
        "-m frag --fragid 5 ! --fraglen 1",
        "-m frag --fragid 0:9",
    ),
    "rt": (
        "-m rt",
        "-m rt --rt-type 2",
        "-m rt ! --rt-type 1 ! --rt-segsleft 0:3 ! --rt-len 24",
        "-m rt --rt-type 0 --rt-0-res --rt-0-addrs 2001:db8::1,2001:db8::2 --rt-0-not-strict",
        "-m rt --rt-type 0 --rt-0-addrs ::1",
        "-m rt --rt-segsleft 1",
        "-m rt --rt-type 0 --rt-len 40 --rt-0-res",
    ),
    "ipv6header": (
        "-m ipv6header --header ipv6-frag",
        "-m ipv6header ! --header hop-by-hop,ipv6-opts --soft",
        "-m ipv6header --header hop-by-hop,ipv6-opts,ipv6-route,ipv6-frag,ah,esp,ipv6-nonxt,protocol --soft",
        "-m ipv6header --header ipv6-nonxt",
        "-m ipv6header --header ipv6-opts,ipv6-route,ipv6-frag,ah,esp,ipv6-nonxt",
        "-m ipv6header --header hop-by-hop,ah",
    ),
    "hl": (
        "-m hl --hl-eq 64",
        "-m hl ! --hl-eq 1",
        "-m hl --hl-lt 5",
        "-m hl --hl-gt 200",
    ),
    "iprange": (
        "-m iprange --src-range 2001:db8::1-2001:db8::9",
        "-m iprange ! --src-range 2001:db8::1-2001:db8::9",
        "-m iprange ! --dst-range 2001:db8::1-2001:db8::1",
        "-m iprange --src-range ::1-::2 ! --dst-range fd00::-fd00::ffff",
    ),
    "recent": (
        "-m recent --set --name DEFAULT --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource",
        "-m recent ! --set --name DEFAULT --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rdest",
        "-m recent ! --remove --name DEFAULT --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource",
        "-m recent ! --rcheck --seconds 60 --reap --hitcount 4 --name v6 --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource",
        "-m recent ! --update --hitcount 4 --rttl --name v6 --mask ffff:: --rsource",
        "-m recent --update --seconds 5 --name v6 --mask ffff:ffff:ffff:ffff:: --rdest",
    ),
}

SPELLINGS: dict[str, str] = {       # IPv4 and IPv6
    "-m set --set ports dst":
        "-m set --match-set ports dst",
    "-m set --match-set ports dst --update-counters --update-subcounters":
        "-m set --match-set ports dst",
    "-m set --match-set members srcx,dsty":
        "-m set --match-set members src,dst",
    "-p udp -m udp --dport 70000":
        "-p udp -m udp --dport 4464",
    "-p udp -m udp --sport :":
        "-p udp -m udp",
    "-m conntrack --ctorigsrcport 70000":
        "-m conntrack --ctorigsrcport 4464",
    "-m conntrack --ctreplsrcport 080 --ctorigdstport www":
        "-m conntrack --ctorigdstport 80 --ctreplsrcport 80",
    "-p tcp -m tcp --sport 1:2 ! --dport 3:4 --tcp-flags SYN SYN --tcp-option 4":
        "-p tcp -m tcp --sport 1:2 ! --dport 3:4 --tcp-option 4 --tcp-flags SYN SYN",
    "-p tcp -m tcp --syn":
        "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN",
    "-p tcp -m tcp ! --syn":
        "-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN",
    "-p tcp -m tcp --tcp-flags ALL FIN,URG":
        "-p tcp -m tcp --tcp-flags FIN,SYN,RST,PSH,ACK,URG FIN,URG",
    "-p tcp -m tcp --dport http":
        "-p tcp -m tcp --dport 80",
    "-p tcp -m tcp --sport :1023 --dport 1024:":
        "-p tcp -m tcp --sport 0:1023 --dport 1024:65535",
    "-p udp -m udp --dport domain":
        "-p udp -m udp --dport 53",
    "-p sctp -m sctp --chunk-types all I_DATA:B,ASCONF":
        "-p sctp -m sctp --chunk-types all I_DATA,ASCONF",
    "-p sctp -m sctp --dport 1 --chunk-types ANY data:UBE":
        "-p sctp -m sctp --dport 1 --chunk-types any DATA:UBE",
    "-p dccp -m dccp --dccp-types request,RESPONSE,ack,dataack,closereq,close,reset,sync,syncack,invalid":
        "-p dccp -m dccp --dccp-types REQUEST,RESPONSE,ACK,DATAACK,CLOSEREQ,CLOSE,RESET,SYNC,SYNCACK,INVALID",
    "-m addrtype --src-type l":
        "-m addrtype --src-type LOCAL",
    "-m connbytes --connbytes :7 --connbytes-mode packets --connbytes-dir both":
        "-m connbytes --connbytes 0:7 --connbytes-mode packets --connbytes-dir both",
    "-m connbytes --connbytes 7: --connbytes-mode packets --connbytes-dir both":
        "-m connbytes --connbytes 7 --connbytes-mode packets --connbytes-dir both",
    "-m connbytes ! --connbytes 5:5 --connbytes-mode packets --connbytes-dir both":
        "-m connbytes --connbytes 5:5 --connbytes-mode packets --connbytes-dir both",
    "-m connmark --mark 10/0":
        "-m connmark --mark 0xa/0x0",
    "-m conntrack ! --ctproto udp":
        "-m conntrack ! --ctproto 17",
    "-m conntrack --ctstate ESTABLISHED --ctproto 17 --ctdir reply":
        "-m conntrack --ctstate ESTABLISHED --ctproto 17 --ctdir REPLY",
    "-m conntrack --ctstate E,R":
        "-m conntrack --ctstate RELATED,ESTABLISHED",
    "-m conntrack --ctexpire :7":
        "-m conntrack --ctexpire 0:7",
    "-m conntrack --ctexpire 7:":
        "-m conntrack --ctexpire 7:4294967295",
    "-m conntrack --ctorigdstport :7 --ctreplsrcport 7:":
        "-m conntrack --ctorigdstport 0:7 --ctreplsrcport 7:65535",
    "-m conntrack --ctorigdstport 0:0":
        "-m conntrack --ctorigdstport 0",
    "-m conntrack --ctstatus NONE,ASSURED":
        "-m conntrack --ctstatus ASSURED",
    "-m state --state established,NEW":
        "-m state --state NEW,ESTABLISHED",
    "-m dscp --dscp-class EF":
        "-m dscp --dscp 0x2e",
    "-m dscp ! --dscp-class AF41":
        "-m dscp ! --dscp 0x22",
    "-m dscp --dscp 63":
        "-m dscp --dscp 0x3f",
    "-m dscp --dscp-class cs1":
        "-m dscp --dscp 0x08",
    "-m dscp --dscp-class be":
        "-m dscp --dscp 0x00",
    "-m dscp --dscp-class EFG":
        "-m dscp --dscp 0x2e",
    "-p esp -m esp --espspi 0:4294967295":
        "-p esp -m esp",
    "-p esp -m esp --espspi 0x10:":
        "-p esp -m esp --espspi 16:4294967295",
    "-m length --length :99":
        "-m length --length 0:99",
    "-m length --length 99:":
        "-m length --length 99:65535",
    "-m limit --limit 7/second --limit-burst 100":
        "-m limit --limit 7/sec --limit-burst 100",
    "-m limit --limit-burst 9":
        "-m limit --limit 3/hour --limit-burst 9",
    "-m limit":
        "-m limit --limit 3/hour",
    "-m limit --limit 3000/sec":
        "-m limit --limit 3333/sec",
    "-m limit --limit 9999/s":
        "-m limit --limit 10000/sec",
    "-m limit --limit 5":
        "-m limit --limit 5/sec",
    "-m limit --limit 10000":
        "-m limit --limit 10000/sec",
    "-m limit --limit 40/m":
        "-m limit --limit 40/min",
    "-m mac ! --mac-source FF:ee:00:00:00:01":
        "-m mac ! --mac-source ff:ee:00:00:00:01",
    "-m mac --mac-source 2:0:0:0:0:a":
        "-m mac --mac-source 02:00:00:00:00:0a",
    "-m mark --mark 16/0xf0":
        "-m mark --mark 0x10/0xf0",
    "-m mark --mark 010":
        "-m mark --mark 0x8",
    "-p tcp -m multiport --destination-ports http,https":
        "-p tcp -m multiport --dports 80,443",
    "-p tcp -m multiport --source-ports 80":
        "-p tcp -m multiport --sports 80",
    "-A OUTPUT -m owner --uid-owner root --gid-owner root":
        "-A OUTPUT -m owner --uid-owner 0 --gid-owner 0",
    "-A OUTPUT -m owner --uid-owner 1:2":
        "-A OUTPUT -m owner --uid-owner 1-2",
    "-m pkttype --pkt-type host":
        "-m pkttype --pkt-type unicast",
    "-m pkttype --pkt-type bcast":
        "-m pkttype --pkt-type broadcast",
    "-m pkttype --pkt-type MCAST":
        "-m pkttype --pkt-type multicast",
    "-t raw -A PREROUTING -m rpfilter --accept-local --loose":
        "-A PREROUTING -m rpfilter --loose --accept-local",
    "-m statistic --mode random --probability 0.5":
        "-m statistic --mode random --probability 0.50000000000",
    "-m statistic --mode random --probability 1":
        "-m statistic --mode random --probability 1.00000000000",
    "-m statistic --mode random --probability 0":
        "-m statistic --mode random --probability 0.00000000000",
    "-m statistic --mode random --probability 0.1":
        "-m statistic --mode random --probability 0.10000000009",
    "-m statistic --mode random --probability 1e-3":
        "-m statistic --mode random --probability 0.00100000016",
    "-m tos --tos Minimize-Delay":
        "-m tos --tos 0x10/0x3f",
    "-m tos --tos 0x10":
        "-m tos --tos 0x10/0xff",
    "-m tos --tos 255/3":
        "-m tos --tos 0xff/0x03",
    "-m tos --tos normal-service":
        "-m tos --tos 0x00/0x3f",
}

SPELLINGS_IPV4: dict[str, str] = {
    "-m conntrack --ctorigsrc 192.0.2.1/33":
        "-m conntrack --ctorigsrc 192.0.2.1",
    "-m conntrack --ctorigsrc 192.0.2.9/255.255.255.0":
        "-m conntrack --ctorigsrc 192.0.2.9/24",
    "-p icmp -m icmp --icmp-type echo-request":
        "-p icmp -m icmp --icmp-type 8",
    "-p icmp -m icmp --icmp-type port-unreachable":
        "-p icmp -m icmp --icmp-type 3/3",
    "-p icmp -m icmp --icmp-type 3/1:5":
        "-p icmp -m icmp --icmp-type 3/1",
    "-p icmp -m icmp --icmp-type 255":
        "-p icmp -m icmp --icmp-type any",
    "-p icmp -m icmp --icmp-type PING":
        "-p icmp -m icmp --icmp-type 8",
    "-p icmp -m icmp --icmp-type 8/0:255":
        "-p icmp -m icmp --icmp-type 8",
    "-p icmp -m icmp --icmp-type ttl-exc":
        "-p icmp -m icmp --icmp-type 11",
    "-p icmp -m icmp ! --icmp-type 255/3":
        "-p icmp -m icmp ! --icmp-type any",
    "-p icmp -m icmp --icmp-type 3:3/1":
        "-p icmp -m icmp --icmp-type 3/1",
    "-p ah -m ah --ahspi 0:":
        "-p ah -m ah",
    "-m conntrack --ctreplsrc 192.0.2.5/255.0.255.0":
        "-m conntrack --ctreplsrc 192.0.2.5",
    "-m conntrack --ctrepldst 198.51.100.7/32 ! --ctorigsrc 192.0.2.9/30":
        "-m conntrack ! --ctorigsrc 192.0.2.9/30 --ctrepldst 198.51.100.7",
    "-m iprange --src-range 192.0.2.7":
        "-m iprange --src-range 192.0.2.7-192.0.2.7",
    "-m ttl --ttl 64":
        "-m ttl --ttl-eq 64",
    "-m recent --set":
        "-m recent --set --name DEFAULT --mask 255.255.255.255 --rsource",
    "-m recent --update --name foo --rdest --rsource":
        "-m recent --update --name foo --mask 255.255.255.255 --rsource",
    "-m recent ! --rcheck --name foo":
        "-m recent ! --rcheck --name foo --mask 255.255.255.255 --rsource",
}

SPELLINGS_IPV6: dict[str, str] = {
    "-p ipv6-icmp -m icmp6 --icmpv6-type packet-too-big":
        "-p ipv6-icmp -m icmp6 --icmpv6-type 2",
    "-p ipv6-icmp -m icmp6 --icmpv6-type neighbor-solicitation":
        "-p ipv6-icmp -m icmp6 --icmpv6-type 135",
    "-p icmpv6 -m icmp6 --icmpv6-type echo-reply":
        "-p ipv6-icmp -m icmp6 --icmpv6-type 129",
    "-p icmpv6 -m icmpv6 --icmpv6-type 1/0":
        "-p ipv6-icmp -m icmp6 --icmpv6-type 1/0",
    "-p ipv6-icmp -m icmp6 --icmpv6-type 3/0:1":
        "-p ipv6-icmp -m icmp6 --icmpv6-type 3/0",
    "-m conntrack --ctreplsrc 2001:db8::1/ffff:0:ffff::":
        "-m conntrack --ctreplsrc 2001:db8::1",
    "-m hbh --hbh-opts 5:255,300:257":
        "-m hbh --hbh-opts 5,44:1",
    "-m frag --fragid :9":
        "-m frag --fragid 0:9",
    "-m frag --fragid 0:":
        "-m frag",
    "-m ipv6header --header frag":
        "-m ipv6header --header ipv6-frag",
    "-m ipv6header ! --header hop-by-hop,dst --soft":
        "-m ipv6header ! --header hop-by-hop,ipv6-opts --soft",
    "-m ipv6header --header hop,60,43,44,51,50,59,prot --soft":
        "-m ipv6header --header hop-by-hop,ipv6-opts,ipv6-route,ipv6-frag,ah,esp,ipv6-nonxt,protocol --soft",
    "-m ipv6header --header none":
        "-m ipv6header --header ipv6-nonxt",
    "-m ipv6header --header ah,esp,ipv6-route,ipv6-opts,ipv6-frag,ipv6-nonxt":
        "-m ipv6header --header ipv6-opts,ipv6-route,ipv6-frag,ah,esp,ipv6-nonxt",
    "-m ipv6header --header 0,auth":
        "-m ipv6header --header hop-by-hop,ah",
    "-m iprange ! --dst-range 2001:db8::1":
        "-m iprange ! --dst-range 2001:db8::1-2001:db8::1",
}

REFUSED: tuple[str, ...] = (     # IPv4 and IPv6
    "-m tcp --dport 80",
    "-p udp -m tcp --dport 80",
    "-p tcp -m tcp --dport 80:70",
    "-p tcp -m tcp --dport 70000",
    "-p tcp -m tcp --dport 1:2:3",
    "-p tcp -m tcp --dport nosuchservice",
    "-p tcp -m tcp --dport 080",
    "-p tcp -m tcp --dport -1",
    "-p tcp -m tcp --dport 80 --dport 81",
    "-p tcp -m tcp --tcp-option 0",
    "-p tcp -m tcp --tcp-option 256",
    "-p tcp -m tcp --tcp-flags SYN",
    "-p tcp -m tcp --tcp-flags SYN,XYZ SYN",
    "-p tcp -m tcp --syn --tcp-flags SYN SYN",
    "-p udp -m udp --syn",
    "-p udplite -m udp --dport 53",
    "-m udp --dport 53",
    "-p udp -m udp --dport 1:2:3",
    "-p udp -m udp --dport 0x50",
    "-p tcp -m sctp --dport 1",
    "-m sctp --dport 1",
    "-p sctp -m sctp --chunk-types some DATA",
    "-p sctp -m sctp --chunk-types any NOSUCH",
    "-p sctp -m sctp --chunk-types any INIT:T",
    "-p sctp -m sctp --chunk-types any",
    "-p sctp -m sctp --dport 9:8",
    "-p udp -m dccp --dport 1",
    "-p dccp -m dccp --dccp-types NOSUCH",
    "-p dccp -m dccp --dccp-option 0",
    "-m addrtype",
    "-m addrtype --limit-iface-in",
    "-m addrtype --src-type NOSUCH",
    "-m addrtype --src-type LOCAL,",
    "-m addrtype --src-type LOCAL --limit-iface-in --limit-iface-out",
    "-m addrtype --dst-type LOCAL --limit-iface-out",
    "-A OUTPUT -m addrtype --dst-type LOCAL --limit-iface-in",
    "-t mangle -A PREROUTING -m addrtype --dst-type LOCAL --limit-iface-out",
    "-t mangle -A POSTROUTING -m addrtype --dst-type LOCAL --limit-iface-in",
    "-m addrtype ! --dst-type LOCAL ! --limit-iface-in",
    "-m comment",
    "-m comment ! --comment x",
    "-m comment --comment x --comment y",
    "-m connbytes --connbytes 10:5 --connbytes-mode packets --connbytes-dir both",
    "-m connbytes --connbytes 1 --connbytes-mode packets",
    "-m connbytes --connbytes 1 --connbytes-dir both",
    "-m connbytes --connbytes-mode packets --connbytes-dir both",
    "-m connbytes --connbytes 1 --connbytes-mode nosuch --connbytes-dir both",
    "-m connbytes --connbytes 1 --connbytes-mode packets --connbytes-dir nosuch",
    "-m connbytes --connbytes -1:5 --connbytes-mode packets --connbytes-dir both",
    "-m connbytes --connbytes 0:18446744073709551616 --connbytes-mode packets --connbytes-dir both",
    "-m connmark",
    "-m connmark --mark",
    "-m connmark --mark x",
    "-m connmark --mark 1/",
    "-m connmark --mark 0x100000000",
    "-m conntrack",
    "-m conntrack --ctstate",
    "-m conntrack --ctstate NOSUCH",
    "-m conntrack --ctstate NEW,",
    "-m conntrack --ctstatus NOSUCH",
    "-m conntrack --ctproto nosuch",
    "-m conntrack --ctproto 256",
    "-m conntrack --ctdir both",
    "-m conntrack ! --ctdir ORIGINAL",
    "-m conntrack --ctexpire 1:2:3",
    "-m conntrack --ctexpire x",
    "-m conntrack --ctorigsrcport 0x50",
    "-m conntrack --ctorigsrcport 1:2:3",
    "-m conntrack --ctstate NEW --ctstate NEW",
    "-m state",
    "-m state --state NOSUCH",
    "-m state --state SNAT",
    "-m dscp",
    "-m dscp --dscp 64",
    "-m dscp --dscp-class XX",
    "-m dscp --dscp 1 --dscp-class EF",
    "-m ecn",
    "-m ecn --ecn-tcp-cwr",
    "-p udp -m ecn --ecn-tcp-ece",
    "! -p tcp -m ecn --ecn-tcp-ece",
    "-m ecn --ecn-ip-ect 4",
    "-m esp --espspi 1",
    "-p udp -m esp --espspi 1",
    "-p esp -m esp --espspi x",
    "-m length",
    "-m length --length x",
    "-m length --length 65536",
    "-m length --length 1:2:3",
    "-m limit --limit 0/sec",
    "-m limit --limit 10/fortnight",
    "-m limit --limit 10/",
    "-m limit --limit 10001/sec",
    "-m limit --limit 1/sec --limit-burst -1",
    "-m limit ! --limit 1/sec",
    "-m limit --limit 1/sec --limit-burst 10001",
    "-m mac",
    "-m mac --mac-source 00:11:22:33:44",
    "-m mac --mac-source 00:11:22:33:44:gg",
    "-m mac --mac-source 00-11-22-33-44-55",
    "-A OUTPUT -m mac --mac-source 00:11:22:33:44:55",
    "-t mangle -A POSTROUTING -m mac --mac-source 00:11:22:33:44:55",
    "-m mark",
    "-m mark --mark 1 --mark 2",
    "-m mark --mark 0xg",
    "-m multiport --dports 80",
    "-p icmp -m multiport --dports 80",
    "! -p tcp -m multiport --dports 80",
    "-p tcp -m multiport",
    "-p tcp -m multiport --dports 80 --sports 80",
    "-p tcp -m multiport --dports 80:80",
    "-p tcp -m multiport --dports 80:70",
    "-p tcp -m multiport --dports 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
    "-p tcp -m multiport --dports 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15:16",
    "-p tcp -m multiport --dports 80,,81",
    "-p tcp -m multiport --dports :80",
    "-m owner --uid-owner 0",
    "-A FORWARD -m owner --uid-owner 0",
    "-t mangle -A PREROUTING -m owner --gid-owner 0",
    "-A OUTPUT -m owner",
    "-A OUTPUT -m owner --uid-owner nosuchuser",
    "-A OUTPUT -m owner --uid-owner 9-8",
    "-A OUTPUT -m owner --uid-owner 4294967295",
    "-A OUTPUT -m owner --suppl-groups",
    "-A OUTPUT -m owner --suppl-groups --gid-owner 1",
    "-m pkttype",
    "-m pkttype --pkt-type nosuch",
    "-m pkttype --pkt-type outgoing",
    "-m quota",
    "-m quota --quota 18446744073709551616",
    "-m recent",
    "-m recent --set --rcheck",
    "-m recent --set --rttl",
    "-m recent --set --seconds 5",
    "-m recent --remove --hitcount 5",
    "-m recent --rcheck --reap",
    "-m recent --rcheck --seconds 0",
    "-m recent --rcheck --hitcount 65536",
    "-m recent --set --name a/b",
    "-m recent --set --name ..",
    "-m set",
    "-m set --match-set ports",
    "-m set --match-set ports sideways",
    "-m set --match-set ports src,dst,src,dst,src,dst,src",
    "-m set --match-set ports dst --packets-eq 1 --packets-gt 0",
    "-m set --match-set ports dst ! --packets-gt 0",
    "-m set --match-set ports dst ! --return-nomatch",
    "-m set --match-set ports dst --bytes-eq x",
    "-m set --match-set a-name-of-more-than-thirty-one-characters dst",
    "-m rpfilter",
    "-t mangle -A FORWARD -m rpfilter",
    "-t nat -A PREROUTING -m rpfilter",
    "-t raw -A OUTPUT -m rpfilter",
    "-t raw -A PREROUTING -m rpfilter ! --loose",
    "-m statistic",
    "-m statistic --mode nosuch",
    "-m statistic --mode random",
    "-m statistic --mode random --probability 1.1",
    "-m statistic --mode random --probability -0.1",
    "-m statistic --mode random --probability x",
    "-m statistic --mode nth --every 3",
    "-m statistic --mode nth --packet 0",
    "-m statistic --mode nth --every 0 --packet 0",
    "-m statistic --mode nth --every 3 --packet 3",
    "-m statistic --mode random --probability 0.5 --every 2 --packet 0",
    "-m tos",
    "-m tos --tos 256",
    "-m tos --tos 1/256",
    "-m tos --tos NoSuch",
    "-p tcp --nosuchoption",
)

REFUSED_IPV4: tuple[str, ...] = (
    "-p icmp -m icmp",
    "-m icmp --icmp-type 8",
    "-p icmp -m icmp --icmp-type nosuch",
    "-p icmp -m icmp --icmp-type 256",
    "-p icmp -m icmp --icmp-type 8/256",
    "-p icmp -m icmp --icmp-type 8/",
    "-p icmp -m icmp --icmp-type host",
    "-p icmp -m icmp --icmp-type 3:5",
    "-m ah --ahspi 1",
    "-p ah -m ah --ahlen 1",
    "-m iprange",
    "-m iprange --src-range 192.0.2.1-x",
    "-m iprange --src-range 192.0.2.0/24",
    "-m iprange --src-range 2001:db8::1",
    "-m ttl",
    "-m ttl --ttl-eq 256",
    "-m ttl ! --ttl-lt 5",
    "-m ttl --ttl-lt 5 --ttl-gt 3",
    "-m hl --hl-eq 1",
    "-m conntrack --ctorigsrc 2001:db8::1",
    "-m conntrack --ctorigsrc 192.0.2.1/x",
    "-m recent --set --mask 2001:db8::",
    "-p ipv6-icmp -m icmp6 --icmpv6-type 1",
)

REFUSED_IPV6: tuple[str, ...] = (
    "-p ipv6-icmp -m icmp6",
    "-m icmp6 --icmpv6-type 1",
    "-p ipv6-icmp -m icmp6 --icmpv6-type any",
    "-p ipv6-icmp -m icmp6 --icmpv6-type 1:2",
    "-m addrtype --dst-type BROADCAST",
    "-m addrtype --src-type BLACKHOLE",
    "-m addrtype --src-type LOCAL,PROHIBIT",
    "-m addrtype --src-type THROW",
    "-m ah --ahspi x",
    "-m dst --dst-opts x",
    "-m dst --dst-opts 0:1",
    "-m dst ! --dst-opts 1",
    "-m hbh --hbh-len x",
    "-m hbh --hbh-opts 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    "-m frag --fragmore --fraglast",
    "-m frag --fragid x",
    "-m frag --fragid 1:2:3",
    "-m rt --rt-0-res",
    "-m rt --rt-type 2 --rt-0-addrs ::1",
    "-m rt --rt-type 0 --rt-0-not-strict",
    "-m rt --rt-type 0 --rt-0-addrs 192.0.2.1",
    "-m ipv6header",
    "-m ipv6header --soft",
    "-m ipv6header --header nosuch",
    "-m hl",
    "-m hl --hl-eq 256",
    "-m ttl --ttl-eq 1",
    "-m iprange --src-range 192.0.2.1",
    "-m conntrack --ctorigsrc 2001:db8::/129",
    "-p icmp -m icmp --icmp-type 8",
)
