"""The table of connections (net/netfilter/nf_conntrack_core.c: lookup, insertion, expiry, early drop).

A bucket is chosen by the top bits of a seeded hash, so that Linux's eight neighbouring buckets of early drop are a
run of ours whatever their number. Expired entries are skipped by every lookup, and removed by a sweep that goes
round the slab as new entries come: no more memory is used than the connections alive need at one time.
"""
from libc.stdlib cimport calloc, free, realloc
from libc.stdint cimport uintptr_t
from libc.string cimport memset

from datapath._core.conn cimport (
    IPS_ASSURED, IPS_CONFIRMED, IPS_DYING, IPS_REPLY_ONLY,
)
from datapath._core.nat_source cimport nat_source_unlink
from datapath._core.nat_source cimport nat_source_unlink
from datapath._core.tuples cimport tuple_equal, tuple_hash

cdef extern from "<sys/mman.h>" nogil:
    void* mmap(void* address, size_t length, int protection, int flags, int fd, long offset)
    int munmap(void* address, size_t length)
    int madvise(void* address, size_t length, int advice)
    void* MAP_FAILED
    int PROT_READ, PROT_WRITE, MAP_PRIVATE, MAP_ANONYMOUS, MADV_HUGEPAGE

cdef enum:
    FIRST_BITS = 10
    SWEEP_SLOTS = 4             # looked at for each new entry: the whole slab four times while it doubles
    EVICTION_RANGE = 8          # NF_CT_EVICTION_RANGE


cdef int table_init(Net* net) except -1:
    cdef Conntrack* table = <Conntrack*>calloc(1, sizeof(Conntrack))
    if table == NULL:
        raise MemoryError
    table.bits = FIRST_BITS
    table.buckets = <CtLink*>calloc(<size_t>1 << FIRST_BITS, sizeof(CtLink))
    if table.buckets == NULL:
        free(table)
        raise MemoryError
    table.seed = net.draws.state * <uint64_t>0x9E3779B97F4A7C15 + <uint64_t>0xD1B54A32D192ED03
    net.conntrack = table
    return 0


cdef void table_free(Net* net) noexcept nogil:
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef uint32_t i
    cdef uint32_t slot
    if table == NULL:
        return
    for slot in range(table.used):
        free(table_slot(table, slot).extra)
    for i in range(table.n_chunks):
        munmap(table.chunks[i], CT_CHUNK * sizeof(CtEntry))
    free(table.chunks)
    free(table.buckets)
    free(table)
    net.conntrack = NULL


