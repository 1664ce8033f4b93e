"""ICMP errors: who may get one, from which address, what it quotes.

Kernel: net/ipv4/icmp.c (__icmp_send), net/ipv6/icmp.c (icmp6_send).
"""
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcpy, memset

from datapath._core.conntrack cimport conntrack_attach
from datapath._core.context cimport route_slot
from datapath._core.device cimport DEVICE_LOOPBACK
from datapath._core.draws cimport draw_u32
from datapath._core.exthdr cimport NEXTHDR_ICMP, Skipped, packet_find_transport, skip_extension_headers
from datapath._core.fib cimport RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST
from datapath._core.icmp_limit cimport IcmpLimits, global_allow, global_consume, xrlim_allow
from datapath._core.ip_options cimport Echo, echo_options, options_build
from datapath._core.packet cimport (
    CSUM_VALID, PACKET_HOST, packet_destination, packet_has, packet_ip, packet_source, packet_transport,
)
from datapath._core.pool cimport packet_free, packet_new, packet_reserve
from datapath._core.receive cimport ETH_P_IP, ETH_P_IPV6
from datapath._core.record cimport STEP_GENERATE, record
from datapath._core.route cimport address_is_local, route_output
from datapath._core.source_address cimport device_holds, select_source
from datapath._core.transmit cimport route_mtu
from datapath._core.tuples cimport addr_is_zero
from datapath._core.walk cimport walk_local_out
from datapath._core.wire cimport fold, store_be16, store_be32, sum_bytes

cdef enum:
    ICMP = 1
    NR_ICMP_TYPES = 18
    # Types that icmp.c takes for errors: 1 to 7, 9 to 12. An error about one of them is never sent.
    ERROR_TYPES = 0x1EFE
    UNREACHABLE = 3
    FRAGMENTATION_NEEDED = 4
    MOST_QUOTED = 576       # the whole error
    IPV6_MIN_MTU = 1280
    SCOPE_LINK = 253
    INFO_TYPES6 = 0x80      # ICMPV6_INFOMSG_MASK
    PACKET_TOO_BIG6 = 2
    PARAMETER_PROBLEM6 = 4
    UNKNOWN_OPTION6 = 2
    MILLISECOND = 1000000


cdef void icmp_send(Walk* walk, uint8_t type, uint8_t code, uint32_t info) noexcept nogil:
    """Send an error about walk.pkt. `info` is the header's second word: a gateway, an MTU, a pointer."""
    cdef IcmpLimits* limits = <IcmpLimits*>walk.net.icmp_limits
    cdef uint8_t lock = 1 if walk.pkt.family == 4 else 2
    if limits.sending & lock:   # an error about an ICMP message that the node is just sending
        return
    limits.sending |= lock
    if walk.pkt.family == 4:
        send_ipv4(walk, type, code, info)
    else:
        send_ipv6(walk, type, code, info)
    limits.sending &= ~lock


cdef inline bint is_error(uint8_t type) noexcept nogil:
    return type <= NR_ICMP_TYPES and (ERROR_TYPES >> type) & 1 != 0


cdef bint ipv4_may_get_error(const Walk* walk, uint8_t type) noexcept nogil:
    cdef const Packet* pkt = walk.pkt
    cdef const RouteDecision* route
    cdef uint8_t inner
    if pkt.route < 0 or pkt.type != PACKET_HOST or pkt.frag_offset:
        return False
    route = &walk.net.routes[pkt.route]
    if not route.error and (route.type == RTN_BROADCAST or route.type == RTN_MULTICAST):
        return False
    if is_error(type) and pkt.protocol == ICMP:
        if not packet_has(pkt, pkt.transport, 1):
            return False
        inner = packet_transport(pkt)[0]
        if inner > NR_ICMP_TYPES or is_error(inner):
            return False
    return True


cdef bint ipv4_limited(const Net* net, uint8_t type, uint8_t code) noexcept nogil:
    """not icmpv4_mask_allow: path MTU discovery is never held up."""
    if type > NR_ICMP_TYPES or (type == UNREACHABLE and code == FRAGMENTATION_NEEDED):
        return False
    return (net.sysctl.icmp_ratemask >> type) & 1 != 0


