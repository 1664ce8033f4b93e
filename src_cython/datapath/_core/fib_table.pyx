"""Lookups in routing tables and policy rules.

Kernel: net/ipv4/fib_trie.c, fib_table_lookup; net/core/fib_rules.c, fib_rules_lookup; net/ipv6/route.c,
fib6_table_lookup, find_rr_leaf, rt6_device_match.
"""
from libc.errno cimport EACCES, EAGAIN, EINVAL, ENETUNREACH
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from datapath._core.context cimport Net, family_index
from datapath._core.device cimport Device
from datapath._core.fib cimport RTN_BLACKHOLE, RTN_PROHIBIT, RTN_UNREACHABLE, Flow
from datapath._core.tuples cimport Addr, addr_equal, addr_is_zero

cdef enum:
    ESRCH = 3               # no rule decided

cdef Addr[129] MASKS        # of prefix lengths, as addresses lie in memory


cdef void masks_fill() noexcept:
    cdef int length, byte, bits
    for length in range(129):
        for byte in range(16):
            bits = min(8, max(0, length - byte * 8))
            MASKS[length].b[byte] = <uint8_t>(0xFF << (8 - bits)) if bits else 0


masks_fill()


cdef inline bint masked_equal(const Addr* a, const Addr* value, const Addr* mask) noexcept nogil:
    return not ((a.q[0] ^ value.q[0]) & mask.q[0] or (a.q[1] ^ value.q[1]) & mask.q[1])


cdef inline const FibLeaf* leaf_find(const FibFamily* fib, const Addr* address, uint16_t table, uint16_t length) noexcept nogil:
    """The prefix of that length around the address, NULL."""
    cdef Addr prefix
    cdef uint64_t at
    cdef const FibLeaf* leaf
    prefix.q[0] = address.q[0] & MASKS[length].q[0]
    prefix.q[1] = address.q[1] & MASKS[length].q[1]
    at = leaf_hash(&prefix, table, length) & fib.mask
    while True:
        leaf = &fib.leaves[at]
        if leaf.first < 0:
            return NULL
        if leaf.table == table and leaf.length == length and addr_equal(&leaf.prefix, &prefix):
            return leaf
        at = (at + 1) & fib.mask


# ---- IPv4 ---------------------------------------------------------------------------------------------------

cdef inline bint hop_good4(Net* net, const FibHop* hop, const Flow* flow, uint32_t flags) noexcept nogil:
    """fib_lookup_good_nhc."""
    if hop.flags & HOP_DEAD:
        return False
    if hop.flags & HOP_LINKDOWN and not flags & LOOKUP_IGNORE_LINKSTATE and hop.dev >= 0 and net.devices[hop.dev].ignore_linkdown:
        return False
    return flow.oif < 0 or flow.oif == hop.dev


