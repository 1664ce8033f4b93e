"""Scripts of packets for connection tracking: each says what it shows, and is played on the kernel and the emulator.

`client` segments come from 192.0.2.2 by eth0, `server` segments from 198.51.100.2 by eth1.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from datapath.lab.masks import checksum

CLIENT, SERVER = bytes([192, 0, 2, 2]), bytes([198, 51, 100, 2])
FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16, "U": 32, "E": 64, "C": 128}


@dataclass(frozen=True)
class Said:
    """A packet of a script, and after how many seconds of waiting it is sent."""

    interface: str
    packet: bytes
    text: str
    wait: float = 0


@dataclass(frozen=True)
class Script:
    """What it shows, the packets, and sysctls by their name behind nf_conntrack_."""

    name: str
    packets: tuple[Said, ...]
    sysctls: Mapping[str, int] = field(default_factory=dict)


def script(name: str, *packets: Said, **sysctls: int) -> Script:
    return Script(name, packets, sysctls)


def ipv4(source: bytes, destination: bytes, protocol: int, payload: bytes) -> bytes:
    """An IPv4 packet with a right header."""
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + source + destination
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def with_checksum(source: bytes, destination: bytes, protocol: int, payload: bytes, place: int, spoil: int = 0) -> bytes:
    """The payload with the checksum of pseudo-header and payload at `place`."""
    pseudo = source + destination + struct.pack("!BBH", 0, protocol, len(payload))
    return payload[:place] + struct.pack("!H", checksum(pseudo + payload) ^ spoil) + payload[place + 2 :]


def sack(*edges: int) -> bytes:
    """A SACK option of these blocks' edges, padded."""
    return b"\x01\x01\x05" + bytes([2 + 4 * len(edges)]) + struct.pack(f"!{len(edges)}I", *(edge & 0xFFFFFFFF for edge in edges))


WSCALE = {n: bytes([3, 3, n, 1]) for n in range(16)}
SACK_OK = b"\x04\x02\x01\x01"


@dataclass(frozen=True)
class End:
    """One end of a TCP connection, which sends segments."""

    interface: str
    source: bytes
    destination: bytes
    sport: int
    dport: int

    def __call__(self, flags: str, seq: int, ack: int = 0, *, win: int = 1000, options: bytes = b"", data: int = 0, spoil: int = 0,
                 wait: float = 0, offset: int | None = None) -> Said:
        bits = sum(FLAGS[letter] for letter in flags)
        length = 5 + len(options) // 4 if offset is None else offset
        tcp = struct.pack("!HHIIBBHHH", self.sport, self.dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, length << 4, bits, win, 0, 0)
        tcp = with_checksum(self.source, self.destination, 6, tcp + options + bytes(data), 16, spoil)
        who = "client" if self.interface == "eth0" else "server"
        return Said(self.interface, ipv4(self.source, self.destination, 6, tcp), f"{who} {flags or '-'} seq {seq} ack {ack} data {data}",
                    wait)


client = End("eth0", CLIENT, SERVER, 2000, 80)
server = End("eth1", SERVER, CLIENT, 80, 2000)

# How each state is reached. The client's SYN has sequence number 1000, the server's 5000.
OPEN = (client("S", 1000), server("SA", 5000, 1001), client("A", 1001, 5001))
PATHS: dict[str, tuple[Said, ...]] = {
    "NONE": (),
    "SYN_SENT": OPEN[:1],
    "SYN_RECV": OPEN[:2],
    "ESTABLISHED": OPEN,
    "FIN_WAIT": (*OPEN, client("FA", 1001, 5001)),
    "CLOSE_WAIT": (*OPEN, client("FA", 1001, 5001), server("A", 5001, 1002)),
    "LAST_ACK": (*OPEN, client("FA", 1001, 5001), server("A", 5001, 1002), server("FA", 5001, 1002)),
    "TIME_WAIT": (*OPEN, client("FA", 1001, 5001), server("A", 5001, 1002), server("FA", 5001, 1002), client("A", 1002, 5002)),
    "CLOSE": (*OPEN, server("RA", 5001, 1001)),
    "SYN_SENT2": (client("S", 1000), server("S", 5000)),
}
NEXT = {    # what the two ends would send next in a state: sequence numbers of client and server
    "NONE": (1000, 5000), "SYN_SENT": (1001, 5000), "SYN_RECV": (1001, 5001), "ESTABLISHED": (1001, 5001), "FIN_WAIT": (1002, 5001),
    "CLOSE_WAIT": (1002, 5001), "LAST_ACK": (1002, 5002), "TIME_WAIT": (1002, 5002), "CLOSE": (1001, 5001), "SYN_SENT2": (1001, 5001),
}
EVENTS = ("S", "SA", "FA", "A", "R", "")


