# -j TTL and -j HL (net/netfilter/xt_HL.c, ttl_tg, hl_tg6).
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.context cimport Walk
from datapath._core.packet cimport packet_ip
from datapath._core.verdict cimport XT_CONTINUE
from datapath._core.wire cimport checksum_replace, load_be16, store_be16


cdef enum TtlMode:  # IPT_TTL_*
    TTL_SET = 0
    TTL_INC = 1
    TTL_DEC = 2


cdef struct TtlTarget:  # packed by datapath/extensions/targets/ttl.py
    uint8_t mode            # TtlMode
    uint8_t value


cdef inline int target_ttl(Walk* walk, void* payload) noexcept nogil:
    cdef const TtlTarget* info = <const TtlTarget*>payload
    cdef uint8_t* ip = packet_ip(walk.pkt)
    cdef uint8_t* ttl = ip + (8 if walk.family == 4 else 7)
    cdef uint16_t old = load_be16(ip + 8)
    cdef int value = info.value
    if info.mode == TTL_INC:
        value = min(ttl[0] + value, 255)
    elif info.mode == TTL_DEC:
        value = max(ttl[0] - value, 0)
    if value != ttl[0]:
        ttl[0] = <uint8_t>value
        if walk.family == 4:
            store_be16(ip + 10, checksum_replace(load_be16(ip + 10), old, load_be16(ip + 8)))
    return XT_CONTINUE
