# The decision for a packet that this node sends.
from datapath._core.context cimport Net
from datapath._core.fib cimport Flow, RouteDecision
from datapath._core.fib_table cimport FibResult
from datapath._core.packet cimport Packet
from libc.stdint cimport uint32_t

# 0 or a positive errno; fills flow.src; pkt may be NULL, else its route is set
cdef int route_output(Net* net, Packet* pkt, Flow* flow, RouteDecision* decision) noexcept nogil
cdef void multipath_choose(Net* net, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil
