"""UDP and UDP-Lite (net/netfilter/nf_conntrack_proto_udp.c)."""
from libc.stdint cimport uint32_t, uint64_t

from datapath._core.conn cimport (
    HOW_BAD_CHECKSUM, HOW_TRUNCATED, IPS_ASSURED, IPS_CONFIRMED, IPS_NAT_CLASH, IPS_SEEN_REPLY,
)
from datapath._core.context cimport Net
from datapath._core.ct_checksum cimport checksum_ok, checksum_ok_partial
from datapath._core.ct_track cimport TRACK_ACCEPT, header_has, invalid, refresh, transport_length
from datapath._core.wire cimport load_be16

cdef enum:
    PROTO_UDP = 17

cdef uint64_t STREAM_AFTER_NS = <uint64_t>2 * 1000000000


cdef inline uint64_t tick(const Net* net) noexcept nogil:
    """Now, and of packets with the same time which was first: two seconds later to the digit, the later one is later."""
    return net.now_ns + net.calls - net.calls_before


cdef int track_udp(Tracking* t) noexcept nogil:
    """Replied flows live as briefly as others until they are two seconds old; then they are streams, and assured."""
    cdef uint64_t lifetime = t.net.sysctl.ct_timeout_udp[0]
    cdef uint32_t length
    if not header_has(t, 8):
        return invalid(t, HOW_TRUNCATED)
    length = load_be16(t.header + 4)
    if length > transport_length(t) or length < 8:
        return invalid(t, HOW_TRUNCATED)
    if load_be16(t.header + 6) and not checksum_ok(t, PROTO_UDP):
        return invalid(t, HOW_BAD_CHECKSUM)
    if not t.ct.status & IPS_CONFIRMED:
        t.ct.proto.stream_ns = tick(t.net) + STREAM_AFTER_NS
    if t.ct.status & IPS_SEEN_REPLY and tick(t.net) > t.ct.proto.stream_ns:
        lifetime = t.net.sysctl.ct_timeout_udp[1]
        if not t.ct.status & IPS_NAT_CLASH:
            t.ct.status |= IPS_ASSURED
    refresh(t, lifetime)
    return TRACK_ACCEPT


cdef int track_udplite(Tracking* t) noexcept nogil:
    """As UDP before streams had to grow two seconds old; the checksum is compulsory and covers what the header says.
    Linux sums it with UDP's protocol number in the pseudo-header, and so do we."""
    cdef uint32_t coverage
    if not header_has(t, 8):
        return invalid(t, HOW_TRUNCATED)
    coverage = load_be16(t.header + 4)
    if coverage == 0:
        coverage = transport_length(t)
    elif coverage < 8 or coverage > transport_length(t):
        return invalid(t, HOW_TRUNCATED)
    if load_be16(t.header + 6) == 0 or not checksum_ok_partial(t, PROTO_UDP, coverage):
        return invalid(t, HOW_BAD_CHECKSUM)
    if not t.ct.status & IPS_SEEN_REPLY:
        refresh(t, t.net.sysctl.ct_timeout_udp[0])
        return TRACK_ACCEPT
    refresh(t, t.net.sysctl.ct_timeout_udp[1])
    if not t.ct.status & IPS_NAT_CLASH:
        t.ct.status |= IPS_ASSURED
    return TRACK_ACCEPT
