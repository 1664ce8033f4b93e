"""Transport checksums on receipt (net/netfilter/utils.c, nf_ip_checksum and nf_ip6_checksum)."""
from libc.stdint cimport uint64_t

from datapath._core.packet cimport CSUM_NONE, CSUM_VALID, packet_ip
from datapath._core.verdict cimport HOOK_PREROUTING
from datapath._core.wire cimport fold, sum_bytes

cdef enum:
    PROTO_ICMP = 1


cdef inline uint64_t pseudo_header(const Packet* pkt, uint8_t protocol, uint32_t length) noexcept nogil:
    if pkt.family == 4:
        return sum_bytes(packet_ip(pkt) + 12, 8) + protocol + (length >> 16) + (length & 0xFFFF)
    return sum_bytes(packet_ip(pkt) + 8, 32) + protocol + (length >> 16) + (length & 0xFFFF)


cdef bint needs_check(const Tracking* t) noexcept nogil:
    """Only packets from outside are looked at, only with nf_conntrack_checksum, and only whole ones can be."""
    if t.walk.hook != HOOK_PREROUTING or not t.net.sysctl.ct_checksum or t.pkt.csum != CSUM_NONE:
        return False
    return t.pkt.present >= t.pkt.len


cdef bint checksum_ok(Tracking* t, uint8_t protocol) noexcept nogil:
    """Whether the transport checksum is right, or need not be looked at. What was verified once is not verified again."""
    cdef uint32_t length = t.pkt.len - t.transport
    cdef uint64_t pseudo = 0
    if not needs_check(t):
        return True
    if protocol != PROTO_ICMP:
        pseudo = pseudo_header(t.pkt, protocol, length)
    if fold(pseudo + sum_bytes(t.header, length)) == 0xFFFF:
        t.pkt.csum = CSUM_VALID
        return True
    return False


cdef bint checksum_ok_partial(Tracking* t, uint8_t protocol, uint32_t coverage) noexcept nogil:
    """The same for UDP-Lite, whose checksum covers a part."""
    if not needs_check(t):
        return True
    return fold(pseudo_header(t.pkt, protocol, t.pkt.len - t.transport) + sum_bytes(t.header, coverage)) == 0xFFFF
