"""A random condition of each match, as iptables takes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from datapath.lab.generate.world import MARKS, PORTS, World

TCP_FLAG_MATCHES = (
    "--syn", "--tcp-flags SYN,ACK,FIN,RST SYN", "--tcp-flags SYN,ACK SYN,ACK", "--tcp-flags ALL FIN,ACK",
    "--tcp-flags RST RST", "--tcp-flags ACK ACK", "--tcp-flags ALL NONE", "--tcp-flags PSH,URG PSH",
)  # fmt: skip
ICMP_TYPES = ("0", "8", "3", "3/1", "3/3", "3/4", "11", "11/0", "5", "13", "17", "any")
ICMP6_TYPES = ("1", "1/4", "2", "3", "3/0", "4", "128", "129", "135", "137")
STATES = ("NEW", "ESTABLISHED", "RELATED", "INVALID", "UNTRACKED")
STATUSES = ("EXPECTED", "SEEN_REPLY", "ASSURED", "CONFIRMED", "NONE")
ADDRESS_TYPES = ("UNICAST", "LOCAL", "BROADCAST", "MULTICAST", "BLACKHOLE", "ANYCAST", "UNREACHABLE")
ADDRESS_TYPES6 = ("UNICAST", "LOCAL", "MULTICAST", "ANYCAST", "UNREACHABLE")
DSCP = ("0x00", "0x0a", "0x04", "0x2e")
TOS = ("0x00/0xff", "0x10/0x3f", "0x10/0xff", "0x28/0xff", "0xb8/0xfc")


@dataclass(frozen=True)
class Place:
    """Where a rule stands: what decides which matches and targets it may have."""

    world: World
    family: int
    table: str
    hooks: frozenset[str]  # from which its chain is entered
    protocol: str  # as after -p; "" for any
    serial: int  # of the rule set, for names of lists

    @property
    def transport(self) -> bool:
        """TCP or UDP: there are ports."""
        return self.protocol in ("tcp", "udp")


Draw = Callable[[Place], str | None]


def negation(place: Place, probability: float = 0.2) -> str:
    """`! ` or nothing."""
    return "! " if place.world.chance(probability) else ""


def port_range(place: Place) -> str:
    """One port, or a range open or closed."""
    low, high = sorted(place.world.rng.sample(PORTS, 2))
    return place.world.rng.choice((str(place.world.port()), str(place.world.port()), f"{low}:{high}", f"{low}:", f":{low}"))


def some(place: Place, words: tuple[str, ...], most: int = 3) -> str:
    """A comma-separated list of a few of the words."""
    return ",".join(place.world.rng.sample(words, place.world.rng.randint(1, min(most, len(words)))))


def tcp(place: Place) -> str | None:
    """Ports, flags, options."""
    if place.protocol != "tcp":
        return None
    rng = place.world.rng
    parts = [f"{negation(place)}{option} {port_range(place)}" for option in ("--sport", "--dport") if rng.random() < 0.5]
    if rng.random() < 0.4:
        parts.append(negation(place) + rng.choice(TCP_FLAG_MATCHES))
    if rng.random() < 0.1:
        parts.append(f"{negation(place)}--tcp-option {rng.choice((2, 3, 4, 8))}")
    return "-m tcp " + " ".join(parts or ["--syn"])


def udp(place: Place) -> str | None:
    """Ports."""
    if place.protocol != "udp":
        return None
    return "-m udp " + " ".join(
        f"{negation(place)}{option} {port_range(place)}" for option in some(place, ("--sport", "--dport"), 2).split(",")
    )


def icmp(place: Place) -> str | None:
    """Types of ICMP and ICMPv6."""
    rng = place.world.rng
    if place.family == 4 and place.protocol == "icmp":
        return f"-m icmp {negation(place)}--icmp-type {rng.choice(ICMP_TYPES)}".replace("! --icmp-type any", "--icmp-type any")
    if place.family == 6 and place.protocol == "ipv6-icmp":
        return f"-m icmp6 {negation(place)}--icmpv6-type {rng.choice(ICMP6_TYPES)}"
    return None


def multiport(place: Place) -> str | None:
    """Port lists."""
    if not place.transport:
        return None
    ports = ",".join(place.world.rng.sample(("22", "53", "80:443", "1024", "8080", "30000:32767", "40000,40001"), 3))
    return f"-m multiport {negation(place)}{place.world.rng.choice(('--sports', '--dports', '--ports'))} {ports}"


def conntrack(place: Place) -> str | None:
    """States, statuses, addresses and ports of the entry."""
    rng = place.world.rng
    address = f"{negation(place)}--{rng.choice(('ctorigsrc', 'ctorigdst', 'ctreplsrc', 'ctrepldst'))} {place.world.network(place.family)}"
    port = f"{negation(place)}--{rng.choice(('ctorigsrcport', 'ctorigdstport', 'ctreplsrcport', 'ctrepldstport'))} {port_range(place)}"
    expire = rng.choice(("0:20", "25:40", "100:200", "400000:432000"))
    options = (
        f"{negation(place)}--ctstate {some(place, (*STATES, 'SNAT', 'DNAT'))}",
        f"{negation(place)}--ctstate {some(place, STATES)}",
        f"{negation(place)}--ctstatus {some(place, STATUSES[:4])}",
        "--ctstatus NONE",
        address,
        port,
        f"{negation(place)}--ctproto {rng.choice((1, 6, 17, 58))}",
        f"{negation(place)}--ctexpire {expire}",
        f"--ctdir {rng.choice(('ORIGINAL', 'REPLY'))}",
    )
    chosen = rng.choices(options, (5, 5, 3, 1, 3, 2, 1, 1, 2))[0]
    return "-m conntrack " + (
        chosen if rng.random() < 0.8 or "--ctdir" in chosen else f"{chosen} --ctdir {rng.choice(('ORIGINAL', 'REPLY'))}"
    )


def addrtype(place: Place) -> str | None:
    """Types of addresses, also limited to an interface."""
    rng = place.world.rng
    types = ADDRESS_TYPES if place.family == 4 else ADDRESS_TYPES6
    sides = some(place, ("src", "dst"), 2).split(",")
    text = "-m addrtype " + " ".join(f"{negation(place)}--{side}-type {rng.choice(types)}" for side in sides)
    if place.hooks and place.hooks <= {"PREROUTING", "INPUT"} and rng.random() < 0.2:
        return f"{text} --limit-iface-in"
    if place.hooks and place.hooks <= {"POSTROUTING", "OUTPUT"} and rng.random() < 0.2:
        return f"{text} --limit-iface-out"
    return text


def iprange(place: Place) -> str | None:
    """Ranges of addresses."""
    members = place.world.families[place.family]
    ranges = [f"{addresses[1]}-{addresses[3]}" for addresses in members.peers.values()]
    ranges.append("10.96.0.0-10.96.0.255" if place.family == 4 else "fd00:96::-fd00:96::ffff")
    return f"-m iprange {negation(place)}--{place.world.rng.choice(('src', 'dst'))}-range {place.world.rng.choice(ranges)}"


def length(place: Place) -> str | None:
    """Lengths of the packet."""
    choices = ("28", "0:60", "40:64", "100:65535", "84") if place.family == 4 else ("48", "0:80", "60:100", "120:65535")
    return f"-m length {negation(place)}--length {place.world.rng.choice(choices)}"


def lifetime(place: Place) -> str | None:
    """TTL and hop limit."""
    rng = place.world.rng
    name, prefix = ("ttl", "--ttl") if place.family == 4 else ("hl", "--hl")
    return f"-m {name} " + rng.choice(
        (f"{negation(place)}{prefix}-eq 64", f"{prefix}-lt 3", f"{prefix}-gt 62", f"{negation(place)}{prefix}-eq 63")
    )


def mark(place: Place) -> str | None:
    """Marks of packet or connection."""
    rng = place.world.rng
    value = rng.choice(MARKS)
    return f"-m {rng.choice(('mark', 'connmark'))} {negation(place)}--mark {value}{rng.choice(('', '', '/0xff', '/' + value))}"


def statistic(place: Place) -> str | None:
    """Every nth packet; certain and impossible draws."""
    rng = place.world.rng
    every = rng.randint(2, 4)
    nth = f"-m statistic --mode nth {negation(place)}--every {every} --packet {rng.randrange(every)}"
    return rng.choice(
        (nth, nth, nth, f"-m statistic --mode random {negation(place)}--probability {rng.choice(('1.00000000000', '0.00000000000'))}")
    )


def recent(place: Place) -> str | None:
    """Lists of addresses seen."""
    rng = place.world.rng
    name = f"list{rng.randrange(2)}"
    how = rng.choice(("--set", "--set", "--rcheck", "--update", "--remove"))
    more = ""
    if how in ("--rcheck", "--update"):
        more = rng.choice(("", " --hitcount 2", " --seconds 60", " --seconds 60 --hitcount 3", " --rttl"))
    return f"-m recent {negation(place)}{how}{more} --name {name} --{rng.choice(('rsource', 'rdest'))}"


def connbytes(place: Place) -> str | None:
    """Bytes and packets of the connection (counted only with nf_conntrack_acct)."""
    rng = place.world.rng
    window = rng.choice(("0:100", "1:2", "2", "60:1000", "3:"))
    return (
        f"-m connbytes {negation(place)}--connbytes {window} --connbytes-mode {rng.choice(('packets', 'bytes', 'avgpkt'))}"
        f" --connbytes-dir {rng.choice(('original', 'reply', 'both'))}"
    )


def rpfilter(place: Place) -> str | None:
    """Reverse path."""
    if place.table not in ("raw", "mangle") or place.hooks != {"PREROUTING"}:
        return None
    return "-m rpfilter " + " ".join(
        place.world.rng.sample(("--loose", "--validmark", "--accept-local", "--invert"), place.world.rng.randrange(3))
    )


def owner(place: Place) -> str | None:
    """Owners of the sending socket."""
    if not place.hooks or not place.hooks <= {"OUTPUT", "POSTROUTING"}:
        return None
    rng = place.world.rng
    return "-m owner " + rng.choice(
        (
            f"{negation(place)}--uid-owner {rng.choice(('0', '1000', '1000-2000', '33'))}",
            f"{negation(place)}--gid-owner {rng.choice(('0', '1000', '33'))}",
            f"{negation(place)}--socket-exists",
        )
    )


def mac(place: Place) -> str | None:
    """The source MAC address."""
    if not place.hooks or not place.hooks <= {"PREROUTING", "INPUT", "FORWARD"}:
        return None
    return f"-m mac {negation(place)}--mac-source 02:00:00:00:0{place.world.rng.randint(1, 3)}:0{place.world.rng.randint(2, 7)}"


def extension_headers(place: Place) -> str | None:
    """IPv6 extension headers."""
    if place.family != 6:
        return None
    rng = place.world.rng
    choices = (
        "-m frag --fragid 0:4294967295",
        "-m frag --fragfirst",
        "-m frag --fragmore",
        "-m frag --fraglast",
        "-m hbh",
        "-m hbh --hbh-opts 5",
        f"-m hbh {negation(place)}--hbh-len 0",
        "-m dst",
        "-m dst --dst-opts 1",
        f"-m dst {negation(place)}--dst-len 0",
        "-m rt --rt-type 0",
        "-m rt --rt-segsleft 1:3",
        f"-m ipv6header {negation(place)}--header {rng.choice(('frag', 'hop', 'dst', 'route', 'hop,dst'))} --soft",
        f"-m ipv6header --header {rng.choice(('frag', 'hop', 'none'))}",
    )
    return rng.choice(choices)


def ip_header(place: Place) -> str | None:
    """DSCP, TOS, ECN, packet type, comments: matches of one field."""
    rng = place.world.rng
    choices = [
        f"-m dscp {negation(place)}--dscp {rng.choice(DSCP)}",
        f"-m tos {negation(place)}--tos {rng.choice(TOS)}",
        '-m comment --comment "a b"',
        f"-m pkttype {negation(place)}--pkt-type {rng.choice(('unicast', 'broadcast', 'multicast'))}",
        f"-m ecn {negation(place)}--ecn-ip-ect {rng.randrange(4)}",
    ]
    if place.protocol == "tcp":
        choices.append(f"-m ecn {negation(place)}{rng.choice(('--ecn-tcp-cwr', '--ecn-tcp-ece'))}")
    if place.family == 4:
        choices.append("-m ecn --ecn-ip-ect 0")
    return rng.choice(choices)


def limit(place: Place) -> str | None:
    """Rates that a burst uses up, and that do not fill again within a case."""
    return f"-m limit --limit {place.world.rng.choice(('1/hour', '2/hour'))} --limit-burst {place.world.rng.randint(1, 4)}"


def state(place: Place) -> str | None:
    """The old spelling of conntrack states."""
    return f"-m state {negation(place)}--state {some(place, STATES)}"


# How often each is drawn.
MATCHES: dict[str, tuple[Draw, int]] = {
    "tcp": (tcp, 8), "udp": (udp, 8), "icmp": (icmp, 6), "multiport": (multiport, 3), "conntrack": (conntrack, 8), "state": (state, 3),
    "addrtype": (addrtype, 3), "iprange": (iprange, 2), "length": (length, 2), "ttl": (lifetime, 2), "mark": (mark, 4),
    "statistic": (statistic, 2), "recent": (recent, 2), "connbytes": (connbytes, 1), "rpfilter": (rpfilter, 2), "owner": (owner, 2),
    "mac": (mac, 1), "headers": (extension_headers, 4), "ip": (ip_header, 5), "limit": (limit, 1),
}  # fmt: skip


def draw_match(place: Place, left_out: frozenset[str] = frozenset()) -> str | None:
    """A random condition that may stand here, or None when the drawn one may not."""
    names = [name for name in MATCHES if name not in left_out]
    name = place.world.rng.choices(names, [MATCHES[name][1] for name in names])[0]
    return MATCHES[name][0](place)
