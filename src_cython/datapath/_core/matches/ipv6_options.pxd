# -m hbh, -m dst: length and options of an options header (net/ipv6/netfilter/ip6t_hbh.c, hbh_mt6).
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.ipv6_headers cimport HEADER_ABSENT, HEADER_BROKEN, extension_length, find_header
from datapath._core.match_base cimport MATCH_NO, MATCH_YES, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_ip

cdef enum:
    ANY_OPTION_LENGTH = 255


cdef struct Ipv6OptionsMatch:  # packed by datapath/extensions/matches/ipv6_options.py
    uint32_t length
    uint8_t ask_length
    uint8_t invert_length
    uint8_t count
    uint8_t header
    uint16_t options[16]    # type << 8 | length


cdef inline bint options_begin_with(const Packet* pkt, uint32_t at, uint32_t left, const Ipv6OptionsMatch* want) noexcept nogil:
    """Whether the options from `at` on, `left` bytes of them, begin with those wanted, in order."""
    cdef const uint8_t* option
    cdef uint32_t length
    cdef uint8_t i
    for i in range(want.count):
        if left < 1 or not packet_has(pkt, at, 1):
            return False
        option = packet_ip(pkt) + at
        if option[0] != want.options[i] >> 8:
            return False
        length = 1      # Pad1 has no length field
        if option[0]:
            if left < 2 or not packet_has(pkt, at, 2):
                return False
            if want.options[i] & 0xFF != ANY_OPTION_LENGTH and want.options[i] & 0xFF != option[1]:
                return False
            length = <uint32_t>option[1] + 2
        # The 32-bit difference is Linux's: it wraps for a packet shorter than the option.
        if i + 1 < want.count and (at > pkt.len - length or left < length):
            return False
        at += length
        left -= length
    return True


cdef inline int match_ipv6_options(Walk* walk, void* payload) noexcept nogil:
    cdef const Ipv6OptionsMatch* want = <const Ipv6OptionsMatch*>payload
    cdef Packet* pkt = walk.pkt
    cdef uint32_t at = 0
    cdef uint32_t length
    cdef int found = find_header(pkt, want.header, &at)
    if found == HEADER_ABSENT:
        return MATCH_NO
    if found == HEADER_BROKEN:
        return bytes_missing(walk, at)
    length = extension_length(want.header, packet_ip(pkt) + at)
    if pkt.len - at < length:
        walk.hotdrop = 1
        return MATCH_NO
    if want.count:
        if not packet_has(pkt, at, length):
            return bytes_missing(walk, at + length)
        if not options_begin_with(pkt, at + 2, length - 2, want):
            return MATCH_NO
    if want.ask_length and (want.length == length) == want.invert_length:
        return MATCH_NO
    return MATCH_YES
