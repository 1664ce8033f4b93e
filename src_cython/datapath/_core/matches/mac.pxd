# -m mac: the source MAC address (net/netfilter/xt_mac.c, mac_mt).
from libc.stdint cimport uint8_t
from libc.string cimport memcmp

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO
from datapath._core.packet cimport Packet


cdef struct MacMatch:  # packed by datapath/extensions/matches/mac.py
    uint8_t source[6]
    uint8_t invert


cdef inline int match_mac(Walk* walk, void* payload) noexcept nogil:
    cdef const MacMatch* want = <const MacMatch*>payload
    cdef Packet* pkt = walk.pkt
    if pkt.dev < 0 or not walk.net.devices[pkt.dev].has_link_header or pkt.mac_len < 14:
        return MATCH_NO
    return (memcmp(pkt.head + pkt.mac + 6, want.source, 6) == 0) != want.invert
