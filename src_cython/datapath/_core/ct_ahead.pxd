# Looking ahead in a bulk replay: what the lookups of later packets will touch is fetched while earlier ones walk.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from datapath._core.context cimport Net


cdef enum:
    AHEAD = 8               # packets; a power of two
    HALFWAY = 4


cdef struct CtAhead:
    uint64_t hashes[8]      # of the packets to come; 0: nothing to fetch
    uint32_t place          # of the packet that walks now


cdef void ahead_see(Net* net, CtAhead* ahead, const uint8_t* frame, uint32_t length, bint link) noexcept nogil
cdef void ahead_step(Net* net, CtAhead* ahead) noexcept nogil
