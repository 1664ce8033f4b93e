# -m icmp, -m icmp6: type and code (net/netfilter/xt_tcpudp.c, icmp_match and icmp6_match).
from libc.stdint cimport uint8_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_transport


cdef struct IcmpMatch:  # packed by datapath/extensions/matches/icmp.py and icmp6.py
    uint8_t type
    uint8_t code_low, code_high
    uint8_t invert
    uint8_t any_type


cdef inline int match_icmp(Walk* walk, void* payload) noexcept nogil:
    cdef const IcmpMatch* want = <const IcmpMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* icmp
    cdef bint hit = True
    if pkt.frag_offset:
        return MATCH_NO
    if not packet_has(pkt, pkt.transport, 8):
        return bytes_missing(walk, pkt.transport + 8)
    icmp = packet_transport(pkt)
    if not want.any_type:
        hit = icmp[0] == want.type and want.code_low <= icmp[1] <= want.code_high
    return hit != want.invert
