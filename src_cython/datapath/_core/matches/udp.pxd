# -m udp: ports of a UDP header (net/netfilter/xt_tcpudp.c, udp_mt).
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, bytes_missing
from datapath._core.matches.ports cimport port_matches
from datapath._core.packet cimport Packet, packet_has, packet_transport
from datapath._core.wire cimport load_be16


cdef struct UdpMatch:  # packed by datapath/extensions/matches/udp.py
    uint16_t sport_low, sport_high
    uint16_t dport_low, dport_high
    uint8_t invert          # bit 0: source, bit 1: destination


cdef inline int match_udp(Walk* walk, void* payload) noexcept nogil:
    cdef const UdpMatch* want = <const UdpMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* udp
    if pkt.frag_offset:
        return MATCH_NO
    if not packet_has(pkt, pkt.transport, 8):
        return bytes_missing(walk, pkt.transport + 8)
    udp = packet_transport(pkt)
    return (port_matches(want.sport_low, want.sport_high, load_be16(udp), want.invert & 1)
            and port_matches(want.dport_low, want.dport_high, load_be16(udp + 2), (want.invert & 2) != 0))
