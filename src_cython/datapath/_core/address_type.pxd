# What the routing tables say of an address.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from datapath._core.context cimport Net
from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Addr


cdef enum RpfilterFlag:  # XT_RPFILTER_*
    RPFILTER_LOOSE = 1
    RPFILTER_VALID_MARK = 2
    RPFILTER_ACCEPT_LOCAL = 4


cdef uint8_t address_type(Net* net, uint8_t family, const Addr* addr, int32_t dev) noexcept nogil     # RouteType; dev -1: any
cdef bint addrtype6_fits(Net* net, const Addr* addr, int32_t dev, uint32_t mask) noexcept nogil       # -m addrtype for IPv6: bits 1 << RouteType
cdef bint address_is_local(Net* net, uint8_t family, const Addr* addr, int32_t dev) noexcept nogil
cdef bint reverse_path_ok(Net* net, const Packet* pkt, int32_t in_dev, uint8_t flags) noexcept nogil  # -m rpfilter, before its --invert
cdef bint multicast_member(Net* net, uint8_t family, int32_t dev, const Addr* group) noexcept nogil   # groups that Linux joins by itself
