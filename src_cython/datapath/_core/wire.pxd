# Big-endian access and the Internet checksum (RFC 1071, RFC 1624). Everything here is inline: the packet
# path reads and rewrites headers through these and nothing else.
#
# A checksum is kept "as on the wire": the 16-bit value that memory holds, read in network order.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint16_t load_be16(const uint8_t* p) noexcept nogil:
    return <uint16_t>((p[0] << 8) | p[1])


cdef inline uint32_t load_be32(const uint8_t* p) noexcept nogil:
    return (<uint32_t>p[0] << 24) | (<uint32_t>p[1] << 16) | (<uint32_t>p[2] << 8) | p[3]


cdef inline void store_be16(uint8_t* p, uint16_t value) noexcept nogil:
    p[0] = <uint8_t>(value >> 8)
    p[1] = <uint8_t>value


cdef inline void store_be32(uint8_t* p, uint32_t value) noexcept nogil:
    p[0] = <uint8_t>(value >> 24)
    p[1] = <uint8_t>(value >> 16)
    p[2] = <uint8_t>(value >> 8)
    p[3] = <uint8_t>value


cdef inline uint16_t fold(uint64_t total) noexcept nogil:
    """The one's complement sum of 16-bit words, folded to 16 bits (not inverted)."""
    total = (total & <uint64_t>0xFFFFFFFF) + (total >> 32)
    total = (total & <uint64_t>0xFFFFFFFF) + (total >> 32)
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return <uint16_t>total


cdef inline uint64_t sum_bytes(const uint8_t* p, uint32_t n) noexcept nogil:
    """The running sum of n bytes as big-endian 16-bit words; an odd last byte is padded with zero."""
    cdef uint64_t total = 0
    cdef uint64_t word = 0
    cdef uint32_t i = 0
    cdef uint16_t folded
    cdef uint64_t carry = 0
    # Sums little-endian 64-bit words; the one's complement sum is byte-order independent up to a final swap.
    while i + 8 <= n:
        memcpy(&word, p + i, 8)
        total += word
        carry += total < word
        i += 8
    if i < n:
        word = 0
        memcpy(&word, p + i, n - i)
        total += word
        carry += total < word
    total = (total & <uint64_t>0xFFFFFFFF) + (total >> 32) + carry
    folded = fold(total)
    return <uint64_t>(((folded & 0xFF) << 8) | (folded >> 8))


cdef inline uint16_t checksum_replace(uint16_t check, uint64_t removed, uint64_t added) noexcept nogil:
    """The checksum after words with sum `removed` were replaced by words with sum `added` (RFC 1624, eq. 3)."""
    return <uint16_t>~fold(<uint64_t>(<uint16_t>~check) + (<uint64_t>(<uint16_t>~fold(removed))) + fold(added))
