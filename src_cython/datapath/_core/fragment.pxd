# Cutting packets that are too large for the way out.
from libc.stdint cimport uint32_t

from datapath._core.context cimport Walk


cdef void fragment_ipv4(Walk* walk, uint32_t mtu) noexcept nogil    # ip_fragment; the packet is given away
cdef void fragment_ipv6(Walk* walk, uint32_t mtu) noexcept nogil    # ip6_fragment; the packet is given away
