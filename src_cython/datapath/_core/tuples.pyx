"""Hashing of flow tuples."""


cdef inline uint64_t mix(uint64_t h, uint64_t word) noexcept nogil:
    h = (h ^ word) * <uint64_t>0x9FB21C651E98DF25
    return h ^ (h >> 32)


cdef uint64_t tuple_hash(const Tuple* t, uint64_t seed) noexcept nogil:
    """A seeded 64-bit hash of all 40 bytes. A multiply-xor mix: no defence against chosen tuples is needed,
    since a capture that makes all of its own flows collide only slows its own replay."""
    cdef const uint64_t* words = <const uint64_t*>t
    cdef uint64_t h = seed
    h = mix(h, words[0])
    h = mix(h, words[1])
    h = mix(h, words[2])
    h = mix(h, words[3])
    return mix(h, words[4])
