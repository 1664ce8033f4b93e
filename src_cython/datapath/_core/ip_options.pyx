"""IPv4 options (net/ipv4/ip_options.c)."""
from libc.stdint cimport int32_t, uint16_t
from libc.string cimport memcmp, memcpy, memset

from datapath._core.fib cimport RTN_LOCAL, RTN_UNICAST, Flow, RouteDecision
from datapath._core.icmp cimport icmp_send
from datapath._core.neighbour cimport next_hop
from datapath._core.packet cimport PACKET_HOST, address_at, packet_destination, packet_ip, packet_source
from datapath._core.route cimport address_type, fib_lookup, route_input, select_source
from datapath._core.tuples cimport addr_is_zero
from datapath._core.verdict cimport DROP_IP_INHDR, DROP_NONE, DROP_NOT_SPECIFIED
from datapath._core.wire cimport fold, store_be16, store_be32, sum_bytes

cdef enum:
    OPTION_END = 0
    OPTION_NOOP = 1
    OPTION_RR = 7
    OPTION_TIMESTAMP = 68
    OPTION_LSRR = 131
    OPTION_SSRR = 137
    OPTION_ROUTER_ALERT = 148
    COPIED = 0x80
    TS_ONLY = 0
    TS_AND_ADDRESS = 1
    TS_PRESPECIFIED = 3
    PARAMETER_PROBLEM = 12
    SCOPE_UNIVERSE = 0
    UNDERSTOOD = -1


cdef uint32_t milliseconds_of_day(const Net* net) noexcept nogil:
    """inet_current_timestamp."""
    return <uint32_t>(net.now_ns / 1000000 % 86400000)


cdef int receive_options(Walk* walk) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef int bad
    pkt.options = <uint8_t>((packet_ip(pkt)[0] & 0xF) * 4 - 20)
    pkt.opt_rr = 0
    pkt.opt_ts = 0
    pkt.opt_srr = 0
    pkt.opt_need = 0
    bad = compile_options(walk)
    if bad != UNDERSTOOD:
        icmp_send(walk, PARAMETER_PROBLEM, 0, <uint32_t>bad << 24)
        return DROP_IP_INHDR
    if pkt.opt_srr:
        pkt.source_routed = 1
        if not walk.net.devices[pkt.dev].accept_source_route or not follow_source_route(walk):
            return DROP_NOT_SPECIFIED
    return DROP_NONE


cdef Addr specific_destination(Net* net, Packet* pkt) noexcept nogil:
    """fib_compute_spec_dst: the address by which the packet reached this node."""
    cdef const RouteDecision* route = &net.routes[pkt.route]
    cdef Addr found
    cdef Addr source
    cdef Flow flow
    cdef RouteDecision back
    if not route.error and route.type == RTN_LOCAL:
        return packet_destination(pkt)
    memset(&found, 0, sizeof(Addr))
    source = packet_source(pkt)
    if not addr_is_zero(&source):
        memset(&flow, 0, sizeof(Flow))
        memset(&back, 0, sizeof(RouteDecision))
        flow.family = 4
        flow.dst = source
        flow.iif = net.loopback
        flow.oif = -1
        flow.tos = packet_ip(pkt)[1] & 0xFC
        if fib_lookup(net, &flow, &back) == 0 and back.error == 0:
            found = back.source
            if addr_is_zero(&found):
                select_source(net, 4, back.dev, &source, back.scope, &found)
            return found
    select_source(net, 4, pkt.dev, &source, SCOPE_UNIVERSE, &found)
    return found


