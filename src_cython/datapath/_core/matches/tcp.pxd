# -m tcp: ports, flags and options of a TCP header (net/netfilter/xt_tcpudp.c, tcp_mt).
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_UNKNOWN, MATCH_YES, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_transport
from datapath._core.wire cimport load_be16


cdef enum TcpInvert:
    TCP_INVERT_SOURCE = 1
    TCP_INVERT_DESTINATION = 2
    TCP_INVERT_FLAGS = 4
    TCP_INVERT_OPTION = 8


cdef struct TcpMatch:  # packed by datapath/extensions/matches/tcp.py
    uint16_t sport_low, sport_high
    uint16_t dport_low, dport_high
    uint8_t option          # 0: none wanted
    uint8_t flags_mask
    uint8_t flags_wanted
    uint8_t invert          # TcpInvert


cdef inline int tcp_option_present(Walk* walk, const uint8_t* tcp, uint8_t wanted) noexcept nogil:
    """MatchResult: whether the options hold `wanted`. Options that are not there make the packet a bad one."""
    cdef uint32_t length = (tcp[12] >> 4) * 4
    cdef uint32_t i = 20
    if length <= 20:
        return MATCH_NO
    if not packet_has(walk.pkt, walk.pkt.transport, length):
        return bytes_missing(walk, walk.pkt.transport + length)
    while i < length:
        if tcp[i] == wanted:
            return MATCH_YES
        if tcp[i] < 2:
            i += 1
        elif i + 1 < length and tcp[i + 1]:
            i += tcp[i + 1]
        else:
            i += 1
    return MATCH_NO


cdef inline int match_tcp(Walk* walk, void* payload) noexcept nogil:
    cdef const TcpMatch* want = <const TcpMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* tcp
    cdef uint16_t port
    cdef int present
    if pkt.frag_offset:
        if pkt.frag_offset == 8 and walk.family == 4:    # would overwrite the flags; Linux sees this for IPv4 only
            walk.hotdrop = 1
        return MATCH_NO
    if not packet_has(pkt, pkt.transport, 20):
        return bytes_missing(walk, pkt.transport + 20)
    tcp = packet_transport(pkt)
    port = load_be16(tcp)
    if (want.sport_low <= port <= want.sport_high) == ((want.invert & TCP_INVERT_SOURCE) != 0):
        return MATCH_NO
    port = load_be16(tcp + 2)
    if (want.dport_low <= port <= want.dport_high) == ((want.invert & TCP_INVERT_DESTINATION) != 0):
        return MATCH_NO
    if ((tcp[13] & want.flags_mask) == want.flags_wanted) == ((want.invert & TCP_INVERT_FLAGS) != 0):
        return MATCH_NO
    if want.option:
        if (tcp[12] >> 4) * 4 < 20:
            walk.hotdrop = 1
            return MATCH_NO
        present = tcp_option_present(walk, tcp, want.option)
        if present == MATCH_UNKNOWN or walk.hotdrop:
            return present
        if (present == MATCH_YES) == ((want.invert & TCP_INVERT_OPTION) != 0):
            return MATCH_NO
    return MATCH_YES
