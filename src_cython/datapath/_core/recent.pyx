"""The lists behind the recent match: who was seen when."""
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset, strcmp, strncpy

from datapath._core.tuples cimport addr_equal

cdef enum:
    DEFAULT_RING = 32       # stamps kept per address when no rule of the list asks for a hit count


cdef RecentTable* recent_table(Net* net, const char* name) noexcept nogil:
    cdef RecentTable* table = <RecentTable*>net.recent
    while table != NULL and strcmp(table.name, name):
        table = table.next
    return table


cdef void recent_flush(RecentTable* table) noexcept nogil:
    while table.oldest != NULL:
        recent_remove(table, table.oldest)


cdef uint16_t ring_mask(uint32_t hits) noexcept nogil:
    """The ring is the power of two that holds the hits asked for."""
    cdef uint32_t size = DEFAULT_RING
    if hits:
        size = 1
        while size < hits:
            size *= 2
    return <uint16_t>(size - 1)


cdef RecentTable* recent_make(Net* net, str name) except NULL:
    cdef bytes packed = name.encode(errors="surrogateescape")
    cdef RecentTable* table = recent_table(net, packed)
    if table != NULL:
        return table
    table = <RecentTable*>calloc(1, sizeof(RecentTable))
    if table == NULL:
        raise MemoryError
    strncpy(table.name, packed, sizeof(table.name) - 1)
    memset(&table.mask, 0xFF, sizeof(Addr))
    table.stamps_mask = ring_mask(0)
    table.most_entries = RECENT_ENTRIES
    table.owner = <RecentTable**>&net.recent
    table.next = table.owner[0]
    table.owner[0] = table
    return table


cdef RecentTable* recent_bind(Net* net, str name, const uint8_t* mask, uint32_t hits) except NULL:
    """The list that a rule refers to, made when there is none (recent_mt_check).

    A rule that asks for more hits than the list keeps stamps for empties the list.
    """
    cdef bint known = recent_table(net, name.encode(errors="surrogateescape")) != NULL
    cdef RecentTable* table = recent_make(net, name)
    if not known:
        memcpy(&table.mask, mask, sizeof(Addr))
        table.stamps_mask = ring_mask(hits)
    elif ring_mask(hits) > table.stamps_mask:
        recent_flush(table)
        table.stamps_mask = ring_mask(hits)
    table.refs += 1
    return table


cdef void recent_destroy(RecentTable* table) noexcept nogil:
    cdef RecentTable** at = table.owner
    while at[0] != table:
        at = &at[0].next
    at[0] = table.next
    recent_flush(table)
    free(table)


cdef void recent_release(RecentTable* table) noexcept nogil:
    """A rule lets go of its list; the last one takes the list with it (recent_mt_destroy)."""
    if table == NULL:
        return
    table.refs -= 1
    if table.refs == 0:
        recent_destroy(table)


cdef void recent_free(Net* net) noexcept nogil:
    """Give back every list, when no rule is left that could refer to one."""
    while net.recent != NULL:
        recent_destroy(<RecentTable*>net.recent)


cdef RecentEntry* recent_find(const RecentTable* table, const Addr* addr, uint8_t family, uint8_t ttl) noexcept nogil:
    """The entry of a masked address; a TTL of 0, asked for or kept, is any (recent_entry_lookup)."""
    cdef RecentEntry* entry = table.newest
    while entry != NULL:
        if entry.family == family and addr_equal(&entry.addr, addr) and (ttl == entry.ttl or ttl == 0 or entry.ttl == 0):
            return entry
        entry = entry.older
    return NULL


cdef void unlink_entry(RecentTable* table, RecentEntry* entry) noexcept nogil:
    if entry.older != NULL:
        entry.older.newer = entry.newer
    else:
        table.oldest = entry.newer
    if entry.newer != NULL:
        entry.newer.older = entry.older
    else:
        table.newest = entry.older


cdef void link_newest(RecentTable* table, RecentEntry* entry) noexcept nogil:
    entry.newer = NULL
    entry.older = table.newest
    if table.newest != NULL:
        table.newest.newer = entry
    else:
        table.oldest = entry
    table.newest = entry


