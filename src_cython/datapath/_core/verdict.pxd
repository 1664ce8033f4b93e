# What can happen to a packet: hooks, tables, verdicts, drop reasons. The cpdef ones are IntEnums of the module for Python.


cpdef enum Hook:  # enum nf_inet_hooks
    HOOK_PREROUTING = 0
    HOOK_INPUT = 1
    HOOK_FORWARD = 2
    HOOK_OUTPUT = 3
    HOOK_POSTROUTING = 4
    HOOKS = 5


cpdef enum TableId:  # in the order in which a hook runs them
    TABLE_RAW = 0
    TABLE_MANGLE = 1
    TABLE_NAT = 2
    TABLE_FILTER = 3
    TABLE_SECURITY = 4
    TABLES = 5


cdef enum Verdict:  # NF_* in include/uapi/linux/netfilter.h
    NF_DROP = 0
    NF_ACCEPT = 1
    NF_STOLEN = 2
    NF_QUEUE = 3
    NF_REPEAT = 4
    # What a target may answer besides (include/uapi/linux/netfilter/x_tables.h):
    XT_CONTINUE = 16
    XT_RETURN = 17
    XT_JUMP = 32            # and what a rule may do besides, for records
    XT_GOTO = 33
    # A rule that is not emulated decides (--lenient): the walk ends here and its outcome is unknown.
    NF_UNKNOWN = 18


cpdef enum Outcome:  # how the walk of one packet ended; Transit.verdict
    OUTCOME_NONE = 0
    OUTCOME_FORWARDED = 1
    OUTCOME_DELIVERED = 2
    OUTCOME_DROPPED = 3
    OUTCOME_QUEUED = 4
    OUTCOME_STOLEN = 5
    OUTCOME_SENT = 6       # a packet of a local process left the node
    OUTCOME_UNKNOWN = 7


cpdef enum DropReason:  # enum skb_drop_reason of Linux 6.18, without SKB_DROP_REASON_; the numbers are ours
    DROP_NONE = 0
    DROP_NOT_SPECIFIED = 1
    DROP_NETFILTER_DROP = 2
    DROP_OTHERHOST = 3
    DROP_IP_CSUM = 4
    DROP_IP_INHDR = 5
    DROP_IP_RPFILTER = 6
    DROP_UNICAST_IN_L2_MULTICAST = 7
    DROP_IP_OUTNOROUTES = 8
    DROP_IP_INNOROUTES = 9
    DROP_IP_LOCAL_SOURCE = 10
    DROP_IP_INVALID_SOURCE = 11
    DROP_IP_INVALID_DEST = 12
    DROP_IP_LOCALNET = 13
    DROP_IPV6DISABLED = 14
    DROP_PKT_TOO_SMALL = 15
    DROP_PKT_TOO_BIG = 16
    DROP_IP_NOPROTO = 17
    DROP_NEIGH_FAILED = 18
    DROP_NEIGH_QUEUEFULL = 19
    DROP_DUP_FRAG = 20
    DROP_FRAG_REASM_TIMEOUT = 21
    DROP_FRAG_TOO_FAR = 22
    DROP_UNHANDLED_PROTO = 23
    DROP_IPV6_BAD_EXTHDR = 24
    DROP_IPV6_NDISC_FRAG = 25
    DROP_IPV6_NDISC_HOP_LIMIT = 26
    DROP_IPV6_NDISC_BAD_CODE = 27
    DROP_IPV6_NDISC_BAD_OPTIONS = 28
    DROP_IPV6_NDISC_NS_OTHERHOST = 29
    DROP_NO_SOCKET = 30
    DROP_ICMP_CSUM = 31
    DROP_INVALID_PROTO = 32
    DROP_IP_TTL_EXPIRED = 33  # not in Linux's list as such: see docs/fidelity.md; icmp errors for TTL are NOT_SPECIFIED there
    DROP_FULL_RING = 34
    DROP_DEV_READY = 35
    DROP_NOMEM = 36
    DROP_HDR_TRUNC = 37
    DROP_QUEUE_PURGE = 38
    DROP_MAC_INVALID_SOURCE = 39
    DROP_TUNNEL_TXINFO = 40
    DROP_IP_INADDRERRORS = 41
    DROP_NEIGH_CREATEFAIL = 42
    DROP_NEIGH_DEAD = 43
    DROP_REASONS = 44
