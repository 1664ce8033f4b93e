"""IPv6 options: which are known, and what an unknown one asks for (net/ipv6/exthdrs.c, ip6_parse_tlv)."""
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.icmp cimport icmp_send
from datapath._core.packet cimport packet_has, packet_ip
from datapath._core.verdict cimport (
    DROP_HDR_TRUNC, DROP_IP_INHDR, DROP_NONE, DROP_NOT_SPECIFIED, DROP_PKT_TOO_SMALL, DROP_UNHANDLED_PROTO,
)
from datapath._core.walk cimport walk_begin
from datapath._core.wire cimport load_be16, load_be32

cdef enum:
    TLV_PAD1 = 0
    TLV_PADN = 1
    TLV_ROUTER_ALERT = 5
    TLV_CALIPSO = 7
    TLV_IOAM = 49
    TLV_JUMBO = 0xC2
    MOST_OPTIONS = 8        # net.ipv6.max_hbh_opts_number, max_dst_opts_number
    PARAM_PROBLEM = 4
    HEADER_FIELD = 0
    UNKNOWN_OPTION = 2
    JUMBO_MIN = 65535


cdef int parameter_problem(Net* net, Packet* pkt, uint8_t code, uint32_t pointer, int reason) noexcept nogil:
    cdef Walk walk
    walk_begin(&walk, net, pkt, pkt.dev, -1)
    icmp_send(&walk, PARAM_PROBLEM, code, pointer)
    return reason


cdef int unknown_option(Net* net, Packet* pkt, uint32_t offset) noexcept nogil:
    """ip6_tlvopt_unknown: the two highest bits of the type say what is to be done."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t action = ip[offset] >> 6
    if action == 0:
        return DROP_NONE
    if action == 2 or (action == 3 and ip[24] != 0xFF):
        return parameter_problem(net, pkt, UNKNOWN_OPTION, offset, DROP_UNHANDLED_PROTO)
    return DROP_UNHANDLED_PROTO


cdef int hop_option(Net* net, Packet* pkt, uint32_t offset) noexcept nogil:
    cdef const uint8_t* option = packet_ip(pkt) + offset
    cdef uint32_t length
    if option[0] == TLV_ROUTER_ALERT:
        return DROP_NONE if option[1] == 2 else DROP_IP_INHDR
    if option[0] == TLV_JUMBO:
        if option[1] != 4 or (offset & 3) != 2:
            return DROP_IP_INHDR
        length = load_be32(option + 2)
        if length <= JUMBO_MIN:
            return parameter_problem(net, pkt, HEADER_FIELD, offset + 2, DROP_IP_INHDR)
        if load_be16(packet_ip(pkt) + 4):
            return parameter_problem(net, pkt, HEADER_FIELD, offset, DROP_IP_INHDR)
        return DROP_PKT_TOO_SMALL if length > pkt.len - 40 else DROP_NONE
    if option[0] == TLV_IOAM:
        return DROP_IP_INHDR if offset & 3 else DROP_NONE
    if option[0] == TLV_CALIPSO:
        if option[1] < 8 or <uint32_t>option[6] * 4 + 8 > option[1]:
            return DROP_IP_INHDR
        return DROP_NONE
    return unknown_option(net, pkt, offset)


cdef int parse_options(Net* net, Packet* pkt, uint32_t start, bint hop) noexcept nogil:
    """ip6_parse_tlv over the header at `start`, which is all present."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint32_t left = ((<uint32_t>ip[start + 1] + 1) << 3) - 2
    cdef uint32_t offset = start + 2
    cdef uint32_t size
    cdef uint32_t padding = 0
    cdef uint32_t count = 0
    cdef uint32_t i
    cdef int reason
    while left > 0:
        if ip[offset] == TLV_PAD1:
            padding += 1
            if padding > 7:
                return DROP_IP_INHDR
            offset += 1
            left -= 1
            continue
        if left < 2:
            return DROP_IP_INHDR
        size = <uint32_t>ip[offset + 1] + 2
        if size > left:
            return DROP_IP_INHDR
        if ip[offset] == TLV_PADN:
            padding += size
            if padding > 7:
                return DROP_IP_INHDR
            for i in range(2, size):
                if ip[offset + i]:
                    return DROP_IP_INHDR
        else:
            count += 1
            if count > MOST_OPTIONS:
                return DROP_IP_INHDR
            reason = hop_option(net, pkt, offset) if hop else unknown_option(net, pkt, offset)
            if reason != DROP_NONE:
                return reason
            padding = 0
        offset += size
        left -= size
    return DROP_NONE


cdef int options_present(Packet* pkt, uint32_t start) noexcept nogil:
    cdef uint32_t length
    if not packet_has(pkt, start, 8):
        return DROP_NOT_SPECIFIED if pkt.len < start + 8 else DROP_HDR_TRUNC
    length = (<uint32_t>packet_ip(pkt)[start + 1] + 1) << 3
    if not packet_has(pkt, start, length):
        return DROP_NOT_SPECIFIED if pkt.len < start + length else DROP_HDR_TRUNC
    return DROP_NONE


cdef int parse_hop_options(Net* net, Packet* pkt) noexcept nogil:
    cdef int reason = options_present(pkt, 40)
    if reason == DROP_NONE:
        reason = parse_options(net, pkt, 40, True)
    if reason == DROP_NONE:
        pkt.ip6_nhoff = 40
        pkt.ip6_start = <uint16_t>(40 + ((<uint32_t>packet_ip(pkt)[41] + 1) << 3))
    return reason


cdef int parse_destination_options(Net* net, Packet* pkt, uint32_t offset) noexcept nogil:
    cdef int reason = options_present(pkt, offset)
    if reason == DROP_NONE:
        reason = parse_options(net, pkt, offset, False)
    return reason
