# Finding headers in an IPv6 packet as the matches and the header part of rules do (net/ipv6/exthdrs_core.c, ipv6_find_hdr).
#
# As in 6.18: a header that is longer than the packet is passed over, and the packet ends there. Later kernels take it
# for broken.
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.exthdr cimport NEXTHDR_AUTH, NEXTHDR_FRAGMENT, NEXTHDR_NONE, NEXTHDR_ROUTING, is_extension_header
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.wire cimport load_be16


cdef enum FindHeader:
    HEADER_FOUND = 0
    HEADER_ABSENT = 1       # ENOENT
    HEADER_BROKEN = 2       # EBADMSG; *offset: how far the packet would have to reach


cdef inline uint32_t extension_length(uint8_t header, const uint8_t* at) noexcept nogil:
    """Bytes of an extension header, by its own length field."""
    if header == NEXTHDR_FRAGMENT:
        return 8
    if header == NEXTHDR_AUTH:
        return (<uint32_t>at[1] + 2) << 2
    return (<uint32_t>at[1] + 1) << 3


cdef inline uint32_t bytes_read(uint8_t header) noexcept nogil:
    """How much of an extension header Linux reads on its way."""
    return 4 if header == NEXTHDR_ROUTING or header == NEXTHDR_FRAGMENT else 2


cdef inline int find_header(const Packet* pkt, uint8_t target, uint32_t* offset) noexcept nogil:
    """Where the first header of type target stands, from the IP header on. In a later fragment what is behind
    the fragment header cannot be found."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t header = ip[6]
    cdef uint32_t at = 40
    cdef uint32_t length
    while True:
        if not is_extension_header(header) or header == NEXTHDR_NONE:
            offset[0] = at
            return HEADER_FOUND if header == target else HEADER_ABSENT
        if not packet_has(pkt, at, bytes_read(header)):
            offset[0] = at + bytes_read(header)
            return HEADER_BROKEN
        if header == target:
            offset[0] = at
            return HEADER_FOUND
        if header == NEXTHDR_FRAGMENT and load_be16(ip + at + 2) & 0xFFF8:
            return HEADER_ABSENT
        length = extension_length(header, ip + at)
        header = ip[at]
        at += length


cdef inline int find_last_header(const Packet* pkt, uint8_t* protocol, uint32_t* offset) noexcept nogil:
    """The protocol behind the extension headers. In a later fragment it is what the fragment header names, which must not
    be another extension header (*offset is then 0, and so no longer than any packet)."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t header = ip[6]
    cdef uint32_t at = 40
    cdef uint32_t length
    while is_extension_header(header) and header != NEXTHDR_NONE:
        if not packet_has(pkt, at, bytes_read(header)):
            offset[0] = at + bytes_read(header)
            return HEADER_BROKEN
        if header == NEXTHDR_FRAGMENT and load_be16(ip + at + 2) & 0xFFF8:
            protocol[0] = ip[at]
            offset[0] = 0
            return HEADER_ABSENT if is_extension_header(ip[at]) and ip[at] != NEXTHDR_NONE else HEADER_FOUND
        length = extension_length(header, ip + at)
        header = ip[at]
        at += length
    protocol[0] = header
    offset[0] = at
    return HEADER_FOUND
