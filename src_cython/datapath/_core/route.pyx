"""Routing decisions.

Kernel: net/ipv4/route.c, ip_route_output_key_hash_rcu, __mkroute_output; net/ipv6/route.c, ip6_route_output_flags;
net/ipv6/ip6_output.c, ip6_dst_lookup_tail; net/ipv4/netfilter.c and net/ipv6/netfilter.c, ip(6)_route_me_harder;
net/ipv4/fib_frontend.c, inet_addr_type; net/netfilter/xt_addrtype.c; ip(6)t_rpfilter.c.
"""
from libc.errno cimport EADDRNOTAVAIL, EINVAL, ENETUNREACH
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from datapath._core.context cimport ROUTES, Net, Walk, family_index, route_slot
from datapath._core.device cimport Device, DeviceAddress, devices_free, devices_load
from datapath._core.fib cimport (
    RTN_ANYCAST, RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST, RTN_UNICAST, RTN_UNREACHABLE, Flow, RouteDecision,
)
from datapath._core.fib_load cimport fib_tables_free, fib_tables_load
from datapath._core.fib_table cimport (
    CACHE_PLACES, HOP_DEAD, HOP_ONLINK, LOOKUP_DEVICE_MATCH, LOOKUP_HAS_SOURCE, LOOKUP_IFACE, LOOKUP_IGNORE_LINKSTATE, Fib, FibFamily, FibHop,
    FibResult, HeldAddress, RouteCacheEntry, address_hash, fib_rules_lookup, fib_table_find,
)
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.record cimport STEP_ROUTE, record
from datapath._core.route_input cimport route_input4, route_input6
from datapath._core.source_address cimport (
    SCOPE_HOST, SCOPE_LINK, SCOPE_UNIVERSE, device_holds, held_find, is_broadcast4, is_link_local6, is_local_multicast4, is_loopback4, is_multicast,
    is_zeronet4, needs_device6, select_source,
)
from datapath._core.sysctls cimport sysctls_load
from datapath._core.tuples cimport Addr, addr_equal, addr_is_zero
from datapath._core.verdict cimport DROP_NOT_SPECIFIED
from datapath._core.wire cimport load_be16

cdef enum:
    DECISION_PLACES = 8192      # of the map from decisions to their places in Net.routes
    IPPROTO_IGMP = 2
    IPPROTO_AH = 51
    ADDRTYPE_UNSPEC = 1 << 0
    ADDRTYPE_UNICAST = 1 << 1
    ADDRTYPE_LOCAL = 1 << 2
    ADDRTYPE_ANYCAST = 1 << 4
    ADDRTYPE_MULTICAST = 1 << 5
    ADDRTYPE_UNREACHABLE = 1 << 7


cdef int fib_load(Net* net, object compiled) except -1:
    """Replace devices, sysctls, tables and rules by a CompiledHost's. Decisions that packets hold stay readable."""
    cdef Device* devices = NULL
    cdef uint32_t count = 0
    cdef uint32_t i = 0
    devices_load(&devices, &count, compiled.devices)
    devices_free(net.devices, net.n_devices)
    net.devices = devices
    net.n_devices = count
    net.loopback = -1
    for i in range(count):
        if devices[i].kind == 1 and net.loopback < 0:
            net.loopback = <int32_t>i
    sysctls_load(&net.sysctl, compiled.sysctls)
    return fib_tables_load(net, compiled)


cdef void fib_free(Net* net) noexcept nogil:
    devices_free(net.devices, net.n_devices)
    net.devices = NULL
    net.n_devices = 0
    fib_tables_free(net)


# ---- Decisions ----------------------------------------------------------------------------------------------

