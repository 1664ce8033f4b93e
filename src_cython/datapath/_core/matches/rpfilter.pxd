# -m rpfilter: whether a reply would leave by the interface that the packet came in (net/ipv4/netfilter/ipt_rpfilter.c,
# net/ipv6/netfilter/ip6t_rpfilter.c, rpfilter_mt).
from libc.stdint cimport uint8_t

from datapath._core.context cimport Walk
from datapath._core.route cimport reverse_path_ok

cdef enum:
    RPFILTER_INVERT = 8     # the other flags are RpfilterFlag in route.pxd


cdef struct RpfilterMatch:  # packed by datapath/extensions/matches/rpfilter.py
    uint8_t flags


cdef inline int match_rpfilter(Walk* walk, void* payload) noexcept nogil:
    cdef const RpfilterMatch* want = <const RpfilterMatch*>payload
    return reverse_path_ok(walk.net, walk.pkt, walk.in_dev, want.flags) != ((want.flags & RPFILTER_INVERT) != 0)
