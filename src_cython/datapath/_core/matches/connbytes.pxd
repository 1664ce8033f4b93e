# -m connbytes: what a connection has carried so far (net/netfilter/xt_connbytes.c, connbytes_mt).
from libc.stdint cimport uint8_t, uint64_t

from datapath._core.conn cimport CtEntry
from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO


cdef enum ConnbytesMode:
    MODE_PACKETS = 0
    MODE_BYTES = 1
    MODE_AVERAGE = 2


cdef enum:
    BOTH_DIRECTIONS = 2


cdef struct ConnbytesMatch:  # packed by datapath/extensions/matches/connbytes.py
    uint64_t low, high
    uint8_t mode            # ConnbytesMode
    uint8_t direction       # CtDir or BOTH_DIRECTIONS
    uint8_t invert


cdef inline int match_connbytes(Walk* walk, void* payload) noexcept nogil:
    cdef const ConnbytesMatch* want = <const ConnbytesMatch*>payload
    cdef const CtEntry* ct = walk.pkt.ct
    cdef uint64_t packets, bytes, value
    if ct == NULL:
        return MATCH_NO
    if want.direction == BOTH_DIRECTIONS:
        packets = ct.packets[0] + ct.packets[1]
        bytes = ct.bytes[0] + ct.bytes[1]
    else:
        packets = ct.packets[want.direction]
        bytes = ct.bytes[want.direction]
    if want.mode == MODE_PACKETS:
        value = packets
    elif want.mode == MODE_BYTES:
        value = bytes
    else:
        value = bytes // packets if packets else 0
    return (want.low <= value <= want.high) != want.invert
