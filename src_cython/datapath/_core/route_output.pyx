"""The routing decision for a packet that this node sends.

Kernel: net/ipv4/route.c, ip_route_output_key_hash_rcu, __mkroute_output; net/ipv4/fib_semantics.c, fib_select_path;
net/ipv6/route.c, ip6_route_output_flags, fib6_select_path; net/ipv6/ip6_output.c, ip6_dst_lookup_tail.
"""
from libc.errno cimport EADDRNOTAVAIL, EINVAL, ENETUNREACH
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memset

from datapath._core.address_type cimport address_is_local, multicast_member
from datapath._core.context cimport Net, family_index
from datapath._core.device cimport Device
from datapath._core.fib cimport RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST, RTN_UNICAST, RTN_UNREACHABLE, Flow, RouteDecision
from datapath._core.fib_table cimport (
    HOP_DEAD, LOOKUP_HAS_SOURCE, LOOKUP_IFACE, Fib, FibFamily, FibHop, FibResult, HeldAddress, fib_rules_lookup, fib_table_find,
)
from datapath._core.packet cimport Packet
from datapath._core.record cimport STEP_ROUTE, record
from datapath._core.route cimport decision_of, route_intern
from datapath._core.source_address cimport (
    SCOPE_HOST, SCOPE_LINK, SCOPE_UNIVERSE, held_find, is_broadcast4, is_local_multicast4, is_loopback4, is_multicast, is_zeronet4,
    needs_device6, select_source,
)
from datapath._core.tuples cimport Addr, addr_is_zero

cdef enum:
    IPPROTO_IGMP = 2


cdef int output4_settle(Net* net, Flow* flow, const FibResult* result, int32_t dev, RouteDecision* decision) noexcept nogil:
    """__mkroute_output: the decision for a device and, where there is one, a route."""
    cdef const Device* device = &net.devices[dev]
    cdef bint loopback = dev == net.loopback
    if is_loopback4(&flow.src) and not loopback and not device.route_localnet:
        return EINVAL
    if is_zeronet4(&flow.dst) and not is_broadcast4(&flow.dst):
        return EINVAL
    decision_of(net, result, 4, decision)
    decision.error = 0
    decision.dev = dev
    decision.source = flow.src
    if is_broadcast4(&flow.dst):
        decision.type = RTN_BROADCAST
        decision.has_gateway = decision.gateway_family = 0
    elif is_multicast(4, &flow.dst):
        decision.type = RTN_MULTICAST
        if result.route == NULL or result.route.prefix < 4:
            decision.has_gateway = decision.gateway_family = 0
    if not decision.has_gateway:
        memset(&decision.gateway, 0, sizeof(Addr))
    if decision.type == RTN_BROADCAST:
        decision.broadcast = 1
    elif decision.type == RTN_MULTICAST:
        decision.broadcast = multicast_member(net, 4, dev, &flow.dst) or loopback
    return 0


cdef int route_output4(Net* net, Flow* flow, RouteDecision* decision) noexcept nogil:
    """ip_route_output_key_hash_rcu: 0 or a positive errno."""
    cdef FibResult result
    cdef int32_t dev = -1
    cdef int error
    cdef bint group = is_multicast(4, &flow.dst) or is_broadcast4(&flow.dst)
    cdef bint source = flow.src.w[0] != 0
    memset(&result, 0, sizeof(FibResult))
    result.rule = -1
    result.type = RTN_UNICAST
    if source:
        if is_multicast(4, &flow.src) or is_broadcast4(&flow.src) or is_zeronet4(&flow.src):
            return EINVAL
        if flow.oif < 0 and group:
            dev = device_of_address4(net, &flow.src)
            if dev < 0:
                return ENETUNREACH
            flow.oif = dev
            return output4_settle(net, flow, &result, dev, decision)
        if not flow.any_source and not address_is_local(net, 4, &flow.src, -1):
            return ENETUNREACH
    if flow.oif >= 0:
        dev = flow.oif
        if not net.devices[dev].up:
            return ENETUNREACH
        if is_local_multicast4(&flow.dst) or is_broadcast4(&flow.dst) or flow.protocol == IPPROTO_IGMP:
            if not source:
                select_source(net, 4, dev, NULL, SCOPE_LINK, &flow.src)
            return output4_settle(net, flow, &result, dev, decision)
        if not source:
            if is_multicast(4, &flow.dst):
                select_source(net, 4, dev, NULL, SCOPE_UNIVERSE, &flow.src)
            elif flow.dst.w[0] == 0:
                select_source(net, 4, dev, NULL, SCOPE_HOST, &flow.src)
    if flow.dst.w[0] == 0:
        flow.dst = flow.src
        if flow.dst.w[0] == 0:
            flow.dst.b[0], flow.dst.b[3] = 127, 1
            flow.src = flow.dst
        result.type = RTN_LOCAL
        flow.oif = net.loopback
        return output4_settle(net, flow, &result, net.loopback, decision)
    error = fib_rules_lookup(net, flow, 0, &result)
    if error:
        if flow.oif < 0:
            decision_of(net, &result, 4, decision)
            return error
        # A device was asked for: the destination is taken to be on its link.
        if flow.src.w[0] == 0:
            select_source(net, 4, dev, NULL, SCOPE_LINK, &flow.src)
        memset(&result, 0, sizeof(FibResult))
        result.rule = -1
        result.type = RTN_UNICAST
        return output4_settle(net, flow, &result, dev, decision)
    if result.type == RTN_LOCAL:
        if flow.src.w[0] == 0:
            flow.src = flow.dst if result.route.source.w[0] == 0 else result.route.source
        return output4_settle(net, flow, &result, net.loopback, decision)
    if flow.oif < 0:
        multipath_choose(net, flow, 0, &result)
    if flow.src.w[0] == 0:
        prefer_source4(net, &result, &flow.src)
    return output4_settle(net, flow, &result, result.hop.dev, decision)


