# How the walk of a packet ends. Each takes the packet away from its caller.
from libc.stdint cimport uint8_t

from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet


cdef enum Errno:  # what a local process is told (include/uapi/asm-generic/errno*.h)
    EPERM = 1
    EACCES = 13
    EINVAL = 22
    EMSGSIZE = 90
    ENETUNREACH = 101
    ENOBUFS = 105
    EHOSTUNREACH = 113


cdef void packet_drop(Net* net, Packet* pkt, uint8_t hook, uint8_t reason) noexcept nogil  # kfree_skb_reason
cdef void packet_refused(Walk* walk, int verdict) noexcept nogil    # a hook did not accept it
cdef void packet_end(Net* net, Packet* pkt, uint8_t outcome) noexcept nogil     # consume_skb: it went where it should
cdef void packet_became(Net* net, Packet* pkt, uint8_t outcome) noexcept nogil  # says so, and leaves the packet alone
