"""Neighbours: resolution, the queue of packets that wait for it, failure (net/core/neighbour.c)."""
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from datapath._core.arp cimport arp_solicit
from datapath._core.context cimport route_slot
from datapath._core.device cimport DEVICE_LOOPBACK, Device
from datapath._core.fib cimport RTN_BROADCAST
from datapath._core.icmp cimport icmp_send
from datapath._core.ndisc cimport ndisc_solicit
from datapath._core.outcome cimport packet_became, packet_drop
from datapath._core.packet cimport packet_destination
from datapath._core.record cimport STEP_NEIGHBOUR, record
from datapath._core.route cimport address_type
from datapath._core.transmit cimport device_xmit
from datapath._core.tuples cimport addr_equal
from datapath._core.verdict cimport (
    DROP_NEIGH_CREATEFAIL, DROP_NEIGH_FAILED, DROP_NEIGH_QUEUEFULL, DROP_NOMEM, HOOK_POSTROUTING, OUTCOME_QUEUED,
)
from datapath._core.walk cimport walk_begin
from datapath._core.context cimport Walk

cdef enum:
    UNREACHABLE = 3
    HOST_UNREACHABLE = 1
    UNREACHABLE6 = 1
    ADDRESS_UNREACHABLE = 3
    MILLISECOND = 1000000
    SHORTEST_RETRY_MS = 10
    RESOLVED = 0            # what STEP_NEIGHBOUR says
    ASKED = 1
    FAILED = 2
    STATE_INCOMPLETE = 1    # NUD_* as the kernel prints them
    STATE_REACHABLE = 2
    STATE_FAILED = 0x20
    STATE_NOARP = 0x40
    STATE_PERMANENT = 0x80
    FLAG_PROXY = 2
    PROXY_FAMILY = 0x80     # proxies stand in the same table, as another family


cdef int neighbours_init(Net* net) except -1:
    cdef Neighbours* table = <Neighbours*>calloc(1, sizeof(Neighbours))
    net.neighbours = table
    if table == NULL:
        raise MemoryError
    table.due_ns = <uint64_t>0xFFFFFFFFFFFFFFFF
    return 0


cdef void forget_all(Net* net, Neighbours* table) noexcept nogil:
    cdef Neighbour* neigh
    cdef int i
    for i in range(4096):
        while table.buckets[i] != NULL:
            neigh = table.buckets[i]
            table.buckets[i] = neigh.hash_next
            give_up_waiting(net, neigh)
            free(neigh)
    table.timed = NULL
    table.due_ns = <uint64_t>0xFFFFFFFFFFFFFFFF


cdef void give_up_waiting(Net* net, Neighbour* neigh) noexcept nogil:
    cdef WaitingPacket* waiting
    while neigh.first != NULL:
        waiting = take_waiting(neigh)
        packet_drop(net, waiting.pkt, HOOK_POSTROUTING, DROP_NEIGH_FAILED)
        free(waiting)


cdef void neighbours_free(Net* net) noexcept nogil:
    cdef Neighbours* table = <Neighbours*>net.neighbours
    if table == NULL:
        return
    forget_all(net, table)
    free(table)
    net.neighbours = NULL


cdef int neighbours_load(Net* net, object entries) except -1:
    """Replace the table. What is not PERMANENT or NOARP but has an address is taken to be reachable."""
    cdef Neighbours* table = <Neighbours*>net.neighbours
    cdef Neighbour* neigh
    cdef Addr addr
    cdef bytes packed
    cdef bytes link
    forget_all(net, table)
    table.known = entries is not None
    for dev, packed, family, link, state, flags in entries or ():
        memcpy(&addr, <const char*>packed, 16)
        neigh = neighbour_lookup(net, family | (PROXY_FAMILY if flags & FLAG_PROXY else 0), dev, &addr, True)
        if neigh == NULL:
            raise MemoryError
        neigh.state = NUD_FAILED
        if flags & FLAG_PROXY:
            neigh.state = NUD_PROXY
        elif state & (STATE_PERMANENT | STATE_NOARP):
            neigh.state = NUD_PERMANENT
        elif len(link) == 6 and not state & (STATE_FAILED | STATE_INCOMPLETE):
            neigh.state = NUD_VALID
        if len(link) == 6:
            memcpy(neigh.mac, <const char*>link, 6)
    return 0


