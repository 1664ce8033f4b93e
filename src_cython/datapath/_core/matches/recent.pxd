# -m recent: whether and when an address was seen (net/netfilter/xt_recent.c, recent_mt).
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_YES
from datapath._core.packet cimport packet_ip
from datapath._core.recent cimport (
    RECENT_HZ, RecentEntry, RecentTable, recent_add, recent_find, recent_jiffies, recent_remove, recent_touch,
)
from datapath._core.tuples cimport Addr


cdef enum RecentCommand:  # XT_RECENT_*
    RECENT_CHECK = 1
    RECENT_SET = 2
    RECENT_UPDATE = 4
    RECENT_REMOVE = 8
    RECENT_TTL = 16
    RECENT_REAP = 32


cdef struct RecentMatch:  # packed by datapath/extensions/matches/recent.py
    RecentTable* table      # bound when the program is loaded
    uint32_t seconds
    uint32_t hits
    uint8_t mask[16]
    uint8_t commands        # RecentCommand
    uint8_t invert
    uint8_t destination


cdef inline bint stamp_before(uint64_t stamp, uint64_t time) noexcept nogil:
    """time_after(time, stamp)."""
    return <int64_t>(stamp - time) < 0


cdef inline uint8_t recent_ttl(const Walk* walk) noexcept nogil:
    """The TTL as it came in: a packet on its way out has lost one, unless a local socket sent it."""
    cdef uint8_t ttl = packet_ip(walk.pkt)[8 if walk.family == 4 else 7]
    return <uint8_t>(ttl + 1) if walk.out_dev >= 0 and not walk.pkt.local else ttl


cdef inline bint seen_often(const RecentMatch* want, const RecentEntry* entry, uint64_t since) noexcept nogil:
    cdef uint32_t hits = 0
    cdef uint32_t i
    for i in range(entry.n_stamps):
        if want.seconds and stamp_before(entry.stamps[i], since):
            continue
        hits += 1
        if want.hits == 0 or hits >= want.hits:
            return True
    return False


cdef inline void reap_oldest(RecentTable* table, uint64_t since, const RecentEntry* kept) noexcept nogil:
    """Drop the oldest entry if it is older than the rule looks back, unless it is about to be updated."""
    cdef RecentEntry* oldest = table.oldest
    if oldest != kept and stamp_before(oldest.stamps[<uint16_t>(oldest.index - 1)], since):
        recent_remove(table, oldest)


cdef inline int match_recent(Walk* walk, void* payload) noexcept nogil:
    cdef const RecentMatch* want = <const RecentMatch*>payload
    cdef RecentTable* table = want.table
    cdef const uint8_t* ip = packet_ip(walk.pkt)
    cdef uint64_t now = recent_jiffies(walk.net)
    cdef uint64_t since = now - <uint32_t>(want.seconds * RECENT_HZ)
    cdef uint8_t ttl = recent_ttl(walk)
    cdef bint found = want.invert
    cdef RecentEntry* entry
    cdef Addr addr
    memset(&addr, 0, sizeof(Addr))
    if walk.family == 4:
        memcpy(&addr, ip + (16 if want.destination else 12), 4)
    else:
        memcpy(&addr, ip + (24 if want.destination else 8), 16)
    addr.q[0] &= table.mask.q[0]
    addr.q[1] &= table.mask.q[1]
    entry = recent_find(table, &addr, walk.family, ttl if want.commands & RECENT_TTL else 0)
    if entry == NULL:
        if want.commands & RECENT_SET:
            if recent_add(table, &addr, walk.family, ttl, now) == NULL:
                walk.hotdrop = 1
            found = not found
        return found
    if want.commands & RECENT_SET:
        found = not found
    elif want.commands & RECENT_REMOVE:
        recent_remove(table, entry)
        return not found
    else:
        if seen_often(want, entry, since):
            found = not found
        if want.commands & RECENT_REAP:
            reap_oldest(table, since, entry if want.commands & RECENT_UPDATE and found else NULL)
    if want.commands & RECENT_SET or (want.commands & RECENT_UPDATE and found):
        recent_touch(table, entry, now)
        entry.ttl = ttl
    return found
