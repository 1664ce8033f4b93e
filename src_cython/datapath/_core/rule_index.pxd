# Finding the next rule of a chain that can match, without trying those that cannot. Where many rules of a chain
# insist on an address or a port, a hash leads to them; the others stay an ordered list. The lowest number of both is
# the next candidate, so that the first match is the one that Linux finds, and the count of rules that Linux
# would have tried follows from its number.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.context cimport Walk
from datapath._core.header_view cimport HeaderView, view_protocol
from datapath._core.program cimport (
    SHAPES, SHAPE_DESTINATION, SHAPE_PORT, SHAPE_SERVICE, SHAPE_SOURCE, Chain, ChainIndex, Rule, Table)


cdef struct Cursor:         # where a traversal stands in an indexed chain
    int32_t next[4]          # -1: no more
    int32_t other


cdef int index_build(Table* table, Chain* chain, int family) except -1
cdef void index_free(ChainIndex* index) noexcept nogil


cdef inline uint64_t key_mix(uint64_t h, uint64_t word) noexcept nogil:
    h = (h ^ word) * <uint64_t>0x9FB21C651E98DF25
    return h ^ (h >> 32)


cdef inline uint32_t key_hash(int shape, uint32_t word, const uint64_t* wide, uint8_t protocol, uint16_t port) noexcept nogil:
    """`word` is the address of IPv4, `wide` that of IPv6 or NULL."""
    cdef uint64_t h = <uint64_t>shape + 1
    if shape != SHAPE_PORT:
        if wide != NULL:
            h = key_mix(key_mix(h, wide[0]), wide[1])
        else:
            h = key_mix(h, word)
    if shape == SHAPE_SERVICE or shape == SHAPE_PORT:
        h = key_mix(h, <uint64_t>protocol << 16 | port)
    h *= <uint64_t>0xD6E8FEB86659FD93
    return <uint32_t>(h >> 32)


cdef inline bint cursor_seek(Cursor* cursor, const Table* table, const Chain* chain, HeaderView* view, Walk* walk, int32_t rule) noexcept nogil:
    """Stand before `rule` (a number in Table.rules). False: this packet has to try the rules one after the other."""
    cdef const ChainIndex* index = chain.index
    cdef const uint64_t* wide = NULL
    cdef uint32_t word, hash, slot
    cdef uint16_t port = 0
    cdef int protocol = 0
    cdef int shape
    cdef int32_t found = -1
    if index.has[<int>SHAPE_SERVICE] or index.has[<int>SHAPE_PORT]:
        protocol = view_protocol(view, walk)
        if protocol < 0:
            walk.hotdrop = 0    # the first rule that asks will say so
            return False
        if protocol == 6 or protocol == 17:
            if not view.has_port:
                return False
            port = view.port
    for shape in range(SHAPES):
        cursor.next[shape] = -1
        if not index.has[shape]:
            continue
        if (shape == SHAPE_SERVICE or shape == SHAPE_PORT) and protocol != 6 and protocol != 17:
            continue
        word = view.source if shape == SHAPE_SOURCE else view.destination
        if view.family == 6:
            wide = &view.wide_destination.q[0]
            if shape == SHAPE_SOURCE:
                wide = &view.wide_source.q[0]
        hash = key_hash(shape, word, wide, <uint8_t>protocol, port)
        slot = hash & index.mask[shape]
        while True:
            found = index.slots[shape][slot].first
            if found < 0 or index.slots[shape][slot].hash == hash:
                break
            slot = (slot + 1) & index.mask[shape]
        while 0 <= found < rule:
            found = table.rules[found].next_same
        cursor.next[shape] = found
    cursor.other = table.rules[rule].next_other if rule < chain.first + chain.count else -1
    return True


cdef inline int32_t cursor_next(Cursor* cursor, const Table* table, const Chain* chain) noexcept nogil:
    """The next candidate, -1: none is left."""
    cdef int32_t best = cursor.other
    cdef int at = SHAPES
    cdef int shape
    for shape in range(SHAPES):
        if cursor.next[shape] >= 0 and (best < 0 or cursor.next[shape] < best):
            best = cursor.next[shape]
            at = shape
    if best < 0:
        return -1
    if at < SHAPES:
        cursor.next[at] = table.rules[best].next_same
    elif best + 1 < chain.first + chain.count:
        cursor.other = table.rules[best + 1].next_other
    else:
        cursor.other = -1
    return best
