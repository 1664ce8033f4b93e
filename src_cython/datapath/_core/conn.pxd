# The conntrack entry (struct nf_conn) and the table's header: data only. The functions are in conntrack.pyx.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.tuples cimport Tuple


cdef enum CtDir:
    DIR_ORIGINAL = 0
    DIR_REPLY = 1


cdef enum CtInfo:  # enum ip_conntrack_info
    CT_ESTABLISHED = 0
    CT_RELATED = 1
    CT_NEW = 2
    CT_IS_REPLY = 3         # >= : the packet goes in the reply direction
    CT_ESTABLISHED_REPLY = 3
    CT_RELATED_REPLY = 4
    CT_UNTRACKED = 7        # pkt.ct is NULL; NULL with any other value means INVALID (or not tracked at all)


cdef enum CtStatus:  # enum ip_conntrack_status
    IPS_EXPECTED = 1 << 0
    IPS_SEEN_REPLY = 1 << 1
    IPS_ASSURED = 1 << 2
    IPS_CONFIRMED = 1 << 3
    IPS_SRC_NAT = 1 << 4
    IPS_DST_NAT = 1 << 5
    IPS_NAT_MASK = (1 << 4) | (1 << 5)
    IPS_SEQ_ADJUST = 1 << 6
    IPS_SRC_NAT_DONE = 1 << 7
    IPS_DST_NAT_DONE = 1 << 8
    IPS_NAT_DONE_MASK = (1 << 7) | (1 << 8)
    IPS_DYING = 1 << 9
    IPS_FIXED_TIMEOUT = 1 << 10
    IPS_TEMPLATE = 1 << 11
    IPS_NAT_CLASH = 1 << 12
    IPS_HELPER = 1 << 13
    IPS_OFFLOAD = 1 << 14
    # Ours: an imported TCP entry whose windows are not known yet; a rule that is not emulated touched the flow.
    IPS_IMPORTED = 1 << 24
    IPS_UNKNOWN = 1 << 25


cdef struct CtTcpSide:  # struct ip_ct_tcp_state
    uint32_t td_end
    uint32_t td_maxend
    uint32_t td_maxwin
    uint32_t td_maxack
    uint8_t td_scale
    uint8_t flags           # IP_CT_TCP_FLAG_*


cdef struct CtTcp:  # struct ip_ct_tcp
    CtTcpSide seen[2]
    uint8_t state
    uint8_t last_dir
    uint8_t retrans
    uint8_t last_index
    uint32_t last_seq
    uint32_t last_ack
    uint32_t last_end
    uint16_t last_win
    uint8_t last_wscale
    uint8_t last_flags


cdef struct CtSctp:
    uint8_t state
    uint8_t last_dir
    uint8_t flags
    uint32_t vtag[2]


cdef union CtProto:
    CtTcp tcp
    CtSctp sctp
    uint64_t stream_ns      # UDP: when the stream timeout begins to hold; GRE likewise
    uint64_t gre_timeout_ns


cdef struct CtEntry:
    Tuple tuple[2]          # by CtDir
    CtEntry* hash_next[2]   # chain of each direction's bucket
    uint32_t status         # CtStatus bits
    uint32_t mark
    uint64_t timeout_ns     # confirmed: the moment of expiry; before: how long it will live once confirmed
    uint64_t packets[2]
    uint64_t bytes[2]
    CtProto proto
    CtEntry* master         # of an expected connection
    void* extra             # helper, expectations, sequence adjustment, labels (struct CtExtra), NULL for most
    uint32_t id             # a serial number: names the entry in records
    uint32_t refs           # packets and expectations that hold it; freed when dying and unreferenced
    int32_t rule[2]         # the rule that decided the source [0] and destination [1] binding (place in NatTable.rules), -1: none
    int32_t masq_dev        # device of a MASQUERADE binding, -1: none
    uint32_t slot           # its place in the slab
    CtEntry* source_next    # chain of connections of the same source (nat_source.pxd)
    CtEntry** source_prev   # what points to this entry in that chain; NULL: it is in none


cdef struct CtStats:  # as `conntrack -S`
    uint64_t found, invalid, insert, insert_failed, drop, early_drop, error, search_restart, clash_resolve
