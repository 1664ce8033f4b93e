"""ICMP and ICMPv6 (net/netfilter/nf_conntrack_proto_icmp.c, nf_conntrack_proto_icmpv6.c): questions and answers are
connections of their own, errors belong to the connection of the packet that they carry."""
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.conn cimport (
    CT_RELATED, CT_RELATED_REPLY, CT_UNTRACKED, HOW_BAD_CHECKSUM, HOW_BAD_REDIRECT, HOW_BAD_TYPE, HOW_ICMP_ERROR,
    HOW_INNER_ADDRESS, HOW_INNER_UNKNOWN, HOW_INVALID_NEW, HOW_ND_UNTRACKED, HOW_TRUNCATED, IPS_CONFIRMED, CtEntry,
)
from datapath._core.ct_checksum cimport checksum_ok
from datapath._core.ct_track cimport TRACK_ACCEPT, header_has, invalid, refresh
from datapath._core.ct_tuple cimport tuple_invert, tuple_of_packet
from datapath._core.ct_zone cimport find_in_zone
from datapath._core.packet cimport packet_ip
from datapath._core.tuples cimport Addr, Tuple

cdef enum:
    PROTO_ICMP = 1
    PROTO_ICMPV6 = 58
    ICMP_TYPES = 18             # NR_ICMP_TYPES
    ICMPV6_REDIRECT = 137
    OPTION_REDIRECTED = 4       # ND_OPT_REDIRECT_HDR


cdef int track_icmp(Tracking* t) noexcept nogil:
    """Only questions may begin a connection: echo, timestamp, information, address mask."""
    if t.pkt.family != 4 or (t.ct.tuple[0].dport >> 8) not in (8, 13, 15, 17):
        return invalid(t, HOW_INVALID_NEW)
    refresh(t, t.net.sysctl.ct_timeout_icmp)
    return TRACK_ACCEPT


cdef int track_icmpv6(Tracking* t) noexcept nogil:
    """Echo and node information."""
    if t.pkt.family != 6 or (not t.ct.status & IPS_CONFIRMED and (t.ct.tuple[0].dport >> 8) not in (128, 139)):
        return invalid(t, HOW_INVALID_NEW)
    refresh(t, t.net.sysctl.ct_timeout_icmp6)
    return TRACK_ACCEPT


cdef int icmp_error(Tracking* t) noexcept nogil:
    """What comes before the lookup: with TRACK_ACCEPT the packet either has an entry now (an error), or is UNTRACKED
    (neighbour discovery), or is to be tracked as a question or answer."""
    if t.pkt.family == 4:
        return icmpv4_error(t)
    return icmpv6_error(t)


cdef int icmpv4_error(Tracking* t) noexcept nogil:
    """nf_conntrack_icmpv4_error. ICMPv6 inside IPv4 is not looked at here."""
    if t.protocol != PROTO_ICMP:
        return TRACK_ACCEPT
    if not header_has(t, 8):
        return invalid(t, HOW_TRUNCATED)
    if not checksum_ok(t, PROTO_ICMP):
        return invalid(t, HOW_BAD_CHECKSUM)
    if t.header[0] > ICMP_TYPES:
        return invalid(t, HOW_BAD_TYPE)
    if t.header[0] not in (3, 4, 5, 11, 12):
        return TRACK_ACCEPT
    return inner_connection(t, t.transport + 8)


cdef int icmpv6_error(Tracking* t) noexcept nogil:
    """nf_conntrack_icmpv6_error."""
    cdef uint8_t kind
    if t.protocol != PROTO_ICMPV6:
        return TRACK_ACCEPT
    if not header_has(t, 8):
        return invalid(t, HOW_TRUNCATED)
    if not checksum_ok(t, PROTO_ICMPV6):
        return invalid(t, HOW_BAD_CHECKSUM)
    kind = t.header[0]
    if 130 <= kind <= 136 or kind == 143 or (kind in (151, 152) and knows_router_discovery(t)):
        t.pkt.ctinfo = CT_UNTRACKED
        t.how = HOW_ND_UNTRACKED
        return TRACK_ACCEPT
    if kind == ICMPV6_REDIRECT:
        return icmpv6_redirect(t)
    if kind >= 128:
        return TRACK_ACCEPT
    return inner_connection(t, t.transport + 8)


cdef inline bint knows_router_discovery(const Tracking* t) noexcept nogil:
    """Multicast router discovery is left untracked since Linux 6.3."""
    return t.net.kernel_major > 6 or t.net.kernel_minor >= 3


cdef int icmpv6_redirect(Tracking* t) noexcept nogil:
    """A redirect carries the packet that caused it in its first option."""
    cdef const uint8_t* ip = packet_ip(t.pkt)
    if not header_has(t, 40):
        return invalid(t, HOW_TRUNCATED)
    if t.header[1] != 0:
        return TRACK_ACCEPT
    if ip[7] != 255 or ip[8] != 0xFE or ip[9] & 0xC0 != 0x80:
        return invalid(t, HOW_BAD_REDIRECT)
    if not header_has(t, 42) or t.header[41] == 0:
        return invalid(t, HOW_BAD_REDIRECT)
    if t.header[40] != OPTION_REDIRECTED:
        return TRACK_ACCEPT
    return inner_connection(t, t.transport + 48)


cdef int inner_connection(Tracking* t, uint32_t inner) noexcept nogil:
    """Give the error to the connection of the packet inside (nf_conntrack_inet_error).

    The inner packet went the other way; the error has to go to the one who sent it, as the entry knows him.
    """
    cdef Tuple original
    cdef Tuple inverse
    cdef CtEntry* ct
    cdef uint8_t direction = 0
    if not tuple_of_packet(t.pkt, inner, &original) or not tuple_invert(&original, &inverse):
        return invalid(t, HOW_INNER_UNKNOWN)
    ct = find_in_zone(t, &inverse, &direction)
    if ct == NULL:
        return invalid(t, HOW_INNER_UNKNOWN)
    if not outer_destination_is(t, &ct.tuple[direction].dst):
        return invalid(t, HOW_INNER_ADDRESS)
    ct.refs += 1
    t.pkt.ct = ct
    t.pkt.ctinfo = CT_RELATED_REPLY if direction else CT_RELATED
    t.how = HOW_ICMP_ERROR
    return TRACK_ACCEPT


cdef bint outer_destination_is(Tracking* t, const Addr* wanted) noexcept nogil:
    cdef const uint8_t* ip = packet_ip(t.pkt)
    cdef uint32_t i
    if t.pkt.family == 4:
        return wanted.b[0] == ip[16] and wanted.b[1] == ip[17] and wanted.b[2] == ip[18] and wanted.b[3] == ip[19]
    for i in range(16):
        if wanted.b[i] != ip[24 + i]:
            return False
    return True
