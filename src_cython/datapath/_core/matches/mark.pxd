# -m mark and -m connmark (net/netfilter/xt_mark.c, mark_mt; net/netfilter/xt_connmark.c, connmark_mt).
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO


cdef struct MarkMatch:  # packed by datapath/extensions/matches/mark.py and connmark.py
    uint32_t mark
    uint32_t mask
    uint8_t invert


cdef inline int match_mark(Walk* walk, void* payload) noexcept nogil:
    cdef const MarkMatch* want = <const MarkMatch*>payload
    return ((walk.pkt.mark & want.mask) == want.mark) != want.invert


cdef inline int match_connmark(Walk* walk, void* payload) noexcept nogil:
    cdef const MarkMatch* want = <const MarkMatch*>payload
    if walk.pkt.ct == NULL:
        return MATCH_NO
    return ((walk.pkt.ct.mark & want.mask) == want.mark) != want.invert
