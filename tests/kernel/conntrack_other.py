"""Scripts for the protocols beside TCP."""

from __future__ import annotations

import struct

from datapath.lab.masks import checksum
from tests.kernel.conntrack_scripts import CLIENT, SERVER, Said, Script, ipv4, script, with_checksum

CLIENT6 = bytes.fromhex("fd000001000000000000000000000002")
SERVER6 = bytes.fromhex("fd000002000000000000000000000002")
ENDS = {"client": ("eth0", CLIENT, SERVER), "server": ("eth1", SERVER, CLIENT)}
ENDS6 = {"client": ("eth0", CLIENT6, SERVER6), "server": ("eth1", SERVER6, CLIENT6)}
PORTS = {"client": (2000, 53), "server": (53, 2000)}


def said(who: str, protocol: int, payload: bytes, wait: float = 0) -> Said:
    interface, source, destination = ENDS[who]
    return Said(interface, ipv4(source, destination, protocol, payload), f"{who} protocol {protocol} {payload[:8].hex()}", wait)


def said6(who: str, header: int, payload: bytes, hops: int = 64, wait: float = 0) -> Said:
    interface, source, destination = ENDS6[who]
    packet = struct.pack("!IHBB", 6 << 28, len(payload), header, hops) + source + destination + payload
    return Said(interface, packet, f"{who} next header {header} {payload[:8].hex()}", wait)


def udp_header(who: str, length: int = 12, data: bytes = b"data") -> bytes:
    return struct.pack("!HHHH", *PORTS[who], length, 0) + data


def udp(who: str, wait: float = 0, **fields: int) -> Said:
    _, source, destination = ENDS[who]
    return said(who, 17, with_checksum(source, destination, 17, udp_header(who, **fields), 6), wait)


def icmp(who: str, kind: int, code: int = 0, number: int = 7, wait: float = 0) -> Said:
    message = struct.pack("!BBHHH", kind, code, 0, number, 1) + b"ping"
    return said(who, 1, message[:2] + struct.pack("!H", checksum(message)) + message[4:], wait)


def icmp_error(who: str, kind: int, code: int, quoted: bytes) -> Said:
    message = struct.pack("!BBHI", kind, code, 0, 0) + quoted
    return said(who, 1, message[:2] + struct.pack("!H", checksum(message)) + message[4:])


def icmp6(who: str, message: bytes, hops: int = 64) -> Said:
    _, source, destination = ENDS6[who]
    pseudo = source + destination + struct.pack("!II", len(message), 58)
    return said6(who, 58, message[:2] + struct.pack("!H", checksum(pseudo + message)) + message[4:], hops)


def echo6(who: str, kind: int, number: int = 7) -> Said:
    return icmp6(who, struct.pack("!BBHHH", kind, 0, 0, number, 1) + b"ping")


def udplite(who: str, coverage: int, pseudo_protocol: int = 17) -> Said:
    _, source, destination = ENDS[who]
    payload = struct.pack("!HHHH", *PORTS[who], coverage, 0) + b"some data"
    covered = payload[: coverage or len(payload)]
    pseudo = source + destination + struct.pack("!BBH", 0, pseudo_protocol, len(payload))
    return said(who, 136, payload[:6] + struct.pack("!H", checksum(pseudo + covered)) + payload[8:])


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def chunk(kind: int, flags: int = 0, value: bytes = b"") -> bytes:
    return struct.pack("!BBH", kind, flags, 4 + len(value)) + value


def init(kind: int, tag: int) -> bytes:
    return chunk(kind, value=struct.pack("!IIHHI", tag, 65535, 1, 1, 1))


def sctp(who: str, tag: int, *chunks: bytes, spoil: int = 0) -> Said:
    packet = struct.pack("!HHII", *PORTS[who], tag, 0) + b"".join(chunks)
    return said(who, 132, packet[:8] + struct.pack("<I", crc32c(packet) ^ spoil) + packet[12:])


def udp_scripts() -> list[Script]:
    quick = {"udp_timeout": 2, "udp_timeout_stream": 7}
    return [
        script("UDP: a question, an answer", udp("client"), udp("client"), udp("server"), udp("client"), udp("server")),
        script("UDP: a stream after two seconds", udp("client"), udp("server"), udp("client", wait=2.3), udp("server"),
               udp_timeout_stream=77),
        script("UDP: two seconds without an answer are no stream", udp("client"), udp("client", wait=2.3), udp("server"), udp("client")),
        script("UDP: unreplied entries end", udp("client"), udp("server", wait=2.5), **quick),
        script("UDP: no checksum", said("client", 17, udp_header("client"))),
        script("UDP: a wrong checksum", said("client", 17, udp_header("client")[:6] + b"\x12\x34data")),
        script("UDP: a length beyond the packet", udp("client", length=13)),
        script("UDP: a length below eight", udp("client", length=7)),
        script("UDP: a length below the packet's", udp("client", length=10)),
        script("UDP: a header of four bytes", said("client", 17, udp_header("client")[:4])),
        script("UDP-Lite: the pseudo-header of UDP", udplite("client", 8), udplite("server", 0), udplite("client", 12)),
        script("UDP-Lite: its own pseudo-header", udplite("client", 8, 136)),
        script("UDP-Lite: a coverage of seven bytes", udplite("client", 7), udplite("client", 99)),
        script("UDP-Lite: no checksum", said("client", 136, struct.pack("!HHHH", 2000, 53, 8, 0) + b"data")),
    ]


