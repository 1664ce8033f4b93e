# Neighbour discovery: asking, answering, redirecting.
from libc.stdint cimport int32_t, uint32_t

from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Addr


cdef void ndisc_solicit(Net* net, int32_t dev, const Addr* target, const Packet* waiting) noexcept nogil    # waiting may be NULL
cdef void ndisc_send_redirect(Walk* walk, const Addr* target) noexcept nogil
cdef int ndisc_receive(Walk* walk, uint32_t offset) noexcept nogil  # ndisc_rcv of the ICMPv6 message there: 0, or the DropReason
