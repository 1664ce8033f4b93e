# What the matches on ports share.
from libc.stdint cimport uint16_t


cdef inline bint port_matches(uint16_t low, uint16_t high, uint16_t port, bint inverted) noexcept nogil:
    """Whether a port lies in low to high, or outside when inverted."""
    return (low <= port <= high) != inverted