cdef void decision_of(Net* net, const FibResult* result, uint8_t family, RouteDecision* decision) noexcept nogil:
    """The decision that a lookup's result amounts to; local and anycast destinations are reached over loopback."""
    memset(decision, 0, sizeof(RouteDecision))
    decision.family = family
    decision.rule = result.rule
    decision.route = -1
    decision.dev = net.loopback
    decision.error = result.error
    decision.type = result.type
    if result.route == NULL:
        return
    decision.route = result.route.number
    decision.table = result.route.table
    decision.metric = result.route.metric
    decision.scope = result.route.scope
    decision.prefix_length = result.route.prefix
    decision.mtu = result.route.mtu
    decision.hop_limit = result.route.hop_limit
    decision.hops = <uint8_t>min(result.route.n_hops, 255)
    decision.source = result.route.source
    decision.has_source = not addr_is_zero(&result.route.source)
    if result.error or result.hop == NULL:
        return
    decision.onlink = (result.hop.flags & HOP_ONLINK) != 0
    if result.type == RTN_LOCAL or (family == 6 and result.type == RTN_ANYCAST and result.route.kernel):
        return
    decision.dev = result.hop.dev
    if result.hop.gateway_family:
        decision.has_gateway = 1
        decision.gateway_family = result.hop.gateway_family
        decision.gateway = result.hop.gateway


cdef uint32_t[8192] PLACES     # hints: where an equal decision may stand, of whatever node


cdef int32_t route_intern(Net* net, const RouteDecision* decision) noexcept nogil:
    """The place of an equal decision in Net.routes, or a new one. Equal decisions share a place, so that the paths of
    packets that go the same way are equal."""
    cdef uint64_t h = <uint64_t>decision.route * <uint64_t>0x9E3779B97F4A7C15
    cdef uint32_t hint
    cdef int32_t slot
    h ^= (<uint64_t>decision.rule << 32) ^ (<uint64_t>decision.dev << 16) ^ (<uint64_t>decision.type << 8) ^ <uint64_t>decision.error
    h ^= <uint64_t>decision.gateway.w[0] ^ (<uint64_t>decision.gateway.w[3] << 20) ^ (<uint64_t>decision.redirect << 50)
    h ^= (<uint64_t>decision.source.w[0] << 7) ^ (<uint64_t>decision.source.w[3] << 13) ^ (<uint64_t>decision.broadcast << 52)
    h *= <uint64_t>0xBF58476D1CE4E5B9
    hint = <uint32_t>(h >> 51)
    if memcmp(&net.routes[PLACES[hint]], decision, sizeof(RouteDecision)) == 0:
        return <int32_t>PLACES[hint]
    slot = route_slot(net)
    net.routes[slot] = decision[0]
    PLACES[hint] = <uint32_t>slot
    return slot


cdef void flow_of_packet(const Packet* pkt, Flow* flow) noexcept nogil:
    """skb_flow_dissect_flow_keys: ports of TCP, UDP, DCCP, ESP, SCTP, UDP-Lite and AH (from its SPI); none in fragments."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint32_t at = pkt.transport
    memset(flow, 0, sizeof(Flow))
    flow.iif = flow.oif = -1
    flow.family = pkt.family
    flow.protocol = pkt.protocol
    if pkt.family == 4:
        flow.src.w[0] = (<const uint32_t*>(ip + 12))[0]
        flow.dst.w[0] = (<const uint32_t*>(ip + 16))[0]
        flow.tos = ip[1] & 0xFC
    else:
        flow.src = (<const Addr*>(ip + 8))[0]
        flow.dst = (<const Addr*>(ip + 24))[0]
        flow.tos = <uint8_t>((ip[0] << 4 | ip[1] >> 4) & 0xFC)
    if pkt.frag_offset or pkt.more_fragments:
        return
    if pkt.protocol == IPPROTO_AH:
        at += 4
    elif not (pkt.protocol == 6 or pkt.protocol == 17 or pkt.protocol == 33 or pkt.protocol == 50 or pkt.protocol == 132 or pkt.protocol == 136):
        return
    if packet_has(pkt, at, 4):
        flow.has_ports = 1
        flow.sport = load_be16(ip + at)
        flow.dport = load_be16(ip + at + 2)


cdef int fib_lookup(Net* net, const Flow* flow, RouteDecision* decision) noexcept nogil:
    """The rules and tables alone, without the checks of input and output. 0 or a positive errno."""
    cdef FibResult result
    cdef uint32_t flags = 0 if addr_is_zero(&flow.src) else LOOKUP_HAS_SOURCE
    fib_rules_lookup(net, flow, flags, &result)
    decision_of(net, &result, flow.family, decision)
    return decision.error


cdef int route_input(Walk* walk) noexcept nogil:
    """Decide for a packet that came in by walk.in_dev; pkt.route is the decision. 0 or the DropReason."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef RouteDecision decision
    cdef int32_t dev = walk.in_dev if walk.in_dev >= 0 else pkt.dev
    cdef RouteCacheEntry key
    cdef RouteCacheEntry* place
    cdef const RouteDecision* found
    pkt.route = -1
    if dev < 0 or net.fib == NULL:
        return DROP_NOT_SPECIFIED
    place = cache_place(<Fib*>net.fib, pkt, dev, &key)
    if not cache_holds(net, place, &key):
        if pkt.family == 4:
            key.reason = <uint8_t>route_input4(net, pkt, dev, &decision)
        else:
            key.reason = <uint8_t>route_input6(net, pkt, dev, &decision)
        key.slot = -1 if key.reason else route_intern(net, &decision)
        key.stamp = net.next_route
        place[0] = key
    if place.reason:
        return place.reason
    pkt.route = place.slot
    found = &net.routes[place.slot]
    record(&net.recorder, STEP_ROUTE, walk.hook, 0, found.type, found.route, found.rule, <uint64_t>found.dev, False)
    return 0


