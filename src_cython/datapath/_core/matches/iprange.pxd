# -m iprange: an address between two (net/netfilter/xt_iprange.c, iprange_mt4 and iprange_mt6).
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_YES
from datapath._core.packet cimport packet_ip


cdef struct IprangeMatch:  # packed by datapath/extensions/matches/iprange.py; IPv4 addresses in the first four bytes
    uint8_t source_first[16]
    uint8_t source_last[16]
    uint8_t destination_first[16]
    uint8_t destination_last[16]
    uint8_t ask_source, ask_destination
    uint8_t invert_source, invert_destination


cdef inline int match_iprange(Walk* walk, void* payload) noexcept nogil:
    cdef const IprangeMatch* want = <const IprangeMatch*>payload
    cdef const uint8_t* ip = packet_ip(walk.pkt)
    cdef uint32_t n = 4 if walk.family == 4 else 16
    cdef const uint8_t* source = ip + (12 if walk.family == 4 else 8)
    cdef const uint8_t* destination = source + n
    if want.ask_source and (memcmp(source, want.source_first, n) >= 0
                            and memcmp(source, want.source_last, n) <= 0) == want.invert_source:
        return MATCH_NO
    if want.ask_destination and (memcmp(destination, want.destination_first, n) >= 0
                                 and memcmp(destination, want.destination_last, n) <= 0) == want.invert_destination:
        return MATCH_NO
    return MATCH_YES
