"""Rewriting packets (net/netfilter/nf_nat_proto.c).

A checksum is updated by what changed under it (RFC 1624), so that a checksum that was wrong stays wrong by as much.
"""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from datapath._core.packet cimport CSUM_PARTIAL, packet_has, packet_ip
from datapath._core.pieces cimport packet_pull
from datapath._core.wire cimport fold, load_be16, store_be16

cdef enum:
    PROTO_ICMP = 1
    PROTO_TCP = 6
    PROTO_UDP = 17
    PROTO_GRE = 47
    PROTO_ICMPV6 = 58
    PROTO_SCTP = 132
    PROTO_UDPLITE = 136

cdef uint32_t CRC32C[256]


cdef void fill_crc32c() noexcept:
    cdef uint32_t n, crc
    cdef int _bit
    for n in range(256):
        crc = n
        for _bit in range(8):
            crc = (crc >> 1) ^ (<uint32_t>0x82F63B78 if crc & 1 else 0)
        CRC32C[n] = crc


fill_crc32c()


cdef uint32_t crc32c(const uint8_t* p, uint32_t n) noexcept nogil:
    """CRC-32C (RFC 9260, appendix A) of n bytes; SCTP writes it least significant byte first."""
    cdef uint32_t crc = <uint32_t>0xFFFFFFFF
    cdef uint32_t i
    for i in range(n):
        crc = (crc >> 8) ^ CRC32C[(crc ^ p[i]) & 0xFF]
    return crc ^ <uint32_t>0xFFFFFFFF


cdef inline uint64_t change(const uint8_t* old, const uint8_t* new, uint32_t n) noexcept nogil:
    """What replacing n bytes adds to a one's complement sum; n is even."""
    cdef uint64_t total = 0
    cdef uint32_t i
    for i in range(0, n, 2):
        total += load_be16(new + i)
        total += 0xFFFF ^ load_be16(old + i)
    return total


cdef inline void adjust(uint8_t* check, uint64_t difference) noexcept nogil:
    """As csum_replace4: the sum is never +0 (0xFFFF is added, which is its other zero), the checksum never 0xFFFF."""
    store_be16(check, <uint16_t>~fold(<uint64_t>(0xFFFF ^ load_be16(check)) + difference + 0xFFFF))


cdef void adjust_transport(Packet* pkt, uint32_t at, uint8_t* check, uint64_t pseudo, uint64_t own) noexcept nogil:
    """A checksum over pseudo header and own words. A partial one is only the pseudo header's sum, not inverted."""
    if pkt.csum == CSUM_PARTIAL and at == 0:
        store_be16(check, fold(load_be16(check) + pseudo))
    else:
        adjust(check, pseudo + own)


cdef inline uint64_t set_be16(uint8_t* place, uint16_t value) noexcept nogil:
    """Write a word and tell what that adds to a sum over it."""
    cdef uint64_t difference = <uint64_t>value + (0xFFFF ^ load_be16(place))
    store_be16(place, value)
    return difference


cdef bint manip_tcp(Packet* pkt, uint32_t at, uint32_t offset, const NatEnd* end, uint64_t pseudo) noexcept nogil:
    """Of a quoted header perhaps only 8 bytes are there, the checksum not among them."""
    cdef uint8_t* tcp = packet_ip(pkt) + offset
    cdef uint32_t place = 2 if end.manip else 0
    cdef uint64_t own = 0
    if offset + 8 > pkt.len:
        return False
    packet_pull(pkt, offset + (20 if offset + 20 <= pkt.len else 8))
    if packet_has(pkt, offset + place, 2):
        own = set_be16(tcp + place, end.key)
        if offset + 20 <= pkt.len and packet_has(pkt, offset, 18):
            adjust_transport(pkt, at, tcp + 16, pseudo, own)
    return True


cdef bint manip_udp(Packet* pkt, uint32_t at, uint32_t offset, const NatEnd* end, uint64_t pseudo, bint zero_is_none) noexcept nogil:
    """A checksum of zero means that there is none; a computed zero is sent as 0xFFFF."""
    cdef uint8_t* udp = packet_ip(pkt) + offset
    cdef uint32_t place = 2 if end.manip else 0
    cdef uint64_t own = 0
    if offset + 8 > pkt.len:
        return False
    packet_pull(pkt, offset + 8)
    if packet_has(pkt, offset + place, 2):
        own = set_be16(udp + place, end.key)
        if packet_has(pkt, offset, 8) and not (zero_is_none and load_be16(udp + 6) == 0):
            adjust_transport(pkt, at, udp + 6, pseudo, own)
            if load_be16(udp + 6) == 0:
                store_be16(udp + 6, 0xFFFF)
    return True


cdef bint manip_sctp(Packet* pkt, uint32_t offset, const NatEnd* end) noexcept nogil:
    """The CRC is computed anew over all that follows, in a quoted packet too, where that makes it a wrong one."""
    cdef uint8_t* sctp = packet_ip(pkt) + offset
    cdef uint32_t place = 2 if end.manip else 0
    cdef uint32_t crc
    if offset + 8 > pkt.len:
        return False
    if packet_has(pkt, offset + place, 2):
        store_be16(sctp + place, end.key)
    if offset + 12 <= pkt.len and pkt.present >= pkt.len and pkt.csum != CSUM_PARTIAL:
        sctp[8] = sctp[9] = sctp[10] = sctp[11] = 0
        crc = crc32c(sctp, pkt.len - offset)
        sctp[8] = <uint8_t>crc
        sctp[9] = <uint8_t>(crc >> 8)
        sctp[10] = <uint8_t>(crc >> 16)
        sctp[11] = <uint8_t>(crc >> 24)
    return True


