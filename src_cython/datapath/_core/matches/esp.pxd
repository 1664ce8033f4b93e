# -m esp: the SPI of an ESP header (net/netfilter/xt_esp.c, esp_mt).
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, bytes_missing
from datapath._core.packet cimport Packet, packet_has, packet_transport
from datapath._core.wire cimport load_be32


cdef struct EspMatch:  # packed by datapath/extensions/matches/esp.py
    uint32_t spi_low, spi_high
    uint8_t invert


cdef inline int match_esp(Walk* walk, void* payload) noexcept nogil:
    cdef const EspMatch* want = <const EspMatch*>payload
    cdef Packet* pkt = walk.pkt
    if pkt.frag_offset:
        return MATCH_NO
    if not packet_has(pkt, pkt.transport, 8):
        return bytes_missing(walk, pkt.transport + 8)
    return (want.spi_low <= load_be32(packet_transport(pkt)) <= want.spi_high) != want.invert
