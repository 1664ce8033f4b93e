# The decision for a packet that arrives.
from libc.stdint cimport int32_t

from datapath._core.context cimport Net
from datapath._core.fib cimport RouteDecision
from datapath._core.packet cimport Packet

cdef int route_input4(Net* net, const Packet* pkt, int32_t dev, RouteDecision* decision) noexcept nogil    # 0 or the DropReason
cdef int route_input6(Net* net, const Packet* pkt, int32_t dev, RouteDecision* decision) noexcept nogil
