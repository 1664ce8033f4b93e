# Finding an extension header in an IPv6 packet (net/ipv6/exthdrs_core.c, ipv6_find_hdr with a target).
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.wire cimport load_be16


cdef enum FindHeader:
    HEADER_FOUND = 0
    HEADER_ABSENT = 1       # ENOENT
    HEADER_BROKEN = 2       # EBADMSG; *offset: how far the packet would have to reach


cdef enum NextHeader:  # NEXTHDR_*
    NEXT_HOP = 0
    NEXT_ROUTING = 43
    NEXT_FRAGMENT = 44
    NEXT_ESP = 50
    NEXT_AUTH = 51
    NEXT_NONE = 59
    NEXT_DEST = 60


cdef inline bint is_extension_header(uint8_t header) noexcept nogil:
    """ipv6_ext_hdr(): what can be followed. NEXT_NONE is among them, ESP is not."""
    return (header == NEXT_HOP or header == NEXT_ROUTING or header == NEXT_FRAGMENT or header == NEXT_AUTH
            or header == NEXT_NONE or header == NEXT_DEST)


cdef inline uint32_t extension_length(uint8_t header, const uint8_t* at) noexcept nogil:
    """Bytes of an extension header, by its own length field."""
    if header == NEXT_FRAGMENT:
        return 8
    if header == NEXT_AUTH:
        return (<uint32_t>at[1] + 2) << 2
    return (<uint32_t>at[1] + 1) << 3


cdef inline int find_header(const Packet* pkt, uint8_t target, uint32_t* offset) noexcept nogil:
    """Where the first header of type target stands, from the IP header on. In a later fragment what is behind
    the fragment header cannot be found."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t header = ip[6]
    cdef uint32_t at = 40
    cdef uint32_t need, length
    while True:
        if not is_extension_header(header) or header == NEXT_NONE:
            offset[0] = at
            return HEADER_FOUND if header == target else HEADER_ABSENT
        need = 4 if header == NEXT_ROUTING or header == NEXT_FRAGMENT else 2
        offset[0] = at + need
        if not packet_has(pkt, at, need):
            return HEADER_BROKEN
        if header == target:
            offset[0] = at
            return HEADER_FOUND
        if header == NEXT_FRAGMENT and load_be16(ip + at + 2) & 0xFFF8:
            return HEADER_ABSENT
        length = extension_length(header, ip + at)
        offset[0] = at + length
        if pkt.len - at < length:
            return HEADER_BROKEN
        header = ip[at]
        at += length
