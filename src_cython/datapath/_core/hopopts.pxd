# Hop-by-hop and destination options of IPv6.
from libc.stdint cimport uint32_t

from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet


cdef int parse_hop_options(Net* net, Packet* pkt) noexcept nogil                    # 0 or the DropReason
cdef int parse_destination_options(Net* net, Packet* pkt, uint32_t offset) noexcept nogil   # 0 or the DropReason
