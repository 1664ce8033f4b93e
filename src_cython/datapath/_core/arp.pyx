"""ARP (net/ipv4/arp.c)."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memcpy, memset

from datapath._core.context cimport Walk
from datapath._core.device cimport Device, DeviceAddress
from datapath._core.fib cimport RTN_LOCAL, RTN_UNICAST, Flow, RouteDecision
from datapath._core.neighbour cimport Neighbour, is_proxy, neighbour_lookup, neighbour_update
from datapath._core.outcome cimport packet_drop, packet_end
from datapath._core.packet cimport PACKET_LOOPBACK, PACKET_OTHERHOST, address_at, packet_ip, packet_source
from datapath._core.pool cimport packet_free, packet_new
from datapath._core.receive cimport ETH_P_ARP, ETH_P_IP
from datapath._core.record cimport STEP_GENERATE, record
from datapath._core.route cimport address_type, route_input, route_output, select_source
from datapath._core.transmit cimport device_xmit
from datapath._core.tuples cimport addr_is_zero
from datapath._core.verdict cimport DROP_HDR_TRUNC, DROP_NOT_SPECIFIED, DROP_PKT_TOO_SMALL, HOOK_PREROUTING, OUTCOME_DELIVERED, OUTCOME_DROPPED
from datapath._core.walk cimport walk_begin
from datapath._core.wire cimport load_be16, load_be32, store_be16

cdef enum:
    ETHERNET = 1
    IEEE802 = 6
    REQUEST = 1
    REPLY = 2
    ARP_LENGTH = 28
    SCOPE_UNIVERSE = 0
    SCOPE_LINK = 253
    SCOPE_HOST = 254
    LOCKTIME = 1000000000

cdef const uint8_t* BROADCAST = b"\xff\xff\xff\xff\xff\xff"


cdef void arp_send(Net* net, uint16_t operation, int32_t dev, const Addr* target, const Addr* source, const uint8_t* to,
                   const uint8_t* target_mac) noexcept nogil:
    """`to` NULL: broadcast. `target_mac` NULL: not known."""
    cdef Packet* pkt
    cdef uint8_t* arp
    if net.devices[dev].noarp:
        return
    pkt = packet_new(net)
    if pkt == NULL:
        return
    arp = packet_ip(pkt)
    memset(arp, 0, ARP_LENGTH)
    store_be16(arp, ETHERNET)
    store_be16(arp + 2, ETH_P_IP)
    arp[4] = 6
    arp[5] = 4
    store_be16(arp + 6, operation)
    memcpy(arp + 8, net.devices[dev].mac, 6)
    memcpy(arp + 14, source.b, 4)
    if target_mac != NULL:
        memcpy(arp + 18, target_mac, 6)
    memcpy(arp + 24, target.b, 4)
    pkt.len = ARP_LENGTH
    pkt.present = ARP_LENGTH
    pkt.ethertype = ETH_P_ARP
    pkt.dev = dev
    record(&net.recorder, STEP_GENERATE, 0, 0, 0, ETH_P_ARP, operation, 0, False)
    device_xmit(net, pkt, BROADCAST if to == NULL else to)


cdef bint on_link(const Device* dev, const Addr* a, const Addr* b) noexcept nogil:
    """inet_addr_onlink: both in one of the device's subnets."""
    cdef uint32_t i
    for i in range(dev.n_addresses):
        if dev.addresses[i].family == 4 and in_subnet(&dev.addresses[i], a) and in_subnet(&dev.addresses[i], b):
            return True
    return False


cdef inline bint in_subnet(const DeviceAddress* own, const Addr* addr) noexcept nogil:
    """inet_ifa_match."""
    cdef uint32_t mask = <uint32_t>0xFFFFFFFF << (32 - own.prefix) if own.prefix else 0
    return (load_be32(own.peer.b) ^ load_be32(addr.b)) & mask == 0


cdef void arp_solicit(Net* net, int32_t dev, const Addr* target, const Packet* waiting) noexcept nogil:
    cdef const Device* device = &net.devices[dev]
    cdef Addr source
    memset(&source, 0, sizeof(Addr))
    if waiting != NULL and waiting.family == 4 and device.arp_announce < 2:
        source = packet_source(waiting)
        if address_type(net, 4, &source, -1) != RTN_LOCAL or (device.arp_announce == 1 and not on_link(device, target, &source)):
            memset(&source, 0, sizeof(Addr))
    if addr_is_zero(&source):
        select_source(net, 4, dev, target, SCOPE_LINK, &source)
    arp_send(net, REQUEST, dev, target, &source, NULL, NULL)