cdef int table_find4(Net* net, const FibFamily* fib, int32_t table, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil:
    """The first route of the longest prefix that has one that fits; 0 or a positive errno, EAGAIN for none."""
    cdef uint32_t i, h
    cdef int32_t at
    cdef const FibLeaf* leaf
    cdef const FibRoute* route
    cdef const FibHop* hop
    for i in range(fib.tables[table].n_lengths):
        leaf = leaf_find(fib, &flow.dst, <uint16_t>table, fib.tables[table].lengths[i])
        if leaf == NULL:
            continue
        at = leaf.first
        while at >= 0:
            route = &fib.routes[at]
            at = route.next
            # The lookup masks three bits off the flow's field; routes with the others set never match.
            if route.tos and route.tos != flow.tos & 0x1C:
                continue
            if route.error:
                result.route = route
                result.hop = NULL
                result.type = route.type
                return route.error
            for h in range(route.n_hops):
                hop = &fib.hops[route.first_hop + h]
                if hop_good4(net, hop, flow, flags):
                    result.route = route
                    result.hop = hop
                    result.type = route.type
                    return 0
    return EAGAIN


# ---- IPv6 ---------------------------------------------------------------------------------------------------

cdef inline int hop_score6(Net* net, const FibRoute* route, const FibHop* hop, int32_t oif, uint32_t flags) noexcept nogil:
    """rt6_score_route, with what find_match refuses before it: negative for a next hop that is out."""
    cdef int score = 2 if oif < 0 or hop.dev == oif else 0
    if hop.flags & HOP_DEAD:
        return -1
    if hop.flags & HOP_LINKDOWN and not flags & LOOKUP_IGNORE_LINKSTATE and hop.dev >= 0 and net.devices[hop.dev].ignore_linkdown6:
        return -1
    if not score and flags & LOOKUP_IFACE:
        return -1
    return score | (route.preference + 2) << 2


cdef bint routes_select6(Net* net, const FibFamily* fib, int32_t at, int32_t oif, uint32_t flags, FibResult* result) noexcept nogil:
    """find_rr_leaf: the best next hop of the lowest metric that has one; when none has, the best of all the rest.

    `at` is the first of the routes to one destination for the same sources.
    """
    cdef const FibRoute* first = &fib.routes[at]
    cdef uint32_t metric = first.metric
    cdef bint same_metric = True
    cdef int best = -1
    cdef int score
    cdef uint32_t h
    cdef const FibRoute* route
    cdef const FibHop* hop
    while at >= 0 and same_sources(&fib.routes[at], first):
        route = &fib.routes[at]
        if same_metric and route.metric != metric:
            if best >= 0:
                return True
            same_metric = False
        for h in range(route.n_hops):
            hop = &fib.hops[route.first_hop + h]
            score = hop_score6(net, route, hop, oif, flags)
            if score > best:
                best = score
                result.route = route
                result.hop = hop
                result.type = route.type
        at = route.next
    return best >= 0


cdef bint device_has_address6(Net* net, int32_t dev, const Addr* address) noexcept nogil:
    cdef uint32_t i
    cdef const Device* device
    if dev < 0:
        return False
    device = &net.devices[dev]
    for i in range(device.n_addresses):
        if device.addresses[i].family == 6 and not device.addresses[i].tentative and addr_equal(&device.addresses[i].addr, address):
            return True
    return False


cdef bint routes_device_match6(Net* net, const FibFamily* fib, int32_t at, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil:
    """rt6_device_match: the first route over the device asked for, or over one that has the source; else the first route."""
    cdef const FibRoute* first = &fib.routes[at]
    cdef const FibRoute* route = first
    cdef const FibHop* hop = &fib.hops[first.first_hop]
    cdef uint32_t h
    result.route = first
    result.hop = hop
    result.type = first.type
    if flow.oif < 0 and addr_is_zero(&flow.src) and not hop.flags & HOP_DEAD:
        return True
    while at >= 0 and same_sources(&fib.routes[at], first):
        route = &fib.routes[at]
        for h in range(route.n_hops):
            hop = &fib.hops[route.first_hop + h]
            if hop.flags & HOP_DEAD:
                continue
            if hop.dev == flow.oif if flow.oif >= 0 else device_has_address6(net, hop.dev, &flow.src):
                result.route = route
                result.hop = hop
                result.type = route.type
                return True
        at = route.next
    if flow.oif >= 0 and flags & LOOKUP_IFACE:
        return False
    return not fib.hops[first.first_hop].flags & HOP_DEAD


cdef bint has_group(const FibFamily* fib, int32_t at, const Addr* src) noexcept nogil:
    """Whether some routes to the destination are for a prefix of sources that holds src."""
    while at >= 0 and fib.routes[at].from_length:
        if masked_equal(src, &fib.routes[at].from_prefix, &MASKS[fib.routes[at].from_length]):
            return True
        at = fib.routes[at].next
    return False


cdef int table_find6(Net* net, const FibFamily* fib, int32_t table, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil:
    """0, or the errno of the route's type; ENETUNREACH without a route (the null entry), EAGAIN for throw.

    Routes for some sources go before those for all, the longest prefix of sources first. A destination that has some,
    none of them for this source, is passed over with all its routes, unless a longer prefix was looked at in vain
    (fib6_node_lookup_1 leaves the node, fib6_backtrack does not) or it is the default.
    """
    cdef uint32_t i
    cdef int32_t at
    cdef const FibLeaf* leaf
    cdef const FibRoute* first
    cdef bint found = False
    cdef bint began = False
    for i in range(fib.tables[table].n_lengths):
        leaf = leaf_find(fib, &flow.dst, <uint16_t>table, fib.tables[table].lengths[i])
        if leaf == NULL:
            continue
        at = leaf.first
        if fib.routes[at].from_length and not began and leaf.length and not has_group(fib, at, &flow.src):
            continue
        began = True
        while at >= 0:
            first = &fib.routes[at]
            found = False
            if masked_equal(&flow.src, &first.from_prefix, &MASKS[first.from_length]):
                if flags & LOOKUP_DEVICE_MATCH:
                    found = routes_device_match6(net, fib, at, flow, flags, result)
                else:
                    found = routes_select6(net, fib, at, flow.iif if flags & LOOKUP_INPUT else flow.oif, flags, result)
            if found:
                return result.route.error
            while at >= 0 and same_sources(&fib.routes[at], first):
                at = fib.routes[at].next
    result.route = NULL
    result.hop = NULL
    return ENETUNREACH


cdef int fib_table_find(Net* net, uint8_t family, int32_t table, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil:
    """One table: 0 or a positive errno; EAGAIN: go on with the next rule."""
    cdef Fib* fib = <Fib*>net.fib
    cdef FibFamily* mine
    cdef int error
    if fib == NULL or table < 0:
        return EAGAIN
    mine = &fib.family[family_index(family)]
    if family == 4:
        return table_find4(net, mine, table, flow, flags, result)
    error = table_find6(net, mine, table, flow, flags, result)
    return EAGAIN if error and result.route == NULL else error


# ---- Policy rules -------------------------------------------------------------------------------------------

cdef bint rule_fits(const FibRule* rule, const Flow* flow, uint32_t flags) noexcept nogil:
    """fib_rule_match with fib4_rule_match and fib6_rule_match, without the negation."""
    if rule.iif != -1 and rule.iif != flow.iif:
        return False
    if rule.oif != -1 and rule.oif != flow.oif:
        return False
    if (rule.mark ^ flow.mark) & rule.mark_mask:
        return False
    if rule.l3mdev:         # no VRF: nothing is the master of a device
        return False
    if not rule.uid_low <= flow.uid <= rule.uid_high:
        return False
    if not masked_equal(&flow.dst, &rule.dst, &rule.dst_mask):
        return False
    if flow.family == 6 and not addr_is_zero(&rule.src_mask) and not flags & LOOKUP_HAS_SOURCE:
        return False
    if not masked_equal(&flow.src, &rule.src, &rule.src_mask):
        return False
    if rule.dscp_full:
        if (flow.tos & 0xFC) != rule.tos:
            return False
    elif rule.tos:
        if flow.family == 4:
            if (flow.tos & 0x1C) != rule.tos:
                return False
        elif (flow.tos & 0xFC) != rule.tos:
            return False
    if rule.protocol and rule.protocol != flow.protocol:
        return False
    if rule.sport_low and not rule.sport_low <= flow.sport <= rule.sport_high:
        return False
    return not rule.dport_low or rule.dport_low <= flow.dport <= rule.dport_high


cdef bint rule_suppresses(Net* net, const FibFamily* fib, const FibRule* rule, const FibResult* result) noexcept nogil:
    """fib4_rule_suppress: a route that is too general, or over a device of the group, does not count."""
    cdef const FibHop* hop
    if rule.suppress_prefix >= 0 and result.route.prefix <= rule.suppress_prefix:
        return True
    if rule.suppress_group >= 0 and result.route.n_hops:
        hop = result.hop if result.route.error == 0 and result.hop != NULL else &fib.hops[result.route.first_hop]
        return hop.dev >= 0 and net.devices[hop.dev].group == <uint32_t>rule.suppress_group
    return False


cdef int rules_walk(Net* net, const FibFamily* fib, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil:
    """fib_rules_lookup: the rules in their order, until one decides."""
    cdef uint32_t i = 0
    cdef const FibRule* rule
    cdef int error
    while i < fib.n_rules:
        rule = &fib.rules[i]
        i += 1
        if rule_fits(rule, flow, flags) == (rule.negated != 0):
            continue
        if rule.action == RULE_GOTO:
            if rule.goto_rule >= 0:
                i = <uint32_t>rule.goto_rule
            continue
        if rule.action == RULE_NOP:
            continue
        result.rule = rule.number
        result.route = NULL
        result.hop = NULL
        if rule.action == RULE_UNREACHABLE:
            result.type = RTN_UNREACHABLE
            return ENETUNREACH
        if rule.action == RULE_PROHIBIT:
            result.type = RTN_PROHIBIT
            return EACCES
        if rule.action == RULE_BLACKHOLE:
            result.type = RTN_BLACKHOLE
            return EINVAL
        error = fib_table_find(net, flow.family, rule.table, flow, flags, result)
        if error == 0 and rule_suppresses(net, fib, rule, result):
            continue
        if error != EAGAIN:
            return error
    result.rule = -1
    return ESRCH


cdef int fib_rules_lookup(Net* net, const Flow* flow, uint32_t flags, FibResult* result) noexcept nogil:
    """fib_lookup, fib6_rule_lookup: 0, or a positive errno (also in result.error) and result.type as a route of its kind.

    Without custom rules, IPv4 has local and main in one table, and IPv6 looks at local first.
    """
    cdef Fib* fib = <Fib*>net.fib
    cdef FibFamily* mine
    cdef int error = EAGAIN
    memset(result, 0, sizeof(FibResult))
    result.rule = -1
    if fib != NULL:
        mine = &fib.family[family_index(flow.family)]
        if mine.custom_rules:
            error = rules_walk(net, mine, flow, flags, result)
        else:
            if flow.family == 6:
                error = fib_table_find(net, 6, mine.local, flow, flags, result)
            if error == EAGAIN:
                error = fib_table_find(net, flow.family, mine.main, flow, flags, result)
            if error == EAGAIN and flow.family == 4:
                error = fib_table_find(net, 4, mine.fallback, flow, flags, result)
    if error == EAGAIN or error == ESRCH:
        # IPv4 tells ESRCH for rules that end without an answer; callers and users see ENETUNREACH.
        error = ENETUNREACH
        result.route = NULL
        result.hop = NULL
    if error and result.route == NULL and result.type == 0:
        result.type = RTN_UNREACHABLE
    result.error = error
    return error
