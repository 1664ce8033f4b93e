"""The routing decision for a packet that arrives.

Kernel: net/ipv4/route.c, ip_route_input_rcu, ip_route_input_slow, ip_route_input_mc, __mkroute_input;
net/ipv4/fib_frontend.c, fib_validate_source; net/ipv6/route.c, ip6_route_input. Drop reasons are Linux 6.18's.
"""
from libc.errno cimport EHOSTUNREACH
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memset

from datapath._core.context cimport Net
from datapath._core.device cimport Device
from datapath._core.fib cimport RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST, RTN_UNICAST, RTN_UNREACHABLE, Flow, RouteDecision
from datapath._core.fib_table cimport (
    LOOKUP_HAS_SOURCE, LOOKUP_IFACE, LOOKUP_IGNORE_LINKSTATE, LOOKUP_INPUT, Fib, FibFamily, FibHop, FibResult, FibRoute, fib_rules_lookup,
)
from datapath._core.packet cimport Packet
from datapath._core.route cimport decision_of, device_holds, flow_of_packet, multicast_member, multipath_choose
from datapath._core.source_address cimport (
    SCOPE_HOST, addresses_on_link4, is_broadcast4, is_local_multicast4, is_loopback4, is_multicast, is_zeronet4, needs_device6,
)
from datapath._core.tuples cimport Addr
from datapath._core.verdict cimport (
    DROP_IP_INVALID_DEST, DROP_IP_INVALID_SOURCE, DROP_IP_LOCALNET, DROP_IP_LOCAL_SOURCE, DROP_IP_RPFILTER, DROP_NOT_SPECIFIED,
)

cdef enum:
    ON_LINK = 1             # source validation: the source is on the link that it came from
    IPPROTO_IGMP = 2


cdef bint route_uses(const FibFamily* fib, const FibRoute* route, int32_t dev) noexcept nogil:
    """fib_info_nh_uses_dev: some next hop leaves by the device."""
    cdef uint32_t i
    for i in range(route.n_hops):
        if fib.hops[route.first_hop + i].dev == dev:
            return True
    return False


cdef int validate_source(Net* net, const Flow* asked, const Addr* src, const Addr* dst, int32_t out_dev, int32_t dev, uint8_t* on_link) noexcept nogil:
    """fib_validate_source: 0 or the DropReason. `asked` is the packet's flow; out_dev -1 for local delivery."""
    cdef const Device* device = &net.devices[dev]
    cdef const FibFamily* fib = &(<Fib*>net.fib).family[0]
    cdef Flow flow
    cdef FibResult result
    on_link[0] = 0
    if not device.rp_filter and not fib.realms and (out_dev != dev or not device.send_redirects):
        if device.accept_local:
            return 0
        if not fib.custom_local and not fib.custom_rules:
            return DROP_IP_LOCAL_SOURCE if device_holds(net, 4, -1, src, True) else 0
    memset(&flow, 0, sizeof(Flow))
    flow.family = 4
    flow.dst = src[0]
    flow.src = dst[0]
    flow.iif = out_dev if out_dev >= 0 else net.loopback
    flow.oif = -1
    flow.tos = asked.tos
    flow.mark = asked.mark if device.src_valid_mark else 0
    flow.protocol = asked.protocol
    flow.sport, flow.dport = asked.dport, asked.sport
    if fib_rules_lookup(net, &flow, 0, &result):
        return DROP_IP_RPFILTER if device.rp_filter else 0
    if result.type != RTN_UNICAST:
        if result.type != RTN_LOCAL:
            return DROP_IP_INVALID_SOURCE
        if not device.accept_local:
            return DROP_IP_LOCAL_SOURCE
    if route_uses(fib, result.route, dev) or (result.type == RTN_LOCAL and dev == net.loopback):
        on_link[0] = result.hop.scope >= SCOPE_HOST
        return 0
    if device.n_addresses4 == 0:
        return DROP_IP_RPFILTER if device.rp_filter else 0
    if device.rp_filter == 1:
        return DROP_IP_RPFILTER
    flow.oif = dev
    if fib_rules_lookup(net, &flow, LOOKUP_IGNORE_LINKSTATE, &result) == 0 and result.type == RTN_UNICAST:
        on_link[0] = result.hop.scope >= SCOPE_HOST
    return 0


cdef int multicast_input4(Net* net, const Flow* flow, int32_t dev, RouteDecision* decision) noexcept nogil:
    """A group of this node's, or nothing: there is no multicast routing."""
    cdef uint8_t on_link = 0
    cdef Addr none
    cdef int reason
    memset(&none, 0, sizeof(Addr))
    if not multicast_member(net, 4, dev, &flow.dst):
        return DROP_NOT_SPECIFIED
    if is_multicast(4, &flow.src) or is_broadcast4(&flow.src):
        return DROP_IP_INVALID_SOURCE
    if is_loopback4(&flow.src) and not net.devices[dev].route_localnet:
        return DROP_IP_LOCALNET
    if is_zeronet4(&flow.src):
        if not is_local_multicast4(&flow.dst) and flow.protocol != IPPROTO_IGMP:
            return DROP_IP_INVALID_SOURCE
    else:
        reason = validate_source(net, flow, &flow.src, &none, -1, dev, &on_link)
        if reason:
            return reason
    decision.type = RTN_MULTICAST
    decision.broadcast = 1
    return 0


