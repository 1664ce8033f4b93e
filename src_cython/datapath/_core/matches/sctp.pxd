# -m sctp: ports and chunk types (net/netfilter/xt_sctp.c, sctp_mt and match_packet).
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_UNKNOWN, MATCH_YES, bytes_missing
from datapath._core.matches.ports cimport port_matches
from datapath._core.packet cimport Packet, packet_has, packet_ip, packet_transport
from datapath._core.wire cimport load_be16


cdef enum SctpScope:
    CHUNKS_NOT_ASKED = 0
    CHUNKS_ANY = 1          # at least one chunk is among those wanted
    CHUNKS_ALL = 2          # each of those wanted is there
    CHUNKS_ONLY = 3         # no chunk is there that is not wanted


cdef struct SctpFlags:
    uint8_t type            # of the chunk
    uint8_t mask
    uint8_t wanted


cdef struct SctpMatch:  # packed by datapath/extensions/matches/sctp.py
    uint16_t sport_low, sport_high
    uint16_t dport_low, dport_high
    uint8_t invert          # bit 0: source, 1: destination, 2: chunks
    uint8_t scope           # SctpScope
    uint8_t n_flags
    uint8_t unused
    uint8_t chunks[32]      # a bit per chunk type
    SctpFlags flags[4]


cdef inline bint chunk_flags_match(const SctpMatch* want, const uint8_t* chunk) noexcept nogil:
    cdef uint8_t i
    for i in range(want.n_flags):
        if want.flags[i].type == chunk[0]:
            return (chunk[1] & want.flags[i].mask) == want.flags[i].wanted
    return True


cdef inline int chunks_match(Walk* walk, const SctpMatch* want) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* chunk
    cdef uint32_t at = pkt.transport + 12
    cdef uint8_t missing[32]
    cdef bint wanted
    cdef int i
    for i in range(32):
        missing[i] = want.chunks[i]
    while True:
        if not packet_has(pkt, at, 4):
            return bytes_missing(walk, at + 4)
        chunk = packet_ip(pkt) + at
        if load_be16(chunk + 2) == 0:
            walk.hotdrop = 1
            return MATCH_NO
        at += (<uint32_t>load_be16(chunk + 2) + 3) & ~<uint32_t>3
        wanted = (want.chunks[chunk[0] >> 3] >> (chunk[0] & 7)) & 1
        if wanted and not chunk_flags_match(want, chunk):
            if want.scope == CHUNKS_ONLY:
                return MATCH_NO
        elif wanted:
            if want.scope == CHUNKS_ANY:
                return MATCH_YES
            missing[chunk[0] >> 3] &= <uint8_t>~(1 << (chunk[0] & 7))
        elif want.scope == CHUNKS_ONLY:
            return MATCH_NO
        if at >= pkt.len:
            break
    if want.scope == CHUNKS_ALL:
        for i in range(32):
            if missing[i]:
                return MATCH_NO
        return MATCH_YES
    return MATCH_YES if want.scope == CHUNKS_ONLY else MATCH_NO


cdef inline int match_sctp(Walk* walk, void* payload) noexcept nogil:
    cdef const SctpMatch* want = <const SctpMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* sctp
    cdef int answer
    if pkt.frag_offset:
        return MATCH_NO
    if not packet_has(pkt, pkt.transport, 12):
        return bytes_missing(walk, pkt.transport + 12)
    sctp = packet_transport(pkt)
    if not port_matches(want.sport_low, want.sport_high, load_be16(sctp), (want.invert & 1) != 0):
        return MATCH_NO
    if not port_matches(want.dport_low, want.dport_high, load_be16(sctp + 2), (want.invert & 2) != 0):
        return MATCH_NO
    if want.scope == CHUNKS_NOT_ASKED:
        return MATCH_YES
    answer = chunks_match(walk, want)
    if answer == MATCH_UNKNOWN:
        return answer
    return (answer == MATCH_YES) != ((want.invert & 4) != 0)
