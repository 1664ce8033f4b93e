# Packets and their buffers: taken from a free list, given back at the end of their walk.
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Net
from datapath._core.packet cimport Packet


cdef struct PacketPool:
    Packet* free            # linked through Packet.next
    uint32_t in_use         # packets that somebody holds: for the tests


cdef int pool_init(Net* net) except -1
cdef void pool_free(Net* net) noexcept nogil
cdef uint32_t pool_in_use(const Net* net) noexcept nogil

cdef Packet* packet_new(Net* net) noexcept nogil                    # NULL: no memory
cdef void packet_free(Net* net, Packet* pkt) noexcept nogil         # gives its conntrack entry back too
cdef bint packet_reserve(Packet* pkt, uint32_t n) noexcept nogil    # room for n bytes behind the headroom; the content is lost
cdef bint packet_expand(Packet* pkt, uint32_t n) noexcept nogil     # room for n bytes from the IP header on; the content is kept
cdef Packet* packet_copy(Net* net, const Packet* old) noexcept nogil    # skb_copy: bytes and state, without conntrack entry
