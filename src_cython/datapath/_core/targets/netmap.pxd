# -j NETMAP (net/netfilter/xt_NETMAP.c). Its payload is a NatRange: a network's first and last address.
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from datapath._core.context cimport Walk
from datapath._core.nat_binding cimport RANGE_MAP_IPS, NatRange, nat_setup
from datapath._core.nat_manip cimport MANIP_DST, manip_of_hook
from datapath._core.packet cimport packet_ip


cdef inline int target_netmap(Walk* walk, void* payload) noexcept nogil:
    """The network's bits come from the rule, the host's from the packet."""
    cdef NatRange* network = <NatRange*>payload
    cdef NatRange mapped = network[0]
    cdef const uint8_t* ip = packet_ip(walk.pkt)
    cdef int manip = manip_of_hook(walk.hook)
    cdef int size = 4 if walk.family == 4 else 16
    cdef int i
    cdef uint8_t host
    cdef int verdict
    mapped.flags |= RANGE_MAP_IPS
    memcpy(&mapped.min_addr.b[0], ip + (12 if size == 4 else 8) + (size if manip == MANIP_DST else 0), size)
    for i in range(size):
        host = network.min_addr.b[i] ^ network.max_addr.b[i]
        mapped.min_addr.b[i] = (mapped.min_addr.b[i] & host) | (network.min_addr.b[i] & ~host)
    mapped.max_addr = mapped.min_addr
    verdict = nat_setup(walk, walk.pkt.ct, &mapped, manip)
    network.rule = mapped.rule
    return verdict
