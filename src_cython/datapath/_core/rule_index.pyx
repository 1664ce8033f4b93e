"""Building the index of a chain."""
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from datapath._core.program cimport (
    RULE_NOT_DESTINATION, RULE_NOT_SOURCE, SHAPE_NONE, KeySlot, WideAddresses, rule_action, rule_has_port, rule_shape)
from datapath._core.tuples cimport Addr

cdef enum:
    FEWEST = 8              # a shape with fewer rules is not worth a lookup


cdef bint full_mask(const Addr* mask) noexcept nogil:
    return mask.q[0] == <uint64_t>0xFFFFFFFFFFFFFFFF and mask.q[1] == <uint64_t>0xFFFFFFFFFFFFFFFF


cdef bint rule_hash(const Table* table, const Rule* rule, int shape, int family, uint32_t* hash) noexcept nogil:
    """The key of a rule under a shape; False: it does not insist on what the shape is made of."""
    cdef const WideAddresses* wide
    cdef const uint64_t* address = NULL
    cdef uint32_t word = 0
    cdef bint source = shape == SHAPE_SOURCE
    if (shape == SHAPE_SERVICE or shape == SHAPE_PORT) and not rule_has_port(rule):
        return False
    if shape != SHAPE_PORT:
        if family == 4:
            if rule.flags & (RULE_NOT_SOURCE if source else RULE_NOT_DESTINATION):
                return False
            if (rule.source_mask if source else rule.destination_mask) != <uint32_t>0xFFFFFFFF:
                return False
            word = rule.source if source else rule.destination
        else:
            if not rule.wide:
                return False
            wide = &table.wide[rule.wide]
            if wide.flags & (RULE_NOT_SOURCE if source else RULE_NOT_DESTINATION):
                return False
            if not full_mask(&wide.source_mask if source else &wide.destination_mask):
                return False
            address = &wide.destination.q[0]
            if source:
                address = &wide.source.q[0]
    hash[0] = key_hash(shape, word, address, rule.protocol, rule.port_low)
    return True


cdef uint32_t slots_for(uint32_t n) noexcept nogil:
    cdef uint32_t size = 16
    while size < 2 * n:
        size *= 2
    return size


cdef KeySlot* slots_new(uint32_t size) except NULL:
    cdef KeySlot* slots = <KeySlot*>calloc(size, sizeof(KeySlot))
    if slots == NULL:
        raise MemoryError
    memset(slots, 0xFF, size * sizeof(KeySlot))
    return slots


cdef bint slot_find(KeySlot* slots, uint32_t mask, uint32_t hash, uint32_t* slot) noexcept nogil:
    """Whether the hash is there; *slot is its place, or the place where it belongs."""
    slot[0] = hash & mask
    while slots[slot[0]].first >= 0:
        if slots[slot[0]].hash == hash:
            return True
        slot[0] = (slot[0] + 1) & mask
    return False


cdef int count_keys(Table* table, Chain* chain, int family, uint32_t* distinct) except -1:
    """How many different keys the chain's rules have under each shape."""
    cdef uint32_t size = slots_for(<uint32_t>chain.count)
    cdef KeySlot* slots = slots_new(size)
    cdef uint32_t hash = 0
    cdef uint32_t slot = 0
    cdef int32_t i
    cdef int shape
    for shape in range(SHAPES):
        distinct[shape] = 0
        memset(slots, 0xFF, size * sizeof(KeySlot))
        for i in range(chain.first, chain.first + chain.count):
            if rule_hash(table, &table.rules[i], shape, family, &hash) and not slot_find(slots, size - 1, hash, &slot):
                slots[slot].hash = hash
                slots[slot].first = i
                distinct[shape] += 1
    free(slots)
    return 0


cdef void set_shape(Rule* rule, int shape) noexcept nogil:
    rule.action_shape = <uint8_t>(rule_action(rule) | shape << 4)


cdef void choose_shapes(Table* table, Chain* chain, int family, const uint32_t* distinct, uint32_t* members) noexcept nogil:
    """Give each rule the shape that tells it best from its neighbours."""
    cdef uint32_t hash = 0
    cdef uint32_t most
    cdef int32_t i
    cdef int shape, best
    cdef Rule* rule
    for shape in range(SHAPES):
        members[shape] = 0
    for i in range(chain.first, chain.first + chain.count):
        rule = &table.rules[i]
        best = SHAPE_NONE
        most = 0
        for shape in range(SHAPES):
            if distinct[shape] > most and rule_hash(table, rule, shape, family, &hash):
                best = shape
                most = distinct[shape]
        set_shape(rule, best)
        if best != SHAPE_NONE:
            members[best] += 1
    for i in range(chain.first, chain.first + chain.count):
        rule = &table.rules[i]
        if rule_shape(rule) != SHAPE_NONE and members[rule_shape(rule)] < FEWEST:
            set_shape(rule, SHAPE_NONE)


cdef int index_build(Table* table, Chain* chain, int family) except -1:
    """Build the chain's index where it pays."""
    cdef uint32_t distinct[4]
    cdef uint32_t members[4]
    cdef ChainIndex* index
    cdef uint32_t hash = 0
    cdef uint32_t slot = 0
    cdef int32_t other = -1
    cdef int32_t i
    cdef int shape
    cdef Rule* rule
    chain.index = NULL
    if chain.count < FEWEST:
        return 0
    count_keys(table, chain, family, distinct)
    choose_shapes(table, chain, family, distinct, members)
    index = <ChainIndex*>calloc(1, sizeof(ChainIndex))
    if index == NULL:
        raise MemoryError
    for shape in range(SHAPES):
        if members[shape] >= FEWEST:
            index.has[shape] = 1
            index.mask[shape] = slots_for(distinct[shape]) - 1
            index.slots[shape] = slots_new(index.mask[shape] + 1)
            chain.index = index
    if chain.index == NULL:
        free(index)
        return 0
    # From the last to the first: each list comes out in the order of the rules.
    i = chain.first + chain.count - 1
    while i >= chain.first:
        rule = &table.rules[i]
        rule.next_same = -1
        shape = rule_shape(rule)
        if shape == SHAPE_NONE:
            other = i
        else:
            rule_hash(table, rule, shape, family, &hash)
            if slot_find(index.slots[shape], index.mask[shape], hash, &slot):
                rule.next_same = index.slots[shape][slot].first
            index.slots[shape][slot].hash = hash
            index.slots[shape][slot].first = i
        rule.next_other = other
        i -= 1
    return 0


cdef void index_free(ChainIndex* index) noexcept nogil:
    cdef int shape
    if index == NULL:
        return
    for shape in range(SHAPES):
        free(index.slots[shape])
    free(index)