cdef Addr ipv4_error_source(const Walk* walk) noexcept nogil:
    """The address that the packet was sent to, if it is ours; else the route chooses."""
    cdef const Packet* pkt = walk.pkt
    cdef const RouteDecision* route = &walk.net.routes[pkt.route]
    cdef Addr source
    cdef Addr to
    memset(&source, 0, sizeof(Addr))
    if not route.error and route.type == RTN_LOCAL:
        return packet_destination(pkt)
    if walk.in_dev >= 0 and walk.net.sysctl.icmp_errors_use_inbound_ifaddr:
        to = packet_source(pkt)
        select_source(walk.net, 4, walk.in_dev, &to, SCOPE_LINK, &source)
    return source


cdef void send_ipv4(Walk* walk, uint8_t type, uint8_t code, uint32_t info) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Packet* new
    cdef Flow flow
    cdef Echo echo
    cdef bint limited = False
    cdef uint8_t tos = packet_ip(pkt)[1]
    cdef int32_t room
    cdef uint32_t quoted
    if not ipv4_may_get_error(walk, type):
        return
    if not on_loopback(net, pkt.dev) and ipv4_limited(net, type, code):
        if not global_allow(net):
            return
        limited = True
    if is_error(type):
        tos = (tos & 0x1E) | 0xC0
    if not echo_options(net, pkt, &echo):
        return
    memset(&flow, 0, sizeof(Flow))
    flow.family = 4
    flow.dst = echo.first_hop if echo.source_route else packet_source(pkt)
    flow.src = ipv4_error_source(walk)
    flow.iif = -1
    flow.oif = -1
    flow.mark = pkt.mark if net.sysctl.fwmark_reflect else 0
    flow.tos = tos & 0xFC
    flow.protocol = ICMP
    new = packet_new(net)
    if new == NULL:
        return
    new.family = 4
    if not packet_route(net, new, &flow) or not peer_allows(net, new, limited):
        packet_free(net, new)
        return
    room = <int32_t>min(route_mtu(net, &net.routes[new.route], 4), <uint32_t>MOST_QUOTED) - 28 - <int32_t>echo.length
    if room <= 20:
        packet_free(net, new)
        return
    if addr_is_zero(&flow.src):
        store_be32(flow.src.b, <uint32_t>0xC0000008)    # INADDR_DUMMY, RFC 7600
    quoted = min(pkt.len, <uint32_t>room)
    if not packet_prepare(new, 28 + echo.length + quoted):
        packet_free(net, new)
        return
    quote(new, pkt, 20 + echo.length, quoted, type, code, info)
    new.scratch = packet_source(pkt)
    options_build(net, new, &echo, &flow.src)
    write_ipv4_header(new, tos, <uint16_t>draw_u32(&net.draws), 0, hop_limit(net, new), &flow.src, &flow.dst)
    finish(net, new, pkt, is_error(type), flow.mark, type, code)


cdef inline bint on_loopback(const Net* net, int32_t dev) noexcept nogil:
    return dev >= 0 and net.devices[dev].kind == DEVICE_LOOPBACK


cdef inline bint wider_prefixes_get_more(const Net* net) noexcept nogil:
    """Linux 6.18 does not do it any more: the kernel was asked (tests/kernel/test_walk_time.py)."""
    return net.kernel_major < 6 or (net.kernel_major == 6 and net.kernel_minor < 18)


cdef bint peer_allows(Net* net, const Packet* new, bint limited) noexcept nogil:
    """icmpv4_xrlim_allow, icmpv6_xrlim_allow: the bucket of the address that gets the error."""
    cdef const RouteDecision* route = &net.routes[new.route]
    cdef uint64_t timeout = net.sysctl.icmp_ratelimit if new.family == 4 else net.sysctl.icmp6_ratelimit
    cdef Addr to
    if not limited:
        return True
    if not on_loopback(net, route.dev):
        if new.family == 6 and route.prefix_length < 128 and wider_prefixes_get_more(net):
            timeout >>= (128 - route.prefix_length) >> 5
        to = new.scratch
        if not xrlim_allow(net, new.family, &to, timeout * MILLISECOND):
            return False
    global_consume(net)
    return True


