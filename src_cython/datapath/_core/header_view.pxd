# What the header part of rules asks of a packet (struct ipt_ip, ip6t_ip6), read once per traversal.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from datapath._core.context cimport Walk
from datapath._core.ipv6_headers cimport HEADER_BROKEN, HEADER_FOUND, find_last_header
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.tuples cimport Addr
from datapath._core.wire cimport load_be16


cdef enum:
    PROTOCOL_UNREAD = -2    # IPv6: no rule has asked yet
    PROTOCOL_BROKEN = -1    # IPv6: the chain of extension headers cannot be followed
    PROTOCOL_CUT = -3       # IPv6: the capture has cut it off


cdef struct HeaderView:
    uint32_t source         # as in memory; IPv6: the last word
    uint32_t destination
    int32_t protocol        # or PROTOCOL_*
    uint8_t later_fragment  # IPv4: not the first fragment
    uint8_t family
    uint8_t has_port        # it is a whole header of TCP or UDP
    uint16_t port           # its destination port
    uint64_t in_name[2]     # zero without a device
    uint64_t out_name[2]
    const Addr* wide_source  # IPv6
    const Addr* wide_destination


cdef inline int ip6_find_protocol(const Packet* pkt) noexcept nogil:
    """The transport protocol behind the extension headers as ip6_packet_match finds it, or PROTOCOL_BROKEN: Linux drops such a
    packet when a rule says -p. Of a later fragment whose next header is another extension header the protocol is not known, and
    the packet is dropped likewise. PROTOCOL_CUT: the capture has cut it off.
    """
    cdef uint8_t protocol = 0
    cdef uint32_t end = 0
    cdef int found = find_last_header(pkt, &protocol, &end)
    if found == HEADER_FOUND:
        return protocol
    return PROTOCOL_CUT if found == HEADER_BROKEN and end <= pkt.len else PROTOCOL_BROKEN


cdef inline void view_addresses(HeaderView* view, const Packet* pkt) noexcept nogil:
    """Read the addresses; again after a target that may have changed or moved the packet."""
    cdef const uint8_t* ip = packet_ip(pkt)
    if view.family == 4:
        memcpy(&view.source, ip + 12, 4)
        memcpy(&view.destination, ip + 16, 4)
    else:
        memcpy(&view.source, ip + 20, 4)
        memcpy(&view.destination, ip + 36, 4)
        view.wide_source = <const Addr*>(ip + 8)
        view.wide_destination = <const Addr*>(ip + 24)


cdef inline void view_read(HeaderView* view, Walk* walk) noexcept nogil:
    cdef const Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    view.family = walk.family
    view_addresses(view, pkt)
    if walk.family == 4:
        view.protocol = ip[9]
        view.later_fragment = (load_be16(ip + 6) & 0x1FFF) != 0
    else:
        view.protocol = PROTOCOL_UNREAD
        view.later_fragment = 0
    view.has_port = 0
    view.port = 0
    if (pkt.protocol == 6 or pkt.protocol == 17) and not pkt.frag_offset and packet_has(pkt, pkt.transport, 20 if pkt.protocol == 6 else 8):
        view.has_port = 1
        view.port = load_be16(ip + pkt.transport + 2)
    view.in_name[0] = view.in_name[1] = view.out_name[0] = view.out_name[1] = 0
    if walk.in_dev >= 0:
        memcpy(view.in_name, walk.net.devices[walk.in_dev].name, 16)
    if walk.out_dev >= 0:
        memcpy(view.out_name, walk.net.devices[walk.out_dev].name, 16)


cdef inline int view_protocol(HeaderView* view, Walk* walk) noexcept nogil:
    """The protocol that -p is compared with; PROTOCOL_BROKEN with walk.hotdrop, or PROTOCOL_CUT."""
    if view.protocol == PROTOCOL_UNREAD:
        view.protocol = ip6_find_protocol(walk.pkt)
    if view.protocol == PROTOCOL_BROKEN:
        walk.hotdrop = 1
    return view.protocol
