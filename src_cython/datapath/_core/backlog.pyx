"""The backlog: a walk ends before what it sent to the node itself begins (net/core/dev.c, enqueue_to_backlog)."""
from libc.stdlib cimport calloc, free

from datapath._core.context cimport route_slot
from datapath._core.outcome cimport packet_drop
from datapath._core.pool cimport packet_free
from datapath._core.verdict cimport DROP_FULL_RING, HOOK_POSTROUTING
from datapath._core.walk cimport walk_looped

cdef enum:
    MOST_PASSES = 10000     # of one call: nothing that Linux does comes near


cdef int backlog_init(Net* net) except -1:
    cdef Backlog* backlog = <Backlog*>calloc(1, sizeof(Backlog))
    net.backlog = backlog
    if backlog == NULL:
        raise MemoryError
    backlog.entries = <Waiting*>calloc(BACKLOG_MAX, sizeof(Waiting))
    if backlog.entries == NULL:
        raise MemoryError
    return 0


cdef void backlog_free(Net* net) noexcept nogil:
    cdef Backlog* backlog = <Backlog*>net.backlog
    if backlog == NULL:
        return
    free(backlog.entries)
    free(backlog)
    net.backlog = NULL


cdef void backlog_add(Net* net, Packet* pkt) noexcept nogil:
    cdef Backlog* backlog = <Backlog*>net.backlog
    cdef Waiting* entry
    if backlog.count == BACKLOG_MAX:
        packet_drop(net, pkt, HOOK_POSTROUTING, DROP_FULL_RING)
        return
    entry = &backlog.entries[(backlog.first + backlog.count) % BACKLOG_MAX]
    backlog.count += 1
    entry.pkt = pkt
    entry.routed = pkt.route >= 0
    if entry.routed:
        entry.route = net.routes[pkt.route]


cdef void backlog_run(Net* net) noexcept nogil:
    cdef Backlog* backlog = <Backlog*>net.backlog
    cdef Waiting* entry
    cdef Packet* pkt
    cdef uint32_t depth = net.recorder.depth
    cdef uint32_t passes = 0
    while backlog.count:
        entry = &backlog.entries[backlog.first]
        backlog.first = (backlog.first + 1) % BACKLOG_MAX
        backlog.count -= 1
        pkt = entry.pkt
        passes += 1
        if passes > MOST_PASSES:
            packet_free(net, pkt)
            continue
        if entry.routed:
            pkt.route = route_slot(net)
            net.routes[pkt.route] = entry.route
        net.nesting += 1
        walk_looped(net, pkt)
        net.nesting -= 1
    net.recorder.depth = depth
