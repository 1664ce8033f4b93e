# What NAT remembers: the connections by their original source (nf_nat_bysource), and which rules have bound one.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from datapath._core.conn cimport CtEntry
from datapath._core.context cimport Net
from datapath._core.tuples cimport Tuple


cdef struct NatRule:  # a rule that has bound a connection; CtEntry.rule holds its place in NatTable.rules
    int32_t chain
    int32_t number          # from 1
    uint8_t table           # as in steps
    uint8_t family


cdef struct NatTable:
    CtEntry** buckets       # chains by CtEntry.source_next, the latest first; owned
    uint32_t mask
    uint32_t count
    NatRule* rules          # owned
    uint32_t n_rules
    uint32_t rules_size


cdef int nat_init(Net* net) except -1
cdef void nat_free(Net* net) noexcept nogil
# Its place, -1 without memory.
cdef int32_t nat_rule_enter(Net* net, uint8_t family, uint8_t table, int32_t chain, int32_t number) noexcept nogil
cdef object nat_rules(Net* net, uint32_t first)     # [(family, table, chain, number)] from a place on
cdef void nat_source_link(Net* net, CtEntry* ct) noexcept nogil
# The latest connection of the same source as `tuple`, or the next older one after `after`; NULL: none.
cdef CtEntry* nat_source_next(Net* net, const Tuple* tuple, CtEntry* after) noexcept nogil


cdef inline void nat_source_unlink(Net* net, CtEntry* ct) noexcept nogil:
    """Forget an entry that goes (nf_nat_cleanup_conntrack). Entries that were never bound are let be."""
    if ct.source_prev == NULL:
        return
    ct.source_prev[0] = ct.source_next
    if ct.source_next != NULL:
        ct.source_next.source_prev = ct.source_prev
    ct.source_prev = NULL
    ct.source_next = NULL
    (<NatTable*>net.nat).count -= 1
