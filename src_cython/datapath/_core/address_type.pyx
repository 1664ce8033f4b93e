"""What the routing tables say of an address.

Kernel: net/ipv4/fib_frontend.c, inet_addr_type; net/netfilter/xt_addrtype.c; net/ipv4/netfilter/ipt_rpfilter.c and
net/ipv6/netfilter/ip6t_rpfilter.c; net/ipv4/igmp.c and net/ipv6/mcast.c for the groups that Linux joins by itself.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp, memset

from datapath._core.context cimport Net
from datapath._core.device cimport Device, DeviceAddress
from datapath._core.fib cimport RTN_ANYCAST, RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST, RTN_UNICAST, RTN_UNREACHABLE, Flow, RouteDecision
from datapath._core.fib_table cimport (
    LOOKUP_DEVICE_MATCH, LOOKUP_HAS_SOURCE, LOOKUP_IFACE, LOOKUP_IGNORE_LINKSTATE, Fib, FibFamily, FibHop, FibResult, fib_rules_lookup,
    fib_table_find,
)
from datapath._core.packet cimport PACKET_LOOPBACK, Packet, packet_ip
from datapath._core.route cimport flow_of_packet
from datapath._core.route_output cimport route_output
from datapath._core.source_address cimport (
    device_holds, is_broadcast4, is_link_local6, is_local_multicast4, is_multicast, is_zeronet4,
)
from datapath._core.tuples cimport Addr, addr_is_zero

cdef enum:
    ADDRTYPE_UNSPEC = 1 << 0
    ADDRTYPE_UNICAST = 1 << 1
    ADDRTYPE_LOCAL = 1 << 2
    ADDRTYPE_ANYCAST = 1 << 4
    ADDRTYPE_MULTICAST = 1 << 5
    ADDRTYPE_UNREACHABLE = 1 << 7


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
    if in_dev < 0 or net.fib == NULL or in_dev == net.loopback or pkt.type == PACKET_LOOPBACK:
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
