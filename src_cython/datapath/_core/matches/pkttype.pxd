# -m pkttype: whom the link layer meant the packet for (net/netfilter/xt_pkttype.c, pkttype_mt).
from libc.stdint cimport uint8_t

from datapath._core.context cimport Walk
from datapath._core.packet cimport PACKET_BROADCAST, PACKET_LOOPBACK, PACKET_MULTICAST, packet_ip


cdef struct PkttypeMatch:  # packed by datapath/extensions/matches/pkttype.py
    uint8_t type            # PacketType
    uint8_t invert


cdef inline int match_pkttype(Walk* walk, void* payload) noexcept nogil:
    cdef const PkttypeMatch* want = <const PkttypeMatch*>payload
    cdef uint8_t type = walk.pkt.type
    if type == PACKET_LOOPBACK:     # a copy that a multicast or broadcast sender got back
        type = PACKET_MULTICAST if walk.family == 6 or packet_ip(walk.pkt)[16] >> 4 == 14 else PACKET_BROADCAST
    return (type == want.type) != want.invert
