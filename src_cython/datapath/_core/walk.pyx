"""The walk of a packet: the netfilter diagram on one page.

    wire > PREROUTING > route_input > INPUT > local process
                                    > FORWARD > POSTROUTING > neighbour > wire
    local process > route_output > OUTPUT > (reroute) > POSTROUTING > neighbour > wire or loopback > PREROUTING ...

Packets that the kernel makes on the way (ICMP errors, resets, neighbour discovery) walk inside of the walk that
caused them, as they do in Linux. Packets that come back from a loopback wait in the backlog until the walk is over.
"""
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.arp cimport arp_receive
from datapath._core.backlog cimport backlog_run
from datapath._core.defrag cimport DEFRAG_LOCAL_DELIVER, defrag_ipv4, fragments_advance, fragments_due
from datapath._core.fib cimport RTN_ANYCAST, RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST, RouteDecision
from datapath._core.forward cimport forward_ipv4, forward_ipv6, route_error
from datapath._core.hooks cimport hook_run
from datapath._core.ip_options cimport forward_options, receive_options
from datapath._core.local cimport local_receive, multicast_joined
from datapath._core.neighbour cimport neighbours_advance, neighbours_due
from datapath._core.outcome cimport packet_drop, packet_refused
from datapath._core.packet cimport PACKET_BROADCAST, PACKET_HOST, PACKET_MULTICAST, packet_ip
from datapath._core.pieces cimport packet_pull
from datapath._core.raw_send cimport send_route
from datapath._core.receive cimport ETH_P_ARP, ETH_P_IP, ETH_P_IPV6, ip6_rcv_core, ip_rcv_core, link_receive
from datapath._core.record cimport STEP_LOCAL_SEND, STEP_RECEIVE, record
from datapath._core.route cimport route_input
from datapath._core.transmit cimport finish_output, loop_copy
from datapath._core.verdict cimport (
    DROP_IPV6DISABLED, DROP_NONE, DROP_NOT_SPECIFIED, DROP_UNHANDLED_PROTO, DROP_UNICAST_IN_L2_MULTICAST, HOOK_FORWARD, HOOK_INPUT,
    HOOK_OUTPUT, HOOK_POSTROUTING, HOOK_PREROUTING, NF_ACCEPT,
)
from datapath._core.wire cimport load_be16


cdef void walk_receive(Net* net, Packet* pkt) noexcept nogil:
    net.calls += net.nesting == 0
    net.nesting += 1
    record(&net.recorder, STEP_RECEIVE, 0, 0, 0, pkt.dev, 0, 0, False)
    receive(net, pkt)
    net.nesting -= 1
    if net.nesting == 0:
        backlog_run(net)


cdef void walk_local_out(Net* net, Packet* pkt) noexcept nogil:
    cdef Walk walk
    cdef uint8_t depth = <uint8_t>net.recorder.depth
    net.calls += net.nesting == 0
    net.nesting += 1
    if not pkt.main:
        net.recorder.depth = depth + 1
    record(&net.recorder, STEP_LOCAL_SEND, 0, 0, 0, pkt.dev, 0, 0, False)
    pkt.depth = <uint8_t>net.recorder.depth
    if pkt.route >= 0 or send_route(net, pkt):
        walk_begin(&walk, net, pkt, -1, -1)
        local_out(&walk)
    net.recorder.depth = depth
    net.nesting -= 1
    if net.nesting == 0:
        backlog_run(net)


cdef void walk_looped(Net* net, Packet* pkt) noexcept nogil:
    net.recorder.depth = pkt.depth + 1
    pkt.depth = <uint8_t>net.recorder.depth
    record(&net.recorder, STEP_RECEIVE, 0, 0, pkt.type, pkt.dev, 0, 0, False)
    ip_receive(net, pkt)


cdef void receive(Net* net, Packet* pkt) noexcept nogil:
    cdef int reason = link_receive(net, pkt)
    if reason != DROP_NONE:
        packet_drop(net, pkt, HOOK_PREROUTING, <uint8_t>reason)
    elif pkt.ethertype == ETH_P_IP or pkt.ethertype == ETH_P_IPV6:
        ip_receive(net, pkt)
    elif pkt.ethertype == ETH_P_ARP:
        arp_receive(net, pkt)
    else:
        packet_drop(net, pkt, HOOK_PREROUTING, DROP_UNHANDLED_PROTO)


cdef void ip_receive(Net* net, Packet* pkt) noexcept nogil:
    """ip_rcv, ipv6_rcv: the header's checks, then PREROUTING."""
    cdef Walk walk
    cdef int reason = ip_rcv_core(net, pkt) if pkt.ethertype == ETH_P_IP else ip6_rcv_core(net, pkt)
    if reason != DROP_NONE:
        packet_drop(net, pkt, HOOK_PREROUTING, <uint8_t>reason)
        return
    walk_begin(&walk, net, pkt, pkt.dev, -1)
    if passed(&walk, HOOK_PREROUTING):
        route_in(&walk)


cdef void route_in(Walk* walk) noexcept nogil:
    """ip_rcv_finish, ip6_rcv_finish: the routing decision, unless the packet brought one from the loopback."""
    cdef Packet* pkt = walk.pkt
    cdef int reason = DROP_NONE
    if pkt.route < 0:
        early_demux(walk)
        reason = route_input(walk)
    if reason == DROP_NONE and pkt.family == 4:
        reason = ip_rcv_finish_core(walk)
    if reason != DROP_NONE:
        packet_drop(walk.net, pkt, HOOK_PREROUTING, <uint8_t>reason)
        return
    walk_input(walk)


