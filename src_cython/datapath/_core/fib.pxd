# Routing tables, policy rules, and the questions that the walk asks of them.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.tuples cimport Addr


cdef enum RouteType:  # RTN_* in include/uapi/linux/rtnetlink.h
    RTN_UNSPEC = 0
    RTN_UNICAST = 1
    RTN_LOCAL = 2
    RTN_BROADCAST = 3
    RTN_ANYCAST = 4
    RTN_MULTICAST = 5
    RTN_BLACKHOLE = 6
    RTN_UNREACHABLE = 7
    RTN_PROHIBIT = 8
    RTN_THROW = 9
    RTN_NAT = 10
    RTN_XRESOLVE = 11


cdef struct Flow:  # struct flowi4, flowi6: the question
    Addr src
    Addr dst
    int32_t iif             # device index, -1: none (output); the loopback device for output lookups with rules
    int32_t oif             # -1: any
    uint32_t mark
    uint32_t uid
    uint16_t sport
    uint16_t dport
    uint8_t family
    uint8_t tos             # dscp part as the lookup sees it
    uint8_t protocol
    uint8_t has_ports
    uint8_t bound           # oif is what the socket is bound to (IPv6 then takes no other device)
    uint8_t any_source      # FLOWI_FLAG_ANYSRC: the source need not be an address of this node


cdef struct RouteDecision:  # struct fib_result and rtable: the answer
    uint8_t type            # RouteType
    uint8_t family
    uint8_t scope
    uint8_t has_gateway
    uint8_t gateway_family  # 6 for a `via inet6` next hop of an IPv4 route
    uint8_t onlink
    uint8_t has_source      # the route itself names a source
    int32_t error           # 0, or a positive errno: EHOSTUNREACH, ENETUNREACH, EACCES, EINVAL
    int32_t dev             # the device to leave by (for RTN_LOCAL the loopback, or the VRF)
    int32_t route           # number of the route that matched, as in the host's file; -1: none
    int32_t rule            # number of the policy rule; -1: none
    uint32_t table
    Addr gateway
    Addr source             # preferred source; zero: none
    uint32_t mtu            # of the route, 0: the device's
    uint32_t metric
    uint8_t redirect        # RTCF_DOREDIRECT would be set
    uint8_t broadcast       # RTCF_BROADCAST / MULTICAST delivery
    uint8_t prefix_length
    uint8_t hop_limit
    uint8_t hops            # of the route: more than one: the hop is by a hash that Linux seeds at boot
