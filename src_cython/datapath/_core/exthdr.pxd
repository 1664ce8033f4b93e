# Where the transport header stands: IPv4 options, IPv6 extension headers.
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.packet cimport Packet


cdef enum ExtensionHeader:  # NEXTHDR_* in include/net/ipv6.h
    NEXTHDR_HOP = 0
    NEXTHDR_TCP = 6
    NEXTHDR_UDP = 17
    NEXTHDR_IPV6 = 41
    NEXTHDR_ROUTING = 43
    NEXTHDR_FRAGMENT = 44
    NEXTHDR_ESP = 50
    NEXTHDR_AUTH = 51
    NEXTHDR_ICMP = 58
    NEXTHDR_NONE = 59
    NEXTHDR_DEST = 60
    NEXTHDR_MOBILITY = 135


cdef struct Skipped:  # the answer of ipv6_skip_exthdr
    int offset          # of the header found, from the IPv6 header; -1: cut short
    uint8_t protocol
    uint32_t frag_field  # the fragment header's offset field; 0: none
    uint8_t has_fragment


cdef inline bint is_extension_header(uint8_t nexthdr) noexcept nogil:
    """ipv6_ext_hdr."""
    return (nexthdr == NEXTHDR_HOP or nexthdr == NEXTHDR_ROUTING or nexthdr == NEXTHDR_FRAGMENT
            or nexthdr == NEXTHDR_AUTH or nexthdr == NEXTHDR_NONE or nexthdr == NEXTHDR_DEST)


cdef void packet_find_transport(Packet* pkt) noexcept nogil     # sets protocol, transport, frag_offset, more_fragments, no_transport
cdef Skipped skip_extension_headers(const Packet* pkt, uint32_t start, uint8_t nexthdr) noexcept nogil
