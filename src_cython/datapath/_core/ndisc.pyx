"""Neighbour discovery (net/ipv6/ndisc.c)."""
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from datapath._core.device cimport Device, DeviceAddress
from datapath._core.exthdr cimport NEXTHDR_ICMP, packet_find_transport
from datapath._core.fib cimport RTN_UNICAST, Flow, RouteDecision
from datapath._core.icmp cimport packet_make, transport_checksum, write_ipv6_header
from datapath._core.icmp_limit cimport xrlim_allow
from datapath._core.neighbour cimport (
    NUD_FAILED, NUD_PERMANENT, NUD_VALID, Neighbour, is_proxy, neighbour_lookup, neighbour_update,
)
from datapath._core.packet cimport CSUM_VALID, address_at, packet_destination, packet_has, packet_ip, packet_source
from datapath._core.record cimport STEP_GENERATE, record
from datapath._core.route cimport route_intern, route_output, select_source
from datapath._core.tuples cimport addr_equal, addr_is_zero
from datapath._core.verdict cimport (
    DROP_IPV6_NDISC_BAD_CODE, DROP_IPV6_NDISC_BAD_OPTIONS, DROP_IPV6_NDISC_FRAG, DROP_IPV6_NDISC_HOP_LIMIT, DROP_IPV6_NDISC_NS_OTHERHOST, DROP_NONE,
    DROP_NOT_SPECIFIED, DROP_PKT_TOO_SMALL,
)
from datapath._core.walk cimport walk_local_out
from datapath._core.wire cimport store_be16

cdef enum:
    SOLICITATION = 135
    ADVERTISEMENT = 136
    REDIRECT = 137
    SOURCE_ADDRESS = 1      # options
    TARGET_ADDRESS = 2
    REDIRECTED_HEADER = 4
    ROUTER = 0x80           # flags of an advertisement
    SOLICITED = 0x40
    OVERRIDE = 0x20
    MESSAGE = 24            # header and target
    IPV6_MIN_MTU = 1280
    SECOND = 1000000000


# ---- sending ----

cdef Packet* message(Net* net, uint8_t type, uint32_t options) noexcept nogil:
    cdef Packet* new = packet_make(net, 6, 40 + options)
    if new != NULL:
        packet_ip(new)[6] = NEXTHDR_ICMP
        packet_ip(new)[40] = type
    return new


cdef void link_option(uint8_t* at, uint8_t kind, const uint8_t* mac) noexcept nogil:
    at[0] = kind
    at[1] = 1
    memcpy(at + 2, mac, 6)


cdef void send_on_link(Net* net, Packet* new, int32_t dev, const Addr* src, const Addr* dst) noexcept nogil:
    """Straight to a neighbour, whatever the tables say (icmp6_dst_alloc)."""
    cdef RouteDecision route
    memset(&route, 0, sizeof(RouteDecision))
    route.type = RTN_UNICAST
    route.family = 6
    route.dev = dev
    route.route = -1
    route.rule = -1
    route.prefix_length = 128
    send(net, new, dev, &route, src, dst)


cdef void send(Net* net, Packet* new, int32_t dev, const RouteDecision* route, const Addr* src, const Addr* dst) noexcept nogil:
    """ndisc_send_skb: through OUTPUT and POSTROUTING, like any packet of the node."""
    cdef uint8_t* ip = packet_ip(new)
    new.route = route_intern(net, route)
    new.dev = dev
    write_ipv6_header(new, 0, 255, src, dst)
    packet_find_transport(new)
    store_be16(ip + 42, 0)
    store_be16(ip + 42, transport_checksum(new))
    new.csum = CSUM_VALID
    new.no_mc_loop = 1
    record(&net.recorder, STEP_GENERATE, 0, 0, NEXTHDR_ICMP, ip[40], 0, 0, False)
    walk_local_out(net, new)


cdef const DeviceAddress* own_address(const Net* net, int32_t dev, const Addr* addr) noexcept nogil:
    """ipv6_get_ifaddr, strict: the address on this very device."""
    cdef const Device* device = &net.devices[dev]
    cdef uint32_t i
    for i in range(device.n_addresses):
        if device.addresses[i].family == 6 and addr_equal(&device.addresses[i].addr, addr):
            return &device.addresses[i]
    return NULL


cdef bint link_local_address(const Net* net, int32_t dev, Addr* found) noexcept nogil:
    """ipv6_get_lladdr."""
    cdef const Device* device = &net.devices[dev]
    cdef const DeviceAddress* own
    cdef uint32_t i
    for i in range(device.n_addresses):
        own = &device.addresses[i]
        if own.family == 6 and own.addr.b[0] == 0xFE and own.addr.b[1] & 0xC0 == 0x80 and not own.tentative:
            found[0] = own.addr
            return True
    return False