cdef int broadcast_input4(Net* net, const Flow* flow, int32_t dev, RouteDecision* decision) noexcept nogil:
    """Limited broadcasts and those of the local table, delivered here."""
    cdef uint8_t on_link = 0
    cdef Addr none
    cdef int reason
    memset(&none, 0, sizeof(Addr))
    if not is_zeronet4(&flow.src):
        reason = validate_source(net, flow, &flow.src, &none, -1, dev, &on_link)
        if reason:
            return reason
    decision.type = RTN_BROADCAST
    decision.broadcast = 1
    decision.dev = net.loopback
    return 0


cdef bint wants_redirect(Net* net, const Flow* flow, int32_t dev, const FibHop* hop) noexcept nogil:
    """IPSKB_DOREDIRECT: the packet leaves where it came from, and its sender could have gone the way itself."""
    cdef Addr gateway
    memset(&gateway, 0, sizeof(Addr))
    if hop.gateway_family == 4:
        gateway = hop.gateway
    return net.devices[dev].send_redirects and (net.devices[dev].shared_media or addresses_on_link4(net, dev, &flow.src, &gateway))


cdef int forward_input4(Net* net, const Packet* pkt, const Flow* flow, int32_t dev, FibResult* result, RouteDecision* decision) noexcept nogil:
    """ip_mkroute_input, __mkroute_input."""
    cdef uint8_t on_link = 0
    cdef Flow whole
    cdef int reason
    if result.route.n_hops > 1:
        flow_of_packet(pkt, &whole)     # the hash may ask for ports when no rule did
        multipath_choose(net, &whole, 0, result)
    decision_of(net, result, 4, decision)
    reason = validate_source(net, flow, &flow.src, &flow.dst, decision.dev, dev, &on_link)
    if reason:
        return reason
    decision.redirect = decision.dev == dev and on_link and wants_redirect(net, flow, dev, result.hop)
    return 0


cdef int route_input4(Net* net, const Packet* pkt, int32_t dev, RouteDecision* decision) noexcept nogil:
    cdef const Device* device = &net.devices[dev]
    cdef const FibFamily* fib = &(<Fib*>net.fib).family[0]
    cdef Flow flow
    cdef FibResult result
    cdef int error
    cdef uint8_t on_link = 0
    flow_of_packet(pkt, &flow)
    flow.iif = dev
    flow.mark = pkt.mark
    memset(decision, 0, sizeof(RouteDecision))
    decision.family = 4
    decision.route = decision.rule = -1
    decision.dev = net.loopback
    if is_multicast(4, &flow.dst):
        return multicast_input4(net, &flow, dev, decision)
    if is_multicast(4, &flow.src) or is_broadcast4(&flow.src):
        return DROP_IP_INVALID_SOURCE
    if is_broadcast4(&flow.dst) or (flow.src.w[0] == 0 and flow.dst.w[0] == 0):
        return broadcast_input4(net, &flow, dev, decision)
    if is_zeronet4(&flow.src):
        return DROP_IP_INVALID_SOURCE
    if is_zeronet4(&flow.dst):
        return DROP_IP_INVALID_DEST
    if (is_loopback4(&flow.dst) or is_loopback4(&flow.src)) and not device.route_localnet:
        return DROP_IP_LOCALNET
    if not fib.dissect:
        flow.protocol = 0
        flow.sport = flow.dport = 0
    error = fib_rules_lookup(net, &flow, 0, &result)
    if error == 0 and result.type == RTN_BROADCAST:
        if device.bc_forwarding:
            return forward_input4(net, pkt, &flow, dev, &result, decision)
        decision_of(net, &result, 4, decision)
        return broadcast_input4(net, &flow, dev, decision)
    if error == 0 and result.type == RTN_LOCAL:
        decision_of(net, &result, 4, decision)
        decision.dev = net.loopback
        return validate_source(net, &flow, &flow.src, &flow.dst, -1, dev, &on_link)
    if error or not device.forwarding:
        decision_of(net, &result, 4, decision)
        decision.type = RTN_UNREACHABLE
        decision.error = error if device.forwarding else EHOSTUNREACH
        decision.dev = net.loopback
        return 0
    if result.type != RTN_UNICAST:
        return DROP_IP_INVALID_DEST
    return forward_input4(net, pkt, &flow, dev, &result, decision)


cdef int route_input6(Net* net, const Packet* pkt, int32_t dev, RouteDecision* decision) noexcept nogil:
    """There are no martians and no source validation here; a decision that is an error is told to the sender."""
    cdef Flow flow
    cdef FibResult result
    cdef uint32_t flags = LOOKUP_HAS_SOURCE | LOOKUP_INPUT
    flow_of_packet(pkt, &flow)
    flow.iif = dev
    flow.mark = pkt.mark
    if needs_device6(&flow.dst):
        flags |= LOOKUP_IFACE
    if fib_rules_lookup(net, &flow, flags, &result) == 0:
        flow.oif = dev          # a hop by the device it came in by, where the destination means one only there
        multipath_choose(net, &flow, flags, &result)
    decision_of(net, &result, 6, decision)
    decision.broadcast = decision.error == 0 and decision.type == RTN_MULTICAST
    return 0
