# -m ttl, -m hl: time to live, hop limit (net/netfilter/xt_hl.c, ttl_mt and hl_mt6).
from libc.stdint cimport uint8_t

from datapath._core.context cimport Walk
from datapath._core.packet cimport packet_ip


cdef enum HlMode:  # IPT_TTL_*, IP6T_HL_*
    HL_EQ = 0
    HL_NE = 1
    HL_LT = 2
    HL_GT = 3


cdef struct HlMatch:  # packed by datapath/extensions/matches/ttl.py and hl.py
    uint8_t mode            # HlMode
    uint8_t value


cdef inline int match_hl(Walk* walk, void* payload) noexcept nogil:
    cdef const HlMatch* want = <const HlMatch*>payload
    cdef uint8_t value = packet_ip(walk.pkt)[8 if walk.family == 4 else 7]
    if want.mode == HL_EQ:
        return value == want.value
    if want.mode == HL_NE:
        return value != want.value
    return value < want.value if want.mode == HL_LT else value > want.value
