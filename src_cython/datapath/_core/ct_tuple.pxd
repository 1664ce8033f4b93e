# Tuples of packets: where the transport header stands, what of it identifies the flow, and the way back.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Tuple


cdef int32_t transport_offset(const Packet* pkt, uint32_t ip_offset, uint8_t* protocol) noexcept nogil  # from pkt.net; -1: none
cdef bint tuple_at(const Packet* pkt, uint32_t ip_offset, uint32_t transport, uint8_t protocol, Tuple* t) noexcept nogil
cdef bint tuple_of_packet(const Packet* pkt, uint32_t ip_offset, Tuple* t) noexcept nogil
cdef bint tuple_invert(const Tuple* t, Tuple* inverse) noexcept nogil
