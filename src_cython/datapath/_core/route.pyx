"""Routing decisions: loading what they are made from, keeping them, and those for packets that arrive or change their way.

Kernel: net/ipv4/route.c, ip_route_input_noref; net/ipv6/route.c, ip6_route_input; net/core/flow_dissector.c;
net/ipv4/netfilter.c and net/ipv6/netfilter.c, ip(6)_route_me_harder.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from datapath._core.address_type cimport address_type
from datapath._core.context cimport ROUTES, Net, Walk, family_index, route_slot
from datapath._core.device cimport Device, devices_free, devices_load
from datapath._core.fib cimport RTN_ANYCAST, RTN_LOCAL, RTN_UNICAST, Flow, RouteDecision
from datapath._core.fib_load cimport fib_tables_free, fib_tables_load
from datapath._core.fib_table cimport (
    CACHE_PLACES, HOP_ONLINK, LOOKUP_HAS_SOURCE, Fib, FibResult, RouteCacheEntry, address_hash, fib_rules_lookup,
)
from datapath._core.packet cimport Packet, packet_has, packet_ip
from datapath._core.record cimport STEP_ROUTE, record
from datapath._core.route_input cimport route_input4, route_input6
from datapath._core.route_output cimport route_output
from datapath._core.source_address cimport SCOPE_LINK, is_link_local6, is_multicast
from datapath._core.sysctls cimport sysctls_load
from datapath._core.tuples cimport Addr, addr_equal, addr_is_zero
from datapath._core.verdict cimport DROP_NOT_SPECIFIED
from datapath._core.wire cimport load_be16

cdef enum:
    DECISION_PLACES = 8192      # hints of where an equal decision may stand in Net.routes
    IPPROTO_AH = 51


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
    if result.hop.gateway_family and result.hop.scope == SCOPE_LINK:
        decision.has_gateway = 1
        decision.gateway_family = result.hop.gateway_family
        decision.gateway = result.hop.gateway


cdef uint32_t[DECISION_PLACES] PLACES      # of whatever node: what stands there is compared


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
