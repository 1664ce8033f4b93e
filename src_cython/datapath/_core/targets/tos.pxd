# -j TOS and -j DSCP (net/netfilter/xt_DSCP.c, tos_tg, dscp_tg and their IPv6 twins): the DS field of the IP header.
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.context cimport Walk
from datapath._core.packet cimport packet_ip
from datapath._core.verdict cimport XT_CONTINUE
from datapath._core.wire cimport checksum_replace, load_be16, store_be16


cdef struct TosTarget:  # packed by datapath/extensions/targets/tos.py and dscp.py
    uint8_t value
    uint8_t mask


cdef inline void set_ds_field(Walk* walk, uint8_t value) noexcept nogil:
    """ipv4_change_dsfield with its incremental checksum, ipv6_change_dsfield."""
    cdef uint8_t* ip = packet_ip(walk.pkt)
    cdef uint16_t old = load_be16(ip)
    if walk.family == 6:
        store_be16(ip, <uint16_t>((old & 0xF00F) | <uint16_t>value << 4))
        return
    ip[1] = value
    store_be16(ip + 10, checksum_replace(load_be16(ip + 10), old, load_be16(ip)))


cdef inline int target_tos(Walk* walk, void* payload) noexcept nogil:
    cdef const TosTarget* info = <const TosTarget*>payload
    cdef const uint8_t* ip = packet_ip(walk.pkt)
    cdef uint8_t old = ip[1] if walk.family == 4 else <uint8_t>(load_be16(ip) >> 4)
    cdef uint8_t new = <uint8_t>((old & ~info.mask) ^ info.value)
    if new != old:
        set_ds_field(walk, new)
    return XT_CONTINUE
