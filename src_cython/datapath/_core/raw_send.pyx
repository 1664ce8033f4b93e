"""Sending from a raw socket with a header of its own (net/ipv4/raw.c, raw_send_hdrinc; net/ipv6/raw.c)."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from datapath._core.draws cimport draw_u32
from datapath._core.exthdr cimport packet_find_transport
from datapath._core.fib cimport Flow, RouteDecision
from datapath._core.outcome cimport EINVAL, EMSGSIZE, packet_drop
from datapath._core.packet cimport packet_destination, packet_ip, packet_source
from datapath._core.receive cimport ETH_P_IP, ETH_P_IPV6
from datapath._core.route cimport address_is_local, route_output
from datapath._core.tuples cimport addr_is_zero
from datapath._core.verdict cimport DROP_IP_INHDR, DROP_IP_OUTNOROUTES, DROP_NOT_SPECIFIED, DROP_PKT_TOO_BIG, HOOK_OUTPUT
from datapath._core.wire cimport fold, load_be16, store_be16, sum_bytes


cdef bint refuse(Net* net, Packet* pkt, int errno, uint8_t reason) noexcept nogil:
    net.error = errno
    packet_drop(net, pkt, HOOK_OUTPUT, reason)
    return False


cdef bint send_route(Net* net, Packet* pkt) noexcept nogil:
    """Route it as its socket would: bound to the header's source if that is one of the node's own, TOS not set."""
    cdef Flow flow
    cdef RouteDecision route
    cdef int32_t bound = pkt.dev
    cdef int errno
    pkt.family = 6 if pkt.present and packet_ip(pkt)[0] >> 4 == 6 else 4
    pkt.ethertype = ETH_P_IPV6 if pkt.family == 6 else ETH_P_IP
    if pkt.present < <uint32_t>(40 if pkt.family == 6 else 20):
        return refuse(net, pkt, EINVAL, DROP_IP_INHDR)
    memset(&flow, 0, sizeof(Flow))
    memset(&route, 0, sizeof(RouteDecision))
    flow.family = pkt.family
    flow.src = packet_source(pkt)
    flow.dst = packet_destination(pkt)
    if pkt.family == 6 and addr_is_zero(&flow.dst):
        flow.dst.b[15] = 1      # "any" means the loopback
    if not addr_is_zero(&flow.src) and not address_is_local(net, pkt.family, &flow.src, -1):
        memset(&flow.src, 0, 16)
    flow.iif = -1
    flow.oif = bound
    flow.bound = bound >= 0
    flow.mark = pkt.mark
    flow.uid = pkt.uid
    flow.protocol = 255     # IPPROTO_RAW
    errno = route_output(net, pkt, &flow, &route)
    if errno:
        return refuse(net, pkt, errno, DROP_IP_OUTNOROUTES)
    if pkt.len > net.devices[route.dev].mtu:
        return refuse(net, pkt, EMSGSIZE, DROP_PKT_TOO_BIG)
    pkt.dev = -1
    if pkt.family == 4 and not complete_header(net, pkt, &flow):
        return refuse(net, pkt, EINVAL, DROP_NOT_SPECIFIED)
    packet_find_transport(pkt)
    return True


cdef bint complete_header(Net* net, Packet* pkt, const Flow* flow) noexcept nogil:
    """The kernel fills in source and identification where they are 0, and always length and checksum."""
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint32_t header = (ip[0] & 0xF) * 4
    if header < 20 or header > pkt.present:
        return False
    if ip[12] == 0 and ip[13] == 0 and ip[14] == 0 and ip[15] == 0:
        memcpy(ip + 12, flow.src.b, 4)
    store_be16(ip + 2, <uint16_t>pkt.len)
    if load_be16(ip + 4) == 0 and not load_be16(ip + 6) & 0x4000:
        store_be16(ip + 4, <uint16_t>draw_u32(&net.draws))
    store_be16(ip + 10, 0)
    store_be16(ip + 10, <uint16_t>~fold(sum_bytes(ip, header)))
    return True
