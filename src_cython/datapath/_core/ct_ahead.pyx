"""Fetching of buckets and entries before they are needed: with many connections a lookup waits for memory twice.

Nothing here decides anything: a frame that is read wrongly costs a fetch for nothing.
"""
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy, memset

from datapath._core.conn cimport CtLink
from datapath._core.ct_table cimport Conntrack
from datapath._core.tuples cimport Tuple, tuple_hash
from datapath._core.wire cimport load_be16

cdef extern from *:
    """
    static inline void fetch(const void *p) { __builtin_prefetch(p); }
    """
    void fetch(const void* p) noexcept nogil


cdef void ahead_see(Net* net, CtAhead* ahead, const uint8_t* frame, uint32_t length, bint link) noexcept nogil:
    """The frame that comes AHEAD packets after the one that walks now: its bucket is fetched."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef const uint8_t* ip = frame
    cdef Tuple t
    cdef uint64_t hash = 0
    if link:
        ip = frame + 14
        length = length - 14 if length > 14 else 0
    memset(&t, 0, sizeof(Tuple))
    if length >= 24 and ip[0] == 0x45 and (not link or load_be16(frame + 12) == 0x0800):
        t.family = 4
        t.protocol = ip[9]
        memcpy(t.src.b, ip + 12, 4)
        memcpy(t.dst.b, ip + 16, 4)
        ip += 20
    elif length >= 44 and ip[0] >> 4 == 6 and (not link or load_be16(frame + 12) == 0x86DD):
        t.family = 6
        t.protocol = ip[6]
        memcpy(t.src.b, ip + 8, 16)
        memcpy(t.dst.b, ip + 24, 16)
        ip += 40
    if t.protocol == 6 or t.protocol == 17:
        t.sport = load_be16(ip)
        t.dport = load_be16(ip + 2)
        hash = tuple_hash(&t, table.seed) | 1
        fetch(&table.buckets[hash >> (64 - table.bits)])
    ahead.hashes[(ahead.place + AHEAD) & (AHEAD - 1)] = hash


cdef void ahead_step(Net* net, CtAhead* ahead) noexcept nogil:
    """A packet has walked. The one HALFWAY on has its bucket here by now: its entry is fetched."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef uint64_t hash
    cdef CtLink entry
    ahead.place += 1
    hash = ahead.hashes[(ahead.place + HALFWAY) & (AHEAD - 1)]
    if hash == 0:
        return
    entry = table.buckets[hash >> (64 - table.bits)] & ~<CtLink>1
    if entry:
        fetch(<const void*><uintptr_t>entry)
        fetch(<const void*><uintptr_t>(entry + 64))
        fetch(<const void*><uintptr_t>(entry + 128))
        fetch(<const void*><uintptr_t>(entry + 192))