cdef inline RouteCacheEntry* cache_place(Fib* fib, const Packet* pkt, int32_t dev, RouteCacheEntry* key) noexcept nogil:
    """The packet's place in the cache, and its key. A load of the tables begins with an empty cache."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef Flow flow
    cdef uint64_t h
    key.dev = dev
    key.mark = pkt.mark
    key.family = pkt.family
    key.ports = 0
    key.protocol = 0
    if pkt.family == 4:
        key.src.q[0] = key.src.q[1] = key.dst.q[0] = key.dst.q[1] = 0
        key.src.w[0] = (<const uint32_t*>(ip + 12))[0]
        key.dst.w[0] = (<const uint32_t*>(ip + 16))[0]
        key.tos = ip[1] & 0xFC
        if is_multicast(4, &key.dst):
            key.protocol = pkt.protocol     # IGMP is treated in its own way
    else:
        key.src = (<const Addr*>(ip + 8))[0]
        key.dst = (<const Addr*>(ip + 24))[0]
        key.tos = <uint8_t>((ip[0] << 4 | ip[1] >> 4) & 0xFC)
    if fib.ports_decide:
        flow_of_packet(pkt, &flow)
        key.protocol = flow.protocol
        key.ports = <uint32_t>flow.sport << 16 | flow.dport
    h = address_hash(&key.dst, key.src.q[0] ^ (key.src.q[1] << 1) ^ (<uint64_t>key.mark << 32) ^ (<uint64_t>dev << 8) ^ key.tos ^ key.ports)
    return &fib.cache[h & (CACHE_PLACES - 1)]


cdef inline bint cache_holds(Net* net, const RouteCacheEntry* place, const RouteCacheEntry* key) noexcept nogil:
    """Whether the place is about such a packet, and its decision has not been replaced in the ring since."""
    cdef uint32_t made
    if place.dev != key.dev or place.mark != key.mark or place.tos != key.tos or place.family != key.family:
        return False
    if not addr_equal(&place.dst, &key.dst) or not addr_equal(&place.src, &key.src) or place.ports != key.ports or place.protocol != key.protocol:
        return False
    if place.reason:
        return True
    made = place.stamp - 1 - ((place.stamp - 1 - <uint32_t>place.slot) & (ROUTES - 1))
    return net.next_route - made <= ROUTES


# ---- Output -------------------------------------------------------------------------------------------------

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


cdef int route_me_harder(Walk* walk) noexcept nogil:
    """Decide anew for a packet of this node whose mark, addresses or type of service were changed. 0 or a positive errno."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Flow flow
    cdef RouteDecision decision
    cdef uint8_t kind
    cdef int32_t old_dev = net.routes[pkt.route].dev if pkt.route >= 0 else -1
    cdef int32_t old_route = pkt.route
    cdef int error
    flow_of_packet(pkt, &flow)
    flow.mark = pkt.mark
    if not (<Fib*>net.fib).family[family_index(pkt.family)].dissect:
        flow.protocol = 0
        flow.sport = flow.dport = 0
    if pkt.family == 4:
        kind = address_type(net, 4, &flow.src, -1)
        if kind != RTN_LOCAL and kind != RTN_UNICAST:
            memset(&flow.src, 0, sizeof(Addr))
        flow.any_source = 1
    else:
        flow.uid = pkt.uid if pkt.has_owner else 0
        if is_multicast(6, &flow.dst) or is_link_local6(&flow.dst):
            flow.oif = old_dev
    error = route_output(net, pkt, &flow, &decision)
    if error:
        pkt.route = old_route
    return error


