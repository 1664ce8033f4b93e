# Routing tables and policy rules as the lookups walk them: data, and the lookups themselves.
#
# A table is a hash of prefixes: for each prefix length that it has, longest first, one probe. A prefix (leaf)
# holds its routes in the order in which Linux tries them. Routes are never changed one by one: a change of the
# node loads all of it anew.
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.context cimport Net
from datapath._core.fib cimport Flow
from datapath._core.tuples cimport Addr, addr_equal


cdef enum HopFlag:
    HOP_DEAD = 1
    HOP_LINKDOWN = 2
    HOP_ONLINK = 4


cdef enum:
    CACHE_PLACES = 16384


cdef enum LookupFlag:
    LOOKUP_IFACE = 1            # IPv6: the device asked for must be the route's (RT6_LOOKUP_F_IFACE)
    LOOKUP_HAS_SOURCE = 2       # IPv6: the flow's source is known (RT6_LOOKUP_F_HAS_SADDR)
    LOOKUP_IGNORE_LINKSTATE = 4
    LOOKUP_INPUT = 16           # IPv6: routes over the device that the packet came in by are preferred (ip6_pol_route_input)
    LOOKUP_DEVICE_MATCH = 8     # IPv6: as rt6_lookup does (ip6_pol_route_lookup), not as for a packet's way


cdef enum RuleAction:  # FR_ACT_*
    RULE_LOOKUP = 1
    RULE_GOTO = 2
    RULE_NOP = 3
    RULE_BLACKHOLE = 6
    RULE_UNREACHABLE = 7
    RULE_PROHIBIT = 8


cdef struct FibHop:  # struct fib_nh_common
    Addr gateway
    int32_t dev             # -1: none (blackhole and its like)
    uint8_t gateway_family  # 0: none
    uint8_t flags           # HopFlag
    uint8_t scope           # nhc_scope
    uint32_t bound          # of the 31-bit multipath hash; the last hop's is 0x7FFFFFFF


cdef struct FibRoute:  # struct fib_alias with fib_info, struct fib6_info
    int32_t next            # route of the same prefix that is tried after it, -1
    uint32_t first_hop
    uint32_t n_hops
    uint32_t table
    uint32_t metric
    uint32_t mtu
    int32_t number          # in the host's file
    Addr source             # zero: no hint
    Addr from_prefix        # IPv6: the sources that it is for (a subtree's node); all with length 0
    uint8_t from_length
    uint8_t type            # RouteType
    uint8_t tos
    uint8_t scope
    uint8_t prefix
    uint8_t hop_limit
    int8_t preference       # IPv6: -1 low, 0, 1 high
    uint8_t kernel          # made by the kernel for an address (RTPROT_KERNEL)
    uint16_t error          # of the type


cdef struct FibLeaf:
    Addr prefix
    int32_t first           # route; -1: an empty place of the hash
    uint16_t table          # index of the table
    uint16_t length


cdef struct FibTable:
    uint32_t id
    uint32_t n_lengths
    uint32_t default_routes  # unicast routes to 0.0.0.0/0 (tb_num_default)
    uint8_t lengths[129]    # longest first


cdef struct FibRule:
    Addr src, src_mask, dst, dst_mask
    int32_t iif             # -1: any; -2: a device that is not there
    int32_t oif
    int32_t table           # index of the table, -1: there is none
    int32_t goto_rule       # index in the rules, -1: nowhere
    int32_t suppress_prefix  # -1: off
    int32_t suppress_group  # -1: off
    int32_t number          # in the host's files
    uint32_t mark, mark_mask
    uint32_t uid_low, uid_high
    uint16_t sport_low, sport_high
    uint16_t dport_low, dport_high
    uint8_t tos
    uint8_t dscp_full
    uint8_t protocol
    uint8_t action          # RuleAction
    uint8_t negated
    uint8_t l3mdev


cdef struct FibFamily:
    FibTable* tables
    uint32_t n_tables
    int32_t local, main, fallback   # indices of these tables, -1; local and main are one table without custom rules (IPv4)
    FibRule* rules
    uint32_t n_rules
    uint8_t custom_rules
    uint8_t dissect         # a rule asks for the protocol or ports
    uint8_t custom_local    # a local route that the kernel did not make itself
    uint8_t realms          # some route or rule has realms
    FibLeaf* leaves         # the hash, of `mask` + 1 places
    uint64_t mask
    FibRoute* routes
    uint32_t n_routes
    FibHop* hops
    uint32_t n_hops


cdef struct RouteCacheEntry:  # what was decided for a packet like this one that arrived
    Addr src, dst
    uint32_t mark
    uint32_t stamp          # Net.next_route then: tells whether the decision still stands in its place
    int32_t dev             # -1: an empty place
    int32_t slot            # in Net.routes
    uint32_t ports
    uint8_t tos
    uint8_t family
    uint8_t protocol
    uint8_t reason          # DropReason; 0: the decision counts


cdef struct HeldAddress:  # an address of this node, by inet_addr_lst's hash
    Addr addr
    int32_t dev             # the first device that has it, -1: an empty place
    uint8_t family
    uint8_t settled         # some device has it and it is not tentative


cdef struct Fib:
    FibFamily family[2]
    uint64_t seed           # of the multipath hash
    HeldAddress* held       # the hash, of `held_mask` + 1 places
    uint64_t held_mask
    RouteCacheEntry* cache  # direct-mapped, CACHE_PLACES; made anew with every load
    uint8_t ports_decide    # protocol and ports may change a decision: they are part of the cache's key


cdef struct FibResult:  # struct fib_result, fib6_result
    const FibRoute* route   # NULL: no route (the error says why)
    const FibHop* hop
    int32_t rule            # number of the policy rule, -1
    uint8_t type            # RouteType, with error
    int error               # positive errno, 0


cdef int fib_rules_lookup(Net* net, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil
cdef int fib_table_find(Net* net, uint8_t family, int32_t table, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil


cdef inline uint64_t address_hash(const Addr* addr, uint64_t salt) noexcept nogil:
    cdef uint64_t h = (addr.q[0] ^ salt) * <uint64_t>0x9E3779B97F4A7C15
    h = (h ^ (h >> 29) ^ addr.q[1]) * <uint64_t>0xBF58476D1CE4E5B9
    return h ^ (h >> 32)


cdef inline bint same_sources(const FibRoute* a, const FibRoute* b) noexcept nogil:
    return a.from_length == b.from_length and addr_equal(&a.from_prefix, &b.from_prefix)


cdef inline uint64_t leaf_hash(const Addr* prefix, uint16_t table, uint16_t length) noexcept nogil:
    cdef uint64_t h = prefix.q[0] * <uint64_t>0x9E3779B97F4A7C15
    h = (h ^ (h >> 29) ^ prefix.q[1]) * <uint64_t>0xBF58476D1CE4E5B9
    h = (h ^ (h >> 32) ^ (<uint64_t>table << 8 | length)) * <uint64_t>0x94D049BB133111EB
    return h ^ (h >> 31)
