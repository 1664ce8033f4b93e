# -j REJECT: refuse a packet and tell its sender (net/ipv4/netfilter/ipt_REJECT.c, net/ipv6/netfilter/ip6t_REJECT.c).
from libc.stdint cimport uint8_t

from datapath._core.context cimport Walk
from datapath._core.reset cimport send_reset, send_unreach
from datapath._core.verdict cimport NF_DROP


cdef struct RejectTarget:   # packed by datapath/extensions/targets/reject.py
    uint8_t reset           # a TCP reset; else
    uint8_t code            # of the unreachable message


cdef inline int target_reject(Walk* walk, void* payload) noexcept nogil:
    cdef const RejectTarget* how = <const RejectTarget*>payload
    if how.reset:
        send_reset(walk)
    else:
        send_unreach(walk, how.code)
    return NF_DROP
