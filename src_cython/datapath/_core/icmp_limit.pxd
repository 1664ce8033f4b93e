# Which ICMP messages the node's rate limits let out.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from datapath._core.context cimport Net
from datapath._core.tuples cimport Addr


cdef struct Peer:           # struct inet_peer: what is remembered of an address that errors were sent to
    Addr addr
    uint8_t family
    int64_t tokens_ns       # rate_tokens
    int64_t last_ns         # rate_last
    uint64_t last_call      # Net.calls then: what happens on account of one packet happens in one jiffy
    uint32_t n_redirects
    uint32_t rid            # fragments that came from it
    Peer* next


cdef struct IcmpLimits:
    Peer* buckets[1024]
    uint32_t n_peers
    int64_t credit          # icmp_global_credit
    int64_t stamp_ns        # icmp_global_stamp
    uint8_t sending         # an ICMP message of this family is on its way out (the lock of the ICMP socket), bit per family


cdef int icmp_limits_init(Net* net) except -1
cdef void icmp_limits_free(Net* net) noexcept nogil
cdef bint global_allow(Net* net) noexcept nogil                 # icmp_global_allow
cdef void global_consume(Net* net) noexcept nogil               # icmp_global_consume
cdef bint xrlim_allow(Net* net, uint8_t family, const Addr* to, uint64_t timeout_ns) noexcept nogil     # inet_peer_xrlim_allow
cdef bint limit_route_error(Net* net, const Addr* to) noexcept nogil    # the bucket of ip_error
cdef bint limit_redirect(Net* net, const Addr* to) noexcept nogil       # the back-off of ip_rt_send_redirect
cdef uint32_t next_rid(Net* net, const Addr* source) noexcept nogil     # a fragment of an IPv4 source: its number
