# Addresses and flow tuples, IPv4 and IPv6 alike (struct nf_conntrack_tuple).
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp


cdef union Addr:  # an IPv4 address stands in b[0:4], the rest is zero (as union nf_inet_addr)
    uint8_t b[16]
    uint32_t w[4]
    uint64_t q[2]


cdef struct Tuple:  # 40 bytes, no padding holes: hashed and compared as two ends plus one word
    Addr src
    Addr dst
    uint16_t sport      # host byte order; ICMP: the echo id
    uint16_t dport      # host byte order; ICMP: type << 8 | code; GRE: key
    uint8_t protocol
    uint8_t family      # 4 or 6
    uint16_t zone       # conntrack zone of this direction


cdef inline bint addr_equal(const Addr* a, const Addr* b) noexcept nogil:
    return a.q[0] == b.q[0] and a.q[1] == b.q[1]


cdef inline bint addr_is_zero(const Addr* a) noexcept nogil:
    return a.q[0] == 0 and a.q[1] == 0


cdef inline bint tuple_equal(const Tuple* a, const Tuple* b) noexcept nogil:
    return memcmp(a, b, sizeof(Tuple)) == 0


cdef uint64_t tuple_hash(const Tuple* t, uint64_t seed) noexcept nogil