cdef void table_clear(Net* net) noexcept nogil:
    """conntrack -F."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef CtEntry* ct
    cdef uint32_t slot
    for slot in range(table.used):
        ct = table_slot(table, slot)
        if ct.status & IPS_CONFIRMED:
            entry_kill(net, ct)


cdef CtEntry* table_slot(const Conntrack* table, uint32_t slot) noexcept nogil:
    return &table.chunks[slot // CT_CHUNK][slot % CT_CHUNK]


cdef bint grow_slab(Conntrack* table) noexcept nogil:
    """A chunk more. Large pages where Linux has them: with small ones a large table costs a TLB miss for each packet.
    A first chunk is not worth one, as most nodes of a test never fill it."""
    cdef CtEntry** chunks = <CtEntry**>realloc(table.chunks, (table.n_chunks + 1) * sizeof(CtEntry*))
    cdef void* memory
    if chunks == NULL:
        return False
    table.chunks = chunks
    memory = aligned_chunk(table.n_chunks > 0)
    if memory == NULL:
        return False
    chunks[table.n_chunks] = <CtEntry*>memory
    table.n_chunks += 1
    return True


cdef void* aligned_chunk(bint large_pages) noexcept nogil:
    """Memory of a chunk's size at a multiple of it, all zero, not touched yet; NULL: there is none."""
    cdef size_t size = CT_CHUNK * sizeof(CtEntry)
    cdef uint8_t* memory = <uint8_t*>mmap(NULL, size * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    cdef size_t before
    if memory == <uint8_t*>MAP_FAILED:
        return NULL
    before = size - <uintptr_t>memory % size if <uintptr_t>memory % size else 0
    if before:
        munmap(memory, before)
    munmap(memory + before + size, size - before)
    if large_pages:
        madvise(memory + before, size, MADV_HUGEPAGE)
    return memory + before


cdef CtEntry* entry_new(Net* net, const Tuple* tuple) noexcept nogil:
    """An entry for a packet to hold, not in the table yet. NULL: full, and nothing could be evicted (__nf_conntrack_alloc)."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef CtEntry* ct
    cdef uint32_t slot
    table_sweep(net, SWEEP_SLOTS)
    if net.sysctl.ct_max and table.count >= net.sysctl.ct_max and not make_room(net, tuple):
        return NULL
    if table.unused != NULL:
        ct = table.unused
        table.unused = <CtEntry*><uintptr_t>ct.hash_next[0]
        slot = ct.slot
    else:
        if table.used == table.n_chunks * CT_CHUNK and not grow_slab(table):
            return NULL
        slot = table.used
        table.used += 1
        ct = table_slot(table, slot)
    memset(ct, 0, sizeof(CtEntry))
    ct.slot = slot
    ct.refs = 1
    table.next_id += 1
    ct.id = table.next_id
    ct.rule[0] = -1
    ct.rule[1] = -1
    ct.masq_dev = -1
    table.count += 1
    return ct


cdef bint make_room(Net* net, const Tuple* tuple) noexcept nogil:
    """Expired entries first: Linux's periodic collection would have removed them. Then early drop."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    if table.full_ns != net.now_ns + 1:
        table.full_ns = net.now_ns + 1
        table_sweep(net, table.used)
        if table.count < net.sysctl.ct_max:
            return True
    return early_drop(net, tuple_hash(tuple, table.seed))


cdef bint early_drop(Net* net, uint64_t hash) noexcept nogil:
    """Evict what is not assured from the first of eight of Linux's buckets that has such an entry."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef uint32_t buckets = linux_buckets(net)
    cdef uint32_t bucket = linux_bucket(hash, buckets)
    cdef uint32_t dropped
    cdef int _i
    for _i in range(EVICTION_RANGE):
        dropped = drop_bucket(net, bucket, buckets)
        if dropped:
            table.stats.early_drop += dropped
            return True
        bucket = (bucket + 1) % buckets
    return False


cdef inline uint32_t linux_buckets(const Net* net) noexcept nogil:
    return net.sysctl.ct_buckets if net.sysctl.ct_buckets else 1


cdef inline uint32_t linux_bucket(uint64_t hash, uint32_t buckets) noexcept nogil:
    return <uint32_t>(((hash >> 32) * buckets) >> 32)


cdef uint32_t drop_bucket(Net* net, uint32_t wanted, uint32_t buckets) noexcept nogil:
    """Remove the entries of one of Linux's buckets that are not assured; how many."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef uint64_t low = ((<uint64_t>wanted << 32) + buckets - 1) // buckets
    cdef uint64_t high = ((<uint64_t>(wanted + 1) << 32) + buckets - 1) // buckets - 1
    cdef uint64_t b
    cdef uint32_t dropped = 0
    cdef CtLink link
    cdef CtEntry* ct
    cdef uint8_t direction
    for b in range(low << 32 >> (64 - table.bits), (high << 32 >> (64 - table.bits)) + 1):
        link = table.buckets[b]
        while link:
            ct = <CtEntry*><uintptr_t>(link & ~<CtLink>1)
            direction = link & 1
            link = ct.hash_next[direction]
            if ct.status & IPS_ASSURED or linux_bucket(tuple_hash(&ct.tuple[direction], table.seed), buckets) != wanted:
                continue
            if link and <CtEntry*><uintptr_t>(link & ~<CtLink>1) == ct:
                link = ct.hash_next[link & 1]   # its other direction stands next in the same chain and goes with it
            if entry_kill(net, ct):
                dropped += 1
    return dropped


cdef void entry_put(Net* net, CtEntry* ct) noexcept nogil:
    """Give a reference back; the last one frees the entry."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    ct.refs -= 1
    if ct.refs:
        return
    if ct.master != NULL:
        entry_put(net, ct.master)
        ct.master = NULL
    nat_source_unlink(net, ct)
    if ct.extra != NULL:
        free(ct.extra)
        ct.extra = NULL
    ct.status = 0
    ct.hash_next[0] = <CtLink><uintptr_t>table.unused
    table.unused = ct
    table.count -= 1


cdef inline void chain_add(Conntrack* table, CtEntry* ct, uint8_t direction) noexcept nogil:
    cdef CtLink* bucket = &table.buckets[tuple_hash(&ct.tuple[direction], table.seed) >> (64 - table.bits)]
    ct.hash_next[direction] = bucket[0]
    bucket[0] = <CtLink><uintptr_t>ct | direction


cdef void chain_remove(Conntrack* table, CtEntry* ct, uint8_t direction) noexcept nogil:
    cdef CtLink* at = &table.buckets[tuple_hash(&ct.tuple[direction], table.seed) >> (64 - table.bits)]
    cdef CtLink wanted = <CtLink><uintptr_t>ct | direction
    while at[0]:
        if at[0] == wanted:
            at[0] = ct.hash_next[direction]
            return
        at = &(<CtEntry*><uintptr_t>(at[0] & ~<CtLink>1)).hash_next[at[0] & 1]


cdef void entry_insert(Net* net, CtEntry* ct) noexcept nogil:
    """Enter both directions (the reply only with IPS_REPLY_ONLY). The table takes a reference."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    if table.count > <uint32_t>(<uint32_t>1 << (table.bits - 1)):
        rehash(table)
    if not ct.status & IPS_REPLY_ONLY:
        chain_add(table, ct, 0)
    chain_add(table, ct, 1)
    ct.refs += 1
    ct.status |= IPS_CONFIRMED


cdef void rehash(Conntrack* table) noexcept nogil:
    """Twice the buckets: two of them for each connection's two tuples."""
    cdef CtLink* larger = <CtLink*>calloc(<size_t>1 << (table.bits + 1), sizeof(CtLink))
    cdef CtEntry* ct
    cdef uint32_t slot
    if larger == NULL or table.bits >= 31:
        free(larger)
        return
    free(table.buckets)
    table.buckets = larger
    table.bits += 1
    for slot in range(table.used):
        ct = table_slot(table, slot)
        if ct.status & IPS_CONFIRMED and not ct.status & IPS_DYING:
            if not ct.status & IPS_REPLY_ONLY:
                chain_add(table, ct, 0)
            chain_add(table, ct, 1)


cdef bint entry_kill(Net* net, CtEntry* ct) noexcept nogil:
    """Take it out of the table; packets may hold it still (nf_ct_delete). False when somebody did so before."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    if ct.status & IPS_DYING:
        return False
    ct.status |= IPS_DYING
    if not ct.status & IPS_CONFIRMED:
        return True
    if not ct.status & IPS_REPLY_ONLY:
        chain_remove(table, ct, 0)
    chain_remove(table, ct, 1)
    entry_put(net, ct)
    return True


cdef CtEntry* table_find(Net* net, const Tuple* t, uint8_t* direction) noexcept nogil:
    """The live entry with this tuple, and in which direction it has it (____nf_conntrack_find)."""
    return table_find_zoned(net, t, NULL, NULL, direction)


cdef CtEntry* table_find_zoned(Net* net, const Tuple* t, const uint16_t* zone, const CtEntry* ignored, uint8_t* direction) noexcept nogil:
    """The same, passing over one entry. `zone`, when not NULL: by direction the zone that an entry must have in the one
    in which it has the tuple; it tells entries apart when a zone holds for one direction only."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef CtLink link = table.buckets[tuple_hash(t, table.seed) >> (64 - table.bits)]
    cdef CtEntry* ct
    cdef CtEntry* expired = NULL
    while link:
        ct = <CtEntry*><uintptr_t>(link & ~<CtLink>1)
        direction[0] = link & 1
        if tuple_equal(&ct.tuple[direction[0]], t) and (zone == NULL or zone[direction[0]] == t.zone):
            if entry_expired(net, ct):
                expired = ct
            elif ct != ignored:
                return ct
        link = ct.hash_next[direction[0]]
    if expired != NULL:
        entry_kill(net, expired)
    return NULL


cdef void table_sweep(Net* net, uint32_t slots) noexcept nogil:
    """Remove the expired among the next entries of the slab."""
    cdef Conntrack* table = <Conntrack*>net.conntrack
    cdef uint32_t total = table.used
    cdef CtEntry* ct
    cdef uint32_t _i
    if slots > total:
        slots = total
    for _i in range(slots):
        if table.swept >= total:
            table.swept = 0
        ct = table_slot(table, table.swept)
        table.swept += 1
        if ct.status & IPS_CONFIRMED and not ct.status & IPS_DYING and entry_expired(net, ct):
            entry_kill(net, ct)