cdef list neighbours_entries(Net* net):
    cdef Neighbours* table = <Neighbours*>net.neighbours
    cdef Neighbour* neigh
    cdef list found = []
    cdef int i
    bits = {NUD_NONE: 0, NUD_INCOMPLETE: STATE_INCOMPLETE, NUD_VALID: STATE_REACHABLE, NUD_FAILED: STATE_FAILED, NUD_PERMANENT: STATE_PERMANENT}
    for i in range(4096):
        neigh = table.buckets[i]
        while neigh != NULL:
            if neigh.state != NUD_PROXY:
                link = (<char*>neigh.mac)[:6] if neigh.state == NUD_VALID or neigh.state == NUD_PERMANENT else b""
                found.append((neigh.dev, (<char*>neigh.addr.b)[:16], neigh.family, link, bits[neigh.state]))
            neigh = neigh.hash_next
    return found


cdef NeighbourParameters neighbour_parameters(const Net* net, int32_t dev, uint8_t family) noexcept nogil:
    cdef NeighbourParameters found = net.devices[dev].neigh[0 if family == 4 else 1]
    if not found.known:
        found.retrans_ms = 1000
        found.mcast_solicit = 3
        found.ucast_solicit = 3
        found.app_solicit = 0
        found.unres_qlen_bytes = 212992
    return found


# ---- finding ----

cdef void next_hop(const Net* net, const Packet* pkt, Addr* hop) noexcept nogil:
    cdef const RouteDecision* route = &net.routes[pkt.route]
    hop[0] = route.gateway if route.has_gateway else packet_destination(pkt)


cdef uint8_t hop_family(const Net* net, const Packet* pkt) noexcept nogil:
    cdef const RouteDecision* route = &net.routes[pkt.route]
    return 6 if route.has_gateway and route.gateway_family == 6 else pkt.family


cdef inline uint32_t bucket_of(int32_t dev, const Addr* addr) noexcept nogil:
    cdef uint64_t h = (addr.q[0] ^ addr.q[1] * <uint64_t>0x9E3779B97F4A7C15 ^ <uint64_t>dev << 40) * <uint64_t>0x9FB21C651E98DF25
    return <uint32_t>(h >> 52)


cdef Neighbour* neighbour_lookup(Net* net, uint8_t family, int32_t dev, const Addr* addr, bint create) noexcept nogil:
    cdef Neighbours* table = <Neighbours*>net.neighbours
    cdef uint32_t place = bucket_of(dev, addr)
    cdef Neighbour* neigh = table.buckets[place]
    while neigh != NULL:
        if neigh.dev == dev and neigh.family == family and addr_equal(&neigh.addr, addr):
            return neigh
        neigh = neigh.hash_next
    if not create:
        return NULL
    neigh = <Neighbour*>calloc(1, sizeof(Neighbour))
    if neigh == NULL:
        return NULL
    neigh.addr = addr[0]
    neigh.dev = dev
    neigh.family = family
    neigh.updated_ns = -<int64_t>0x3FFFFFFFFFFFFFFF
    neigh.hash_next = table.buckets[place]
    table.buckets[place] = neigh
    construct(net, table, neigh)
    return neigh


cdef void construct(Net* net, Neighbours* table, Neighbour* neigh) noexcept nogil:
    """arp_constructor: a broadcast address needs no question. Without a neighbour table every neighbour is taken to
    answer: with the link address that its own address suggests, since the true one is not known."""
    if neigh.family == 4 and address_type(net, 4, &neigh.addr, -1) == RTN_BROADCAST:
        neigh.state = NUD_PERMANENT
        memset(neigh.mac, 0xFF, 6)
    elif not table.known:
        neigh.state = NUD_VALID
        neigh.mac[0] = 2
        neigh.mac[1] = 0xFF
        if neigh.family == 4:
            memcpy(neigh.mac + 2, neigh.addr.b, 4)
        elif neigh.addr.b[11] == 0xFF and neigh.addr.b[12] == 0xFE:     # made from the link address (RFC 4291, appendix A)
            neigh.mac[0] = neigh.addr.b[8] ^ 2
            memcpy(neigh.mac + 1, neigh.addr.b + 9, 2)
            memcpy(neigh.mac + 3, neigh.addr.b + 13, 3)
        else:
            memcpy(neigh.mac + 2, neigh.addr.b + 12, 4)


cdef bint is_proxy(Net* net, uint8_t family, int32_t dev, const Addr* addr) noexcept nogil:
    return neighbour_lookup(net, family | <uint8_t>PROXY_FAMILY, dev, addr, False) != NULL


