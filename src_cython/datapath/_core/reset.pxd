# REJECT and the answers of closed ports: resets and unreachables.
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet


cdef void send_reset(Walk* walk) noexcept nogil                 # nf_send_reset, nf_send_reset6
cdef void send_unreach(Walk* walk, uint8_t code) noexcept nogil  # nf_send_unreach, nf_send_unreach6
cdef Packet* tcp_reset_build(Net* net, const Packet* old, uint32_t offset) noexcept nogil  # routed and complete, NULL: there is none
