# -m ipv6header: which extension headers a packet has (net/ipv6/netfilter/ip6t_ipv6header.c, ipv6header_mt6).
from libc.stdint cimport int32_t, uint8_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.exthdr cimport (
    NEXTHDR_AUTH, NEXTHDR_DEST, NEXTHDR_ESP, NEXTHDR_FRAGMENT, NEXTHDR_HOP, NEXTHDR_NONE, NEXTHDR_ROUTING, is_extension_header,
)
from datapath._core.ipv6_headers cimport extension_length
from datapath._core.match_base cimport MATCH_NO, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_ip


cdef enum HeaderMask:  # MASK_*
    MASK_PROTO = 1
    MASK_NONE = 2
    MASK_ESP = 4
    MASK_AH = 8
    MASK_FRAGMENT = 16
    MASK_ROUTING = 32
    MASK_DSTOPTS = 64
    MASK_HOPOPTS = 128


cdef struct Ipv6headerMatch:  # packed by datapath/extensions/matches/ipv6header.py
    uint8_t headers         # HeaderMask
    uint8_t invert
    uint8_t soft


cdef inline uint8_t mask_of_header(uint8_t header) noexcept nogil:
    if header == NEXTHDR_HOP:
        return MASK_HOPOPTS
    if header == NEXTHDR_ROUTING:
        return MASK_ROUTING
    if header == NEXTHDR_FRAGMENT:
        return MASK_FRAGMENT
    if header == NEXTHDR_AUTH:
        return MASK_AH
    return MASK_DSTOPTS


cdef inline int match_ipv6header(Walk* walk, void* payload) noexcept nogil:
    cdef const Ipv6headerMatch* want = <const Ipv6headerMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t header = ip[6]
    cdef uint8_t seen = 0
    cdef uint32_t at = 40
    cdef uint32_t length
    cdef int32_t left = <int32_t>pkt.len - 40
    while is_extension_header(header) and header != NEXTHDR_NONE:
        if left < 2:
            return MATCH_NO
        if not packet_has(pkt, at, 2):
            return bytes_missing(walk, at + 2)
        # Linux goes on behind the fragment header of a later fragment too, into what it takes for headers.
        length = extension_length(header, ip + at)
        seen |= mask_of_header(header)
        header = ip[at]
        left -= <int32_t>length
        at += length
        if at > pkt.len:
            break
    if header == NEXTHDR_ESP and at <= pkt.len:
        if left < 2:
            return MATCH_NO
        seen |= MASK_ESP
    elif header == NEXTHDR_NONE and at <= pkt.len:
        seen |= MASK_NONE
    if header != NEXTHDR_NONE and header != NEXTHDR_ESP:
        seen |= MASK_PROTO
    if want.soft:
        return ((seen ^ want.headers ^ (0xFF if want.invert else 0)) & want.headers) == 0
    return (seen == want.headers) != want.invert
