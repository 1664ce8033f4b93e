# The table of connections: entries in a slab, two hash chains through each, expiry by packet time.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.conn cimport CtEntry, CtLink, CtStats
from datapath._core.context cimport Net
from datapath._core.tuples cimport Tuple


cdef enum:
    CT_CHUNK = 8192         # entries allocated at once: 2 MB, a large page


cdef struct Conntrack:
    CtLink* buckets
    uint32_t bits           # of the number of buckets
    uint32_t count          # entries that exist, in the table or on a packet (nf_conntrack_count)
    uint32_t n_chunks
    uint32_t used           # slots that were ever given out; those behind have not been touched
    uint32_t swept          # slot that the sweep looks at next
    uint32_t next_id
    uint64_t seed
    uint8_t waiting         # imported entries count their time from the first packet, which has not come yet
    uint64_t full_ns        # when the whole table was swept for want of room, plus 1
    CtEntry** chunks
    CtEntry* unused         # linked through hash_next[0]
    CtStats stats


cdef int table_init(Net* net) except -1
cdef void table_free(Net* net) noexcept nogil
cdef void table_clear(Net* net) noexcept nogil
cdef CtEntry* entry_new(Net* net, const Tuple* tuple) noexcept nogil     # NULL: the table is full, or no memory
cdef void entry_insert(Net* net, CtEntry* ct) noexcept nogil
cdef bint entry_kill(Net* net, CtEntry* ct) noexcept nogil
cdef void entry_put(Net* net, CtEntry* ct) noexcept nogil
cdef CtEntry* table_find(Net* net, const Tuple* t, uint8_t* direction) noexcept nogil
cdef CtEntry* table_find_zoned(Net* net, const Tuple* t, const uint16_t* zone, const CtEntry* ignored, uint8_t* direction) noexcept nogil
cdef void table_sweep(Net* net, uint32_t slots) noexcept nogil
cdef CtEntry* table_slot(const Conntrack* table, uint32_t slot) noexcept nogil


cdef inline bint entry_expired(const Net* net, const CtEntry* ct) noexcept nogil:
    """nf_ct_is_expired; only confirmed entries have a moment of expiry."""
    return ct.timeout_ns <= net.now_ns