cdef void prefer_source4(Net* net, const FibResult* result, Addr* out) noexcept nogil:
    """fib_result_prefsrc: the route's hint, else an address of its device on the gateway's subnet."""
    if result.route.source.w[0]:
        out[0] = result.route.source
    else:
        select_source(net, 4, result.hop.dev, &result.hop.gateway if result.hop.gateway_family == 4 else NULL, result.route.scope, out)


cdef int32_t device_of_address4(Net* net, const Addr* address) noexcept nogil:
    """__ip_dev_find: the device that holds the address, or that a local route for it names. -1: none."""
    cdef Flow flow
    cdef FibResult result
    cdef const HeldAddress* held = held_find(net, 4, address)
    if held != NULL:
        return held.dev
    memset(&flow, 0, sizeof(Flow))
    flow.family = 4
    flow.dst = address[0]
    flow.iif = flow.oif = -1
    if fib_table_find(net, 4, (<Fib*>net.fib).family[0].local, &flow, 0, &result) == 0 and result.type == RTN_LOCAL:
        return result.hop.dev
    return -1


cdef void multipath_choose(Net* net, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil:
    """fib_select_multipath, fib6_select_path: a next hop by a hash of the addresses (policy 1: of the five-tuple).

    Linux seeds its hash at boot, so which hop it takes is a draw: the seed of the node stands for that of the boot.
    A hop that leaves by another device than the one that must be does not count: the first that fits stays.
    """
    cdef Fib* fib = <Fib*>net.fib
    cdef FibFamily* mine = &fib.family[family_index(flow.family)]
    cdef const FibHop* hop
    cdef uint64_t h = fib.seed ^ flow.src.q[0] ^ flow.src.q[1]
    cdef uint32_t i, bits
    if result.route == NULL or result.route.n_hops < 2:
        return
    h = (h ^ (h >> 31)) * <uint64_t>0x9E3779B97F4A7C15 ^ flow.dst.q[0] ^ flow.dst.q[1]
    if (net.sysctl.fib_multipath_hash_policy if flow.family == 4 else net.sysctl.fib_multipath_hash_policy6) == 1:
        h = (h ^ (h >> 31)) * <uint64_t>0xBF58476D1CE4E5B9 ^ <uint64_t>flow.protocol << 32 ^ <uint64_t>flow.sport << 16 ^ flow.dport
    h = (h ^ (h >> 32)) * <uint64_t>0x94D049BB133111EB
    bits = <uint32_t>(h >> 33)
    for i in range(result.route.n_hops):
        hop = &mine.hops[result.route.first_hop + i]
        if bits <= hop.bound and not hop.flags & HOP_DEAD:
            if not flags & LOOKUP_IFACE or hop.dev == flow.oif:
                result.hop = hop
            return


cdef int route_output6(Net* net, Flow* flow, RouteDecision* decision) noexcept nogil:
    """ip6_dst_lookup_tail: the route, then the source, then the route again when the first had none."""
    cdef FibResult result
    cdef uint32_t flags = 0
    cdef bint sourceless = addr_is_zero(&flow.src)
    if sourceless:
        output6_lookup(net, flow, flags, &result)
        if result.error == 0 and not addr_is_zero(&result.route.source):
            flow.src = result.route.source
        elif not select_source(net, 6, result.hop.dev if result.error == 0 else -1, &flow.dst, SCOPE_UNIVERSE, &flow.src):
            decision_of(net, &result, 6, decision)
            return EADDRNOTAVAIL
        if flow.oif >= 0:
            flags = LOOKUP_IFACE
    if not sourceless or result.error:
        output6_lookup(net, flow, flags, &result)
    decision_of(net, &result, 6, decision)
    decision.source = flow.src
    if decision.type == RTN_MULTICAST and decision.error == 0:
        decision.broadcast = multicast_member(net, 6, decision.dev, &flow.dst) or decision.dev == net.loopback
    return decision.error


cdef void output6_lookup(Net* net, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil:
    """ip6_route_output_flags."""
    cdef bint sourceless = addr_is_zero(&flow.src)
    if flow.bound or needs_device6(&flow.dst) or (flow.oif >= 0 and sourceless):
        flags |= LOOKUP_IFACE
    if not sourceless:
        flags |= LOOKUP_HAS_SOURCE
    fib_rules_lookup(net, flow, flags, result)
    if result.error == 0:
        multipath_choose(net, flow, flags, result)


cdef int route_output(Net* net, Packet* pkt, Flow* flow, RouteDecision* decision) noexcept nogil:
    """The way of a packet that this node sends. `flow.src` zero: it is chosen; oif -1: any device.

    0 or a positive errno; a decision that is not possible is left with its error, type and policy rule.
    """
    cdef int error
    memset(decision, 0, sizeof(RouteDecision))
    decision.family = flow.family
    decision.route = decision.rule = -1
    decision.dev = net.loopback
    decision.type = RTN_UNREACHABLE
    flow.iif = net.loopback
    flow.tos &= 0xFC
    if net.fib == NULL:
        error = ENETUNREACH
    elif flow.family == 4:
        error = route_output4(net, flow, decision)
    else:
        error = route_output6(net, flow, decision)
    decision.error = error
    if pkt != NULL:
        pkt.route = route_intern(net, decision)
        record(&net.recorder, STEP_ROUTE, 3, 0, decision.type, decision.route, decision.rule, <uint64_t>decision.dev, False)
    return error
