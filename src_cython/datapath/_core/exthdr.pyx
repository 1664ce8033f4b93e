"""Extension headers (net/ipv6/exthdrs_core.c, ipv6_find_hdr and ipv6_skip_exthdr)."""
from libc.stdint cimport uint16_t

from datapath._core.packet cimport packet_has, packet_ip
from datapath._core.wire cimport load_be16


cdef inline uint32_t header_length(const uint8_t* header, uint8_t nexthdr) noexcept nogil:
    if nexthdr == NEXTHDR_FRAGMENT:
        return 8
    if nexthdr == NEXTHDR_AUTH:
        return (<uint32_t>header[1] + 2) << 2
    return (<uint32_t>header[1] + 1) << 3


cdef void packet_find_transport(Packet* pkt) noexcept nogil:
    """Fill in what matches and conntrack ask for. Must be asked again when headers came or went."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint16_t field
    pkt.no_transport = 0
    pkt.frag_offset = 0
    pkt.more_fragments = 0
    if pkt.family == 4:
        field = load_be16(ip + 6)
        pkt.protocol = ip[9]
        pkt.transport = (ip[0] & 0xF) * 4
        pkt.frag_offset = <uint16_t>((field & 0x1FFF) << 3)
        pkt.more_fragments = (field & 0x2000) != 0
        return
    find_ipv6_transport(pkt, ip)


cdef void find_ipv6_transport(Packet* pkt, const uint8_t* ip) noexcept nogil:
    """ipv6_find_hdr for the last header, which is what ip6_packet_match asks."""
    cdef uint8_t nexthdr = ip[6]
    cdef uint32_t start = 40
    cdef uint16_t offset
    cdef const uint8_t* header
    while is_extension_header(nexthdr) and nexthdr != NEXTHDR_NONE:
        if not packet_has(pkt, start, 2):
            pkt.no_transport = 1
            break
        header = ip + start
        if nexthdr == NEXTHDR_FRAGMENT:
            if not packet_has(pkt, start, 4):
                pkt.no_transport = 1
                break
            pkt.more_fragments = header[3] & 1
            offset = load_be16(header + 2) & 0xFFF8
            if offset:
                pkt.frag_offset = offset
                nexthdr = header[0]
                # Linux leaves the offset of the transport header at 0 here; nobody reads it in a later fragment.
                if is_extension_header(nexthdr) and nexthdr != NEXTHDR_NONE:
                    pkt.no_transport = 1
                start += 8
                break
        start += header_length(header, nexthdr)
        nexthdr = header[0]
    pkt.protocol = nexthdr
    pkt.transport = start


cdef Skipped skip_extension_headers(const Packet* pkt, uint32_t start, uint8_t nexthdr) noexcept nogil:
    """ipv6_skip_exthdr: ends behind the fragment header of a later fragment."""
    cdef Skipped found
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef const uint8_t* header
    found.has_fragment = 0
    found.frag_field = 0
    found.offset = -1
    found.protocol = nexthdr
    while is_extension_header(nexthdr):
        if nexthdr == NEXTHDR_NONE or not packet_has(pkt, start, 2):
            return found
        header = ip + start
        if nexthdr == NEXTHDR_FRAGMENT:
            if not packet_has(pkt, start, 4):
                return found
            found.has_fragment = 1
            found.frag_field = load_be16(header + 2)
            if found.frag_field & 0xFFF8:
                break
        start += header_length(header, nexthdr)
        nexthdr = header[0]
    found.protocol = nexthdr
    found.offset = <int>start
    return found