# ---- receiving ----

cdef struct Arp:
    uint16_t operation
    uint8_t sender_mac[6]
    uint8_t target_mac[6]
    Addr sender
    Addr target


cdef bint read_arp(const Net* net, const Packet* pkt, Arp* arp) noexcept nogil:
    cdef const uint8_t* header = packet_ip(pkt)
    if header[4] != 6 or header[5] != 4:
        return False
    if load_be16(header) != ETHERNET and load_be16(header) != IEEE802:
        return False
    arp.operation = load_be16(header + 6)
    if load_be16(header + 2) != ETH_P_IP or (arp.operation != REQUEST and arp.operation != REPLY):
        return False
    memcpy(arp.sender_mac, header + 8, 6)
    memcpy(arp.target_mac, header + 18, 6)
    arp.sender = address_at(header + 14, 4)
    arp.target = address_at(header + 24, 4)
    return arp.target.b[0] & 0xF0 != 0xE0 and (arp.target.b[0] != 127 or net.devices[pkt.dev].route_localnet)


cdef void arp_receive(Net* net, Packet* pkt) noexcept nogil:
    cdef Arp arp
    if pkt.type == PACKET_OTHERHOST or pkt.type == PACKET_LOOPBACK or net.devices[pkt.dev].noarp:
        packet_end(net, pkt, OUTCOME_DROPPED)   # Linux gives no reason: it takes such frames for consumed
        return
    if pkt.present < ARP_LENGTH:
        packet_drop(net, pkt, HOOK_PREROUTING, DROP_PKT_TOO_SMALL if pkt.len < ARP_LENGTH else DROP_HDR_TRUNC)
        return
    if not read_arp(net, pkt, &arp):
        packet_drop(net, pkt, HOOK_PREROUTING, DROP_NOT_SPECIFIED)
        return
    if addr_is_zero(&arp.sender):       # somebody asks whether the address is taken
        if arp.operation == REQUEST and address_type(net, 4, &arp.target, -1) == RTN_LOCAL and not ignored(net, pkt.dev, &arp):
            arp_send(net, REPLY, pkt.dev, &arp.sender, &arp.target, arp.sender_mac, arp.sender_mac)
    elif arp.operation != REQUEST or not answered(net, pkt, &arp):
        learn(net, pkt, &arp)
    packet_end(net, pkt, OUTCOME_DELIVERED)


cdef bint answered(Net* net, Packet* pkt, const Arp* arp) noexcept nogil:
    """A request for one of the node's addresses, or for one that it stands in for. True: nothing more is to be done."""
    cdef const Device* dev = &net.devices[pkt.dev]
    cdef RouteDecision route
    if not route_of_request(net, pkt, arp, &route):
        return False
    if route.type == RTN_LOCAL:
        if not ignored(net, pkt.dev, arp) and not (dev.arp_filter and filtered(net, pkt.dev, arp)):
            meet_and_answer(net, pkt.dev, arp)
        return True
    if dev.forwarding and route.type == RTN_UNICAST and stands_in(net, dev, pkt.dev, &route, arp):
        meet_and_answer(net, pkt.dev, arp)
        return True
    return False


cdef void meet_and_answer(Net* net, int32_t dev, const Arp* arp) noexcept nogil:
    cdef Neighbour* neigh = neighbour_lookup(net, 4, dev, &arp.sender, True)
    if neigh != NULL:
        neighbour_update(net, neigh, arp.sender_mac, True)
        arp_send(net, REPLY, dev, &arp.sender, &arp.target, arp.sender_mac, arp.sender_mac)


cdef bint route_of_request(Net* net, Packet* pkt, const Arp* arp, RouteDecision* route) noexcept nogil:
    """ip_route_input as if the sender had sent a packet to the target."""
    cdef Packet* asked = packet_new(net)
    cdef Walk walk
    cdef bint found = False
    if asked == NULL:
        return False
    memset(packet_ip(asked), 0, 20)
    packet_ip(asked)[0] = 0x45
    memcpy(packet_ip(asked) + 12, arp.sender.b, 4)
    memcpy(packet_ip(asked) + 16, arp.target.b, 4)
    asked.family = 4
    asked.len = 20
    asked.present = 20
    asked.transport = 20
    asked.dev = pkt.dev
    asked.in_dev = pkt.dev
    asked.mark = pkt.mark
    asked.type = pkt.type
    walk_begin(&walk, net, asked, pkt.dev, -1)
    if route_input(&walk) == 0 and asked.route >= 0 and not net.routes[asked.route].error:
        route[0] = net.routes[asked.route]
        found = True
    packet_free(net, asked)
    return found


