"""The connections by their original source (net/netfilter/nf_nat_core.c, nf_nat_bysource), and the rules that bound one."""
from libc.stdlib cimport calloc, free, realloc
from libc.stdint cimport uint64_t

from datapath._core.tuples cimport addr_equal

cdef enum:
    FIRST_BUCKETS = 1024


cdef int nat_init(Net* net) except -1:
    cdef NatTable* nat = <NatTable*>calloc(1, sizeof(NatTable))
    if nat == NULL:
        raise MemoryError
    nat.buckets = <CtEntry**>calloc(FIRST_BUCKETS, sizeof(CtEntry*))
    if nat.buckets == NULL:
        free(nat)
        raise MemoryError
    nat.mask = FIRST_BUCKETS - 1
    net.nat = nat
    return 0


cdef void nat_free(Net* net) noexcept nogil:
    cdef NatTable* nat = <NatTable*>net.nat
    if nat != NULL:
        free(nat.buckets)
        free(nat.rules)
        free(nat)
        net.nat = NULL


cdef int32_t nat_rule_enter(Net* net, uint8_t family, uint8_t table, int32_t chain, int32_t number) noexcept nogil:
    cdef NatTable* nat = <NatTable*>net.nat
    cdef NatRule* larger
    if nat.n_rules == nat.rules_size:
        larger = <NatRule*>realloc(nat.rules, (<size_t>nat.rules_size * 2 + 16) * sizeof(NatRule))
        if larger == NULL:
            return -1
        nat.rules = larger
        nat.rules_size = nat.rules_size * 2 + 16
    nat.rules[nat.n_rules].family = family
    nat.rules[nat.n_rules].table = table
    nat.rules[nat.n_rules].chain = chain
    nat.rules[nat.n_rules].number = number
    nat.n_rules += 1
    return <int32_t>(nat.n_rules - 1)


cdef object nat_rules(Net* net, uint32_t first):
    cdef NatTable* nat = <NatTable*>net.nat
    cdef uint32_t i
    return [(nat.rules[i].family, nat.rules[i].table, nat.rules[i].chain, nat.rules[i].number) for i in range(first, nat.n_rules)]


cdef inline uint32_t bucket_of(const NatTable* nat, const Tuple* tuple) noexcept nogil:
    cdef uint64_t h = tuple.src.q[0] ^ (tuple.src.q[1] * <uint64_t>0x9E3779B97F4A7C15)
    h ^= <uint64_t>tuple.sport << 40 ^ <uint64_t>tuple.protocol << 32 ^ tuple.zone
    h *= <uint64_t>0x9FB21C651E98DF25
    h ^= h >> 35
    h *= <uint64_t>0x9FB21C651E98DF25
    return <uint32_t>(h >> 32) & nat.mask


cdef inline void push(CtEntry** head, CtEntry* ct) noexcept nogil:
    ct.source_next = head[0]
    ct.source_prev = head
    if head[0] != NULL:
        head[0].source_prev = &ct.source_next
    head[0] = ct


cdef void grow(NatTable* nat) noexcept nogil:
    """Twice the buckets; within each the order stays. Without memory the chains get longer instead."""
    cdef uint32_t old_size = nat.mask + 1
    cdef CtEntry** old = nat.buckets
    cdef CtEntry** larger = <CtEntry**>calloc(<size_t>old_size * 2, sizeof(CtEntry*))
    cdef CtEntry* ct
    cdef CtEntry* following
    cdef CtEntry* oldest_first
    cdef uint32_t i
    if larger == NULL:
        return
    nat.buckets = larger
    nat.mask = old_size * 2 - 1
    for i in range(old_size):
        oldest_first = NULL
        ct = old[i]
        while ct != NULL:
            following = ct.source_next
            ct.source_next = oldest_first
            oldest_first = ct
            ct = following
        while oldest_first != NULL:
            following = oldest_first.source_next
            push(&larger[bucket_of(nat, &oldest_first.tuple[0])], oldest_first)
            oldest_first = following
    free(old)


cdef void nat_source_link(Net* net, CtEntry* ct) noexcept nogil:
    cdef NatTable* nat = <NatTable*>net.nat
    if ct.source_prev != NULL:
        return
    if nat.count > nat.mask:
        grow(nat)
    push(&nat.buckets[bucket_of(nat, &ct.tuple[0])], ct)
    nat.count += 1


cdef inline bint same_source(const Tuple* a, const Tuple* b) noexcept nogil:
    return (a.sport == b.sport and a.protocol == b.protocol and a.zone == b.zone and a.family == b.family
            and addr_equal(&a.src, &b.src))


cdef CtEntry* nat_source_next(Net* net, const Tuple* tuple, CtEntry* after) noexcept nogil:
    cdef const NatTable* nat = <const NatTable*>net.nat
    cdef CtEntry* ct = after.source_next if after != NULL else nat.buckets[bucket_of(nat, tuple)]
    while ct != NULL and not same_source(&ct.tuple[0], tuple):
        ct = ct.source_next
    return ct
