# Many packets in one call: records of a pcap file played without a Python object per packet.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from datapath._core.context cimport Net
from datapath._core.ct_ahead cimport CtAhead
from datapath._core.net cimport NetNamespace
from datapath._core.record cimport Step


cdef struct Path:           # a way that packets took: what is equal for all of them, with the steps of the first
    uint64_t hash
    uint64_t packets
    Step* steps             # owned
    uint32_t n_steps


cdef struct Paths:          # ways by their hash: `slots` holds numbers in `paths` plus 1, 0: free
    Path* paths
    uint32_t* slots
    uint32_t count
    uint32_t capacity
    uint32_t mask


cdef struct Bytes:          # a growing buffer
    uint8_t* data
    uint64_t used
    uint64_t size


cdef class BulkPlayer:
    cdef NetNamespace node
    cdef Net* net
    cdef Paths paths
    cdef Bytes numbers      # of each record played: the number of its path, uint32
    cdef Bytes blocks       # frames that left, as pcapng blocks
    cdef int32_t device     # where frames that do not say otherwise come in; -1: none
    cdef int32_t latest     # the device that the latest frame was for
    cdef uint8_t swapped
    cdef uint8_t link
    cdef uint8_t with_paths
    cdef uint8_t with_frames
    cdef uint32_t unit_ns
    cdef uint64_t records, received, left, strangers
    cdef uint64_t outcomes[8]
    cdef uint64_t look_ahead(self, CtAhead* ahead, const uint8_t* p, uint64_t size, uint64_t seen) noexcept nogil
    cdef int32_t find_device(self, const uint8_t* frame, uint32_t length) noexcept nogil
    cdef bint play_record(self, const uint8_t* frame, uint32_t caplen, uint32_t length, uint64_t time_ns) noexcept nogil
    cdef int note_path(self) noexcept nogil
    cdef int note_frames(self, uint64_t time_ns) noexcept nogil
