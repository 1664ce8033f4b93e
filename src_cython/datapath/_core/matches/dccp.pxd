# -m dccp: ports, packet types and options (net/netfilter/xt_dccp.c, dccp_mt).
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_UNKNOWN, MATCH_YES, bytes_missing
from datapath._core.matches.ports cimport port_matches
from datapath._core.packet cimport Packet, packet_has, packet_ip, packet_transport
from datapath._core.wire cimport load_be16


cdef struct DccpMatch:  # packed by datapath/extensions/matches/dccp.py
    uint16_t sport_low, sport_high
    uint16_t dport_low, dport_high
    uint16_t types          # a bit per packet type
    uint8_t invert          # bit 0: source, 1: destination, 2: types, 3: option
    uint8_t ask_types
    uint8_t option          # 0: not asked
    uint8_t unused


cdef inline uint32_t dccp_header_length(const uint8_t* dccp) noexcept nogil:
    """Bytes before the options: by the width of the sequence number and by the packet's type (__dccp_hdr_len)."""
    cdef uint32_t length = 16 if dccp[8] & 1 else 12
    cdef uint8_t type = (dccp[8] >> 1) & 15
    if type == 2:           # DATA acknowledges nothing
        return length
    if type == 0:           # REQUEST: a service code
        return length + 4
    if 3 <= type <= 9 and type != 7:    # those that acknowledge and no more
        return length + 8
    return length + 12      # RESPONSE and RESET, an acknowledgement and a code; so are unknown types


cdef inline int dccp_option_present(Walk* walk, const uint8_t* dccp, uint8_t wanted) noexcept nogil:
    cdef uint32_t begin = dccp_header_length(dccp)
    cdef uint32_t end = <uint32_t>dccp[4] * 4
    cdef uint32_t at = walk.pkt.transport
    cdef uint32_t i = begin
    if end < begin:
        walk.hotdrop = 1
        return MATCH_NO
    if end > begin and not packet_has(walk.pkt, at, end):
        return bytes_missing(walk, at + end)
    while i < end:
        if dccp[i] == wanted:
            return MATCH_YES
        if dccp[i] < 2 or i == end - 1 or dccp[i + 1] == 0:
            i += 1
        else:
            i += dccp[i + 1]
    return MATCH_NO


cdef inline int match_dccp(Walk* walk, void* payload) noexcept nogil:
    cdef const DccpMatch* want = <const DccpMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* dccp
    cdef int answer
    if pkt.frag_offset:
        return MATCH_NO
    if not packet_has(pkt, pkt.transport, 12):
        return bytes_missing(walk, pkt.transport + 12)
    dccp = packet_transport(pkt)
    if not port_matches(want.sport_low, want.sport_high, load_be16(dccp), (want.invert & 1) != 0):
        return MATCH_NO
    if not port_matches(want.dport_low, want.dport_high, load_be16(dccp + 2), (want.invert & 2) != 0):
        return MATCH_NO
    if want.ask_types and (want.types >> ((dccp[8] >> 1) & 15) & 1) == ((want.invert & 4) != 0):
        return MATCH_NO
    if want.option == 0:
        return MATCH_YES
    answer = dccp_option_present(walk, dccp, want.option)
    if answer == MATCH_UNKNOWN:
        return answer
    return (answer == MATCH_YES) != ((want.invert & 8) != 0)