cdef RecentEntry* recent_add(RecentTable* table, const Addr* addr, uint8_t family, uint8_t ttl, uint64_t now) noexcept nogil:
    """A new entry, seen now; a full list loses its oldest. NULL: no memory (recent_entry_init)."""
    cdef RecentEntry* entry
    cdef uint64_t* stamps
    if table.entries >= table.most_entries:
        recent_remove(table, table.oldest)
    entry = <RecentEntry*>calloc(1, sizeof(RecentEntry))
    stamps = <uint64_t*>calloc(<size_t>table.stamps_mask + 1, sizeof(uint64_t))
    if entry == NULL or stamps == NULL:
        free(entry)
        free(stamps)
        return NULL
    entry.addr = addr[0]
    entry.family = family
    entry.ttl = ttl
    entry.stamps = stamps
    entry.stamps[0] = now
    entry.n_stamps = 1
    entry.index = 1
    link_newest(table, entry)
    table.entries += 1
    return entry


cdef void recent_touch(RecentTable* table, RecentEntry* entry, uint64_t now) noexcept nogil:
    """One more stamp (recent_entry_update)."""
    entry.index &= table.stamps_mask
    entry.stamps[entry.index] = now
    entry.index += 1
    if entry.index > entry.n_stamps:
        entry.n_stamps = entry.index
    unlink_entry(table, entry)
    link_newest(table, entry)


cdef void recent_remove(RecentTable* table, RecentEntry* entry) noexcept nogil:
    unlink_entry(table, entry)
    free(entry.stamps)
    free(entry)
    table.entries -= 1


cdef void recent_start(Net* net) noexcept nogil:
    """The first packet: the time of imported stamps begins."""
    cdef RecentTable* table = <RecentTable*>net.recent
    cdef RecentEntry* entry
    cdef int i
    while table != NULL:
        entry = table.oldest if table.waiting else NULL
        table.waiting = 0
        while entry != NULL:
            for i in range(entry.n_stamps):
                entry.stamps[i] += recent_jiffies(net)
            entry = entry.newer
        table = table.next


cdef object recent_export(Net* net):
    """{name: [(family, address bytes, ttl, index, [stamp in jiffies, ...]), ...]}, the oldest entry first."""
    cdef RecentTable* table = <RecentTable*>net.recent
    cdef RecentEntry* entry
    cdef int i
    lists = {}
    while table != NULL:
        rows = []
        entry = table.oldest
        while entry != NULL:
            stamps = [entry.stamps[i] for i in range(entry.n_stamps)]
            rows.append((entry.family, (<const char*>entry.addr.b)[:4 if entry.family == 4 else 16], entry.ttl, entry.index, stamps))
            entry = entry.newer
        lists[table.name.decode(errors="surrogateescape")] = rows
        table = table.next
    return lists


cdef int recent_import(Net* net, str name, object entries) except -1:
    """Fill a list with rows like those of recent_export, whose stamps count from the first packet (modulo 2^64).

    It must be called after the rules are loaded, which make the lists; a list that no rule refers to is left out,
    as it would be gone in Linux. A longer list than Linux keeps by default says that the module was loaded with a
    larger ip_list_tot.
    """
    cdef RecentTable* table = recent_table(net, name.encode(errors="surrogateescape"))
    cdef RecentEntry* entry
    cdef Addr addr
    cdef bytes packed
    cdef int i, ring
    if table == NULL:
        return 0
    recent_flush(table)
    table.waiting = 1
    table.most_entries = max(RECENT_ENTRIES, len(entries))
    for _, _, _, index, stamps in entries:      # rings in Linux are as large as the largest rule of the list asked for
        ring = max(index, len(stamps))
        if ring > table.stamps_mask + 1:
            table.stamps_mask = ring_mask(ring)
    for family, address, ttl, index, stamps in entries:
        packed = address
        memset(&addr, 0, sizeof(Addr))
        memcpy(&addr, <const char*>packed, min(len(packed), 16))
        entry = recent_add(table, &addr, family, ttl, 0)
        if entry == NULL:
            raise MemoryError
        entry.n_stamps = <uint16_t>len(stamps)
        entry.index = index
        for i in range(entry.n_stamps):
            entry.stamps[i] = stamps[i]
    return 0
