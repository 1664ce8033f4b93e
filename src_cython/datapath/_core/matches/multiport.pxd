# -m multiport: up to 15 ports (net/netfilter/xt_multiport.c, multiport_mt).
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_transport
from datapath._core.wire cimport load_be16


cdef struct MultiportMatch:  # packed by datapath/extensions/matches/multiport.py
    uint16_t ports[30]      # low, high, low, high, ...
    uint8_t count           # of pairs
    uint8_t sides           # bit 0: source, bit 1: destination
    uint8_t invert


cdef inline int match_multiport(Walk* walk, void* payload) noexcept nogil:
    cdef const MultiportMatch* want = <const MultiportMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef uint16_t sport, dport, low, high
    cdef int i
    if pkt.frag_offset:
        return MATCH_NO
    if not packet_has(pkt, pkt.transport, 4):
        return bytes_missing(walk, pkt.transport + 4)
    sport = load_be16(packet_transport(pkt))
    dport = load_be16(packet_transport(pkt) + 2)
    for i in range(want.count):
        low = want.ports[2 * i]
        high = want.ports[2 * i + 1]
        if (want.sides & 1 and low <= sport <= high) or (want.sides & 2 and low <= dport <= high):
            return not want.invert
    return want.invert
