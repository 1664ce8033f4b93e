# -j DNAT (net/netfilter/xt_nat.c, xt_dnat_target_v2). Its payload is a NatRange.
from datapath._core.context cimport Walk
from datapath._core.nat_binding cimport NatRange, nat_setup
from datapath._core.nat_manip cimport MANIP_DST


cdef inline int target_dnat(Walk* walk, void* payload) noexcept nogil:
    return nat_setup(walk, walk.pkt.ct, <NatRange*>payload, MANIP_DST)
