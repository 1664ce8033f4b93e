"""Answers of a node on which no process listens: echo replies, resets, unreachable ports and protocols.

Kernel: net/ipv4/icmp.c (icmp_echo), net/ipv6/icmp.c (icmpv6_echo_reply), net/ipv4/tcp_ipv4.c and net/ipv6/tcp_ipv6.c
(tcp_v4_send_reset, tcp_v6_send_response), net/ipv4/udp.c (__udp4_lib_rcv).
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from datapath._core.context cimport Net
from datapath._core.draws cimport draw_u32
from datapath._core.exthdr cimport NEXTHDR_ICMP, packet_find_transport
from datapath._core.fib cimport RTN_LOCAL, Flow
from datapath._core.icmp cimport (
    hop_limit, icmp_send, packet_make, packet_route, transport_checksum, write_ipv4_header, write_ipv6_header,
)
from datapath._core.packet cimport CSUM_NONE, CSUM_VALID, PACKET_HOST, Packet, packet_destination, packet_has, packet_ip, packet_source
from datapath._core.pool cimport packet_free
from datapath._core.record cimport STEP_GENERATE, record
from datapath._core.reset cimport tcp_reset_build
from datapath._core.walk cimport walk_local_out
from datapath._core.wire cimport checksum_replace, load_be16, store_be16, store_be32

cdef enum:
    ICMP = 1
    TCP = 6
    UDP = 17
    ESP = 50
    AH = 51
    ECHO = 8
    ECHO6 = 128
    ECHO_REPLY6 = 129
    UNREACHABLE = 3
    PROTOCOL_UNREACHABLE = 2
    PORT_UNREACHABLE = 3
    UNREACHABLE6 = 1
    PORT_UNREACHABLE6 = 4
    PARAMETER_PROBLEM6 = 4
    UNKNOWN_NEXT_HEADER = 1


cdef void answer_packet(Walk* walk) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef uint8_t protocol = pkt.protocol
    if pkt.no_transport or pkt.frag_offset or not valid_checksum(pkt):
        return
    if protocol == TCP:
        answer_tcp(walk)
    elif protocol == UDP:
        if pkt.type == PACKET_HOST and packet_has(pkt, pkt.transport, 8):
            if pkt.family == 4:
                icmp_send(walk, UNREACHABLE, PORT_UNREACHABLE, 0)
            else:
                icmp_send(walk, UNREACHABLE6, PORT_UNREACHABLE6, 0)
    elif protocol == ICMP and pkt.family == 4:
        answer_echo(walk, ECHO, 0)
    elif protocol == NEXTHDR_ICMP and pkt.family == 6:
        answer_echo(walk, ECHO6, ECHO_REPLY6)
    elif pkt.family == 4:
        icmp_send(walk, UNREACHABLE, PROTOCOL_UNREACHABLE, 0)
    elif protocol != 59:
        icmp_send(walk, PARAMETER_PROBLEM6, UNKNOWN_NEXT_HEADER, pkt.ip6_nhoff)


cdef bint valid_checksum(const Packet* pkt) noexcept nogil:
    if pkt.csum != CSUM_NONE or pkt.present != pkt.len or pkt.gso_size:
        return True
    if pkt.protocol == UDP and pkt.family == 4 and packet_has(pkt, pkt.transport, 8) and load_be16(packet_ip(pkt) + pkt.transport + 6) == 0:
        return True
    if pkt.protocol == TCP or pkt.protocol == UDP or pkt.protocol == ICMP or pkt.protocol == NEXTHDR_ICMP:
        return transport_checksum(pkt) == 0
    return True


cdef void answer_tcp(Walk* walk) noexcept nogil:
    """A segment for which nobody listens is answered by a reset; a reset never is."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Packet* new
    if pkt.type != PACKET_HOST:
        return
    new = tcp_reset_build(net, pkt, pkt.transport)
    if new == NULL:
        return
    answer_like(net, new, pkt)
    record(&net.recorder, STEP_GENERATE, 0, 0, TCP, 0, 0, 0, False)
    walk_local_out(net, new)