def icmp_scripts() -> list[Script]:
    pairs = ((8, 0), (13, 14), (15, 16), (17, 18))
    question = udp("client").packet
    other = ipv4(CLIENT, bytes([198, 51, 100, 3]), 17, udp_header("client"))
    back = ipv4(SERVER, bytes([192, 0, 2, 1]), 17, udp_header("server"))
    return [
        *(script(f"ICMP: type {ask} and its answer", icmp("client", ask), icmp("server", answer), icmp("server", answer),
                 icmp("client", ask))
          for ask, answer in pairs),
        *(script(f"ICMP: type {kind} alone", icmp("client", kind)) for kind in (0, 1, 2, 5, 6, 7, 9, 10, 14, 16, 18, 19, 30, 40, 255)),
        script("ICMP: another code is another connection", icmp("client", 8, 0), icmp("client", 8, 1), icmp("server", 0, 1)),
        script("ICMP: another id is another connection", icmp("client", 8, number=1), icmp("server", 0, number=2)),
        script("ICMP: seven bytes", said("client", 1, bytes(7))),
        script("ICMP: a wrong checksum", said("client", 1, b"\x08\x00\x12\x34\x00\x01\x00\x01")),
        *(script(f"ICMP: error type {kind} about a question", udp("client"), icmp_error("server", kind, 1, question)) for kind in (3, 4,
                                                                                                                                   5, 11,
                                                                                                                                   12)),
        script("ICMP: an error in the original direction", udp("client"), udp("server"), icmp_error("client", 3, 3, udp("server").packet)),
        script("ICMP: an error about an unknown connection", udp("client"), icmp_error("server", 3, 3, other)),
        script("ICMP: an error about a reply that went elsewhere", udp("client"), icmp_error("client", 3, 3, back)),
        script("ICMP: an error about an error", udp("client"), icmp_error("server", 3, 1, icmp_error("client", 3, 3, question).packet)),
        script("ICMP: an error about an echo", icmp("client", 8), icmp_error("server", 11, 0, icmp("client", 8).packet)),
        script("ICMP: an error that quotes eight bytes", udp("client"), icmp_error("server", 3, 3, question[:28])),
        script("ICMP: an error that quotes three bytes of ports", udp("client"), icmp_error("server", 3, 3, question[:23])),
        script("ICMP: an error about a later fragment", udp("client"), icmp_error("server", 3, 3,
                                                                                  question[:6] + b"\x00\x01" + question[8:])),
        script("ICMP: errors do not renew an entry", udp("client"), icmp_error("server", 3, 3, question),
               icmp_error("server", 3, 3, question)),
        script("ICMPv6 in IPv4", said("client", 58, b"\x80\x00\x12\x34\x00\x01\x00\x01")),
    ]


def icmpv6_scripts() -> list[Script]:
    hop = b"\x11\x00\x01\x04\x00\x00\x00\x00"
    echo = echo6("client", 128).packet
    redirect = b"\x89\x00\x00\x00" + bytes(4) + SERVER6 + SERVER6 + b"\x04\x06" + bytes(6) + echo
    return [
        script("ICMPv6: echo", echo6("client", 128), echo6("server", 129), echo6("client", 128)),
        script("ICMPv6: node information", echo6("client", 139), echo6("server", 140)),
        script("ICMPv6: an answer alone", echo6("server", 129)),
        *(script(f"ICMPv6: type {kind} alone", icmp6("client", struct.pack("!BBHHH", kind, 0, 0, 7, 1) + bytes(16), 255))
          for kind in (130, 131, 132, 133, 134, 135, 136, 138, 141, 143, 144, 151, 152, 153, 200)),
        *(script(f"ICMPv6: error type {kind} about an echo", echo6("client", 128), icmp6("server", bytes([kind, 0]) + bytes(6) + echo))
          for kind in (1, 2, 3, 4, 100, 127)),
        script("ICMPv6: a redirect that a router of elsewhere sends", echo6("client", 128), icmp6("server", redirect, 255)),
        script("ICMPv6: an error about an unknown connection", icmp6("server", bytes([1, 0]) + bytes(6) + echo)),
        script("IPv6: options before UDP", said6("client", 60, hop + with_checksum6(udp_header("client")))),
        script("IPv6: no next header", said6("client", 59, b"")),
        script("IPv6: an atomic fragment", said6("client", 44, b"\x11\x00\x00\x00\x00\x00\x00\x01" + with_checksum6(udp_header("client")))),
        script("ICMP in IPv6", said6("client", 1, b"\x08\x00\x12\x34\x00\x01\x00\x01")),
    ]