def transitions() -> list[Script]:
    """Each event of each side in each state, with fitting numbers; and what a further ACK of both sides finds then."""
    found = []
    for state, path in PATHS.items():
        for event in EVENTS:
            for who, (own, peers) in ((client, NEXT[state]), (server, NEXT[state][::-1])):
                seq = own + (10000 if event == "S" else 0)
                ack = peers if "A" in event else 0
                last = who(event, seq, ack)
                name = f"{state}, {event or 'no flags'} from the {'client' if who is client else 'server'}"
                found.append(script(name, *path, last, client("A", NEXT[state][0], NEXT[state][1]), server("A", *NEXT[state][::-1])))
    return found


def windows() -> list[Script]:
    """The windows: their edges, scaling, SACK, what is done about segments outside."""
    scaled = (client("S", 1000, options=WSCALE[7]), server("SA", 5000, 1001, options=WSCALE[4]), client("A", 1001, 5001, win=10))
    sacked = (client("S", 1000, options=SACK_OK), server("SA", 5000, 1001, options=SACK_OK), client("A", 1001, 5001))
    return [
        script("data up to the right edge of the window", *OPEN, client("A", 1001, 5001, data=1000)),
        script("data that begins at the right edge", *OPEN, client("A", 2001, 5001, data=10)),
        script("data that begins one byte beyond the right edge", *OPEN, client("A", 2002, 5001, data=10)),
        script("data that begins far beyond the right edge", *OPEN, client("A", 102001, 5001, data=10)),
        script("more data than the window allows, then its acknowledgement", *OPEN, client("A", 2002, 5001, data=500),
               server("A", 5001, 2502)),
        script("data that ends at the left edge of the window", *OPEN, client("A", 1001, 5001, data=100), server("A", 5001, 1101),
               client("A", 91, 5001, data=10), client("A", 92, 5001, data=10), client("A", 101, 5001)),
        script("an acknowledgement of what was not sent", *OPEN, server("A", 5001, 1002), server("A", 5001, 1001)),
        script("an acknowledgement long overdue", *OPEN, server("A", 5001, 1001 - 66001), server("A", 5001, 1001 - 66000),
               server("A", 5001, 1001)),
        script("a window of 16 bits is scaled when both sides offered scaling", *scaled, server("A", 5001, 1001, data=1000),
               server("A", 6001, 1001, data=1000), client("A", 1001, 7001, win=1)),
        script("no scaling when only the client offered it", client("S", 1000, options=WSCALE[7]), server("SA", 5000, 1001),
               client("A", 1001, 5001, win=10), server("A", 5001, 1001, data=1000), server("A", 6001, 1001, data=1000)),
        script("no scaling when only the server offered it", client("S", 1000), server("SA", 5000, 1001, options=WSCALE[7]),
               client("A", 1001, 5001, win=10), client("A", 2100, 5001, data=10)),
        script("a scale above 14 is 14", client("S", 1000, options=WSCALE[15]), server("SA", 5000, 1001, options=WSCALE[15]),
               client("A", 1001, 5001, win=1), server("A", 5001 + 16384, 1001), server("A", 5001 + 16385, 1001)),
        script("a selective acknowledgement moves the edges", *sacked, client("A", 1001, 5001, data=100), client("A", 1101, 5001, data=100),
               server("A", 5001, 1001, options=sack(1101, 1201)), server("A", 5001, 1001, options=sack(1101, 1301))),
        script("a selective acknowledgement counts only where SACK was offered", *OPEN, client("A", 1001, 5001, data=100),
               server("A", 5001, 1001, options=sack(1101, 1301))),
        script("a SACK option that is cut says nothing", *sacked, server("A", 5001, 1001, options=b"\x05\x0a\x00\x00")),
        script("a zero window", *OPEN, server("A", 5001, 1001, win=0), client("A", 1001, 5001, data=1), server("A", 5001, 1001, win=0),
               server("A", 5001, 1002)),
        script("a keepalive and its answer", *OPEN, client("A", 1000, 5001), server("A", 5001, 1001)),
        script("unacknowledged data shortens the timeout", *OPEN, client("A", 1001, 5001, data=100), server("A", 5001, 1101)),
        script("repeated segments shorten the timeout", *OPEN, *[client("A", 1001, 5001, data=10) for _ in range(6)],
               server("A", 5001, 1011)),
        script("repetitions are counted up to the sysctl", *OPEN, *[client("A", 1001, 5001) for _ in range(4)], tcp_max_retrans=1),
        script("numbers wrap around", client("S", 0xFFFFFFF0), server("SA", 0xFFFFFFF8, 0xFFFFFFF1), client("A", 0xFFFFFFF1, 0xFFFFFFF9),
               client("A", 0xFFFFFFF1, 0xFFFFFFF9, data=100), server("A", 0xFFFFFFF9, 85), client("A", 85, 0xFFFFFFF9, data=1000)),
        script("liberal: out of window passes", *OPEN, client("A", 900000, 5001, data=10), server("A", 5001, 77777), tcp_be_liberal=1),
    ]


