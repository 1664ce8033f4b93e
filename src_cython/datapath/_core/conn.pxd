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

    # Ours besides: packets and bytes are counted (nf_conntrack_acct was on when it was made); it stands in the
    # table with its reply tuple only (the loser of a clash).
    IPS_COUNTED = 1 << 26
    IPS_REPLY_ONLY = 1 << 27


cpdef enum CtHow:  # STEP_CONNTRACK: how the packet came to its state, or why it is INVALID
    HOW_NONE = 0
    HOW_FOUND = 1               # an entry had its tuple
    HOW_CREATED = 2             # a new entry
    HOW_PREVIOUS = 3            # it carried an entry or UNTRACKED already: loopback, a notrack rule, an error made here
    HOW_ICMP_ERROR = 4          # an error about a packet of a known connection
    HOW_ND_UNTRACKED = 5        # neighbour discovery and multicast listener messages are not tracked
    HOW_IGNORED = 6             # let through without a change of state: it may tell that our state is out of date
    HOW_REOPENED = 7            # a new entry in place of a closed one (TIME_WAIT or CLOSE, met by a SYN)
    HOW_CONFIRMED = 8           # entered in the table at the end of the walk
    HOW_CLASH_RESOLVED = 9      # another packet of the flow was faster
    HOW_INVALID = 16            # from here on: INVALID, and why (the kernel's words for log_invalid)
    HOW_NO_TRANSPORT = 17       # no transport header can be found
    HOW_NO_TUPLE = 18           # the transport header is too short
    HOW_BAD_CHECKSUM = 19
    HOW_TRUNCATED = 20          # lengths in the transport header do not fit
    HOW_BAD_FLAGS = 21          # no such combination of TCP flags
    HOW_INVALID_NEW = 22        # cannot begin a connection
    HOW_NOT_LOOSE = 23          # in the middle of a connection that was never seen, and tcp_loose is 0
    HOW_INVALID_STATE = 24      # the table of states has no place for it
    HOW_INVALID_RST = 25        # a reset below what was acknowledged
    HOW_SEQ_OVER = 26           # beyond the window of the receiver
    HOW_ACK_OVER = 27           # acknowledges what was never sent
    HOW_SEQ_UNDER = 28          # (ignored) below the window
    HOW_ACK_UNDER = 29          # (ignored) an acknowledgement long overdue
    HOW_OVERSHOT = 30           # (ignored) more bytes than the window allows
    HOW_BAD_TYPE = 31           # an ICMP type that nobody knows
    HOW_INNER_UNKNOWN = 32      # an error about a connection that is not in the table
    HOW_INNER_ADDRESS = 33      # an error that does not go to the sender of the inner packet
    HOW_TABLE_FULL = 34         # dropped: nf_conntrack_max, and nothing to evict
    HOW_CLASH = 35              # dropped at confirmation: its tuple is taken
    HOW_CHALLENGE_ACK = 36      # (ignored) answers a SYN that was let through
    HOW_BAD_CHUNK = 37          # SCTP: no such order of chunks, or a wrong verification tag
    HOW_BAD_REDIRECT = 38       # an ICMPv6 redirect that no router may send


ctypedef uint64_t CtLink        # the next entry of a hash chain: its address, with the direction in bit 0; 0: the end


cdef packed struct CtTcpSide:  # struct ip_ct_tcp_state; packed, so that a connection is four cache lines
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


cdef struct CtSctp:  # struct ip_ct_sctp
    uint8_t state
    uint8_t last_dir
    uint8_t flags
    uint8_t init[2]         # an INIT of this direction is not answered yet
    uint32_t vtag[2]        # the tag that packets of this direction carry


cdef union CtProto:
    CtTcp tcp
    CtSctp sctp
    uint64_t stream_ns      # UDP: when the stream timeout begins to hold; GRE likewise
    uint64_t gre_timeout_ns


cdef struct CtSeqAdjust:  # struct nf_ct_seqadj
    uint32_t correction_pos
    int32_t offset_before
    int32_t offset_after


cdef struct CtExtra:  # what few entries have (the kernel's extensions)
    CtSeqAdjust seqadj[2]
    uint64_t start_ns       # nf_conntrack_timestamp
    uint8_t labels[16]
    uint8_t has_labels
    uint8_t has_start


cdef struct CtEntry:  # 256 bytes
    Tuple tuple[2]          # by CtDir
    CtLink hash_next[2]     # chain of each direction's bucket
    uint32_t status         # CtStatus bits
    uint32_t mark
    uint64_t timeout_ns     # confirmed: the moment of expiry; before: how long it will live once confirmed
    uint64_t packets[2]
    uint64_t bytes[2]
    CtProto proto
    CtEntry* master         # of an expected connection
    CtExtra* extra          # helper, expectations, sequence adjustment, labels, NULL for most
    uint32_t id             # a serial number: names the entry in records
    uint32_t refs           # packets and expectations that hold it; freed when dying and unreferenced
    int32_t rule[2]         # the rule that decided the source [0] and destination [1] binding (place in NatTable.rules), -1: none
    int32_t masq_dev        # device of a MASQUERADE binding, -1: none
    uint32_t slot           # its place in the slab
    CtEntry* source_next    # chain of connections of the same source (nat_source.pxd)
    CtEntry** source_prev   # what points to this entry in that chain; NULL: it is in none


cdef struct CtStats:  # as `conntrack -S`
    uint64_t found, invalid, insert, insert_failed, drop, early_drop, error, search_restart, clash_resolve