cdef void ndisc_solicit(Net* net, int32_t dev, const Addr* target, const Packet* waiting) noexcept nogil:
    cdef Packet* new
    cdef Addr source
    cdef Addr group
    cdef const DeviceAddress* own = NULL
    if waiting != NULL and waiting.family == 6:
        source = packet_source(waiting)
        own = own_address(net, dev, &source)
    if (own == NULL or own.tentative) and not link_local_address(net, dev, &source):
        return
    memset(&group, 0, sizeof(Addr))     # addrconf_addr_solict_mult
    group.b[0] = 0xFF
    group.b[1] = 2
    group.b[11] = 1
    group.b[12] = 0xFF
    memcpy(group.b + 13, target.b + 13, 3)
    new = message(net, SOLICITATION, MESSAGE + 8)
    if new == NULL:
        return
    memcpy(packet_ip(new) + 48, target.b, 16)
    link_option(packet_ip(new) + 40 + MESSAGE, SOURCE_ADDRESS, net.devices[dev].mac)
    send_on_link(net, new, dev, &source, &group)


cdef void advertise(Net* net, int32_t dev, const Addr* to, const Addr* about, uint8_t flags, bint with_link) noexcept nogil:
    """ndisc_send_na."""
    cdef Packet* new
    cdef Addr source = about[0]
    if own_address(net, dev, about) == NULL and not select_source(net, 6, dev, to, 0, &source):
        return
    new = message(net, ADVERTISEMENT, MESSAGE + 8 if with_link else MESSAGE)
    if new == NULL:
        return
    packet_ip(new)[44] = flags
    memcpy(packet_ip(new) + 48, about.b, 16)
    if with_link:
        link_option(packet_ip(new) + 40 + MESSAGE, TARGET_ADDRESS, net.devices[dev].mac)
    send_on_link(net, new, dev, &source, to)


cdef void ndisc_send_redirect(Walk* walk, const Addr* target) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef int32_t dev = walk.in_dev
    cdef Addr source
    cdef Addr to = packet_source(pkt)
    cdef Addr destination = packet_destination(pkt)
    cdef Flow flow
    cdef RouteDecision route
    cdef Neighbour* neigh
    if not link_local_address(net, dev, &source):
        return
    if not addr_equal(target, &destination) and not (target.b[0] == 0xFE and target.b[1] & 0xC0 == 0x80):
        return
    memset(&flow, 0, sizeof(Flow))
    flow.family = 6
    flow.protocol = NEXTHDR_ICMP
    flow.src = source
    flow.dst = to
    flow.iif = -1
    flow.oif = dev
    if route_output(net, NULL, &flow, &route) or route.has_gateway or not xrlim_allow(net, 6, &to, SECOND):
        return
    neigh = neighbour_lookup(net, 6, net.routes[pkt.route].dev, target, True)
    if neigh != NULL and neigh.state != NUD_VALID and neigh.state != NUD_PERMANENT:
        neigh = NULL
    send_redirect(net, pkt, &route, target, &source, &to, neigh)


cdef void send_redirect(Net* net, const Packet* pkt, const RouteDecision* route, const Addr* target, const Addr* source, const Addr* to,
                        const Neighbour* neigh) noexcept nogil:
    cdef uint32_t link = 8 if neigh != NULL else 0
    cdef uint32_t quoted = min(<uint32_t>(IPV6_MIN_MTU - 40 - 40) - link, pkt.len + 8) & ~<uint32_t>7
    cdef Packet* new = message(net, REDIRECT, 40 + link + quoted)
    cdef uint8_t* at
    if new == NULL:
        return
    at = packet_ip(new) + 40
    memcpy(at + 8, target.b, 16)
    memcpy(at + 24, packet_ip(pkt) + 24, 16)
    at += 40
    if neigh != NULL:
        link_option(at, TARGET_ADDRESS, neigh.mac)
        at += 8
    at[0] = REDIRECTED_HEADER
    at[1] = <uint8_t>(quoted >> 3)
    memcpy(at + 8, packet_ip(pkt), min(quoted - 8, pkt.present))
    send(net, new, pkt.in_dev, route, source, to)


# ---- receiving ----

cdef bint find_option(const uint8_t* options, uint32_t length, uint8_t wanted, const uint8_t** found) noexcept nogil:
    """ndisc_parse_options: False when they are broken. The first of its kind counts."""
    cdef uint32_t at = 0
    cdef uint32_t size
    found[0] = NULL
    while at < length:
        if length - at < 2:
            return False
        size = <uint32_t>options[at + 1] << 3
        if size == 0 or size > length - at:
            return False
        if options[at] == wanted and found[0] == NULL:
            found[0] = options + at
        at += size
    return True


