# What the node does with a packet that is for itself and has passed INPUT.
from libc.stdint cimport int32_t, uint8_t

from datapath._core.context cimport Net, Walk


cdef void local_receive(Walk* walk) noexcept nogil      # ip_local_deliver_finish, ip6_input_finish; the packet is given away
cdef bint multicast_joined(Net* net, int32_t dev, const uint8_t* group) noexcept nogil     # 4 or 16 bytes by their first
