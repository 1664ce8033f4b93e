# -m tcp and -m udp in a table of iptables-nft: payload expressions of nft (net/netfilter/nf_tables_core.c,
# nft_payload_fast_eval). A header that is cut short does not match; it is no reason to drop the packet. Of a later fragment
# Linux reads its first bytes as if they were a header; of IPv6 even those of the IPv6 header, since ipv6_find_hdr does
# not say where the fragment's payload begins.
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_UNKNOWN, MATCH_YES
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.wire cimport load_be16


cdef enum PortsNftBit:
    NFT_NOT_SOURCE = 1
    NFT_NOT_DESTINATION = 2
    NFT_NOT_FLAGS = 4
    NFT_TOGETHER = 8        # not both ports
    NFT_ASK_SOURCE = 1
    NFT_ASK_DESTINATION = 2


cdef struct PortsNft:  # packed by datapath/extensions/ports.py
    uint16_t sport_low, sport_high
    uint16_t dport_low, dport_high
    uint8_t flags_mask
    uint8_t flags_wanted
    uint8_t inverted        # PortsNftBit
    uint8_t asked


cdef inline int match_ports_nft(Walk* walk, void* payload) noexcept nogil:
    cdef const PortsNft* want = <const PortsNft*>payload
    cdef Packet* pkt = walk.pkt
    cdef uint32_t at = 0 if walk.family == 6 and pkt.frag_offset else pkt.transport
    cdef const uint8_t* header = packet_ip(pkt) + at
    cdef uint32_t size = 14 if want.flags_mask else 4 if want.asked & NFT_ASK_DESTINATION else 2
    cdef bint source, destination
    if at + size > pkt.len:
        return MATCH_NO
    if not packet_has(pkt, at, size):
        return MATCH_UNKNOWN
    if want.flags_mask and ((header[13] & want.flags_mask) == want.flags_wanted) == ((want.inverted & NFT_NOT_FLAGS) != 0):
        return MATCH_NO
    source = want.sport_low <= load_be16(header) <= want.sport_high
    destination = not want.asked & NFT_ASK_DESTINATION or want.dport_low <= load_be16(header + 2) <= want.dport_high
    if want.inverted & NFT_TOGETHER:
        return MATCH_NO if source and destination else MATCH_YES
    if want.asked & NFT_ASK_SOURCE and source == ((want.inverted & NFT_NOT_SOURCE) != 0):
        return MATCH_NO
    if want.asked & NFT_ASK_DESTINATION and destination == ((want.inverted & NFT_NOT_DESTINATION) != 0):
        return MATCH_NO
    return MATCH_YES
