"""Refusing a packet (net/ipv4/netfilter/nf_reject_ipv4.c, net/ipv6/netfilter/nf_reject_ipv6.c)."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from datapath._core.conntrack cimport conntrack_attach, conntrack_set_closing
from datapath._core.exthdr cimport NEXTHDR_AUTH, NEXTHDR_ESP, Skipped, packet_find_transport, skip_extension_headers
from datapath._core.fib cimport RTN_BROADCAST, RTN_MULTICAST, RTN_UNICAST, Flow
from datapath._core.icmp cimport hop_limit, icmp_send, packet_make, packet_route, transport_checksum, write_ipv4_header, write_ipv6_header
from datapath._core.packet cimport CSUM_NONE, CSUM_PARTIAL, CSUM_VALID, packet_destination, packet_has, packet_ip, packet_source
from datapath._core.pool cimport packet_free
from datapath._core.record cimport STEP_GENERATE, record
from datapath._core.route cimport address_type
from datapath._core.transmit cimport route_mtu
from datapath._core.tuples cimport Addr
from datapath._core.verdict cimport HOOK_OUTPUT
from datapath._core.walk cimport walk_local_out
from datapath._core.wire cimport fold, load_be16, load_be32, store_be16, store_be32, sum_bytes

cdef enum:
    ICMP = 1
    TCP = 6
    UDP = 17
    GRE = 47
    SCTP = 132
    UDPLITE = 136
    UNREACHABLE = 3
    UNREACHABLE6 = 1
    DONT_FRAGMENT = 0x4000
    FIN = 1
    SYN = 2
    RST = 4
    ACK = 16


cdef bint checksum_right(const Net* net, const Packet* pkt, uint32_t offset, uint8_t protocol) noexcept nogil:
    """nf_ip_checksum, nf_ip6_checksum. What the snap length cut cannot be checked and counts as right."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint64_t total
    cdef uint32_t length = pkt.len - offset
    if pkt.csum != CSUM_NONE or pkt.present < pkt.len:
        return True
    total = sum_bytes(ip + offset, length)
    if pkt.family == 6:
        total += sum_bytes(ip + 8, 32) + length + protocol
    elif protocol == TCP or protocol == UDP:
        total += sum_bytes(ip + 12, 8) + length + protocol
    # For IPv4 Linux sums from the IP header on, which adds the header's own all-ones sum: a payload of zeros is right.
    if pkt.family == 4:
        total += 0xFFFF
    return fold(total) == 0xFFFF


# ---- unreachable ----

cdef bint verifiable(const Packet* pkt, uint32_t offset, uint8_t protocol) noexcept nogil:
    """nf_reject_verify_csum: protocols whose checksum covers the whole payload."""
    if protocol == UDP:
        return not packet_has(pkt, offset, 8) or load_be16(packet_ip(pkt) + offset + 6) != 0
    return not (protocol == GRE or protocol == NEXTHDR_AUTH or protocol == NEXTHDR_ESP or protocol == SCTP or protocol == UDPLITE)


cdef void send_unreach(Walk* walk, uint8_t code) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Skipped found
    if pkt.family == 4:
        if pkt.frag_offset or not has_route(walk):
            return
        if not verifiable(pkt, pkt.transport, pkt.protocol) or checksum_right(net, pkt, pkt.transport, pkt.protocol):
            icmp_send(walk, UNREACHABLE, code, 0)
        return
    found = skip_extension_headers(pkt, 40, packet_ip(pkt)[6])
    if pkt.csum == CSUM_NONE:
        if found.offset < 0 or <uint32_t>found.offset >= pkt.len or found.frag_field & 0xFFF8:
            return
        if verifiable(pkt, <uint32_t>found.offset, found.protocol) and not checksum_right(net, pkt, <uint32_t>found.offset, found.protocol):
            return
    if walk.hook == HOOK_OUTPUT and pkt.dev < 0:
        pkt.dev = net.loopback
    if has_route(walk):
        icmp_send(walk, UNREACHABLE6, code, 0)


cdef bint has_route(Walk* walk) noexcept nogil:
    """A packet that is refused before it was routed gets the route back to its sender (nf_reject_fill_skb_dst)."""
    cdef Flow flow
    if walk.pkt.route >= 0:
        return True
    memset(&flow, 0, sizeof(Flow))
    flow.family = walk.pkt.family
    flow.dst = packet_source(walk.pkt)
    flow.iif = -1
    flow.oif = -1
    return packet_route(walk.net, walk.pkt, &flow)


# ---- reset ----

cdef void send_reset(Walk* walk) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Packet* new
    cdef int offset = reset_offset(net, pkt)
    if offset < 0 or not has_route(walk):
        return
    if pkt.family == 4 and (net.routes[pkt.route].type == RTN_BROADCAST or net.routes[pkt.route].type == RTN_MULTICAST):
        return
    new = tcp_reset_build(net, pkt, <uint32_t>offset)
    if new == NULL:
        return
    conntrack_attach(net, new, pkt)
    conntrack_set_closing(net, pkt.ct)
    record(&net.recorder, STEP_GENERATE, 0, 0, TCP, 0, 0, 0, False)
    walk_local_out(net, new)


