# -m tos, -m dscp: the TOS or traffic class field (net/netfilter/xt_dscp.c, tos_mt and dscp_mt).
from libc.stdint cimport uint8_t

from datapath._core.context cimport Walk
from datapath._core.packet cimport packet_ip
from datapath._core.wire cimport load_be16


cdef struct TosMatch:  # packed by datapath/extensions/matches/dscp.py and tos.py
    uint8_t value
    uint8_t mask
    uint8_t invert


cdef inline uint8_t packet_tos(const Walk* walk) noexcept nogil:
    """The whole field, ECN bits included."""
    return packet_ip(walk.pkt)[1] if walk.family == 4 else <uint8_t>(load_be16(packet_ip(walk.pkt)) >> 4)


cdef inline int match_tos(Walk* walk, void* payload) noexcept nogil:
    cdef const TosMatch* want = <const TosMatch*>payload
    return ((packet_tos(walk) & want.mask) == want.value) != want.invert
