"""The pool of packets: a free list, so that a replay allocates only for the most packets that are held at once."""
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from datapath._core.conntrack cimport conntrack_put
from datapath._core.conntrack cimport conntrack_put
from datapath._core.packet cimport HEADROOM

cdef enum:
    FIRST_SIZE = 2048 + HEADROOM


cdef int pool_init(Net* net) except -1:
    net.pool = calloc(1, sizeof(PacketPool))
    if net.pool == NULL:
        raise MemoryError
    return 0


cdef void pool_free(Net* net) noexcept nogil:
    cdef PacketPool* pool = <PacketPool*>net.pool
    cdef Packet* pkt
    if pool == NULL:
        return
    while pool.free != NULL:
        pkt = pool.free
        pool.free = pkt.next
        free(pkt.head)
        free(pkt)
    free(pool)
    net.pool = NULL


cdef uint32_t pool_in_use(const Net* net) noexcept nogil:
    return (<PacketPool*>net.pool).in_use


cdef Packet* packet_new(Net* net) noexcept nogil:
    """A packet with an empty buffer: the IP header will stand behind the headroom."""
    cdef PacketPool* pool = <PacketPool*>net.pool
    cdef Packet* pkt = pool.free
    cdef uint8_t* head
    cdef uint32_t size
    if pkt != NULL:
        pool.free = pkt.next
        head = pkt.head
        size = pkt.size
    else:
        pkt = <Packet*>malloc(sizeof(Packet))
        head = <uint8_t*>malloc(FIRST_SIZE)
        size = FIRST_SIZE
        if pkt == NULL or head == NULL:
            free(pkt)
            free(head)
            return NULL
    packet_clear(pkt)
    pkt.head = head
    pkt.size = size
    pool.in_use += 1
    return pkt


cdef void packet_clear(Packet* pkt) noexcept nogil:
    memset(pkt, 0, sizeof(Packet))
    pkt.mac = HEADROOM
    pkt.net = HEADROOM
    pkt.dev = -1
    pkt.in_dev = -1
    pkt.route = -1


cdef void packet_free(Net* net, Packet* pkt) noexcept nogil:
    cdef PacketPool* pool = <PacketPool*>net.pool
    if pkt == NULL:
        return
    conntrack_put(net, pkt.ct)
    pkt.next = pool.free
    pool.free = pkt
    pool.in_use -= 1


cdef bint packet_reserve(Packet* pkt, uint32_t n) noexcept nogil:
    cdef uint8_t* larger
    if pkt.size >= n + HEADROOM:
        return True
    larger = <uint8_t*>malloc(n + HEADROOM)
    if larger == NULL:
        return False
    free(pkt.head)
    pkt.head = larger
    pkt.size = n + HEADROOM
    return True


cdef bint packet_expand(Packet* pkt, uint32_t n) noexcept nogil:
    cdef uint8_t* larger
    if pkt.size - pkt.net >= n:
        return True
    larger = <uint8_t*>realloc(pkt.head, pkt.net + n)
    if larger == NULL:
        return False
    pkt.head = larger
    pkt.size = pkt.net + n
    return True


cdef Packet* packet_copy(Net* net, const Packet* old) noexcept nogil:
    cdef Packet* pkt = packet_new(net)
    cdef uint8_t* head
    cdef uint32_t size
    if pkt == NULL:
        return NULL
    if not packet_reserve(pkt, old.net - HEADROOM + old.present if old.net > HEADROOM else old.present):
        packet_free(net, pkt)
        return NULL
    head = pkt.head
    size = pkt.size
    pkt[0] = old[0]
    pkt.head = head
    pkt.size = size
    pkt.next = NULL
    pkt.ct = NULL
    pkt.main = 0
    pkt.pieces = NULL
    pkt.n_pieces = 0
    memcpy(head + old.mac, old.head + old.mac, old.net - old.mac + old.present)
    return pkt
