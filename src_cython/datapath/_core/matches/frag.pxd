# -m frag: fields of an IPv6 fragment header (net/ipv6/netfilter/ip6t_frag.c, frag_mt6).
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.exthdr cimport NEXTHDR_FRAGMENT
from datapath._core.ipv6_headers cimport HEADER_ABSENT, HEADER_BROKEN, find_header
from datapath._core.match_base cimport MATCH_NO, MATCH_YES, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.wire cimport load_be16, load_be32


cdef enum FragFlag:  # the values of FLAGS in datapath/extensions/matches/frag.py
    FRAG_RESERVED_CLEAR = 1
    FRAG_FIRST = 2
    FRAG_MORE = 4
    FRAG_LAST = 8


cdef struct FragMatch:  # packed by datapath/extensions/matches/frag.py
    uint32_t id_low, id_high
    uint8_t invert_id
    uint8_t flags           # FragFlag


cdef inline int match_frag(Walk* walk, void* payload) noexcept nogil:
    cdef const FragMatch* want = <const FragMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* header
    cdef uint32_t at = 0
    cdef uint16_t field
    cdef int found = find_header(pkt, NEXTHDR_FRAGMENT, &at)
    if found == HEADER_ABSENT:
        return MATCH_NO
    if found == HEADER_BROKEN:
        return bytes_missing(walk, at)
    if not packet_has(pkt, at, 8):
        return bytes_missing(walk, at + 8)
    header = packet_ip(pkt) + at
    field = load_be16(header + 2)
    if (want.id_low <= load_be32(header + 4) <= want.id_high) == want.invert_id:
        return MATCH_NO
    if want.flags & FRAG_RESERVED_CLEAR and (header[1] or field & 6):
        return MATCH_NO
    if want.flags & FRAG_FIRST and field & 0xFFF8:
        return MATCH_NO
    if want.flags & FRAG_MORE and not field & 1:
        return MATCH_NO
    if want.flags & FRAG_LAST and field & 1:
        return MATCH_NO
    return MATCH_YES
