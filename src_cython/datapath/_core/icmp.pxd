# ICMP and ICMPv6 errors that the node sends.
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Walk


cdef void icmp_send(Walk* walk, uint8_t type, uint8_t code, uint32_t info) noexcept nogil   # type and code are those of walk.family
