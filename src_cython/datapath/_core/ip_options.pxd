# IPv4 options: record route, timestamp, source route.
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Addr


cdef enum OptionNeed:       # what of struct ip_options is not an offset
    NEED_RR_ADDRESS = 1
    NEED_TS_ADDRESS = 2
    NEED_TS_TIME = 4
    SRR_IS_HIT = 8
    IS_CHANGED = 16


cdef struct Echo:           # the options of an answer
    uint8_t data[40]
    uint32_t length
    uint8_t rr, ts, srr     # offsets in the header, 0: none
    uint8_t need            # OptionNeed
    uint8_t source_route
    Addr first_hop


cdef int receive_options(Walk* walk) noexcept nogil         # ip_rcv_options: 0 or the DropReason
cdef void forward_options(Walk* walk) noexcept nogil        # ip_forward_options
cdef void fragment_options(Packet* pkt) noexcept nogil      # ip_options_fragment: later fragments keep only the copied ones
cdef bint echo_options(Net* net, const Packet* pkt, Echo* echo) noexcept nogil      # __ip_options_echo; False: no answer
cdef void options_build(Net* net, Packet* new, const Echo* echo, const Addr* source) noexcept nogil     # ip_options_build
