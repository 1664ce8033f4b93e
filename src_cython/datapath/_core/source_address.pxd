# The choice of a source address, and questions about the addresses of this node.
from libc.stdint cimport int32_t, uint8_t

from datapath._core.context cimport Net
from datapath._core.fib cimport RouteDecision
from datapath._core.fib_table cimport HeldAddress
from datapath._core.tuples cimport Addr


cdef enum:
    SCOPE_UNIVERSE = 0
    SCOPE_LINK = 253
    SCOPE_HOST = 254


cdef bint select_source(Net* net, uint8_t family, int32_t dev, const Addr* dst, uint8_t scope, Addr* out) noexcept nogil
cdef bint masquerade_address(Net* net, uint8_t family, int32_t dev, const RouteDecision* route, const Addr* dst, Addr* out) noexcept nogil
cdef bint device_holds(Net* net, uint8_t family, int32_t dev, const Addr* address, bint tentative) noexcept nogil
cdef const HeldAddress* held_find(Net* net, uint8_t family, const Addr* address) noexcept nogil
cdef bint addresses_on_link4(Net* net, int32_t dev, const Addr* a, const Addr* b) noexcept nogil


cdef inline bint is_multicast(uint8_t family, const Addr* a) noexcept nogil:
    return (a.b[0] & 0xF0) == 0xE0 if family == 4 else a.b[0] == 0xFF


cdef inline bint is_zeronet4(const Addr* a) noexcept nogil:
    """Only 0.0.0.0 since Linux 5.3; the rest of 0.0.0.0/8 are addresses like others (include/linux/in.h)."""
    return a.w[0] == 0


cdef inline bint is_loopback4(const Addr* a) noexcept nogil:
    return a.b[0] == 127


cdef inline bint is_broadcast4(const Addr* a) noexcept nogil:
    return a.w[0] == <unsigned int>0xFFFFFFFF


cdef inline bint is_local_multicast4(const Addr* a) noexcept nogil:
    """224.0.0.0/24: never routed."""
    return a.b[0] == 224 and a.b[1] == 0 and a.b[2] == 0


cdef inline bint is_link_local6(const Addr* a) noexcept nogil:
    return a.b[0] == 0xFE and (a.b[1] & 0xC0) == 0x80


cdef inline bint needs_device6(const Addr* a) noexcept nogil:
    """rt6_need_strict: the address means something only together with a device."""
    return is_multicast(6, a) or is_link_local6(a) or (a.q[0] == 0 and a.w[2] == 0 and a.b[12] == 0 and a.b[13] == 0 and a.b[14] == 0 and a.b[15] == 1)
