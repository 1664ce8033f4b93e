"""Forwarding: life time, size, redirects (net/ipv4/ip_forward.c, ip_forward; net/ipv6/ip6_output.c, ip6_forward)."""
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Net
from datapath._core.device cimport Device
from datapath._core.fib cimport RTN_BLACKHOLE, RouteDecision
from datapath._core.icmp cimport icmp_send
from datapath._core.icmp_limit cimport limit_redirect, limit_route_error, xrlim_allow
from datapath._core.ndisc cimport ndisc_send_redirect
from datapath._core.neighbour cimport next_hop
from datapath._core.outcome cimport EACCES, EHOSTUNREACH, ENETUNREACH, packet_drop
from datapath._core.packet cimport PACKET_HOST, Packet, packet_destination, packet_ip, packet_source
from datapath._core.transmit cimport device_mtu, route_mtu
from datapath._core.tuples cimport Addr, addr_is_zero
from datapath._core.verdict cimport (
    DROP_IP_INADDRERRORS, DROP_IP_INHDR, DROP_IP_INNOROUTES, DROP_NONE, DROP_NOT_SPECIFIED, DROP_PKT_TOO_BIG, HOOK_PREROUTING,
)
from datapath._core.wire cimport checksum_replace, load_be16, load_be32, store_be16

cdef enum:
    UNREACHABLE = 3         # ICMP
    NET_UNREACHABLE = 0
    HOST_UNREACHABLE = 1
    FRAGMENTATION_NEEDED = 4
    SOURCE_ROUTE_FAILED = 5
    PACKET_FILTERED = 13
    REDIRECT = 5
    REDIRECT_HOST = 1
    TIME_EXCEEDED = 11
    DONT_FRAGMENT = 0x4000
    UNREACHABLE6 = 1        # ICMPv6
    NO_ROUTE = 0
    PROHIBITED = 1
    NOT_NEIGHBOUR = 2
    PACKET_TOO_BIG6 = 2
    TIME_EXCEEDED6 = 3
    IPV6_MIN_MTU = 1280
    SECOND = 1000000000


cdef bint exceeds_mtu(const Packet* pkt, uint32_t mtu) noexcept nogil:
    """ip_exceeds_mtu: larger, and not to be cut."""
    if pkt.len <= mtu or not load_be16(packet_ip(pkt) + 6) & DONT_FRAGMENT:
        return False
    if pkt.frag_max_size > mtu:
        return True
    return not pkt.ignore_df and not fits_as_segments(pkt, mtu)


cdef inline bint fits_as_segments(const Packet* pkt, uint32_t mtu) noexcept nogil:
    """skb_gso_validate_network_len: a stack of segments, each of which fits."""
    return pkt.gso_size != 0 and pkt.gso_size <= mtu


cdef int forward_ipv4(Walk* walk) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* ip = packet_ip(pkt)
    cdef RouteDecision* route = &net.routes[pkt.route]
    cdef uint32_t mtu
    if pkt.type != PACKET_HOST:
        return DROP_NOT_SPECIFIED
    if ip[8] <= 1:
        icmp_send(walk, TIME_EXCEEDED, 0, 0)
        return DROP_IP_INHDR
    if pkt.strict_route and route.has_gateway:
        icmp_send(walk, UNREACHABLE, SOURCE_ROUTE_FAILED, 0)
        return DROP_NOT_SPECIFIED
    pkt.forwarded = 1
    mtu = route_mtu(net, route, 4)
    if exceeds_mtu(pkt, mtu):
        icmp_send(walk, UNREACHABLE, FRAGMENTATION_NEEDED, mtu)
        return DROP_PKT_TOO_BIG
    ip[8] -= 1
    store_be16(ip + 10, checksum_replace(load_be16(ip + 10), 0x0100, 0))
    if route.redirect and not pkt.source_routed:
        send_redirect(walk, route)
    return DROP_NONE


cdef void send_redirect(Walk* walk, const RouteDecision* route) noexcept nogil:
    """ip_rt_send_redirect: a better way exists on the same link."""
    cdef Addr gateway
    cdef Addr source = packet_source(walk.pkt)
    if not walk.net.devices[route.dev].send_redirects:
        return
    if not limit_redirect(walk.net, &source):
        return
    next_hop(walk.net, walk.pkt, &gateway)
    icmp_send(walk, REDIRECT, REDIRECT_HOST, load_be32(gateway.b))