# ---- Questions ----------------------------------------------------------------------------------------------

cdef uint8_t address_type(Net* net, uint8_t family, const Addr* addr, int32_t dev) noexcept nogil:
    """inet_addr_type, inet_dev_addr_type (dev not -1: the route has to lead to it). IPv6: the type of its route."""
    cdef Flow flow
    cdef FibResult result
    cdef Fib* fib = <Fib*>net.fib
    cdef const FibHop* first
    if fib == NULL:
        return RTN_UNICAST
    if family == 6:
        if is_multicast(6, addr):
            return RTN_MULTICAST
        memset(&flow, 0, sizeof(Flow))
        flow.family = 6
        flow.dst = addr[0]
        flow.oif = dev
        flow.iif = net.loopback
        return RTN_UNREACHABLE if fib_rules_lookup(net, &flow, 0, &result) else result.type
    if is_zeronet4(addr) or is_broadcast4(addr):
        return RTN_BROADCAST
    if is_multicast(4, addr):
        return RTN_MULTICAST
    memset(&flow, 0, sizeof(Flow))
    flow.family = 4
    flow.dst = addr[0]
    flow.iif = flow.oif = -1
    if fib_table_find(net, 4, fib.family[0].local, &flow, 0, &result):
        return RTN_UNICAST
    first = &fib.family[0].hops[result.route.first_hop]
    return result.type if dev < 0 or dev == first.dev else RTN_UNICAST


cdef bint addrtype6_fits(Net* net, const Addr* addr, int32_t dev, uint32_t mask) noexcept nogil:
    """match_type6 of xt_addrtype: whether the address has all the plain types asked for, and one of the routed ones."""
    cdef bint multicast = is_multicast(6, addr)
    cdef bint any_address = addr_is_zero(addr)
    cdef bint mapped = addr.q[0] == 0 and addr.b[8] == 0 and addr.b[9] == 0 and addr.b[10] == 0xFF and addr.b[11] == 0xFF
    cdef uint32_t found = 0
    cdef Flow flow
    cdef RouteDecision decision
    if mask & ADDRTYPE_MULTICAST and not multicast:
        return False
    if mask & ADDRTYPE_UNICAST and (multicast or any_address or mapped):
        return False
    if mask & ADDRTYPE_UNSPEC and not any_address:
        return False
    if not mask & (ADDRTYPE_LOCAL | ADDRTYPE_ANYCAST | ADDRTYPE_UNREACHABLE):
        return True
    if dev >= 0 and mask & ADDRTYPE_LOCAL and device_holds(net, 6, dev, addr, False):
        found = ADDRTYPE_LOCAL
    memset(&flow, 0, sizeof(Flow))
    flow.family = 6
    flow.dst = addr[0]
    flow.oif = dev
    if route_output(net, NULL, &flow, &decision):
        return mask & ADDRTYPE_UNREACHABLE != 0
    if dev < 0 and decision.type == RTN_LOCAL:
        found |= ADDRTYPE_LOCAL
    if decision.type == RTN_ANYCAST:
        found |= ADDRTYPE_ANYCAST
    return mask & found != 0


cdef bint address_is_local(Net* net, uint8_t family, const Addr* addr, int32_t dev) noexcept nogil:
    """Whether the address is this node's (by its addresses, then by its routes), or the device's."""
    if device_holds(net, family, dev, addr, family == 4):
        return True
    return address_type(net, family, addr, dev) == RTN_LOCAL