cdef bint address_needs_no_question(const Device* dev, const Addr* hop, uint8_t family, uint8_t* mac) noexcept nogil:
    """Multicast addresses are mapped; a device without ARP, and the loopback, gets its own address."""
    if family == 4 and hop.b[0] & 0xF0 == 0xE0:
        mac[0] = 0x01
        mac[1] = 0x00
        mac[2] = 0x5E
        mac[3] = hop.b[1] & 0x7F
        mac[4] = hop.b[2]
        mac[5] = hop.b[3]
        return True
    if family == 6 and hop.b[0] == 0xFF:
        mac[0] = 0x33
        mac[1] = 0x33
        memcpy(mac + 2, hop.b + 12, 4)
        return True
    if dev.noarp or dev.kind == DEVICE_LOOPBACK or not dev.has_link_header:
        memcpy(mac, dev.mac, 6)
        return True
    return False


# ---- sending ----

cdef void neighbour_output(Net* net, Packet* pkt) noexcept nogil:
    cdef const Device* dev = &net.devices[pkt.dev]
    cdef uint8_t family = hop_family(net, pkt)
    cdef uint8_t mac[6]
    cdef Addr hop
    cdef Neighbour* neigh
    next_hop(net, pkt, &hop)
    if address_needs_no_question(dev, &hop, family, mac):
        device_xmit(net, pkt, mac)
        return
    neigh = neighbour_lookup(net, family, pkt.dev, &hop, True)
    if neigh == NULL:
        packet_drop(net, pkt, HOOK_POSTROUTING, DROP_NEIGH_CREATEFAIL)
    elif neigh.state == NUD_VALID or neigh.state == NUD_PERMANENT:
        device_xmit(net, pkt, neigh.mac)
    else:
        wait(net, neigh, pkt)


cdef uint32_t true_size(const Packet* pkt) noexcept nogil:
    """About what skb->truesize says: the buffer's slab and the head of 256 bytes."""
    cdef uint32_t need = pkt.len + 16 + 14 + 320
    cdef uint32_t slab = 512
    while slab < need:
        slab *= 2
    return slab + 256


cdef void wait(Net* net, Neighbour* neigh, Packet* pkt) noexcept nogil:
    """__neigh_event_send: queue the packet, and ask if nobody has yet."""
    cdef NeighbourParameters parameters = neighbour_parameters(net, neigh.dev, neigh.family)
    cdef bint ask = neigh.state != NUD_INCOMPLETE
    cdef WaitingPacket* waiting
    if ask and parameters.mcast_solicit + parameters.app_solicit == 0:
        neigh.state = NUD_FAILED
        packet_drop(net, pkt, HOOK_POSTROUTING, DROP_NEIGH_FAILED)
        return
    waiting = <WaitingPacket*>malloc(sizeof(WaitingPacket))
    if waiting == NULL:
        packet_drop(net, pkt, HOOK_POSTROUTING, DROP_NOMEM)
        return
    if ask:
        neigh.probes = parameters.ucast_solicit
        neigh.state = NUD_INCOMPLETE
        neigh.updated_ns = <int64_t>net.now_ns
        start_timer(net, neigh, &parameters)
    waiting.pkt = pkt
    waiting.route = net.routes[pkt.route]
    waiting.size = true_size(pkt)
    waiting.next = NULL
    make_room(net, neigh, waiting.size, parameters.unres_qlen_bytes)
    if neigh.first == NULL:
        neigh.first = waiting
    else:
        neigh.last.next = waiting
    neigh.last = waiting
    neigh.waiting_bytes += waiting.size
    packet_became(net, pkt, OUTCOME_QUEUED)
    pkt.main = 0
    record(&net.recorder, STEP_NEIGHBOUR, HOOK_POSTROUTING, 0, ASKED, pkt.dev, ask, 0, False)
    if ask:
        probe(net, neigh)


cdef void make_room(Net* net, Neighbour* neigh, uint32_t size, uint32_t limit) noexcept nogil:
    cdef WaitingPacket* oldest
    while neigh.first != NULL and neigh.waiting_bytes + size > limit:
        oldest = take_waiting(neigh)
        packet_drop(net, oldest.pkt, HOOK_POSTROUTING, DROP_NEIGH_QUEUEFULL)
        free(oldest)


cdef WaitingPacket* take_waiting(Neighbour* neigh) noexcept nogil:
    cdef WaitingPacket* waiting = neigh.first
    neigh.first = waiting.next
    neigh.waiting_bytes -= waiting.size
    return waiting


cdef void probe(Net* net, Neighbour* neigh) noexcept nogil:
    """neigh_probe: the last packet that waits lends the question its source address."""
    cdef const Packet* last = neigh.last.pkt if neigh.first != NULL else NULL
    neigh.probes += 1
    if neigh.family == 4:
        arp_solicit(net, neigh.dev, &neigh.addr, last)
    else:
        ndisc_solicit(net, neigh.dev, &neigh.addr, last)