cdef bint link_local(const uint8_t* address) noexcept nogil:
    return address[0] == 0xFE and (address[1] & 0xC0) == 0x80


cdef bint unusable_source(const uint8_t* address) noexcept nogil:
    """Unspecified, multicast or the loopback's: such a packet must not be forwarded."""
    cdef uint32_t i
    if address[0] == 0xFF:
        return True
    for i in range(15):
        if address[i]:
            return False
    return address[15] <= 1


cdef bint too_big_ipv6(const Packet* pkt, uint32_t mtu) noexcept nogil:
    """ip6_pkt_too_big."""
    if pkt.len <= mtu:
        return False
    if pkt.frag_max_size and pkt.frag_max_size > mtu:
        return True
    return not pkt.ignore_df and not fits_as_segments(pkt, mtu)


cdef int forward_ipv6(Walk* walk) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* ip = packet_ip(pkt)
    cdef RouteDecision* route = &net.routes[pkt.route]
    cdef Addr destination
    cdef Addr target
    cdef uint32_t mtu
    if not net.sysctl.forwarding6:
        return DROP_IP_INADDRERRORS
    if pkt.type != PACKET_HOST:
        return DROP_NOT_SPECIFIED
    if ip[7] <= 1:
        icmp_send(walk, TIME_EXCEEDED6, 0, 0)
        return DROP_IP_INHDR
    if walk.in_dev == route.dev and not pkt.source_routed:
        destination = packet_destination(pkt)
        if xrlim_allow(net, 6, &destination, SECOND):
            next_hop(net, pkt, &target)
            ndisc_send_redirect(walk, &target)
    elif unusable_source(ip + 8):
        return DROP_IP_INADDRERRORS
    elif link_local(ip + 8):
        icmp_send(walk, UNREACHABLE6, NOT_NEIGHBOUR, 0)
        return DROP_IP_INADDRERRORS
    pkt.forwarded = 1
    mtu = max(device_mtu(net, route.dev, 6), <uint32_t>IPV6_MIN_MTU)   # the route's own size counts only on the way out
    if too_big_ipv6(pkt, mtu):
        pkt.dev = route.dev     # the error's source is looked for on the device that the packet would have left by
        icmp_send(walk, PACKET_TOO_BIG6, 0, mtu)
        return DROP_PKT_TOO_BIG
    ip[7] -= 1
    return DROP_NONE


cdef void route_error(Walk* walk) noexcept nogil:
    if walk.pkt.family == 4:
        route_error_ipv4(walk)
    else:
        route_error_ipv6(walk)


cdef void route_error_ipv4(Walk* walk) noexcept nogil:
    """ip_error."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const RouteDecision* route = &net.routes[pkt.route]
    cdef const Device* dev = &net.devices[walk.in_dev]
    cdef uint8_t reason = DROP_NOT_SPECIFIED
    cdef int code = -1
    cdef Addr source
    if route.error == EHOSTUNREACH:
        code = HOST_UNREACHABLE
        if not dev.forwarding:
            reason = DROP_IP_INADDRERRORS
    elif route.error == ENETUNREACH:
        code = NET_UNREACHABLE
        reason = DROP_IP_INNOROUTES
    elif route.error == EACCES:
        code = PACKET_FILTERED
    if code >= 0 and dev.forwarding:
        source = packet_source(pkt)
        if limit_route_error(net, &source):
            icmp_send(walk, UNREACHABLE, <uint8_t>code, 0)
    packet_drop(net, pkt, HOOK_PREROUTING, reason)


cdef void route_error_ipv6(Walk* walk) noexcept nogil:
    """ip6_pkt_discard, ip6_pkt_prohibit, dst_discard."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const RouteDecision* route = &net.routes[pkt.route]
    cdef uint8_t reason = DROP_IP_INNOROUTES
    cdef Addr destination
    if route.type == RTN_BLACKHOLE:
        packet_drop(net, pkt, HOOK_PREROUTING, DROP_NOT_SPECIFIED)
        return
    destination = packet_destination(pkt)
    if addr_is_zero(&destination):
        reason = DROP_IP_INADDRERRORS
    icmp_send(walk, UNREACHABLE6, PROHIBITED if route.error == EACCES else NO_ROUTE, 0)
    packet_drop(net, pkt, HOOK_PREROUTING, reason)