def resets() -> list[Script]:
    """RST: in window, below it, above it, without a window."""
    data = (*OPEN, client("A", 1001, 5001, data=100), server("A", 5001, 1101))
    return [
        script("a reset with the expected number", *data, server("R", 5001)),
        script("a reset with a number in the window: the receiver may challenge it", *data, server("R", 5101), server("A", 5001, 1101)),
        script("a reset right behind data of its own sender", *data, server("A", 5001, 1101, data=10), server("R", 5011)),
        script("a reset below what was acknowledged", *data, server("R", 5000), server("R", 4000)),
        script("a reset below what was acknowledged, which the sysctl forgives", *data, server("R", 5000), tcp_ignore_invalid_rst=1),
        script("a reset beyond the window", *data, server("R", 5001 + 100000)),
        script("a reset beyond the window from both sides ends the connection soon", *data, server("R", 5001 + 100000),
               client("R", 1101 + 100000)),
        script("a FIN beyond the window from both sides", *data, server("FA", 105001, 1101), client("FA", 101101, 5001)),
        script("a reset answers the SYN", client("S", 1000), server("RA", 0, 1001)),
        script("a reset answers the SYN with a number", client("S", 1000), server("RA", 7777, 1001)),
        script("a reset answers the SYN+ACK", client("S", 1000), server("SA", 5000, 1001), client("R", 1001)),
        script("a reset with an ACK of zero", *data, server("RA", 5001, 0)),
        script("a reset answers an ACK that was let through", client("S", 1000), server("A", 9000, 777), client("R", 777),
               client("S", 1000)),
        script("a reset in FIN_WAIT is not looked at closely", *PATHS["FIN_WAIT"], server("R", 77)),
    ]


