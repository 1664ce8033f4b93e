# A TCP segment as conntrack reads it, and the windows that it has to fit into.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t

from datapath._core.conn cimport CtTcpSide
from datapath._core.ct_track cimport Tracking


cdef struct Segment:
    const uint8_t* options
    uint32_t options_length     # 0 also when they are not all there
    uint32_t header_length
    uint32_t seq
    uint32_t ack
    uint32_t end                # sequence number behind its last byte
    uint16_t window             # as in the header, unscaled
    uint8_t flags
    uint8_t event               # TcpEvent


cdef enum WindowVerdict:
    WINDOW_ACCEPT = 0
    WINDOW_IGNORE = 1
    WINDOW_INVALID = 2


cdef inline bint seq_before(uint32_t a, uint32_t b) noexcept nogil:
    return <int32_t>(a - b) < 0


cdef inline bint seq_after(uint32_t a, uint32_t b) noexcept nogil:
    return <int32_t>(b - a) < 0


cdef void segment_read(const Tracking* t, Segment* s) noexcept nogil
cdef void read_syn_options(const Segment* s, CtTcpSide* side) noexcept nogil
cdef int check_window(Tracking* t, const Segment* s, uint8_t direction) noexcept nogil
