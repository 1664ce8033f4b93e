# What a protocol's tracker is given and answers.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.conn cimport CT_IS_REPLY, IPS_CONFIRMED, IPS_COUNTED, IPS_FIXED_TIMEOUT, CtEntry
from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet, packet_has


cdef enum Tracked:
    TRACK_ACCEPT = 1
    TRACK_INVALID = 2       # the packet loses its entry and goes on as INVALID (-NF_ACCEPT)
    TRACK_DROP = 3
    TRACK_REPEAT = 4        # the entry is gone: look up again (-NF_REPEAT)


cdef struct Tracking:  # one packet and its entry
    Net* net
    Walk* walk
    Packet* pkt
    CtEntry* ct
    const uint8_t* header   # the transport header
    uint32_t transport      # its offset from pkt.net
    uint8_t protocol
    uint16_t zone[2]        # by direction
    uint8_t ctinfo          # CtInfo
    uint8_t how             # CtHow: the tracker says why


ctypedef int (*Tracker)(Tracking* t) noexcept nogil


cdef inline uint8_t direction_of(uint8_t ctinfo) noexcept nogil:
    """CTINFO2DIR."""
    return 1 if ctinfo >= CT_IS_REPLY else 0


cdef inline uint32_t transport_length(const Tracking* t) noexcept nogil:
    """Bytes from the transport header to the end of the packet, in the cut part too."""
    return t.pkt.len - t.transport


cdef inline bint header_has(const Tracking* t, uint32_t n) noexcept nogil:
    return packet_has(t.pkt, t.transport, n)


cdef inline int invalid(Tracking* t, uint8_t why) noexcept nogil:
    t.how = why
    return TRACK_INVALID


cdef inline int ignored(Tracking* t, uint8_t why) noexcept nogil:
    """Let through as part of the connection, which it does not change (not even its timeout)."""
    t.how = why
    return TRACK_ACCEPT


cdef inline void count_packet(Tracking* t) noexcept nogil:
    """nf_ct_acct_update."""
    cdef uint8_t direction = direction_of(t.ctinfo)
    if t.ct.status & IPS_COUNTED:
        t.ct.packets[direction] += 1
        t.ct.bytes[direction] += t.pkt.len


cdef inline void refresh(Tracking* t, uint64_t lifetime_ns) noexcept nogil:
    """The entry lives lifetime_ns from now, or from its confirmation on (nf_ct_refresh_acct)."""
    if not t.ct.status & IPS_FIXED_TIMEOUT:
        t.ct.timeout_ns = lifetime_ns + t.net.now_ns if t.ct.status & IPS_CONFIRMED else lifetime_ns
    count_packet(t)