cdef int compile_options(Walk* walk) noexcept nogil:
    """ip_options_compile: UNDERSTOOD, or where the header is wrong. Writes addresses and times on the way."""
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint32_t at = 20
    cdef uint32_t end = 20 + pkt.options
    cdef uint32_t size
    cdef int bad
    while at < end:
        if ip[at] == OPTION_END:
            at += 1
            while at < end:
                if ip[at] != OPTION_END:
                    ip[at] = OPTION_END
                    pkt.opt_need |= IS_CHANGED
                at += 1
            break
        if ip[at] == OPTION_NOOP:
            at += 1
            continue
        if end - at < 2:
            return <int>at
        size = ip[at + 1]
        if size < 2 or size > end - at:
            return <int>at
        bad = UNDERSTOOD
        if ip[at] == OPTION_SSRR or ip[at] == OPTION_LSRR:
            bad = compile_source_route(pkt, ip, at, size)
        elif ip[at] == OPTION_RR:
            bad = compile_record_route(walk, ip, at, size)
        elif ip[at] == OPTION_TIMESTAMP:
            bad = compile_timestamp(walk, ip, at, size)
        elif ip[at] == OPTION_ROUTER_ALERT and size < 4:
            bad = <int>at + 1
        if bad != UNDERSTOOD:
            return bad
        at += size
    return UNDERSTOOD


cdef int compile_source_route(Packet* pkt, const uint8_t* ip, uint32_t at, uint32_t size) noexcept nogil:
    if size < 3:
        return <int>at + 1
    if ip[at + 2] < 4:
        return <int>at + 2
    if pkt.opt_srr:
        return <int>at
    pkt.strict_route = ip[at] == OPTION_SSRR
    pkt.opt_srr = <uint8_t>at
    return UNDERSTOOD


cdef int compile_record_route(Walk* walk, uint8_t* ip, uint32_t at, uint32_t size) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef Addr own
    if pkt.opt_rr:
        return <int>at
    if size < 3:
        return <int>at + 1
    if ip[at + 2] < 4:
        return <int>at + 2
    if ip[at + 2] <= size:
        if <uint32_t>ip[at + 2] + 3 > size:
            return <int>at + 2
        own = specific_destination(walk.net, pkt)
        memcpy(ip + at + ip[at + 2] - 1, own.b, 4)
        ip[at + 2] += 4
        pkt.opt_need |= IS_CHANGED | NEED_RR_ADDRESS
    pkt.opt_rr = <uint8_t>at
    return UNDERSTOOD


cdef int compile_timestamp(Walk* walk, uint8_t* ip, uint32_t at, uint32_t size) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* option = ip + at
    cdef uint8_t kind
    if pkt.opt_ts:
        return <int>at
    if size < 4:
        return <int>at + 1
    if option[2] < 5:
        return <int>at + 2
    kind = option[3] & 0xF
    if option[2] <= size:
        if <uint32_t>option[2] + 3 > size:
            return <int>at + 2
        if (kind == TS_AND_ADDRESS or kind == TS_PRESPECIFIED) and <uint32_t>option[2] + 7 > size:
            return <int>at + 2
        stamp(walk, option, kind)
    elif kind != TS_PRESPECIFIED:       # full: count who found no room
        if option[3] >> 4 == 15:
            return <int>at + 3
        option[3] = <uint8_t>(kind | ((option[3] >> 4) + 1) << 4)
        pkt.opt_need |= IS_CHANGED
    pkt.opt_ts = <uint8_t>at
    return UNDERSTOOD


cdef void stamp(Walk* walk, uint8_t* option, uint8_t kind) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* place = option + option[2] - 1
    cdef Addr own
    if kind == TS_ONLY:
        store_be32(place, milliseconds_of_day(walk.net))
        option[2] += 4
    elif kind == TS_AND_ADDRESS:
        own = specific_destination(walk.net, pkt)
        memcpy(place, own.b, 4)
        store_be32(place + 4, milliseconds_of_day(walk.net))
        pkt.opt_need |= NEED_TS_ADDRESS
        option[2] += 8
    elif kind == TS_PRESPECIFIED:
        own = address_at(place, 4)
        if address_type(walk.net, 4, &own, -1) == RTN_UNICAST:      # another's turn
            return
        store_be32(place + 4, milliseconds_of_day(walk.net))
        option[2] += 8
    else:
        return
    pkt.opt_need |= IS_CHANGED | NEED_TS_TIME


