"""Tuples of packets (net/netfilter/nf_conntrack_core.c: get_l4proto, nf_ct_get_tuple, nf_ct_invert_tuple)."""
from libc.stdint cimport uint16_t
from libc.string cimport memcpy, memset

from datapath._core.packet cimport packet_has
from datapath._core.wire cimport load_be16

cdef enum:
    PROTO_HOPOPTS = 0
    PROTO_ICMP = 1
    PROTO_TCP = 6
    PROTO_UDP = 17
    PROTO_ROUTING = 43
    PROTO_FRAGMENT = 44
    PROTO_GRE = 47
    PROTO_AUTH = 51
    PROTO_ICMPV6 = 58
    PROTO_NONE = 59
    PROTO_DSTOPTS = 60
    PROTO_SCTP = 132
    PROTO_UDPLITE = 136
    GRE_VERSION_MASK = 0x0007
    GRE_VERSION_1 = 0x0001
    GRE_PROTO_PPP = 0x880B

# The ICMP type that answers a type, plus 1; 0: nothing answers it.
cdef uint8_t[19] ICMP_ANSWER
cdef uint8_t[13] ICMPV6_ANSWER   # from type 128 on


cdef void set_pair(uint8_t* answers, int request, int reply) noexcept nogil:
    answers[request] = <uint8_t>(reply + 1)
    answers[reply] = <uint8_t>(request + 1)


set_pair(ICMP_ANSWER, 8, 0)         # echo
set_pair(ICMP_ANSWER, 13, 14)       # timestamp
set_pair(ICMP_ANSWER, 15, 16)       # information
set_pair(ICMP_ANSWER, 17, 18)       # address mask


cdef void set_icmpv6_pairs() noexcept nogil:
    """Types less 128, so that the answers fit into a byte once 128 is added again."""
    set_pair(ICMPV6_ANSWER, 0, 1)           # echo
    set_pair(ICMPV6_ANSWER, 139 - 128, 140 - 128)   # node information


set_icmpv6_pairs()


cdef int32_t transport_offset(const Packet* pkt, uint32_t ip_offset, uint8_t* protocol) noexcept nogil:
    """Where the transport header of the IP packet at ip_offset stands, counted from pkt.net; -1 when there is none:
    a later fragment, an IPv6 chain that ends or is cut."""
    cdef const uint8_t* ip = pkt.head + pkt.net + ip_offset
    cdef uint32_t at
    if pkt.family == 4:
        if not packet_has(pkt, ip_offset, 20) or load_be16(ip + 6) & 0x1FFF:
            return -1
        at = ip_offset + (ip[0] & 15) * 4
        protocol[0] = ip[9]
        return <int32_t>at if at <= pkt.len else -1
    return skip_extension_headers(pkt, ip_offset, protocol)


cdef int32_t skip_extension_headers(const Packet* pkt, uint32_t ip_offset, uint8_t* protocol) noexcept nogil:
    """net/ipv6/exthdrs_core.c, ipv6_skip_exthdr."""
    cdef const uint8_t* bytes = pkt.head + pkt.net
    cdef uint32_t at = ip_offset + 40
    cdef uint8_t header
    if not packet_has(pkt, ip_offset, 40):
        return -1
    header = bytes[ip_offset + 6]
    while header in (PROTO_HOPOPTS, PROTO_ROUTING, PROTO_FRAGMENT, PROTO_AUTH, PROTO_NONE, PROTO_DSTOPTS):
        if header == PROTO_NONE or not packet_has(pkt, at, 2):
            return -1
        if header == PROTO_FRAGMENT:
            if not packet_has(pkt, at, 4) or load_be16(bytes + at + 2) & 0xFFF8:
                return -1
            header = bytes[at]
            at += 8
        elif header == PROTO_AUTH:
            header = bytes[at]
            at += (<uint32_t>bytes[at + 1] + 2) << 2
        else:
            header = bytes[at]
            at += (<uint32_t>bytes[at + 1] + 1) << 3
    protocol[0] = header
    return <int32_t>at


cdef bint tuple_at(const Packet* pkt, uint32_t ip_offset, uint32_t transport, uint8_t protocol, Tuple* t) noexcept nogil:
    """The tuple of the packet whose transport header is known; False when that is too short. The zone is 0."""
    cdef const uint8_t* ip = pkt.head + pkt.net + ip_offset
    cdef const uint8_t* header = pkt.head + pkt.net + transport
    memset(t, 0, sizeof(Tuple))
    t.family = pkt.family
    t.protocol = protocol
    if pkt.family == 4:
        memcpy(t.src.b, ip + 12, 4)
        memcpy(t.dst.b, ip + 16, 4)
    else:
        memcpy(t.src.b, ip + 8, 16)
        memcpy(t.dst.b, ip + 24, 16)
    if protocol in (PROTO_TCP, PROTO_UDP, PROTO_SCTP, PROTO_UDPLITE):
        if not packet_has(pkt, transport, 4):
            return False
        t.sport = load_be16(header)
        t.dport = load_be16(header + 2)
        return True
    if protocol == PROTO_ICMP or protocol == PROTO_ICMPV6:
        if not packet_has(pkt, transport, 8):
            return False
        t.sport = load_be16(header + 4)
        t.dport = load_be16(header)
        return True
    if protocol == PROTO_GRE:
        return gre_keys(pkt, transport, header, t)
    return True


cdef bint gre_keys(const Packet* pkt, uint32_t transport, const uint8_t* header, Tuple* t) noexcept nogil:
    """Only version 1 (PPTP) has keys: its call id (nf_conntrack_proto_gre.c, gre_pkt_to_tuple)."""
    if not packet_has(pkt, transport, 4) or load_be16(header) & GRE_VERSION_MASK != GRE_VERSION_1:
        return True
    if not packet_has(pkt, transport, 8):
        return True
    if load_be16(header + 2) != GRE_PROTO_PPP:
        return False
    t.dport = load_be16(header + 6)
    return True


cdef bint tuple_of_packet(const Packet* pkt, uint32_t ip_offset, Tuple* t) noexcept nogil:
    """The tuple of the IP packet at ip_offset from pkt.net: the packet itself (0), or the one inside an ICMP error."""
    cdef uint8_t protocol = 0
    cdef int32_t transport = transport_offset(pkt, ip_offset, &protocol)
    return transport > 0 and tuple_at(pkt, ip_offset, <uint32_t>transport, protocol, t)


cdef bint tuple_invert(const Tuple* t, Tuple* inverse) noexcept nogil:
    """The tuple of the answer; False for an ICMP type that has none."""
    cdef uint8_t kind
    inverse.src = t.dst
    inverse.dst = t.src
    inverse.protocol = t.protocol
    inverse.family = t.family
    inverse.zone = t.zone
    if t.protocol == PROTO_ICMP or t.protocol == PROTO_ICMPV6:
        kind = <uint8_t>(t.dport >> 8)
        if t.protocol == PROTO_ICMP:
            if kind >= 19 or ICMP_ANSWER[kind] == 0:
                return False
            kind = ICMP_ANSWER[kind] - 1
        else:
            if kind < 128 or kind - 128 >= 13 or ICMPV6_ANSWER[kind - 128] == 0:
                return False
            kind = ICMPV6_ANSWER[kind - 128] - 1 + 128
        inverse.sport = t.sport
        inverse.dport = <uint16_t>(kind << 8 | (t.dport & 0xFF))
        return True
    inverse.sport = t.dport
    inverse.dport = t.sport
    return True