cdef void quote(Packet* new, const Packet* old, uint32_t header, uint32_t quoted, uint8_t type, uint8_t code, uint32_t info) noexcept nogil:
    cdef uint8_t* icmp = packet_ip(new) + header
    cdef uint32_t have = min(quoted, old.present)
    icmp[0] = type
    icmp[1] = code
    icmp[2] = 0
    icmp[3] = 0
    store_be32(icmp + 4, info)
    memcpy(icmp + 8, packet_ip(old), have)
    new.present = header + 8 + have     # less than new.len when the snap length cut what is quoted


cdef void finish(Net* net, Packet* new, const Packet* old, bint attach, uint32_t mark, uint8_t type, uint8_t code) noexcept nogil:
    packet_find_transport(new)
    store_be16(packet_transport(new) + 2, transport_checksum(new))
    new.csum = CSUM_VALID
    new.mark = mark
    if attach:
        conntrack_attach(net, new, old)
    record(&net.recorder, STEP_GENERATE, 0, 0, new.protocol, type, code, 0, False)
    walk_local_out(net, new)


cdef bint ipv6_may_get_error(const Walk* walk, uint8_t type, uint8_t code, uint32_t info) noexcept nogil:
    cdef const Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef Skipped found
    cdef Addr source = packet_source(pkt)
    if ip[24] == 0xFF or pkt.type != PACKET_HOST:
        if type != PACKET_TOO_BIG6 and not (type == PARAMETER_PROBLEM6 and code == UNKNOWN_OPTION6 and packet_has(pkt, info, 1)
                                            and ip[info] & 0xC0 == 0x80):
            return False
    if addr_is_zero(&source) or source.b[0] == 0xFF:
        return False
    found = skip_extension_headers(pkt, 40, ip[6])
    if found.offset < 0 or found.protocol != NEXTHDR_ICMP:
        return True
    if not packet_has(pkt, <uint32_t>found.offset, 1):
        return found.has_fragment and found.frag_field != 0
    return ip[found.offset] & INFO_TYPES6 != 0


