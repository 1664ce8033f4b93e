"""Sending: net/ipv4/ip_output.c (ip_finish_output, ip_mc_output), net/ipv6/ip6_output.c (ip6_finish_output2),
net/core/dev.c, drivers/net/loopback.c, net/8021q/vlan_dev.c.
"""
from libc.stdint cimport uint16_t
from libc.string cimport memcpy, memmove
from datapath._core.backlog cimport backlog_add
from datapath._core.conntrack cimport conntrack_get
from datapath._core.device cimport DEVICE_DUMMY, DEVICE_LOOPBACK, DEVICE_VLAN, Device
from datapath._core.fib cimport RTN_BROADCAST, RTN_MULTICAST
from datapath._core.fragment cimport fragment_ipv4, fragment_ipv6
from datapath._core.hooks cimport hook_run
from datapath._core.local cimport multicast_joined
from datapath._core.neighbour cimport neighbour_output
from datapath._core.offload cimport offload_finish
from datapath._core.outcome cimport packet_drop, packet_end, packet_refused
from datapath._core.output cimport output_frame
from datapath._core.packet cimport PACKET_HOST, PACKET_LOOPBACK, PACKET_MULTICAST, packet_ip
from datapath._core.pool cimport packet_copy
from datapath._core.receive cimport ETH_P_IP, ETH_P_IPV6
from datapath._core.record cimport STEP_DEVICE, record
from datapath._core.verdict cimport (
    DROP_DEV_READY, DROP_NOT_SPECIFIED, HOOK_POSTROUTING, NF_ACCEPT, OUTCOME_FORWARDED, OUTCOME_SENT,
)
from datapath._core.walk cimport walk_begin
from datapath._core.wire cimport store_be16

cdef enum:
    IP_MAX_MTU = 0xFFFF


cdef uint32_t route_mtu(const Net* net, const RouteDecision* route, uint8_t family) noexcept nogil:
    return min(route.mtu if route.mtu else device_mtu(net, route.dev, family), <uint32_t>IP_MAX_MTU)


cdef uint32_t device_mtu(const Net* net, int32_t dev, uint8_t family) noexcept nogil:
    cdef const Device* device = &net.devices[dev]
    return device.mtu6 if family == 6 and device.mtu6 else device.mtu


cdef void finish_output(Walk* walk) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef uint32_t mtu = route_mtu(net, &net.routes[pkt.route], pkt.family)
    if pkt.gso_size:        # stays one stack of segments
        finish_output2(net, pkt)
    elif pkt.family == 4 and (pkt.len > mtu or pkt.frag_max_size):
        offload_finish(walk.pkt)
        fragment_ipv4(walk, mtu)
    elif pkt.family == 6 and (pkt.len > mtu or (pkt.frag_max_size and pkt.len > pkt.frag_max_size)):
        offload_finish(walk.pkt)
        fragment_ipv6(walk, mtu)
    else:
        finish_output2(net, pkt)


cdef void finish_output2(Net* net, Packet* pkt) noexcept nogil:
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef const Device* dev = &net.devices[pkt.dev]
    if pkt.family == 6 and ip[24] == 0xFF and dev.kind != DEVICE_LOOPBACK:
        if not pkt.no_mc_loop and not pkt.forwarded and multicast_joined(net, pkt.dev, ip + 24):
            send_copy_to_self(net, pkt)
            if ip[7] == 0:
                packet_drop(net, pkt, HOOK_POSTROUTING, DROP_NOT_SPECIFIED)
                return
        if (ip[25] & 0xF) <= 1:     # does not leave the node
            packet_drop(net, pkt, HOOK_POSTROUTING, DROP_NOT_SPECIFIED)
            return
    neighbour_output(net, pkt)


cdef void loop_copy(Net* net, Packet* pkt) noexcept nogil:
    cdef const RouteDecision* route = &net.routes[pkt.route]
    if pkt.family == 6 or net.devices[route.dev].kind == DEVICE_LOOPBACK:
        return
    if route.type == RTN_BROADCAST:
        send_copy_to_self(net, pkt)
    elif route.type == RTN_MULTICAST and not pkt.no_mc_loop and multicast_joined(net, route.dev, packet_ip(pkt) + 16):
        send_copy_to_self(net, pkt)


cdef void send_copy_to_self(Net* net, const Packet* pkt) noexcept nogil:
    """A copy passes POSTROUTING and is received on the device that the packet leaves by (dev_loopback_xmit)."""
    cdef Packet* copy = packet_copy(net, pkt)
    cdef Walk walk
    cdef int verdict
    if copy == NULL:
        return
    copy.ct = pkt.ct    # a clone keeps its connection
    if copy.ct != NULL:
        conntrack_get(copy.ct)
    walk_begin(&walk, net, copy, -1, copy.dev)
    verdict = hook_run(&walk, HOOK_POSTROUTING)
    if verdict != NF_ACCEPT:
        packet_refused(&walk, verdict)
        return
    copy.type = PACKET_LOOPBACK
    copy.mac_len = 0
    backlog_add(net, copy)


cdef void device_xmit(Net* net, Packet* pkt, const uint8_t* destination) noexcept nogil:
    cdef Device* dev = &net.devices[pkt.dev]
    cdef uint8_t* frame
    if not dev.up:
        packet_drop(net, pkt, HOOK_POSTROUTING, DROP_DEV_READY)
        return
    pkt.mac = pkt.net
    pkt.mac_len = 0
    if pkt.family:          # else ARP, which has said what it is
        pkt.ethertype = ETH_P_IP if pkt.family == 4 else ETH_P_IPV6
    if dev.kind == DEVICE_LOOPBACK:
        loopback_xmit(net, pkt, destination)
        return
    if dev.has_link_header:
        pkt.mac -= 14
        pkt.mac_len = 14
        frame = pkt.head + pkt.mac
        memcpy(frame, destination, 6)
        memcpy(frame + 6, dev.mac, 6)
        store_be16(frame + 12, pkt.ethertype)
    while dev.kind == DEVICE_VLAN and dev.lower >= 0:
        record(&net.recorder, STEP_DEVICE, HOOK_POSTROUTING, 0, 1, pkt.dev, 0, 0, False)
        insert_tag(pkt, dev.vlan_proto, dev.vlan_id)
        pkt.dev = dev.lower
        dev = &net.devices[pkt.dev]
    if dev.kind != DEVICE_DUMMY:    # which swallows what it is given
        offload_finish(pkt)
        output_frame(net, pkt.dev, pkt.head + pkt.mac, pkt.mac_len + pkt.present)
    packet_end(net, pkt, OUTCOME_FORWARDED if pkt.forwarded else OUTCOME_SENT)


cdef void insert_tag(Packet* pkt, uint16_t proto, uint16_t tag) noexcept nogil:
    pkt.mac -= 4
    pkt.mac_len += 4
    memmove(pkt.head + pkt.mac, pkt.head + pkt.mac + 4, 12)
    store_be16(pkt.head + pkt.mac + 12, proto)
    store_be16(pkt.head + pkt.mac + 14, tag)


cdef void loopback_xmit(Net* net, Packet* pkt, const uint8_t* destination) noexcept nogil:
    """The packet comes back with its route and its conntrack entry."""
    pkt.type = PACKET_MULTICAST if destination[0] & 1 else PACKET_HOST
    if pkt.main:
        net.outcome = OUTCOME_SENT
    backlog_add(net, pkt)