cdef void start_timer(Net* net, Neighbour* neigh, const NeighbourParameters* parameters) noexcept nogil:
    cdef Neighbours* table = <Neighbours*>net.neighbours
    cdef uint64_t pause = max(parameters.retrans_ms, <uint32_t>SHORTEST_RETRY_MS)
    if neigh.timer_ns == 0:
        neigh.timed_next = table.timed
        table.timed = neigh
    neigh.timer_ns = net.now_ns + pause * MILLISECOND
    table.due_ns = min(table.due_ns, neigh.timer_ns)


cdef void stop_timer(Net* net, Neighbour* neigh) noexcept nogil:
    cdef Neighbours* table = <Neighbours*>net.neighbours
    cdef Neighbour** link = &table.timed
    if neigh.timer_ns == 0:
        return
    while link[0] != neigh:
        link = &link[0].timed_next
    link[0] = neigh.timed_next
    neigh.timer_ns = 0
    find_due(table)


cdef void find_due(Neighbours* table) noexcept nogil:
    cdef Neighbour* neigh = table.timed
    table.due_ns = <uint64_t>0xFFFFFFFFFFFFFFFF
    while neigh != NULL:
        table.due_ns = min(table.due_ns, neigh.timer_ns)
        neigh = neigh.timed_next


# ---- hearing ----

cdef void neighbour_update(Net* net, Neighbour* neigh, const uint8_t* mac, bint override) noexcept nogil:
    """What was heard of it. A valid entry gets another address only with `override`."""
    if neigh.state == NUD_PERMANENT:
        return
    if neigh.state == NUD_VALID and (memcmp(neigh.mac, mac, 6) == 0 or not override):
        return
    stop_timer(net, neigh)
    memcpy(neigh.mac, mac, 6)
    neigh.updated_ns = <int64_t>net.now_ns
    neigh.state = NUD_VALID
    release(net, neigh)


cdef void release(Net* net, Neighbour* neigh) noexcept nogil:
    """The packets that waited leave, in their order."""
    cdef WaitingPacket* waiting
    while neigh.first != NULL:
        waiting = take_waiting(neigh)
        waiting.pkt.route = route_slot(net)
        net.routes[waiting.pkt.route] = waiting.route
        record(&net.recorder, STEP_NEIGHBOUR, HOOK_POSTROUTING, 0, RESOLVED, neigh.dev, 0, 0, False)
        device_xmit(net, waiting.pkt, neigh.mac)
        free(waiting)


# ---- time ----

cdef uint64_t neighbours_due(Net* net) noexcept nogil:
    return (<Neighbours*>net.neighbours).due_ns


cdef void neighbours_advance(Net* net) noexcept nogil:
    cdef Neighbours* table = <Neighbours*>net.neighbours
    cdef Neighbour* neigh = table.timed
    cdef Neighbour* next_timed
    while neigh != NULL:
        next_timed = neigh.timed_next
        if neigh.timer_ns <= net.now_ns:
            timer(net, neigh)
        neigh = next_timed
    find_due(table)


cdef void timer(Net* net, Neighbour* neigh) noexcept nogil:
    """neigh_timer_handler of an INCOMPLETE entry."""
    cdef NeighbourParameters parameters = neighbour_parameters(net, neigh.dev, neigh.family)
    if neigh.probes >= parameters.ucast_solicit + parameters.app_solicit + parameters.mcast_solicit:
        stop_timer(net, neigh)
        neigh.state = NUD_FAILED
        neigh.updated_ns = <int64_t>net.now_ns
        invalidate(net, neigh)
        return
    start_timer(net, neigh, &parameters)
    probe(net, neigh)


cdef void invalidate(Net* net, Neighbour* neigh) noexcept nogil:
    """neigh_invalidate: whoever sent what waits hears that the host cannot be reached."""
    cdef WaitingPacket* waiting
    cdef Walk walk
    while neigh.state == NUD_FAILED and neigh.first != NULL:
        waiting = take_waiting(neigh)
        waiting.pkt.route = route_slot(net)
        net.routes[waiting.pkt.route] = waiting.route
        record(&net.recorder, STEP_NEIGHBOUR, HOOK_POSTROUTING, 0, FAILED, neigh.dev, 0, 0, False)
        walk_begin(&walk, net, waiting.pkt, waiting.pkt.in_dev, neigh.dev)
        if waiting.pkt.family == 4:
            icmp_send(&walk, UNREACHABLE, HOST_UNREACHABLE, 0)
        else:
            icmp_send(&walk, UNREACHABLE6, ADDRESS_UNREACHABLE, 0)
        packet_drop(net, waiting.pkt, HOOK_POSTROUTING, DROP_NEIGH_FAILED)
        free(waiting)