cdef bint manip_icmp(Packet* pkt, uint32_t at, uint32_t offset, const NatEnd* end) noexcept nogil:
    """The id of a query is that of both ends."""
    cdef uint8_t* icmp = packet_ip(pkt) + offset
    if offset + 8 > pkt.len:
        return False
    packet_pull(pkt, offset + 8)
    if not packet_has(pkt, offset, 6):
        return True
    if icmp[0] == 0 or icmp[0] == 8 or 13 <= icmp[0] <= 18:
        adjust_transport(pkt, at, icmp + 2, 0, set_be16(icmp + 4, end.key))
    return True


cdef bint manip_icmpv6(Packet* pkt, uint32_t at, uint32_t offset, const NatEnd* end, uint64_t pseudo) noexcept nogil:
    cdef uint8_t* icmp = packet_ip(pkt) + offset
    cdef uint64_t own = 0
    if offset + 8 > pkt.len:
        return False
    packet_pull(pkt, offset + 8)
    if not packet_has(pkt, offset, 6):
        return True
    if icmp[0] == 128 or icmp[0] == 129:
        own = set_be16(icmp + 4, end.key)
    adjust_transport(pkt, at, icmp + 2, pseudo, own)
    return True


cdef bint manip_gre(Packet* pkt, uint32_t offset, const NatEnd* end) noexcept nogil:
    """Only PPTP's version 1 has a call id, the destination's; other versions than 0 and 1 are refused."""
    cdef uint8_t* gre = packet_ip(pkt) + offset
    cdef uint8_t version
    if offset + 8 > pkt.len:
        return False
    if end.manip != MANIP_DST or not packet_has(pkt, offset, 8):
        return True
    version = gre[1] & 7
    if version == 1:
        store_be16(gre + 6, end.key)
    return version <= 1


cdef bint manip_transport(Packet* pkt, uint32_t at, uint32_t offset, const NatEnd* end, uint64_t pseudo) noexcept nogil:
    if end.protocol == PROTO_TCP:
        return manip_tcp(pkt, at, offset, end, pseudo)
    if end.protocol == PROTO_UDP:
        return manip_udp(pkt, at, offset, end, pseudo, True)
    if end.protocol == PROTO_ICMP:
        return manip_icmp(pkt, at, offset, end)
    if end.protocol == PROTO_ICMPV6:
        return manip_icmpv6(pkt, at, offset, end, pseudo)
    if end.protocol == PROTO_SCTP:
        return manip_sctp(pkt, offset, end)
    if end.protocol == PROTO_UDPLITE:
        return manip_udp(pkt, at, offset, end, pseudo, False)
    if end.protocol == PROTO_GRE:
        return manip_gre(pkt, offset, end)
    return True


cdef bint manip_ipv4(Packet* pkt, uint32_t at, const NatEnd* end) noexcept nogil:
    cdef uint8_t* ip = packet_ip(pkt) + at
    cdef uint8_t* place = ip + (16 if end.manip else 12)
    cdef uint64_t difference
    if at + 20 > pkt.len:
        return False
    packet_pull(pkt, at + 20)
    if not packet_has(pkt, at, 20):
        return True
    difference = change(place, &end.addr.b[0], 4)
    if not manip_transport(pkt, at, at + (ip[0] & 15) * 4, end, difference):
        return False
    adjust(ip + 10, difference)
    memcpy(place, &end.addr.b[0], 4)
    return True


cdef uint32_t transport_of_ipv6(const Packet* pkt, uint32_t at) noexcept nogil:
    """Where the transport header begins (ipv6_skip_exthdr); 0: nowhere, or in another fragment."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t kind = ip[at + 6]
    cdef uint32_t offset = at + 40
    while kind == 0 or kind == 43 or kind == 44 or kind == 51 or kind == 59 or kind == 60:
        if kind == 59 or not packet_has(pkt, offset, 8):
            return 0
        if kind == 44 and load_be16(ip + offset + 2) & 0xFFF8:
            return 0
        if kind == 44:
            kind = ip[offset]
            offset += 8
        elif kind == 51:
            kind = ip[offset]
            offset += (ip[offset + 1] + 2) * 4
        else:
            kind = ip[offset]
            offset += (ip[offset + 1] + 1) * 8
    return offset


cdef bint manip_ipv6(Packet* pkt, uint32_t at, const NatEnd* end) noexcept nogil:
    cdef uint8_t* ip = packet_ip(pkt) + at
    cdef uint8_t* place = ip + (24 if end.manip else 8)
    cdef uint32_t offset
    if at + 40 > pkt.len:
        return False
    packet_pull(pkt, at + 40)
    if not packet_has(pkt, at, 40):
        return True
    offset = at + 40 if ip[6] == end.protocol else transport_of_ipv6(pkt, at)
    if offset and not manip_transport(pkt, at, offset, end, change(place, &end.addr.b[0], 16)):
        return False
    memcpy(place, &end.addr.b[0], 16)
    return True


cdef bint nat_manip_at(Packet* pkt, uint32_t at, const NatEnd* end) noexcept nogil:
    return manip_ipv4(pkt, at, end) if pkt.family == 4 else manip_ipv6(pkt, at, end)