cdef bint is_unicast6(const Addr* addr) noexcept nogil:
    """What ipv6_addr_type calls unicast: neither multicast nor unspecified nor an IPv4-mapped address."""
    if addr.b[0] == 0xFF:
        return False
    if addr.q[0] == 0 and addr.b[8] == 0 and addr.b[9] == 0:
        if addr.b[10] == 0xFF and addr.b[11] == 0xFF:
            return False
        return addr.w[2] != 0 or addr.w[3] != 0
    return True


cdef int reset_offset(const Net* net, const Packet* pkt) noexcept nogil:
    """Where the TCP header stands that may be answered by a reset, -1: it may not."""
    cdef Skipped found
    cdef uint32_t offset = pkt.transport
    cdef Addr src = packet_source(pkt)
    cdef Addr dst = packet_destination(pkt)
    if pkt.family == 4:
        if pkt.frag_offset or pkt.protocol != TCP:
            return -1
    else:
        if not is_unicast6(&src) or not is_unicast6(&dst):
            return -1
        found = skip_extension_headers(pkt, 40, packet_ip(pkt)[6])
        if found.offset < 0 or found.protocol != TCP:
            return -1
        offset = <uint32_t>found.offset
    if not packet_has(pkt, offset, 20) or packet_ip(pkt)[offset + 13] & RST or not checksum_right(net, pkt, offset, TCP):
        return -1
    return <int>offset


cdef Packet* tcp_reset_build(Net* net, const Packet* old, uint32_t offset) noexcept nogil:
    """The reset that answers the segment at `offset`: nothing but a header."""
    cdef uint32_t header = 20 if old.family == 4 else 40
    cdef const uint8_t* segment = packet_ip(old) + offset
    cdef Packet* new
    cdef Flow flow
    cdef uint8_t kind
    if not packet_has(old, offset, 20) or segment[13] & RST:
        return NULL
    new = packet_make(net, old.family, header + 20)
    if new == NULL:
        return NULL
    fill_reset(new, segment, header, old.len - offset)
    memset(&flow, 0, sizeof(Flow))
    flow.family = old.family
    flow.src = packet_destination(old)
    flow.dst = packet_source(old)
    flow.iif = -1
    flow.oif = -1
    flow.protocol = TCP
    flow.sport = load_be16(segment + 2)
    flow.dport = load_be16(segment)
    flow.has_ports = 1
    flow.any_source = 1
    flow.mark = old.mark if (net.sysctl.fwmark_reflect if old.family == 4 else net.sysctl.fwmark_reflect6) else 0
    if old.family == 4:     # ip_route_me_harder: another's address is not used to route by, unless it is routed to
        kind = address_type(net, 4, &flow.src, -1)
        if kind != 2 and kind != RTN_UNICAST:
            memset(&flow.src, 0, sizeof(Addr))
        flow.has_ports = 0
    if not packet_route(net, new, &flow):
        packet_free(net, new)
        return NULL
    new.mark = flow.mark
    flow.src = packet_destination(old)
    if old.family == 4:
        new.protocol = TCP
        write_ipv4_header(new, 0, 0, DONT_FRAGMENT, reset_ttl(net, old, new), &flow.src, &flow.dst)
    else:
        packet_ip(new)[6] = TCP
        write_ipv6_header(new, 0, hop_limit(net, new), &flow.src, &flow.dst)
    packet_find_transport(new)
    if old.family == 4:     # nf_reject_ip_tcphdr_put leaves the sum to the device: an error that quotes the reset shows it unfinished
        store_be16(packet_ip(new) + header + 16, fold(sum_bytes(packet_ip(new) + 12, 8) + 20 + TCP))
        new.csum = CSUM_PARTIAL
    else:
        store_be16(packet_ip(new) + header + 16, transport_checksum(new))
        new.csum = CSUM_VALID
    if new.len > route_mtu(net, &net.routes[new.route], new.family):
        packet_free(net, new)
        return NULL
    return new


cdef uint8_t reset_ttl(const Net* net, const Packet* old, const Packet* new) noexcept nogil:
    """IPv4 takes the hop limit of the refused packet's route."""
    return hop_limit(net, old if old.route >= 0 else new)


cdef void fill_reset(Packet* new, const uint8_t* segment, uint32_t header, uint32_t length) noexcept nogil:
    cdef uint8_t* tcp = packet_ip(new) + header
    cdef uint32_t consumed
    memcpy(tcp, segment + 2, 2)
    memcpy(tcp + 2, segment, 2)
    tcp[12] = 5 << 4
    tcp[13] = RST
    if segment[13] & ACK:
        memcpy(tcp + 4, segment + 8, 4)
        return
    consumed = ((segment[13] & SYN) != 0) + ((segment[13] & FIN) != 0) + length - (segment[12] >> 4) * 4
    store_be32(tcp + 8, load_be32(segment + 4) + consumed)
    tcp[13] |= ACK