def restarts() -> list[Script]:
    """Connections that begin again, or in the middle."""
    closed = PATHS["TIME_WAIT"]
    return [
        script("a SYN in TIME_WAIT begins a new connection", *closed, client("S", 20000), server("SA", 60000, 20001),
               client("A", 20001, 60001)),
        script("a SYN of the server in TIME_WAIT", *closed, server("S", 70000), client("SA", 80000, 70001)),
        script("a SYN in CLOSE after the server's reset is ignored", *PATHS["CLOSE"], client("S", 20000), server("SA", 60000, 20001)),
        script("a SYN in CLOSE after the client's own reset begins anew", *OPEN, client("R", 1001), client("S", 20000),
               server("SA", 60000, 20001)),
        script("a SYN in ESTABLISHED, answered: both ends agree, so we follow", *OPEN, client("S", 20000, options=WSCALE[3]),
               server("SA", 60000, 20001, options=WSCALE[2]), client("A", 20001, 60001), client("A", 20001, 60001, data=10)),
        script("a SYN in ESTABLISHED, challenged", *OPEN, client("S", 20000), server("A", 5001, 1001), client("R", 1001)),
        script("a SYN in LAST_ACK, challenged: not the last ACK", *PATHS["LAST_ACK"], client("S", 20000), server("A", 5002, 1002),
               server("A", 5002, 1002)),
        script("a SYN in ESTABLISHED, refused by a reset", *OPEN, client("S", 20000), server("RA", 0, 20001)),
        script("a repeated SYN does not renew the entry", client("S", 1000), client("S", 1000)),
        script("a second SYN with other numbers", client("S", 1000), client("S", 3000), server("SA", 5000, 3001)),
        script("a repeated SYN+ACK", *OPEN[:2], server("SA", 5000, 1001), client("A", 1001, 5001)),
        script("a second SYN+ACK with other numbers", *OPEN[:2], server("SA", 9000, 1001), client("A", 1001, 9001)),
        script("simultaneous open", client("S", 1000), server("S", 5000), client("SA", 1000, 5001), server("SA", 5000, 1001),
               client("A", 1001, 5001)),
        script("simultaneous open ended by an ACK", client("S", 1000), server("S", 5000), client("SA", 1000, 5001),
               server("A", 5001, 1001)),
        script("picked up in the middle", client("A", 1000, 5000, data=10), server("A", 5000, 1010), client("A", 1010, 5000, data=10)),
        script("picked up in the middle by a FIN is refused", client("FA", 1000, 5000)),
        script("picked up in the middle: windows are not checked", client("A", 1000, 5000), server("A", 900000, 7), client("A", 5, 6)),
        script("not picked up when tcp_loose is 0", client("A", 1000, 5000, data=10), server("A", 5000, 1010), tcp_loose=0),
        script("a SYN+ACK alone", server("SA", 5000, 1001)),
        script("a reset alone", client("R", 1000)),
        script("half closed for long", *PATHS["CLOSE_WAIT"], server("A", 5001, 1002, data=100), client("A", 1002, 5101)),
        script("both close at once", *OPEN, client("FA", 1001, 5001), server("FA", 5001, 1001), client("A", 1002, 5002),
               server("A", 5002, 1002)),
    ]


def malformed() -> list[Script]:
    """Segments that cannot be right."""
    combinations = ("SF", "SR", "SFA", "FR", "F", "U", "P", "FPU", "SRA", "SAU", "SU", "AU", "FAU", "RAU", "SEC", "AE")
    return [
        *(script(f"the flags {flags}", *OPEN, client(flags, 1001, 5001), client("A", 1001, 5001)) for flags in combinations),
        script("a wrong checksum", client("S", 1000, spoil=1), client("S", 1000)),
        script("a wrong checksum, which is not looked at", client("S", 1000, spoil=1), checksum=0),
        script("a header shorter than 20 bytes", client("S", 1000, offset=4)),
        script("a header longer than the packet", client("S", 1000, offset=15)),
        script("options that make no sense", client("S", 1000, options=b"\x08\x00\x03\x03"),
               server("SA", 5000, 1001, options=b"\x03\x03\x07\x00")),
        script("an option that reaches beyond the header", client("S", 1000, options=b"\x04\x02\x03\x08"), server("SA", 5000, 1001)),
    ]


def lifetimes() -> list[Script]:
    """Entries that end."""
    return [
        script("SYN_SENT ends", client("S", 1000), server("SA", 5000, 1001, wait=1.5), tcp_timeout_syn_sent=1),
        script("TIME_WAIT ends, and the late ACK begins an entry", *PATHS["TIME_WAIT"], client("A", 1002, 5002, wait=1.5),
               tcp_timeout_time_wait=1),
        script("CLOSE ends", *PATHS["CLOSE"], client("S", 20000, wait=1.5), tcp_timeout_close=1),
        script("a timeout of zero", client("S", 1000), server("SA", 5000, 1001), tcp_timeout_syn_sent=0),
    ]


TCP_SCRIPTS = [*transitions(), *windows(), *resets(), *restarts(), *malformed(), *lifetimes()]
