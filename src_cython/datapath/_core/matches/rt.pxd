# -m rt: fields and addresses of an IPv6 routing header (net/ipv6/netfilter/ip6t_rt.c, rt_mt6).
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp

from datapath._core.context cimport Walk
from datapath._core.exthdr cimport NEXTHDR_ROUTING
from datapath._core.ipv6_headers cimport HEADER_ABSENT, HEADER_BROKEN, extension_length, find_header
from datapath._core.match_base cimport MATCH_NO, MATCH_YES, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.wire cimport load_be32


cdef enum RtFlag:
    RT_ASK_TYPE = 1
    RT_ASK_LENGTH = 2
    RT_ASK_RESERVED = 4
    RT_ASK_ADDRESSES = 8
    RT_NOT_STRICT = 16


cdef enum RtInvert:
    RT_INVERT_TYPE = 1
    RT_INVERT_SEGMENTS = 2
    RT_INVERT_LENGTH = 4


cdef struct RtMatch:  # packed by datapath/extensions/matches/rt.py
    uint32_t type
    uint32_t segments_low, segments_high
    uint32_t length
    uint8_t flags           # RtFlag
    uint8_t invert          # RtInvert
    uint8_t count           # of addresses
    uint8_t unused
    uint8_t addresses[256]


cdef inline bint rt_fields_match(const RtMatch* want, const uint8_t* header, uint32_t length) noexcept nogil:
    if (want.segments_low <= header[3] <= want.segments_high) == ((want.invert & RT_INVERT_SEGMENTS) != 0):
        return False
    if want.flags & RT_ASK_LENGTH and (want.length == length) == ((want.invert & RT_INVERT_LENGTH) != 0):
        return False
    return not want.flags & RT_ASK_TYPE or (want.type == header[2]) != ((want.invert & RT_INVERT_TYPE) != 0)


cdef inline bint rt_addresses_match(const RtMatch* want, const uint8_t* addresses, uint32_t there) noexcept nogil:
    """Strict: exactly these; else these in this order, with others between."""
    cdef uint32_t i
    cdef uint32_t met = 0
    if not want.flags & RT_NOT_STRICT:
        return want.count == there and memcmp(addresses, want.addresses, 16 * there) == 0
    for i in range(there):
        if met < want.count and memcmp(addresses + 16 * i, &want.addresses[16 * met], 16) == 0:
            met += 1
    return met == want.count


cdef inline int match_rt(Walk* walk, void* payload) noexcept nogil:
    cdef const RtMatch* want = <const RtMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* header
    cdef uint32_t at = 0
    cdef uint32_t length, there
    cdef bint fits
    cdef int found = find_header(pkt, NEXTHDR_ROUTING, &at)
    if found == HEADER_ABSENT:
        return MATCH_NO
    if found == HEADER_BROKEN:
        return bytes_missing(walk, at)
    header = packet_ip(pkt) + at
    length = extension_length(NEXTHDR_ROUTING, header)
    if pkt.len - at < length:
        walk.hotdrop = 1
        return MATCH_NO
    fits = rt_fields_match(want, header, length)
    if fits and want.flags & RT_ASK_RESERVED:
        if not packet_has(pkt, at + 4, 4):
            return bytes_missing(walk, at + 8)
        fits = load_be32(header + 4) == 0
    if want.flags & RT_ASK_ADDRESSES:
        there = (length - 8) // 16
        if want.count > there:
            return MATCH_NO
        if not packet_has(pkt, at + 8, 16 * there):
            return bytes_missing(walk, at + 8 + 16 * there)
        fits = fits and rt_addresses_match(want, header + 8, there)
    return MATCH_YES if fits else MATCH_NO
