# The node as an object: owns everything that Net points to.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from datapath._core.context cimport Net
from datapath._core.packet cimport Packet


cdef class NetNamespace:
    cdef Net net
    cdef int _end(self) except -1
    cdef int _begin(self, uint64_t now_ns) except -1
    cdef Packet* _packet(self, const uint8_t[::1] data, wire_length, mark, uint32_t shift) except NULL