cdef int ndisc_receive(Walk* walk, uint32_t offset) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    if pkt.frag_max_size:   # it came in fragments (net.ipv6.conf.*.suppress_frag_ndisc)
        return DROP_IPV6_NDISC_FRAG
    if ip[7] != 255:
        return DROP_IPV6_NDISC_HOP_LIMIT
    if ip[offset + 1] != 0:
        return DROP_IPV6_NDISC_BAD_CODE
    if ip[offset] == SOLICITATION:
        return receive_solicitation(walk, offset)
    if ip[offset] == ADVERTISEMENT:
        return receive_advertisement(walk, offset)
    return DROP_NONE        # routers and redirects: configuration, which is not emulated


cdef int receive_solicitation(Walk* walk, uint32_t offset) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* message = packet_ip(pkt) + offset
    cdef uint32_t length = pkt.len - offset
    cdef Addr source = packet_source(pkt)
    cdef Addr destination = packet_destination(pkt)
    cdef Addr target
    cdef Addr everybody
    cdef bint probing = addr_is_zero(&source)       # duplicate address detection
    cdef const uint8_t* link = NULL
    cdef const DeviceAddress* own
    cdef Neighbour* neigh
    cdef uint8_t flags
    cdef bint multicast = destination.b[0] == 0xFF
    if length < MESSAGE or not packet_has(pkt, offset, length):
        return DROP_PKT_TOO_SMALL
    target = address_at(message + 8, 6)
    if target.b[0] == 0xFF or (probing and not solicited_node(&destination)):
        return DROP_NOT_SPECIFIED
    if not find_option(message + MESSAGE, length - MESSAGE, SOURCE_ADDRESS, &link):
        return DROP_IPV6_NDISC_BAD_OPTIONS
    if link != NULL and (link[1] != 1 or probing):
        return DROP_NOT_SPECIFIED
    own = own_address(net, pkt.dev, &target)
    if own != NULL and own.tentative:
        return DROP_NOT_SPECIFIED
    if own == NULL and not (net.sysctl.forwarding6 and net.devices[pkt.dev].proxy_ndp and is_proxy(net, 6, pkt.dev, &target)):
        return DROP_IPV6_NDISC_NS_OTHERHOST
    flags = ROUTER if net.devices[pkt.dev].forwarding6 else 0
    if probing:
        memset(&everybody, 0, sizeof(Addr))
        everybody.b[0] = 0xFF
        everybody.b[1] = 2
        everybody.b[15] = 1
        advertise(net, pkt.dev, &everybody, &target, flags | (OVERRIDE if own != NULL else 0), True)
        return DROP_NONE
    neigh = neighbour_lookup(net, 6, pkt.dev, &source, not multicast or link != NULL)
    if neigh == NULL:
        return DROP_NONE
    if link != NULL:
        neighbour_update(net, neigh, link + 2, True)
    if own != NULL and multicast:
        flags |= OVERRIDE
    advertise(net, pkt.dev, &source, &target, flags | SOLICITED, multicast)
    return DROP_NONE


cdef bint solicited_node(const Addr* addr) noexcept nogil:
    cdef uint32_t i
    if addr.b[0] != 0xFF or addr.b[1] != 2 or addr.b[11] != 1 or addr.b[12] != 0xFF:
        return False
    for i in range(2, 11):
        if addr.b[i]:
            return False
    return True


cdef int receive_advertisement(Walk* walk, uint32_t offset) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* message = packet_ip(pkt) + offset
    cdef uint32_t length = pkt.len - offset
    cdef Addr target
    cdef const uint8_t* link = NULL
    cdef Neighbour* neigh
    if length < MESSAGE or not packet_has(pkt, offset, length):
        return DROP_PKT_TOO_SMALL
    target = address_at(message + 8, 6)
    if target.b[0] == 0xFF or (packet_ip(pkt)[24] == 0xFF and message[4] & SOLICITED):
        return DROP_NOT_SPECIFIED
    if not message[4] & SOLICITED and net.devices[pkt.dev].drop_unsolicited_na:
        return DROP_NOT_SPECIFIED
    if not find_option(message + MESSAGE, length - MESSAGE, TARGET_ADDRESS, &link):
        return DROP_IPV6_NDISC_BAD_OPTIONS
    if (link != NULL and link[1] != 1) or own_address(net, pkt.dev, &target) != NULL:
        return DROP_NOT_SPECIFIED
    neigh = neighbour_lookup(net, 6, pkt.dev, &target, False)
    if neigh == NULL or neigh.state == NUD_FAILED or link == NULL:
        return DROP_NOT_SPECIFIED
    neighbour_update(net, neigh, link + 2, message[4] & OVERRIDE != 0)
    return DROP_NONE
