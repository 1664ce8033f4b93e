# Packets that wait to be received again: those that the loopback got during the walk (softnet_data.input_pkt_queue).
from libc.stdint cimport uint32_t

from datapath._core.context cimport Net
from datapath._core.fib cimport RouteDecision
from datapath._core.packet cimport Packet


cdef enum:
    BACKLOG_MAX = 1000      # net.core.netdev_max_backlog


cdef struct Waiting:
    Packet* pkt
    RouteDecision route     # the route that it brings with it
    bint routed


cdef struct Backlog:        # a ring
    Waiting* entries
    uint32_t first
    uint32_t count


cdef int backlog_init(Net* net) except -1
cdef void backlog_free(Net* net) noexcept nogil
cdef void backlog_add(Net* net, Packet* pkt) noexcept nogil     # netif_rx; pkt is given away
cdef void backlog_run(Net* net) noexcept nogil                  # process_backlog
