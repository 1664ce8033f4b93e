# -j SET: adds what the packet shows to a set, or takes it out (net/netfilter/xt_set.c, set_target_v2).
from libc.stdint cimport uint8_t, uint64_t

from datapath._core.context cimport Walk
from datapath._core.ipset cimport IpSet, SetQuestion, set_add_packet, set_delete_packet
from datapath._core.verdict cimport XT_CONTINUE


cdef struct SetTarget:  # packed by datapath/extensions/targets/set.py
    IpSet* ipset[2]         # bound when the program is loaded: added to, deleted from; NULL: not asked
    uint64_t timeout_ns     # of what is added; the largest number: the set's own
    uint8_t dimensions[2]
    uint8_t sources[2]      # bit n: dimension n looks at the source
    uint8_t flags           # SetFlag


cdef inline int target_set(Walk* walk, void* payload) noexcept nogil:
    cdef const SetTarget* want = <const SetTarget*>payload
    cdef SetQuestion question
    cdef int i
    question.flags = want.flags
    question.packets_op = question.bytes_op = 0
    question.packets = question.bytes = 0
    question.timeout_ns = want.timeout_ns
    for i in range(2):
        if want.ipset[i] == NULL:
            continue
        question.dimensions = want.dimensions[i]
        question.sources = want.sources[i]
        if i == 0:
            set_add_packet(want.ipset[i], walk, &question)
        else:
            set_delete_packet(want.ipset[i], walk, &question)
    return XT_CONTINUE