cdef bint ipv6_error_source(Walk* walk, Flow* flow) noexcept nogil:
    """The packet's own destination if it is ours; else the route's preferred source; else one of the device it came by."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef Addr to = packet_destination(pkt)
    cdef RouteDecision route
    cdef Flow question
    if ip[24] != 0xFF and pkt.type == PACKET_HOST and address_is_local(net, 6, &to, pkt.dev):
        flow.src = to
        return True
    question = flow[0]
    memset(&route, 0, sizeof(RouteDecision))
    if route_output(net, NULL, &question, &route) == 0 and route.has_source:
        return True
    if walk.in_dev >= 0:
        select_source(net, 6, walk.in_dev, &flow.dst, 0, &flow.src)
    return True


cdef int32_t scoped_device(Net* net, const Packet* pkt) noexcept nogil:
    """icmp6_iif: a packet that came by the loopback belongs to the device that holds its destination."""
    cdef Addr to = packet_destination(pkt)
    cdef int32_t dev
    if on_loopback(net, pkt.dev):
        for dev in range(<int32_t>net.n_devices):
            if device_holds(net, 6, dev, &to, False):
                return dev
    return pkt.dev


cdef void send_ipv6(Walk* walk, uint8_t type, uint8_t code, uint32_t info) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Packet* new
    cdef Flow flow
    cdef bint limited = False
    cdef uint32_t quoted
    if pkt.dev < 0 and pkt.route >= 0:      # made on this node: skb->dev is set when it is sent
        pkt.dev = net.routes[pkt.route].dev
    if pkt.dev < 0 or not ipv6_may_get_error(walk, type, code, info):
        return
    if not on_loopback(net, pkt.dev) and (net.sysctl.icmp6_ratemask[type >> 3] >> (type & 7)) & 1:
        if not global_allow(net):
            return
        limited = True
    memset(&flow, 0, sizeof(Flow))
    flow.family = 6
    flow.protocol = NEXTHDR_ICMP
    flow.dst = packet_source(pkt)
    flow.iif = -1
    flow.oif = -1
    if not ipv6_error_source(walk, &flow):
        return
    flow.mark = pkt.mark if net.sysctl.fwmark_reflect6 else 0
    if flow.dst.b[0] == 0xFE and flow.dst.b[1] & 0xC0 == 0x80:
        flow.oif = scoped_device(net, pkt)
    new = packet_new(net)
    if new == NULL:
        return
    new.family = 6
    quoted = min(pkt.len, <uint32_t>(IPV6_MIN_MTU - 48))
    if not packet_route(net, new, &flow) or not peer_allows(net, new, limited) or not packet_prepare(new, 48 + quoted):
        packet_free(net, new)
        return
    quote(new, pkt, 40, quoted, type, code, info)
    write_ipv6_header(new, draw_u32(&net.draws) & 0xFFFFF, hop_limit(net, new), &flow.src, &flow.dst)
    packet_ip(new)[6] = NEXTHDR_ICMP
    finish(net, new, pkt, True, flow.mark, type, code)


# ---- making packets ----

cdef Packet* packet_make(Net* net, uint8_t family, uint32_t length) noexcept nogil:
    cdef Packet* new = packet_new(net)
    if new == NULL:
        return NULL
    new.family = family
    if not packet_prepare(new, length):
        packet_free(net, new)
        return NULL
    memset(packet_ip(new), 0, length)
    return new


cdef bint packet_prepare(Packet* new, uint32_t length) noexcept nogil:
    if not packet_reserve(new, length):
        return False
    new.ethertype = ETH_P_IP if new.family == 4 else ETH_P_IPV6
    new.local = 1
    new.len = length
    new.present = length
    return True


cdef bint packet_route(Net* net, Packet* pkt, Flow* flow) noexcept nogil:
    cdef RouteDecision decision
    memset(&decision, 0, sizeof(RouteDecision))
    pkt.scratch = flow.dst
    if route_output(net, pkt, flow, &decision):
        return False
    if pkt.route < 0:
        pkt.route = route_slot(net)
        net.routes[pkt.route] = decision
    return True


cdef uint8_t hop_limit(const Net* net, const Packet* pkt) noexcept nogil:
    """ip4_dst_hoplimit, ip6_dst_hoplimit."""
    cdef const RouteDecision* route = &net.routes[pkt.route]
    if route.hop_limit:
        return route.hop_limit
    if pkt.family == 4:
        return net.sysctl.ip_default_ttl
    if net.devices[route.dev].hop_limit6:
        return net.devices[route.dev].hop_limit6
    return net.sysctl.hop_limit6


cdef void write_ipv4_header(Packet* pkt, uint8_t tos, uint16_t id, uint16_t frag, uint8_t ttl, const Addr* src, const Addr* dst) noexcept nogil:
    """Header and its checksum; options, if any, must stand already. The protocol is ICMP unless it has been written."""
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint32_t length = 20 + pkt.options
    ip[0] = <uint8_t>(0x40 | length >> 2)
    ip[1] = tos
    store_be16(ip + 2, <uint16_t>pkt.len)
    store_be16(ip + 4, id)
    store_be16(ip + 6, frag)
    ip[8] = ttl
    ip[9] = pkt.protocol if pkt.protocol else <uint8_t>ICMP
    store_be16(ip + 10, 0)
    memcpy(ip + 12, src.b, 4)
    memcpy(ip + 16, dst.b, 4)
    store_be16(ip + 10, <uint16_t>~fold(sum_bytes(ip, length)))


cdef void write_ipv6_header(Packet* pkt, uint32_t flow, uint8_t hops, const Addr* src, const Addr* dst) noexcept nogil:
    """`flow` holds traffic class and label as the header's first word does. The next header is the caller's."""
    cdef uint8_t* ip = packet_ip(pkt)
    store_be32(ip, <uint32_t>0x60000000 | flow)
    store_be16(ip + 4, <uint16_t>(pkt.len - 40))
    ip[7] = hops
    memcpy(ip + 8, src.b, 16)
    memcpy(ip + 24, dst.b, 16)


cdef uint16_t transport_checksum(const Packet* pkt) noexcept nogil:
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint64_t total = sum_bytes(ip + pkt.transport, pkt.present - pkt.transport)
    cdef uint32_t length = pkt.len - pkt.transport
    if pkt.family == 6:
        total += sum_bytes(ip + 8, 32) + (length >> 16) + (length & 0xFFFF) + pkt.protocol
    elif pkt.protocol != ICMP:
        total += sum_bytes(ip + 12, 8) + length + pkt.protocol
    return <uint16_t>~fold(total)
