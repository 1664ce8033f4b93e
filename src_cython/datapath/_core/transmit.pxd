# Behind POSTROUTING: sizes, the neighbour, the device.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from datapath._core.context cimport Net, Walk
from datapath._core.fib cimport RouteDecision
from datapath._core.packet cimport Packet


cdef uint32_t route_mtu(const Net* net, const RouteDecision* route, uint8_t family) noexcept nogil  # ip_dst_mtu_maybe_forward, dst_mtu
cdef uint32_t device_mtu(const Net* net, int32_t dev, uint8_t family) noexcept nogil
cdef void finish_output(Walk* walk) noexcept nogil                  # ip_finish_output, ip6_finish_output; the packet is given away
cdef void finish_output2(Net* net, Packet* pkt) noexcept nogil      # to the neighbour; given away
cdef void loop_copy(Net* net, Packet* pkt) noexcept nogil           # ip_mc_output: broadcasts and multicasts are heard by their sender
cdef void device_xmit(Net* net, Packet* pkt, const uint8_t* destination) noexcept nogil  # dev_queue_xmit with the neighbour's address; given away
