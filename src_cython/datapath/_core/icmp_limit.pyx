"""Rate limits (net/ipv4/icmp.c, icmp_global_allow; net/ipv4/inetpeer.c; net/ipv4/route.c, ip_error and redirects).

One bucket per address serves the ICMP rate limit, the errors of routes and IPv6 redirects, as in Linux, where each
counts in its own unit: an ICMP rate limit of 0 empties the bucket that the others fill.
"""
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from datapath._core.draws cimport draw_u32
from datapath._core.tuples cimport addr_equal

cdef enum:
    MOST_PEERS = 65664      # net.ipv4.inet_peer_threshold and a little
    BURST_FACTOR = 6        # XRLIM_BURST_FACTOR
    ERROR_BURST = 5         # ip_rt_error_burst, in units of ip_rt_error_cost (a second)
    MOST_REDIRECTS = 9      # ip_rt_redirect_number
    SECOND = 1000000000
    REDIRECT_LOAD = 20000000    # ip_rt_redirect_load: HZ / 50


cdef int icmp_limits_init(Net* net) except -1:
    cdef IcmpLimits* limits = <IcmpLimits*>calloc(1, sizeof(IcmpLimits))
    net.icmp_limits = limits
    if limits == NULL:
        raise MemoryError
    limits.stamp_ns = -<int64_t>SECOND
    return 0


cdef void forget_peers(IcmpLimits* limits) noexcept nogil:
    cdef uint32_t i
    cdef Peer* peer
    for i in range(1024):
        while limits.buckets[i] != NULL:
            peer = limits.buckets[i]
            limits.buckets[i] = peer.next
            free(peer)
    limits.n_peers = 0


cdef void icmp_limits_free(Net* net) noexcept nogil:
    cdef IcmpLimits* limits = <IcmpLimits*>net.icmp_limits
    if limits == NULL:
        return
    forget_peers(limits)
    free(limits)
    net.icmp_limits = NULL


cdef bint global_allow(Net* net) noexcept nogil:
    cdef IcmpLimits* limits = <IcmpLimits*>net.icmp_limits
    cdef int64_t passed
    cdef int64_t more
    if limits.credit > 0:
        return True
    passed = min(<int64_t>net.now_ns - limits.stamp_ns, <int64_t>SECOND)
    if passed < SECOND / 50:
        return False
    more = <int64_t>net.sysctl.icmp_msgs_per_sec * passed / SECOND
    if more == 0:
        return False
    limits.stamp_ns = <int64_t>net.now_ns
    limits.credit = min(limits.credit + more, <int64_t>net.sysctl.icmp_msgs_burst)
    return True


cdef void global_consume(Net* net) noexcept nogil:
    """One message on average: Linux draws 0, 1 or 2, so that the limit cannot be used to count its messages."""
    cdef IcmpLimits* limits = <IcmpLimits*>net.icmp_limits
    limits.credit -= draw_u32(&net.draws) % 3


cdef Peer* get_peer(Net* net, uint8_t family, const Addr* addr) noexcept nogil:
    """inet_getpeer: found or made. A new one has not been heard of for a minute: its bucket is full."""
    cdef IcmpLimits* limits = <IcmpLimits*>net.icmp_limits
    cdef uint32_t place = (addr.w[0] ^ addr.w[1] ^ addr.w[2] ^ addr.w[3]) * <uint32_t>0x9E3779B1 >> 22
    cdef Peer* peer = limits.buckets[place]
    while peer != NULL:
        if peer.family == family and addr_equal(&peer.addr, addr):
            return peer
        peer = peer.next
    if limits.n_peers >= MOST_PEERS:
        forget_peers(limits)
    peer = <Peer*>malloc(sizeof(Peer))
    if peer == NULL:
        return NULL
    memset(peer, 0, sizeof(Peer))
    peer.addr = addr[0]
    peer.family = family
    peer.last_ns = <int64_t>net.now_ns - 60 * <int64_t>SECOND
    peer.next = limits.buckets[place]
    limits.buckets[place] = peer
    limits.n_peers += 1
    return peer


cdef bint xrlim_allow(Net* net, uint8_t family, const Addr* to, uint64_t timeout_ns) noexcept nogil:
    """A token per timeout, six at most."""
    cdef Peer* peer = get_peer(net, family, to)
    cdef int64_t timeout = <int64_t>timeout_ns
    if peer == NULL:
        return True
    if peer.last_call != net.calls:
        peer.tokens_ns = min(peer.tokens_ns + <int64_t>net.now_ns - peer.last_ns, BURST_FACTOR * timeout)
        peer.last_ns = <int64_t>net.now_ns
        peer.last_call = net.calls
    if peer.tokens_ns < timeout:
        return False
    peer.tokens_ns -= timeout
    return True


cdef bint limit_route_error(Net* net, const Addr* to) noexcept nogil:
    cdef Peer* peer = get_peer(net, 4, to)
    if peer == NULL:
        return True
    peer.tokens_ns = min(peer.tokens_ns + <int64_t>net.now_ns - peer.last_ns, ERROR_BURST * <int64_t>SECOND)
    peer.last_ns = <int64_t>net.now_ns
    peer.last_call = net.calls
    if peer.tokens_ns < SECOND:
        return False
    peer.tokens_ns -= SECOND
    return True


cdef bint limit_redirect(Net* net, const Addr* to) noexcept nogil:
    """After each redirect the pause doubles; after nine the host is taken to ignore them, for 20.48 s of silence."""
    cdef Peer* peer = get_peer(net, 4, to)
    cdef int64_t now = <int64_t>net.now_ns
    if peer == NULL:
        return False
    if now > peer.last_ns + (<int64_t>REDIRECT_LOAD << (MOST_REDIRECTS + 1)):
        peer.tokens_ns = 0
        peer.n_redirects = 0
    if peer.n_redirects >= MOST_REDIRECTS:
        peer.last_ns = now
        peer.last_call = net.calls
        return False
    if peer.n_redirects and now <= peer.last_ns + (<int64_t>REDIRECT_LOAD << peer.n_redirects):
        return False
    peer.last_ns = now
    peer.last_call = net.calls
    peer.n_redirects += 1
    return True


cdef uint32_t next_rid(Net* net, const Addr* source) noexcept nogil:
    cdef Peer* peer = get_peer(net, 4, source)
    if peer == NULL:
        return 0
    peer.rid += 1
    return peer.rid
