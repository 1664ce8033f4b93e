"""What a set looks at in a packet (the kadt functions of net/netfilter/ipset/ip_set_*.c, ip_set_getport.c)."""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from datapath._core.context cimport Walk
from datapath._core.exthdr cimport Skipped, skip_extension_headers
from datapath._core.ipset cimport (
    FIELD_BARE_PORT, FIELD_IFACE, FIELD_IP, FIELD_MAC, FIELD_MARK, FIELD_NET, FIELD_PORT, SET_NO, SET_UNKNOWN, SET_YES)
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.wire cimport load_be16

cdef enum:
    TCP = 6
    UDP = 17
    ICMP = 1
    ICMPV6 = 58
    SCTP = 132
    UDPLITE = 136


cdef uint32_t bytes_of_header(uint8_t protocol) noexcept nogil:
    """How much of a transport header must be there; 0: the protocol has no ports."""
    if protocol == TCP:
        return 20
    if protocol == SCTP:
        return 12
    return 8 if protocol == UDP or protocol == UDPLITE or protocol == ICMP or protocol == ICMPV6 else 0


cdef int read_port(const Packet* pkt, uint32_t at, bint source, SetKey* key) noexcept nogil:
    """get_port. ICMP's type and code stand for a port."""
    cdef uint32_t need = bytes_of_header(key.protocol)
    if need == 0:
        return SET_YES
    if not packet_has(pkt, at, need):
        return SET_NO if at + need > pkt.len else SET_UNKNOWN
    if key.protocol == ICMP or key.protocol == ICMPV6 or source:
        key.port = load_be16(packet_ip(pkt) + at)
    else:
        key.port = load_be16(packet_ip(pkt) + at + 2)
    return SET_YES


cdef int port_of_packet(Walk* walk, bint source, SetKey* key) noexcept nogil:
    """ip_set_get_ip4_port and ip_set_get_ip6_port."""
    cdef const Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef Skipped found
    if walk.family == 4:
        key.protocol = ip[9]
        if key.protocol == 0:
            return SET_NO
        if load_be16(ip + 6) & 0x1FFF:
            return SET_NO if bytes_of_header(key.protocol) and key.protocol != ICMPV6 else SET_YES
        return read_port(pkt, (ip[0] & 0xF) * 4, source, key)
    found = skip_extension_headers(pkt, 40, ip[6])
    if found.offset < 0 or found.frag_field & 0xFFF8:
        return SET_NO
    key.protocol = found.protocol
    return read_port(pkt, <uint32_t>found.offset, source, key)


cdef int mac_of_packet(Walk* walk, bint source, uint8_t* mac) noexcept nogil:
    cdef const Packet* pkt = walk.pkt
    cdef int i
    if pkt.dev < 0 or not walk.net.devices[pkt.dev].has_link_header or pkt.mac_len < 14:
        return SET_NO
    memcpy(mac, pkt.head + pkt.mac + (6 if source else 0), 6)
    for i in range(6):
        if mac[i]:
            return SET_YES
    return SET_NO


cdef void address_of_packet(Walk* walk, bint source, Addr* addr) noexcept nogil:
    cdef const uint8_t* ip = packet_ip(walk.pkt)
    if walk.family == 4:
        memcpy(addr, ip + (12 if source else 16), 4)
    else:
        memcpy(addr, ip + (8 if source else 24), 16)


cdef int set_key_of_packet(const IpSet* ipset, Walk* walk, const SetQuestion* question, SetKey* key, char* iface) noexcept nogil:
    """The key that the packet has for this set, networks still as whole addresses. SET_YES, or why there is none."""
    cdef int seen = 0
    cdef int i
    cdef int answer = SET_YES
    cdef uint8_t field
    cdef bint source
    cdef int32_t dev
    cdef Addr* addr
    memset(key, 0, sizeof(SetKey))
    memset(iface, 0, 16)
    for i in range(ipset.dimensions):
        field = ipset.fields[i]
        source = (question.sources >> i) & 1
        if field == FIELD_IP or field == FIELD_NET:
            addr = &key.ip2 if seen else &key.ip
            seen += 1
            address_of_packet(walk, source, addr)
            addr.q[0] &= ipset.mask.q[0]
            addr.q[1] &= ipset.mask.q[1]
        elif field == FIELD_PORT or field == FIELD_BARE_PORT:
            answer = port_of_packet(walk, source, key)
            if answer == SET_YES and field == FIELD_BARE_PORT:
                if key.protocol != TCP and key.protocol != UDP:
                    return SET_NO
                key.protocol = 0
        elif field == FIELD_MAC:
            answer = mac_of_packet(walk, source, key.mac)
        elif field == FIELD_MARK:
            key.mark = walk.pkt.mark & ipset.mark_mask
        elif field == FIELD_IFACE:
            dev = walk.in_dev if source else walk.out_dev
            if dev < 0:
                return SET_NO
            memcpy(iface, walk.net.devices[dev].name, 16)
        if answer != SET_YES:
            return answer
    return SET_YES
