# Everything that Linux draws at random goes through here: one seeded generator, and what a capture has shown
# of a draw's result, which goes before it.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.record cimport STEP_DRAW, Recorder, record
from datapath._core.tuples cimport Addr


cdef enum DrawKind:
    DRAW_STATISTIC = 0
    DRAW_NAT_PORT = 1
    DRAW_ICMP_ID = 2
    DRAW_IP_ID = 3
    DRAW_FLOW_LABEL = 4
    DRAW_NAT_ADDRESS = 5    # never drawn: the hash by which Linux takes an address of a range has no seed
    DRAW_SCHEDULER = 6


cdef struct Shown:  # what the capture shows of this packet's translation (by its leaving copy or its first reply)
    uint8_t has_dst
    uint8_t has_src
    uint8_t for_statistic   # the statistic match follows it too
    Addr dst
    Addr src
    uint16_t dport
    uint16_t sport


cdef struct Draws:
    uint64_t state
    Shown shown             # cleared after each packet
    uint64_t count[2]       # draws so far: by the seed, and taken from the capture


cdef inline uint32_t draw_u32(Draws* draws) noexcept nogil:
    """The next 32 random bits (splitmix64)."""
    cdef uint64_t z
    draws.state += <uint64_t>0x9E3779B97F4A7C15
    z = draws.state
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return <uint32_t>((z ^ (z >> 31)) >> 16)


cdef inline bint draw_chance(Draws* draws, uint32_t probability, uint32_t* drawn) noexcept nogil:
    """Whether a 31-bit number stays below probability (of 2^31), as the statistic match asks."""
    drawn[0] = draw_u32(draws) & 0x7FFFFFFF
    return drawn[0] < probability


cdef inline void draw_record(Draws* draws, Recorder* rec, uint8_t hook, uint8_t table, uint8_t kind, bint shown, uint64_t value) noexcept nogil:
    """Write down that something was drawn, or that the capture showed it."""
    draws.count[1 if shown else 0] += 1
    record(rec, STEP_DRAW, hook, table, kind, shown, 0, value, True)
