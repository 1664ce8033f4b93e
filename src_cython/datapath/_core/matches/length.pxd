# -m length: length of the IP packet (net/netfilter/xt_length.c, length_mt and length_mt6).
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.context cimport Walk


cdef struct LengthMatch:  # packed by datapath/extensions/matches/length.py
    uint16_t low, high
    uint8_t invert


cdef inline int match_length(Walk* walk, void* payload) noexcept nogil:
    cdef const LengthMatch* want = <const LengthMatch*>payload
    return (want.low <= walk.pkt.len <= want.high) != want.invert
