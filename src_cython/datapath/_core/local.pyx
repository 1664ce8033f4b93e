"""Local delivery: extension headers, fragments, neighbour discovery, and answers if they are asked for.

Kernel: net/ipv4/ip_input.c (ip_local_deliver_finish), net/ipv6/ip6_input.c (ip6_protocol_deliver_rcu),
net/ipv6/exthdrs.c (ipv6_rthdr_rcv).
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t

from datapath._core.answer cimport answer_packet
from datapath._core.defrag cimport defrag_ipv6_local
from datapath._core.exthdr cimport NEXTHDR_DEST, NEXTHDR_FRAGMENT, NEXTHDR_ICMP, NEXTHDR_ROUTING
from datapath._core.hopopts cimport parse_destination_options
from datapath._core.icmp cimport icmp_send, transport_checksum
from datapath._core.ndisc cimport ndisc_receive
from datapath._core.outcome cimport packet_drop, packet_end
from datapath._core.packet cimport CSUM_NONE, PACKET_HOST, Packet, address_at, packet_has, packet_ip
from datapath._core.record cimport STEP_DELIVER, record
from datapath._core.route cimport multicast_member
from datapath._core.tuples cimport Addr
from datapath._core.verdict cimport (
    DROP_ICMP_CSUM, DROP_NONE, DROP_NOT_SPECIFIED, HOOK_INPUT, NF_ACCEPT, OUTCOME_DELIVERED,
)
from datapath._core.wire cimport load_be16

cdef enum:
    PARAMETER_PROBLEM = 4
    HEADER_FIELD = 0
    ND_FIRST = 133          # router solicitation ... redirect
    ND_LAST = 137
    GOES_ON = 0             # what a header's handler answers
    IS_LAST = 1
    GONE = 2                # the packet was taken


cdef bint multicast_joined(Net* net, int32_t dev, const uint8_t* group) noexcept nogil:
    """The groups that Linux joins by itself; what processes have joined is not known."""
    cdef uint8_t family = 6 if group[0] == 0xFF else 4
    cdef Addr addr = address_at(group, family)
    return multicast_member(net, family, dev, &addr)


cdef void local_receive(Walk* walk) noexcept nogil:
    if walk.pkt.family == 6 and not deliver_ipv6(walk):
        return
    record(&walk.net.recorder, STEP_DELIVER, HOOK_INPUT, 0, 0, 0, 0, 0, False)
    if walk.net.answer:
        answer_packet(walk)
    packet_end(walk.net, walk.pkt, OUTCOME_DELIVERED)


cdef bint deliver_ipv6(Walk* walk) noexcept nogil:
    """Handle one header after the other until the transport's. False: the packet is gone."""
    cdef Packet* pkt = walk.pkt
    cdef uint32_t named_at = pkt.ip6_nhoff
    cdef uint32_t at = pkt.ip6_start
    cdef int result = GOES_ON
    while result == GOES_ON:
        pkt.ip6_nhoff = <uint16_t>named_at
        result = handle(walk, &named_at, &at)
    if result == GONE:
        return False
    if packet_ip(pkt)[named_at] == NEXTHDR_ICMP:
        return receive_icmp(walk, at)
    return True


cdef int lost(Walk* walk, int reason) noexcept nogil:
    packet_drop(walk.net, walk.pkt, HOOK_INPUT, <uint8_t>reason)
    return GONE


cdef int handle(Walk* walk, uint32_t* named_at, uint32_t* at) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint8_t header = ip[named_at[0]]
    cdef uint32_t start = at[0]
    cdef int reason
    if header == NEXTHDR_DEST:
        reason = parse_destination_options(walk.net, pkt, start)
        if reason != DROP_NONE:
            return lost(walk, reason)
    elif header == NEXTHDR_ROUTING:
        reason = routing_header(walk, start)
        if reason != DROP_NONE:
            return lost(walk, reason)
    elif header == NEXTHDR_FRAGMENT:
        return fragment_header(walk, named_at, at)
    else:
        return IS_LAST
    named_at[0] = start
    at[0] = start + ((<uint32_t>ip[start + 1] + 1) << 3)
    return GOES_ON


cdef int fragment_header(Walk* walk, uint32_t* named_at, uint32_t* at) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef uint32_t start = at[0]
    if packet_has(pkt, start, 8) and load_be16(packet_ip(pkt) + start + 2) & 0xFFF9 == 0:     # an atomic fragment
        pkt.frag_max_size = <uint32_t>load_be16(packet_ip(pkt) + 4) + 40
        named_at[0] = start
        at[0] = start + 8
        return GOES_ON
    if defrag_ipv6_local(walk, start) != NF_ACCEPT:
        return GONE
    return GOES_ON      # the header that the fragment header named stands in its place now


cdef int routing_header(Walk* walk, uint32_t start) noexcept nogil:
    """ipv6_rthdr_rcv without segment routing: one with segments left is not understood."""
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    if not packet_has(pkt, start, 8) or not packet_has(pkt, start, (<uint32_t>ip[start + 1] + 1) << 3):
        return DROP_NOT_SPECIFIED
    if ip[24] == 0xFF or pkt.type != PACKET_HOST:
        return DROP_NOT_SPECIFIED
    if ip[start + 3] == 0:
        return DROP_NONE
    icmp_send(walk, PARAMETER_PROBLEM, HEADER_FIELD, start + 2)
    return DROP_NOT_SPECIFIED


cdef bint receive_icmp(Walk* walk, uint32_t at) noexcept nogil:
    """icmpv6_rcv as far as the kernel itself takes part: neighbour discovery."""
    cdef Packet* pkt = walk.pkt
    cdef uint8_t type
    cdef int reason = DROP_NONE
    pkt.transport = at
    pkt.protocol = NEXTHDR_ICMP
    if not packet_has(pkt, at, 4):
        return True
    type = packet_ip(pkt)[at]
    if type < ND_FIRST or type > ND_LAST:
        return True
    if pkt.present == pkt.len and pkt.csum == CSUM_NONE and transport_checksum(pkt) != 0:
        reason = DROP_ICMP_CSUM
    else:
        reason = ndisc_receive(walk, at)
    if reason == DROP_NONE:
        return True
    packet_drop(walk.net, pkt, HOOK_INPUT, <uint8_t>reason)
    return False