cdef bint ignored(const Net* net, int32_t dev, const Arp* arp) noexcept nogil:
    """arp_ignore."""
    cdef const Device* device = &net.devices[dev]
    cdef Addr nobody
    cdef uint32_t i
    memset(&nobody, 0, sizeof(Addr))
    if device.arp_ignore == 1:
        return not confirmed(device, &nobody, &arp.target, SCOPE_HOST)
    if device.arp_ignore == 2:
        return not confirmed(device, &arp.sender, &arp.target, SCOPE_HOST)
    if device.arp_ignore == 3:
        for i in range(net.n_devices):
            if confirmed(&net.devices[i], &nobody, &arp.target, SCOPE_LINK):
                return False
        return True
    return device.arp_ignore == 8


cdef bint confirmed(const Device* dev, const Addr* peer, const Addr* local, uint8_t scope) noexcept nogil:
    """inet_confirm_addr for an address that is given: it is on the device, in a scope as wide, and shares a subnet
    with the peer, if there is one."""
    cdef uint8_t widest = SCOPE_LINK if dev.route_localnet else SCOPE_HOST
    cdef const DeviceAddress* own
    cdef bint have = False
    cdef bint same = False
    cdef uint32_t i
    for i in range(dev.n_addresses):
        own = &dev.addresses[i]
        if own.family != 4:
            continue
        if not have and memcmp(own.addr.b, local.b, 4) == 0 and min(own.scope, widest) <= scope:
            have = True
            if same:
                return True
        if not same:
            same = in_subnet(own, local) and (addr_is_zero(peer) or in_subnet(own, peer))
            if same and have:
                return True
    return False


cdef bint filtered(Net* net, int32_t dev, const Arp* arp) noexcept nogil:
    """arp_filter: a packet from the target to the sender would leave by another device."""
    cdef Flow flow
    cdef RouteDecision route
    memset(&flow, 0, sizeof(Flow))
    memset(&route, 0, sizeof(RouteDecision))
    flow.family = 4
    flow.src = arp.target
    flow.dst = arp.sender
    flow.iif = -1
    flow.oif = -1
    return route_output(net, NULL, &flow, &route) != 0 or route.dev != dev


cdef bint stands_in(Net* net, const Device* dev, int32_t index, const RouteDecision* route, const Arp* arp) noexcept nogil:
    """arp_fwd_proxy, arp_fwd_pvlan."""
    cdef uint8_t other
    if route.dev == index:
        return dev.proxy_arp_pvlan and memcmp(arp.sender.b, arp.target.b, 4) != 0
    if is_proxy(net, 4, index, &arp.target):
        return True
    if not dev.proxy_arp or dev.medium_id == 0xFF:
        return False
    if dev.medium_id == 0:
        return True
    other = net.devices[route.dev].medium_id
    return other != dev.medium_id and other != 0xFF


cdef void learn(Net* net, const Packet* pkt, const Arp* arp) noexcept nogil:
    """Whoever is known already is updated; strangers are not taken in, unless arp_accept says so."""
    cdef const Device* dev = &net.devices[pkt.dev]
    cdef Neighbour* neigh = neighbour_lookup(net, 4, pkt.dev, &arp.sender, False)
    cdef bint accept = accepts_strangers(dev, arp)
    cdef bint gratuitous = (neigh != NULL or accept) and is_gratuitous(net, arp)
    if neigh == NULL and accept and (gratuitous or (arp.operation == REPLY and address_type(net, 4, &arp.sender, -1) == RTN_UNICAST)):
        neigh = neighbour_lookup(net, 4, pkt.dev, &arp.sender, True)
    if neigh != NULL:
        neighbour_update(net, neigh, arp.sender_mac, gratuitous or <int64_t>net.now_ns > neigh.updated_ns + LOCKTIME)


cdef bint accepts_strangers(const Device* dev, const Arp* arp) noexcept nogil:
    cdef uint32_t i
    if dev.arp_accept == 2:
        for i in range(dev.n_addresses):
            if dev.addresses[i].family == 4 and dev.addresses[i].scope <= SCOPE_LINK and in_subnet(&dev.addresses[i], &arp.sender):
                return True
        return False
    return dev.arp_accept == 1


cdef bint is_gratuitous(Net* net, const Arp* arp) noexcept nogil:
    """arp_is_garp."""
    if memcmp(arp.sender.b, arp.target.b, 4) != 0:
        return False
    if arp.operation == REPLY and memcmp(arp.sender_mac, arp.target_mac, 6) != 0:
        return False
    return address_type(net, 4, &arp.sender, -1) == RTN_UNICAST
