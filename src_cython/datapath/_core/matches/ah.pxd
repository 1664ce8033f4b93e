# -m ah: an IPsec authentication header (net/ipv4/netfilter/ipt_ah.c, ah_mt; net/ipv6/netfilter/ip6t_ah.c, ah_mt6).
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.exthdr cimport NEXTHDR_AUTH
from datapath._core.ipv6_headers cimport HEADER_ABSENT, HEADER_BROKEN, extension_length, find_header
from datapath._core.match_base cimport MATCH_NO, MATCH_YES, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.wire cimport load_be16, load_be32


cdef struct AhMatch:  # packed by datapath/extensions/matches/ah.py
    uint32_t spi_low, spi_high
    uint32_t length         # 0: any
    uint8_t invert_spi
    uint8_t invert_length
    uint8_t reserved_clear
    uint8_t unused


cdef inline int match_ah(Walk* walk, void* payload) noexcept nogil:
    cdef const AhMatch* want = <const AhMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* header
    cdef uint32_t at = pkt.transport
    cdef uint32_t length
    cdef int found
    if walk.family == 6:
        found = find_header(pkt, NEXTHDR_AUTH, &at)
        if found == HEADER_ABSENT:
            return MATCH_NO
        if found == HEADER_BROKEN:
            return bytes_missing(walk, at)
    elif pkt.frag_offset:
        return MATCH_NO
    if not packet_has(pkt, at, 12):
        return bytes_missing(walk, at + 12)
    header = packet_ip(pkt) + at
    length = extension_length(NEXTHDR_AUTH, header)
    if walk.family == 6 and pkt.len - at < length:
        walk.hotdrop = 1
        return MATCH_NO
    if (want.spi_low <= load_be32(header + 4) <= want.spi_high) == want.invert_spi:
        return MATCH_NO
    if want.length and (want.length == length) == want.invert_length:
        return MATCH_NO
    return MATCH_NO if want.reserved_clear and load_be16(header + 2) else MATCH_YES
