# ICMP and ICMPv6 messages that the node makes.
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Net, Walk
from datapath._core.fib cimport Flow, RouteDecision
from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Addr


cdef void icmp_send(Walk* walk, uint8_t type, uint8_t code, uint32_t info) noexcept nogil   # type and code are those of walk.family

# What other makers of packets (resets, answers, neighbour discovery) share:
cdef Packet* packet_make(Net* net, uint8_t family, uint32_t length) noexcept nogil  # an empty IP packet of that length; NULL: no memory
cdef bint packet_route(Net* net, Packet* pkt, Flow* flow) noexcept nogil            # route_output; the decision becomes the packet's
cdef void write_ipv4_header(Packet* pkt, uint8_t tos, uint16_t id, uint16_t frag, uint8_t ttl, const Addr* src, const Addr* dst) noexcept nogil
cdef void write_ipv6_header(Packet* pkt, uint32_t flow, uint8_t hops, const Addr* src, const Addr* dst) noexcept nogil
cdef uint16_t transport_checksum(const Packet* pkt) noexcept nogil  # over pseudo-header and payload; the field itself must be 0
cdef uint8_t hop_limit(const Net* net, const Packet* pkt) noexcept nogil                # ip4_dst_hoplimit, ip6_dst_hoplimit of its route
