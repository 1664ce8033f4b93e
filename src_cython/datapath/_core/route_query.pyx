"""Routing questions from Python: what `ip route get` asks (inet_rtm_getroute, inet6_rtm_getroute), and about addresses."""
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from datapath._core.context cimport Net, Walk
from datapath._core.fib cimport Flow, RouteDecision
from datapath._core.packet cimport Packet
from datapath._core.route cimport (
    address_is_local, address_type, addrtype6_fits, masquerade_address, reverse_path_ok, route_input, route_output, select_source,
)
from datapath._core.tuples cimport Addr
from datapath._core.wire cimport store_be16


cdef Addr address_of(bytes packed):
    cdef Addr made
    memset(&made, 0, sizeof(Addr))
    memcpy(&made, <const char*>packed, min(16, len(packed)))
    return made


cdef void packet_make(Packet* pkt, uint8_t* room, dict question) except *:
    """A header that asks the question; `room` is 64 bytes."""
    cdef Addr src = address_of(question["src"])
    cdef Addr dst = address_of(question["dst"])
    cdef uint8_t tos = question["tos"]
    memset(pkt, 0, sizeof(Packet))
    memset(room, 0, 64)
    pkt.head = room
    pkt.family = question["family"]
    pkt.protocol = question["protocol"]
    pkt.mark = question["mark"]
    pkt.dev = question["iif"]
    pkt.route = -1
    pkt.len = pkt.present = 64
    pkt.transport = 20 if pkt.family == 4 else 40
    if pkt.family == 4:
        room[0] = 0x45
        room[1] = tos
        room[9] = pkt.protocol
        memcpy(room + 12, &src, 4)
        memcpy(room + 16, &dst, 4)
    else:
        room[0] = <uint8_t>(0x60 | tos >> 4)
        room[1] = <uint8_t>(tos << 4)
        room[6] = pkt.protocol
        memcpy(room + 8, &src, 16)
        memcpy(room + 24, &dst, 16)
    store_be16(room + pkt.transport, question["sport"])
    store_be16(room + pkt.transport + 2, question["dport"])


cdef dict decision_dict(const RouteDecision* decision):
    cdef bytes gateway = (<const char*>&decision.gateway)[:16]
    cdef bytes source = (<const char*>&decision.source)[:16]
    return {
        "type": decision.type, "error": decision.error, "dev": decision.dev, "route": decision.route, "rule": decision.rule,
        "table": decision.table, "metric": decision.metric, "mtu": decision.mtu, "redirect": bool(decision.redirect),
        "broadcast": bool(decision.broadcast), "onlink": bool(decision.onlink), "prefix_length": decision.prefix_length,
        "gateway": gateway[:4 if decision.gateway_family == 4 else 16] if decision.has_gateway else None,
        "source": source[:4 if decision.family == 4 else 16],
    }


cdef dict route_query(Net* net, dict question):
    cdef Packet pkt
    cdef uint8_t[64] room
    cdef Walk walk
    cdef Flow flow
    cdef RouteDecision decision
    cdef int32_t dev = question["iif"]
    cdef int reason
    cdef Addr address
    kind = question["kind"]
    packet_make(&pkt, room, question)
    memset(&walk, 0, sizeof(Walk))
    walk.net = net
    walk.pkt = &pkt
    walk.family = pkt.family
    walk.in_dev = dev
    walk.out_dev = -1
    if kind == "input":
        reason = route_input(&walk)
        return {"reason": reason, **(decision_dict(&net.routes[pkt.route]) if pkt.route >= 0 else {})}
    memset(&flow, 0, sizeof(Flow))
    flow.family = pkt.family
    flow.src = address_of(question["src"])
    flow.dst = address_of(question["dst"])
    flow.oif = question["oif"]
    flow.mark = pkt.mark
    flow.uid = question["uid"]
    flow.tos = question["tos"]
    flow.protocol = pkt.protocol
    flow.sport = question["sport"]
    flow.dport = question["dport"]
    if kind == "output":
        route_output(net, NULL, &flow, &decision)
        return decision_dict(&decision)
    if kind == "address_type":
        return {
            "type": address_type(net, flow.family, &flow.dst, flow.oif), "local": address_is_local(net, flow.family, &flow.dst, flow.oif),
            "fits6": [bit for bit in range(8) if flow.family == 6 and addrtype6_fits(net, &flow.dst, flow.oif, 1 << <int>bit)],
        }
    if kind == "reverse_path":
        return {"ok": reverse_path_ok(net, &pkt, dev, question["flags"])}
    if kind == "masquerade":
        route_output(net, NULL, &flow, &decision)
        found = masquerade_address(net, flow.family, flow.oif, &decision, &flow.dst, &address)
    else:
        found = select_source(net, flow.family, flow.oif, &flow.dst, question["scope"], &address)
    return {"address": (<char*>&address)[:4 if flow.family == 4 else 16] if found else None}