cdef void early_demux(Walk* walk) noexcept nogil:
    """tcp_v4_early_demux, udp_v4_early_demux and IPv6's look for a socket; all that is left of it is that they read a header."""
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t protocol = ip[9] if pkt.family == 4 else ip[6]
    cdef uint32_t header = <uint32_t>(ip[0] & 0xF) * 4 if pkt.family == 4 else 40
    if not walk.net.sysctl.ip_early_demux or (pkt.family == 4 and load_be16(ip + 6) & 0x3FFF):
        return
    if protocol == 6 and pkt.type == PACKET_HOST:
        packet_pull(pkt, header + 20)
    elif protocol == 17:
        packet_pull(pkt, header + 8)


cdef int ip_rcv_finish_core(Walk* walk) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef uint8_t type
    cdef int reason
    if (packet_ip(pkt)[0] & 0xF) > 5:
        reason = receive_options(walk)
        if reason != DROP_NONE:
            return reason
    type = walk.net.routes[pkt.route].type
    if (pkt.type == PACKET_BROADCAST or pkt.type == PACKET_MULTICAST) and type != RTN_BROADCAST and type != RTN_MULTICAST \
            and walk.net.devices[pkt.dev].drop_unicast_in_l2_multicast:
        return DROP_UNICAST_IN_L2_MULTICAST
    return DROP_NONE


cdef void walk_input(Walk* walk) noexcept nogil:
    """dst_input: to this node, through it, or nowhere."""
    cdef const RouteDecision* route = &walk.net.routes[walk.pkt.route]
    if route.error:
        route_error(walk)
    elif route.type == RTN_LOCAL or route.type == RTN_ANYCAST or (route.broadcast and (route.type == RTN_BROADCAST or route.type == RTN_MULTICAST)):
        local_deliver(walk)
    else:
        forward(walk)


cdef void local_deliver(Walk* walk) noexcept nogil:
    """ip_local_deliver, ip6_input, ip6_mc_input."""
    cdef Packet* pkt = walk.pkt
    if pkt.family == 4 and (pkt.frag_offset or pkt.more_fragments) and defrag_ipv4(walk, DEFRAG_LOCAL_DELIVER) != NF_ACCEPT:
        return
    if pkt.family == 6 and packet_ip(pkt)[24] == 0xFF and not multicast_joined(walk.net, walk.in_dev, packet_ip(pkt) + 24):
        packet_drop(walk.net, pkt, HOOK_INPUT, DROP_NOT_SPECIFIED)
        return
    walk.out_dev = -1
    if passed(walk, HOOK_INPUT):
        local_receive(walk)


cdef void forward(Walk* walk) noexcept nogil:
    """ip_forward, ip6_forward."""
    cdef Packet* pkt = walk.pkt
    cdef int reason = forward_ipv4(walk) if pkt.family == 4 else forward_ipv6(walk)
    if reason != DROP_NONE:
        packet_drop(walk.net, pkt, HOOK_FORWARD, <uint8_t>reason)
        return
    walk.out_dev = walk.net.routes[pkt.route].dev
    if not passed(walk, HOOK_FORWARD):
        return
    if pkt.options:
        forward_options(walk)
    output(walk)


cdef void local_out(Walk* walk) noexcept nogil:
    """__ip_local_out, ip6_local_out: OUTPUT may give the packet another route."""
    walk.out_dev = walk.net.routes[walk.pkt.route].dev
    if passed(walk, HOOK_OUTPUT):
        output(walk)


cdef void output(Walk* walk) noexcept nogil:
    """ip_output, ip_mc_output, ip6_output."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const RouteDecision* route = &net.routes[pkt.route]
    if route.error:         # a rerouted packet: dst_discard and the like
        packet_drop(net, pkt, HOOK_OUTPUT, DROP_NOT_SPECIFIED)
        return
    walk.out_dev = route.dev
    pkt.dev = route.dev
    if pkt.family == 6 and net.devices[route.dev].disable6:
        packet_drop(net, pkt, HOOK_POSTROUTING, DROP_IPV6DISABLED)
        return
    if not pkt.forwarded:
        loop_copy(net, pkt)
    if passed(walk, HOOK_POSTROUTING):
        finish_output(walk)


cdef bint passed(Walk* walk, uint8_t hook) noexcept nogil:
    cdef int verdict = hook_run(walk, hook)
    if verdict == NF_ACCEPT:
        return True
    packet_refused(walk, verdict)
    return False


cdef void walk_advance(Net* net, uint64_t now_ns) noexcept nogil:
    cdef uint64_t neighbours
    cdef uint64_t fragments
    while True:
        neighbours = neighbours_due(net)
        fragments = fragments_due(net)
        if min(neighbours, fragments) > now_ns:
            break
        net.now_ns = max(net.now_ns, min(neighbours, fragments))
        net.calls += 1
        net.nesting += 1
        if neighbours <= fragments:
            neighbours_advance(net)
        else:
            fragments_advance(net)
        net.nesting -= 1
        backlog_run(net)
    if now_ns > net.now_ns:
        net.now_ns = now_ns
        net.calls_before = net.calls
