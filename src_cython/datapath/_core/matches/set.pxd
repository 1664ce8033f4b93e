# -m set: whether a set has what the packet shows (net/netfilter/xt_set.c, set_match_v4).
from libc.stdint cimport uint8_t, uint64_t

from datapath._core.context cimport Walk
from datapath._core.ipset cimport SET_UNKNOWN, SET_YES, IpSet, SetQuestion, set_test
from datapath._core.match_base cimport MATCH_UNKNOWN


cdef struct SetMatch:  # packed by datapath/extensions/matches/set.py
    IpSet* ipset            # bound when the program is loaded
    uint64_t packets
    uint64_t bytes
    uint8_t dimensions
    uint8_t sources         # bit n: dimension n looks at the source
    uint8_t flags           # SetFlag
    uint8_t packets_op
    uint8_t bytes_op
    uint8_t invert


cdef inline int match_set(Walk* walk, void* payload) noexcept nogil:
    cdef const SetMatch* want = <const SetMatch*>payload
    cdef SetQuestion question
    cdef int answer
    question.dimensions = want.dimensions
    question.sources = want.sources
    question.flags = want.flags
    question.packets_op = want.packets_op
    question.bytes_op = want.bytes_op
    question.packets = want.packets
    question.bytes = want.bytes
    question.timeout_ns = 0
    answer = set_test(want.ipset, walk, &question)
    if answer == SET_UNKNOWN:
        return MATCH_UNKNOWN
    return (answer == SET_YES) != want.invert