def with_checksum6(payload: bytes) -> bytes:
    pseudo = CLIENT6 + SERVER6 + struct.pack("!II", len(payload), 17)
    return payload[:6] + struct.pack("!H", checksum(pseudo + payload)) + payload[8:]


def generic_scripts() -> list[Script]:
    pptp = bytes.fromhex("3001880b00041234") + b"data"
    return [
        script("ESP has no state of its own", said("client", 50, bytes(20)), said("server", 50, bytes(20)), said("client", 50, bytes(20))),
        script("DCCP is tracked like any other protocol", said("client", 33, bytes(16)), said("server", 33, bytes(16))),
        script("an empty packet", said("client", 99, b"")),
        script("GRE without a key of PPTP", said("client", 47, bytes.fromhex("20000800") + bytes(8)),
               said("server", 47, bytes.fromhex("00000800")),
               said("client", 47, bytes.fromhex("00000800"))),
        script("GRE version 1", said("client", 47, pptp), said("server", 47, pptp), said("client", 47, pptp)),
        script("GRE version 1 that carries no PPP", said("client", 47, bytes.fromhex("3001080000041234"))),
        script("GRE cut in its key", said("client", 47, pptp[:6]), said("client", 47, pptp[:3])),
    ]


def sctp_scripts() -> list[Script]:
    opening = (sctp("client", 0, init(1, 11)), sctp("server", 11, init(2, 22)), sctp("client", 22, chunk(10)),
               sctp("server", 11, chunk(11)))
    data = chunk(0, 3, bytes(12))
    heartbeat = chunk(4, value=bytes(8))
    return [
        script("SCTP: an association from beginning to end", *opening, sctp("client", 22, data),
               sctp("server", 11, chunk(3, value=bytes(12))),
               sctp("client", 22, chunk(7, value=bytes(4))), sctp("server", 11, chunk(8)), sctp("client", 22, chunk(14))),
        script("SCTP: the server shuts down", *opening, sctp("server", 11, chunk(7, value=bytes(4))), sctp("client", 22, chunk(8)),
               sctp("server", 11, chunk(14))),
        script("SCTP: a wrong tag", *opening, sctp("client", 23, data), sctp("server", 22, data)),
        script("SCTP: an abort", *opening, sctp("client", 22, chunk(6))),
        script("SCTP: an abort with the peer's tag", *opening, sctp("client", 11, chunk(6, 1)), sctp("client", 22, chunk(6, 1))),
        script("SCTP: a wrong CRC", sctp("client", 0, init(1, 11), spoil=1)),
        script("SCTP: data alone", sctp("client", 22, data)),
        script("SCTP: an INIT with a tag", sctp("client", 1, init(1, 11))),
        script("SCTP: an INIT that is not alone", sctp("client", 0, init(1, 11), data)),
        script("SCTP: a repeated INIT does not renew", sctp("client", 0, init(1, 11)), sctp("client", 0, init(1, 11))),
        script("SCTP: both begin at once", sctp("client", 0, init(1, 11)), sctp("server", 0, init(1, 22)), sctp("server", 11, init(2, 22)),
               sctp("client", 22, init(2, 11)), sctp("client", 22, chunk(10)), sctp("server", 11, chunk(11))),
        script("SCTP: a heartbeat on another path", sctp("client", 22, heartbeat), sctp("server", 11, chunk(5, value=bytes(8))),
               sctp("client", 22, data)),
        script("SCTP: heartbeats with new tags", *opening, sctp("client", 77, heartbeat), sctp("server", 88, chunk(5, value=bytes(8))),
               sctp("client", 77, data)),
        script("SCTP: a shutdown acknowledged out of nowhere", sctp("client", 22, chunk(8)), sctp("server", 22, chunk(14, 1))),
        script("SCTP: a chunk of length zero", sctp("client", 22, b"\x04\x00\x00\x00")),
        script("SCTP: no chunk", sctp("client", 22)),
        script("SCTP: a stale cookie", *opening[:3], sctp("server", 11, chunk(9, value=bytes(8)))),
    ]


OTHER_SCRIPTS = [*udp_scripts(), *icmp_scripts(), *icmpv6_scripts(), *generic_scripts(), *sctp_scripts()]