cdef void answer_like(Net* net, Packet* new, const Packet* old) noexcept nogil:
    """A closed port's reset has the class of what it answers, without its congestion bits (REJECT's has none); the
    label of IPv6 is drawn."""
    cdef uint8_t* ip = packet_ip(new)
    cdef uint8_t tos
    if new.family == 4:
        tos = packet_ip(old)[1] & 0xFC
        store_be16(ip + 10, checksum_replace(load_be16(ip + 10), ip[1], tos))
        ip[1] = tos
        return
    tos = <uint8_t>((packet_ip(old)[0] << 4 | packet_ip(old)[1] >> 4) & 0xFC)
    store_be32(ip, <uint32_t>0x60000000 | <uint32_t>tos << 20 | draw_u32(&net.draws) & 0xFFFFF)


cdef void answer_echo(Walk* walk, uint8_t asked, uint8_t answer) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Packet* new
    cdef Flow flow
    cdef uint32_t length = pkt.len - pkt.transport
    cdef uint32_t header = 20 if pkt.family == 4 else 40
    cdef uint8_t* echo
    if not packet_has(pkt, pkt.transport, 8) or packet_ip(pkt)[pkt.transport] != asked or ignored(walk):
        return
    new = packet_make(net, pkt.family, header + length)
    if new == NULL:
        return
    memset(&flow, 0, sizeof(Flow))
    flow.family = pkt.family
    flow.protocol = ICMP if pkt.family == 4 else NEXTHDR_ICMP
    flow.dst = packet_source(pkt)
    if net.routes[pkt.route].type == RTN_LOCAL:
        flow.src = packet_destination(pkt)
    flow.iif = -1
    flow.oif = pkt.dev if flow.dst.b[0] == 0xFE and pkt.family == 6 else -1
    flow.tos = packet_ip(pkt)[1] & 0xFC if pkt.family == 4 else 0
    flow.mark = pkt.mark if (net.sysctl.fwmark_reflect if pkt.family == 4 else net.sysctl.fwmark_reflect6) else 0
    if not packet_route(net, new, &flow):
        packet_free(net, new)
        return
    new.mark = flow.mark
    echo = packet_ip(new) + header
    memcpy(echo, packet_ip(pkt) + pkt.transport, pkt.present - pkt.transport)
    new.present = header + pkt.present - pkt.transport
    echo[0] = answer
    store_be16(echo + 2, 0)
    if pkt.family == 4:
        write_ipv4_header(new, packet_ip(pkt)[1], <uint16_t>draw_u32(&net.draws), 0, hop_limit(net, new), &flow.src, &flow.dst)
    else:
        packet_ip(new)[6] = NEXTHDR_ICMP
        write_ipv6_header(new, (<uint32_t>packet_ip(pkt)[0] & 0xF) << 24 | <uint32_t>(packet_ip(pkt)[1] & 0xF0) << 16
                          | draw_u32(&net.draws) & 0xFFFFF, hop_limit(net, new), &flow.src, &flow.dst)
    packet_find_transport(new)
    store_be16(echo + 2, transport_checksum(new))
    new.csum = CSUM_VALID
    record(&net.recorder, STEP_GENERATE, 0, 0, new.protocol, answer, 0, 0, False)
    walk_local_out(net, new)


cdef bint ignored(const Walk* walk) noexcept nogil:
    cdef const Net* net = walk.net
    cdef const Packet* pkt = walk.pkt
    if pkt.family == 6:
        return net.sysctl.icmp6_echo_ignore_all
    if net.sysctl.icmp_echo_ignore_all:
        return True
    return net.sysctl.icmp_echo_ignore_broadcasts and (net.routes[pkt.route].type != RTN_LOCAL)