cdef bint multicast_member(Net* net, uint8_t family, int32_t dev, const Addr* group) noexcept nogil:
    """The groups that every node is in: 224.0.0.1; ff01::1 and ff02::1; on a router those of routers; and the
    solicited-node groups of the device's addresses, on a router those of its subnets' anycast addresses too."""
    cdef const Device* device
    cdef const DeviceAddress* address
    cdef uint32_t i
    if dev < 0:
        return False
    device = &net.devices[dev]
    if family == 4:
        return group.b[0] == 224 and group.b[1] == 0 and group.b[2] == 0 and group.b[3] == 1
    if group.b[0] != 0xFF or group.b[2] or group.b[3] or group.w[1] or group.b[8] or group.b[9] or group.b[10]:
        return False
    if group.b[11] == 0 and group.b[12] == 0 and group.b[13] == 0 and group.b[14] == 0:
        if group.b[15] == 1:
            return group.b[1] == 1 or group.b[1] == 2
        return group.b[15] == 2 and device.forwarding6 and device.multicast and (group.b[1] == 1 or group.b[1] == 2 or group.b[1] == 5)
    if group.b[1] != 2 or group.b[11] != 1 or group.b[12] != 0xFF:
        return False
    for i in range(device.n_addresses):
        address = &device.addresses[i]
        if address.family != 6:
            continue
        if memcmp(&address.addr.b[13], &group.b[13], 3) == 0:
            return True
        if device.forwarding6 and address.prefix <= 104 and group.b[13] == 0 and group.b[14] == 0 and group.b[15] == 0:
            return True     # the low bits of the subnet's anycast address are zero
    return False


cdef bint reverse_path_ok(Net* net, const Packet* pkt, int32_t in_dev, uint8_t flags) noexcept nogil:
    """Whether the way back to the source leaves by the device that the packet came in by. `flags`: RpfilterFlag."""
    cdef Flow there
    cdef Flow flow
    cdef FibResult result
    cdef uint32_t lookup = LOOKUP_IGNORE_LINKSTATE
    cdef uint32_t i
    cdef const FibFamily* fib
    if in_dev < 0 or net.fib == NULL or in_dev == net.loopback or pkt.type == 5:
        return True
    flow_of_packet(pkt, &there)
    memset(&flow, 0, sizeof(Flow))
    flow.family = pkt.family
    flow.dst = there.src
    flow.src = there.dst
    flow.iif = net.loopback
    flow.oif = -1
    flow.tos = there.tos
    flow.mark = pkt.mark if flags & RPFILTER_VALID_MARK else 0
    if pkt.family == 4:
        if is_zeronet4(&there.src) and (is_broadcast4(&there.dst) or is_local_multicast4(&there.dst)):
            return True
        if is_multicast(4, &flow.src) or is_broadcast4(&flow.src) or is_zeronet4(&flow.src):
            memset(&flow.src, 0, sizeof(Addr))
        if fib_rules_lookup(net, &flow, lookup, &result):
            return False
        if result.type != RTN_UNICAST and (result.type != RTN_LOCAL or not flags & RPFILTER_ACCEPT_LOCAL):
            return False
        if flags & RPFILTER_LOOSE:
            return True
        fib = &(<Fib*>net.fib).family[0]
        for i in range(result.route.n_hops):
            if fib.hops[result.route.first_hop + i].dev == in_dev:
                return True
        return False
    if addr_is_zero(&there.src):
        return True
    flow.protocol = packet_ip(pkt)[6]
    lookup = LOOKUP_DEVICE_MATCH
    if is_multicast(6, &there.dst) or addr_is_zero(&there.dst):
        memset(&flow.src, 0, sizeof(Addr))
    else:
        lookup |= LOOKUP_HAS_SOURCE
    if is_link_local6(&there.src):
        lookup |= LOOKUP_IFACE
        flow.oif = in_dev
    elif not flags & RPFILTER_LOOSE:
        flow.oif = in_dev
    if fib_rules_lookup(net, &flow, lookup, &result) or result.type == RTN_ANYCAST:
        return False
    if result.type == RTN_LOCAL:
        return flags & RPFILTER_ACCEPT_LOCAL != 0
    return flags & RPFILTER_LOOSE != 0 or result.hop.dev == in_dev
