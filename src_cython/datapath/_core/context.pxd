# The node (struct net) and the walk of one packet through it (struct nf_hook_state with what hangs on it).
# Every function of the packet path takes a Walk. Data only; the owner of each pointer is the Net extension
# type (net.pyx) unless said.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.conn cimport CtEntry
from datapath._core.device cimport Device
from datapath._core.draws cimport Draws
from datapath._core.fib cimport RouteDecision
from datapath._core.packet cimport Packet
from datapath._core.record cimport Recorder
from datapath._core.verdict cimport HOOKS


cdef enum:
    ROUTES = 4096           # size of the ring Net.routes: more than the packets that can be in flight at once


cdef struct Sysctls:  # net.* values that the path reads, family-wide; per-device ones are in Device
    # net.ipv4
    uint8_t ip_forward
    uint8_t ip_default_ttl
    uint8_t ip_no_pmtu_disc
    uint8_t ip_forward_use_pmtu
    uint8_t ip_forward_update_priority
    uint8_t ip_early_demux
    uint8_t ip_nonlocal_bind
    uint8_t fib_multipath_hash_policy
    uint8_t fwmark_reflect
    uint32_t fib_multipath_hash_fields
    uint32_t ip_local_port_low
    uint32_t ip_local_port_high
    uint8_t icmp_echo_ignore_all
    uint8_t icmp_echo_ignore_broadcasts
    uint8_t icmp_errors_use_inbound_ifaddr
    uint32_t icmp_ratelimit         # ms
    uint32_t icmp_ratemask
    uint32_t icmp_msgs_per_sec
    uint32_t icmp_msgs_burst
    uint32_t ipfrag_high_thresh
    uint32_t ipfrag_low_thresh
    uint32_t ipfrag_time            # s
    uint32_t ipfrag_max_dist
    uint32_t min_pmtu
    # net.ipv6
    uint8_t forwarding6
    uint8_t hop_limit6
    uint32_t icmp6_ratelimit        # ms
    uint8_t icmp6_ratemask[32]
    uint8_t icmp6_echo_ignore_all
    uint8_t ip6_flowlabel_reflect
    uint8_t fwmark_reflect6
    uint8_t ip_nonlocal_bind6
    uint8_t fib_multipath_hash_policy6
    uint32_t ip6frag_high_thresh
    uint32_t ip6frag_time
    uint32_t nf_frag6_timeout
    uint32_t nf_frag6_high_thresh
    # net.bridge
    uint8_t bridge_nf_call_iptables
    uint8_t bridge_nf_call_ip6tables
    uint8_t bridge_nf_filter_vlan_tagged
    # net.netfilter
    uint8_t ct_checksum
    uint8_t ct_acct
    uint8_t ct_helper
    uint8_t ct_tcp_loose
    uint8_t ct_tcp_be_liberal
    uint8_t ct_tcp_ignore_invalid_rst
    uint8_t ct_tcp_max_retrans
    uint8_t ct_timestamp
    uint32_t ct_max
    uint32_t ct_expect_max
    uint32_t ct_buckets             # of Linux's hash table: how much early drop looks at
    uint64_t ct_timeout_tcp[16]     # ns, by TCP conntrack state; the rest beside them
    uint64_t ct_timeout_tcp_unacked
    uint64_t ct_timeout_tcp_retrans
    uint64_t ct_timeout_udp[2]      # unreplied, stream
    uint64_t ct_timeout_icmp
    uint64_t ct_timeout_icmp6
    uint64_t ct_timeout_generic
    uint64_t ct_timeout_gre[2]
    uint64_t ct_timeout_sctp[16]
    uint64_t ct_timeout_dccp[16]


cdef struct Family:  # what differs between IPv4 and IPv6 on one node: [0] IPv4, [1] IPv6
    void* program           # Program* (program.pxd); NULL: no table loaded
    uint8_t conntrack       # a loaded rule needs conntrack and defragmentation
    uint8_t nat             # a loaded rule needs NAT
    uint8_t accounting      # a rule has been loaded that needs nf_conntrack_acct
    uint8_t tables          # bit per TableId: the table exists


cdef struct Net  # below


cdef struct Walk:  # one packet in flight at one hook
    Net* net
    Packet* pkt
    uint8_t hook            # Hook
    uint8_t family          # 4 or 6
    uint8_t hotdrop         # a match found the packet malformed: drop it at once
    int32_t in_dev          # -1: none
    int32_t out_dev         # -1: none
    int32_t error           # what the sending process hears of NF_DROP, if not EPERM (NF_DROP_ERR)
    uint8_t drop_reason     # set by whoever returns NF_DROP; DROP_NONE means NETFILTER_DROP
    int32_t rule_chain      # the rule that runs now, for targets that name themselves (NAT, LOG)
    int32_t rule_number
    uint8_t rule_table
    void* table             # Table* (program.pxd) that runs now
    void* rule              # Rule* whose matches run now: what a match that draws looks ahead from


ctypedef int (*HookFunction)(Walk* walk, int arg) noexcept nogil


cdef struct HookEntry:
    int32_t priority
    int32_t arg             # the TableId for tables
    HookFunction run


cdef struct HookList:
    uint32_t count
    HookEntry entries[16]


cdef struct Net:
    uint64_t now_ns
    uint8_t kernel_major, kernel_minor      # the profile: 6.18 or 6.1
    Sysctls sysctl
    Family families[2]
    HookList hooks[2][5]    # by family (0: IPv4, 1: IPv6) and Hook, in order of priority
    Device* devices
    uint32_t n_devices
    int32_t loopback        # index of lo, -1
    Draws draws
    Recorder recorder
    void* fib               # FibTables* (fib.pyx)
    RouteDecision* routes   # decisions, indexed by Packet.route and STEP_ROUTE; equal ones share a place (route_intern in route.pyx)
    uint32_t next_route
    void* conntrack         # Conntrack* (conntrack.pxd)
    void* nat               # NatTable* (nat_source.pxd)
    void* neighbours        # Neighbours* (neighbour.pxd)
    void* fragments         # Fragments* (defrag.pxd)
    void* icmp_limits       # IcmpLimits* (icmp.pxd)
    void* recent            # xt_recent lists
    void* sets              # ipsets
    void* ipvs
    void* pool              # PacketPool* (pool.pxd)
    void* outputs           # Outputs* (outputs.pxd): the frames that left during this call
    void* backlog           # packets that wait to be received (loopback)
    uint8_t strict          # no allowance for offload
    uint8_t answer          # local sockets answer
    uint64_t unknown_count
    uint8_t outcome         # Outcome of the packet of the latest call
    uint8_t drop_reason     # its DropReason
    int32_t error           # what the sending process hears: an errno, 0
    uint64_t calls_before   # calls before this moment: packets of one moment came one after the other
    uint64_t calls          # packets given to the node, and timers that went off: what one sets off happens at once
    uint8_t nesting         # how many packets walk inside each other now


cdef inline int32_t route_slot(Net* net) noexcept nogil:
    """The next place in Net.routes, for a new decision. It holds until ROUTES later ones were made: a packet that is put
    aside takes its decision with it."""
    cdef uint32_t slot = net.next_route % ROUTES
    net.next_route += 1
    return <int32_t>slot


cdef inline int family_index(uint8_t family) noexcept nogil:
    return 0 if family == 4 else 1