cdef bint follow_source_route(Walk* walk) noexcept nogil:
    """ip_options_rcv_srr: the next address of the list becomes the destination."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint8_t* option = ip + pkt.opt_srr
    cdef const RouteDecision* route = &net.routes[pkt.route]
    cdef uint32_t at = option[2]
    cdef uint32_t space = option[1]
    cdef uint8_t kept[4]
    if pkt.type != PACKET_HOST or route.error:
        return False
    if route.type == RTN_UNICAST:
        if pkt.strict_route:
            icmp_send(walk, PARAMETER_PROBLEM, 0, 16 << 24)
            return False
        return True
    if route.type != RTN_LOCAL:
        return False
    while at <= space:
        if at + 3 > space:
            icmp_send(walk, PARAMETER_PROBLEM, 0, (<uint32_t>pkt.opt_srr + 2) << 24)
            return False
        memcpy(kept, ip + 16, 4)
        memcpy(ip + 16, option + at - 1, 4)
        pkt.route = -1
        if route_input(walk) or net.routes[pkt.route].error:
            return False
        route = &net.routes[pkt.route]
        if route.type != RTN_UNICAST:
            if route.type != RTN_LOCAL:
                return False
            pkt.opt_need |= IS_CHANGED
            at += 4
            continue
        pkt.srr_hop = packet_destination(pkt)
        memcpy(ip + 16, kept, 4)
        pkt.opt_need |= SRR_IS_HIT | IS_CHANGED
        break
    return True


cdef Addr outgoing_source(Walk* walk) noexcept nogil:
    """ip_rt_get_source: the address that the route gives to packets that leave by it."""
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const RouteDecision* route = &net.routes[pkt.route]
    cdef Addr hop
    cdef Addr found = route.source
    if not addr_is_zero(&found):
        return found
    next_hop(net, pkt, &hop)
    select_source(net, 4, route.dev, &hop, SCOPE_UNIVERSE, &found)
    return found


cdef void forward_options(Walk* walk) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint8_t* option
    cdef uint32_t at
    cdef Addr own
    if pkt.opt_need & NEED_RR_ADDRESS:
        option = ip + pkt.opt_rr
        own = outgoing_source(walk)
        memcpy(option + option[2] - 5, own.b, 4)
        pkt.opt_need |= IS_CHANGED
    if pkt.opt_need & SRR_IS_HIT:
        option = ip + pkt.opt_srr
        at = option[2]
        while at + 3 <= option[1] and memcmp(pkt.srr_hop.b, option + at - 1, 4) != 0:
            at += 4
        if at + 3 <= option[1]:
            memcpy(ip + 16, pkt.srr_hop.b, 4)
            own = outgoing_source(walk)
            memcpy(option + at - 1, own.b, 4)
            option[2] = <uint8_t>(at + 4)
        if pkt.opt_need & NEED_TS_ADDRESS:
            option = ip + pkt.opt_ts
            own = outgoing_source(walk)
            memcpy(option + option[2] - 9, own.b, 4)
    if pkt.opt_need & IS_CHANGED:
        pkt.opt_need &= ~IS_CHANGED
        store_be16(ip + 10, 0)
        store_be16(ip + 10, <uint16_t>~fold(sum_bytes(ip, 20 + pkt.options)))


cdef void fragment_options(Packet* pkt) noexcept nogil:
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint32_t at = 20
    cdef uint32_t end = 20 + pkt.options
    cdef uint32_t size
    while at < end:
        if ip[at] == OPTION_END:
            return
        if ip[at] == OPTION_NOOP:
            at += 1
            continue
        if end - at < 2:
            return
        size = ip[at + 1]
        if size < 2 or size > end - at:
            return
        if not ip[at] & COPIED:
            memset(ip + at, OPTION_NOOP, size)
        at += size


cdef bint echo_options(Net* net, const Packet* pkt, Echo* echo) noexcept nogil:
    cdef const uint8_t* ip = packet_ip(pkt)
    memset(echo, 0, sizeof(Echo))
    if pkt.options == 0:
        return True
    if pkt.opt_rr and not echo_record_route(pkt, ip + pkt.opt_rr, echo):
        return False
    if pkt.opt_ts and not echo_timestamp(net, pkt, ip + pkt.opt_ts, echo):
        return False
    if pkt.opt_srr:
        echo_source_route(pkt, ip + pkt.opt_srr, echo)
    while echo.length & 3:
        echo.length += 1
    return True


cdef bint echo_record_route(const Packet* pkt, const uint8_t* option, Echo* echo) noexcept nogil:
    cdef uint8_t* copy = echo.data + echo.length
    echo.rr = <uint8_t>(20 + echo.length)
    memcpy(copy, option, option[1])
    if pkt.opt_need & NEED_RR_ADDRESS and option[2] <= option[1]:
        if option[2] + 3 > option[1]:
            return False
        copy[2] = option[2] + 4
        echo.need |= NEED_RR_ADDRESS
    echo.length += option[1]
    return True


cdef bint echo_timestamp(Net* net, const Packet* pkt, const uint8_t* option, Echo* echo) noexcept nogil:
    cdef uint8_t* copy = echo.data + echo.length
    cdef uint32_t at = option[2]
    cdef uint32_t size = option[1]
    cdef Addr named
    echo.ts = <uint8_t>(20 + echo.length)
    memcpy(copy, option, size)
    if at <= size:
        if pkt.opt_need & NEED_TS_ADDRESS:
            if at + 3 > size:
                return False
            echo.need |= NEED_TS_ADDRESS
            at += 4
        if pkt.opt_need & NEED_TS_TIME:
            if at + 3 > size:
                return False
            if copy[3] & 0xF != TS_PRESPECIFIED:
                echo.need |= NEED_TS_TIME
                at += 4
            elif at + 7 <= size:
                named = address_at(copy + at - 1, 4)
                if address_type(net, 4, &named, -1) != RTN_UNICAST:
                    echo.need |= NEED_TS_TIME
                    at += 8
        copy[2] = <uint8_t>at
    echo.length += size
    return True


cdef void echo_source_route(const Packet* pkt, const uint8_t* option, Echo* echo) noexcept nogil:
    """The way back: the list turned round."""
    cdef uint8_t* copy = echo.data + echo.length
    cdef int32_t at = option[2]
    cdef int32_t written = 0
    if at > option[1]:
        at = option[1] + 1
    at -= 4
    if at > 3:
        memcpy(echo.first_hop.b, option + at - 1, 4)
        at -= 4
        written = 4
        while at > 3:
            memcpy(copy + written - 1, option + at - 1, 4)
            at -= 4
            written += 4
        if memcmp(packet_ip(pkt) + 12, option + at + 3, 4) == 0:    # RFC 1812: mend illegal source routes
            written -= 4
    if written > 3:
        copy[0] = option[0]
        copy[1] = <uint8_t>(written + 3)
        copy[2] = 4
        echo.srr = <uint8_t>(20 + echo.length)
        echo.source_route = 1
        echo.length += <uint32_t>(written + 3)


cdef void options_build(Net* net, Packet* new, const Echo* echo, const Addr* source) noexcept nogil:
    cdef uint8_t* ip = packet_ip(new)
    cdef uint8_t* option
    new.options = <uint8_t>echo.length
    if echo.length == 0:
        return
    memcpy(ip + 20, echo.data, echo.length)
    if echo.srr:
        option = ip + echo.srr
        memcpy(option + option[1] - 4, new.scratch.b, 4)
    if echo.need & NEED_RR_ADDRESS:
        option = ip + echo.rr
        memcpy(option + option[2] - 5, source.b, 4)
    if echo.need & NEED_TS_ADDRESS:
        option = ip + echo.ts
        memcpy(option + option[2] - 9, source.b, 4)
    if echo.need & NEED_TS_TIME:
        option = ip + echo.ts
        store_be32(option + option[2] - 5, milliseconds_of_day(net))
