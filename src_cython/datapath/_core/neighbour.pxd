# The neighbour tables (struct neighbour): the link address of each next hop, and the packets that wait for it.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from datapath._core.context cimport Net
from datapath._core.device cimport NeighbourParameters
from datapath._core.fib cimport RouteDecision
from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Addr


cdef enum NeighbourState:   # NUD_*. Ageing is not emulated: an entry that has an address keeps it.
    NUD_NONE = 0
    NUD_INCOMPLETE = 1
    NUD_VALID = 2           # REACHABLE, STALE, DELAY, PROBE
    NUD_FAILED = 3
    NUD_PERMANENT = 4       # and NOARP: never changed by what is heard
    NUD_PROXY = 5           # not a neighbour: the node answers for it (struct pneigh_entry)


cdef struct WaitingPacket:
    Packet* pkt
    RouteDecision route
    uint32_t size           # as Linux counts it against unres_qlen_bytes
    WaitingPacket* next


cdef struct Neighbour:
    Addr addr
    int32_t dev
    uint8_t family
    uint8_t state           # NeighbourState
    uint8_t mac[6]
    uint32_t probes         # requests that were sent without an answer
    uint64_t timer_ns       # INCOMPLETE: when the next one is due
    int64_t updated_ns      # when its address or state changed; long ago for what the node's table holds
    WaitingPacket* first
    WaitingPacket* last
    uint32_t waiting_bytes
    Neighbour* hash_next
    Neighbour* timed_next   # of those whose timer runs


cdef struct Neighbours:
    Neighbour* buckets[4096]
    Neighbour* timed
    uint64_t due_ns         # the earliest timer
    uint8_t known           # the node's table was given: who is not in it has to be asked for


cdef int neighbours_init(Net* net) except -1
cdef void neighbours_free(Net* net) noexcept nogil
cdef int neighbours_load(Net* net, object entries) except -1    # CompiledHost.neighbours; None: no table was given
cdef list neighbours_entries(Net* net)      # [(device, address of 16 bytes, family, link address or b"", state bits as in the kernel)]

cdef void next_hop(const Net* net, const Packet* pkt, Addr* hop) noexcept nogil     # rt_nexthop, rt6_nexthop
cdef void neighbour_output(Net* net, Packet* pkt) noexcept nogil    # neigh_output; the packet is given away
cdef Neighbour* neighbour_lookup(Net* net, uint8_t family, int32_t dev, const Addr* addr, bint create) noexcept nogil
cdef void neighbour_update(Net* net, Neighbour* neigh, const uint8_t* mac, bint override) noexcept nogil   # neigh_update to a valid state
cdef NeighbourParameters neighbour_parameters(const Net* net, int32_t dev, uint8_t family) noexcept nogil
cdef bint is_proxy(Net* net, uint8_t family, int32_t dev, const Addr* addr) noexcept nogil  # pneigh_lookup
cdef uint64_t neighbours_due(Net* net) noexcept nogil
cdef void neighbours_advance(Net* net) noexcept nogil               # the timers that are due
