# -m ecn: ECN bits of IP and TCP (net/netfilter/xt_ecn.c, ecn_mt4 and ecn_mt6).
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_UNKNOWN, MATCH_YES
from datapath._core.matches.tos cimport packet_tos
from datapath._core.packet cimport Packet, packet_has, packet_ip

cdef enum:
    ANY_CODEPOINT = 0xFF


cdef struct EcnMatch:  # packed by datapath/extensions/matches/ecn.py
    uint8_t tcp_mask        # of the TCP flags byte
    uint8_t tcp_flags
    uint8_t codepoint       # or ANY_CODEPOINT
    uint8_t invert_codepoint


cdef inline int match_ecn(Walk* walk, void* payload) noexcept nogil:
    cdef const EcnMatch* want = <const EcnMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef uint32_t offset
    if want.codepoint != ANY_CODEPOINT and ((packet_tos(walk) & 3) == want.codepoint) == want.invert_codepoint:
        return MATCH_NO
    if want.tcp_mask:
        # Linux does not ask for a first fragment here: in a later one it reads the payload (IPv4), or the IPv6
        # header itself, whose offset ipv6_find_hdr leaves at 0 there.
        offset = 0 if walk.family == 6 and pkt.frag_offset else pkt.transport
        if not packet_has(pkt, offset, 20):     # here Linux drops nothing
            return MATCH_NO if offset + 20 > pkt.len else MATCH_UNKNOWN
        if (packet_ip(pkt)[offset + 13] & want.tcp_mask) != want.tcp_flags:
            return MATCH_NO
    return MATCH_YES
