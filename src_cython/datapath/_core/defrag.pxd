# Putting fragments together (struct inet_frag_queue).
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Addr


cdef enum DefragUser:       # enum ip_defrag_users: packets of different users never meet
    DEFRAG_LOCAL_DELIVER = 0
    DEFRAG_CONNTRACK_IN = 0x10000       # + zone
    DEFRAG_CONNTRACK_OUT = 0x20000      # + zone


cdef struct FragmentKey:
    Addr src
    Addr dst
    uint32_t id
    uint32_t user
    int32_t dev             # that it belongs to (IPv6 multicast and link-local; a VRF), -1
    uint8_t family
    uint8_t protocol
    uint8_t pad[6]


cdef struct Run:            # fragments that follow each other without a hole
    uint32_t start
    uint32_t end


cdef struct Queue:
    FragmentKey key
    Packet* first           # the fragments by offset, linked by Packet.next
    Run* runs               # by start
    uint32_t n_runs
    uint32_t runs_capacity
    uint32_t tail_run       # the run that the fragment with the highest offset is in
    uint32_t n_fragments
    uint32_t length         # of the whole payload as far as known
    uint32_t meat           # bytes that are there
    uint32_t max_size
    uint32_t max_df_size
    uint32_t rid            # for the distance to other packets of the source
    int32_t dev
    uint8_t ecn             # bits 1 << ECN of the fragments
    uint8_t first_in
    uint8_t last_in
    uint64_t expires_ns
    Queue* hash_next
    Queue* older            # all queues, in the order in which they were made
    Queue* newer


cdef struct Fragments:
    Queue* buckets[1024]
    Queue* oldest[3]        # by timeout: IPv4, IPv6, IPv6 for conntrack
    Queue* newest[3]
    uint64_t memory[3]      # in bytes, as Linux counts it


cdef int fragments_init(Net* net) except -1
cdef void fragments_free(Net* net) noexcept nogil
cdef int defrag_ipv4(Walk* walk, uint32_t user) noexcept nogil      # ip_defrag: NF_ACCEPT: walk.pkt is whole now; NF_STOLEN: it is gone
cdef int defrag_ipv6(Walk* walk, uint32_t user) noexcept nogil      # nf_ct_frag6_gather: NF_ACCEPT, NF_STOLEN, or NF_DROP (walk.pkt is still there)
cdef int defrag_ipv6_local(Walk* walk, uint32_t offset) noexcept nogil      # ipv6_frag_rcv: NF_ACCEPT or NF_STOLEN
cdef int defrag_hook(Walk* walk, int arg) noexcept nogil            # HookFunction at -400
cdef uint64_t fragments_due(Net* net) noexcept nogil                # when the next queue gives up; the largest number: none
cdef void fragments_advance(Net* net) noexcept nogil                # those that are due give up
