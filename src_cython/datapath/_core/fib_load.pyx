"""Routing tables and policy rules from the compiled host."""
from libc.errno cimport EACCES, EAGAIN, EHOSTUNREACH, EINVAL
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from datapath._core.context cimport Net
from datapath._core.fib cimport RTN_BLACKHOLE, RTN_PROHIBIT, RTN_THROW, RTN_UNICAST, RTN_UNREACHABLE
from datapath._core.device cimport DeviceAddress
from datapath._core.fib_table cimport (
    CACHE_PLACES, HOP_DEAD, Fib, FibFamily, FibHop, FibLeaf, FibRoute, FibRule, FibTable, HeldAddress, RouteCacheEntry, address_hash,
    leaf_hash, same_sources,
)
from datapath._core.tuples cimport Addr, addr_equal

cdef enum:
    TABLE_LOCAL = 255
    TABLE_MAIN = 254
    TABLE_DEFAULT = 253
    HASH_MAX = 0x7FFFFFFF


cdef void fib_tables_free(Net* net) noexcept nogil:
    cdef Fib* fib = <Fib*>net.fib
    cdef int i
    if fib == NULL:
        return
    for i in range(2):
        free(fib.family[i].tables)
        free(fib.family[i].rules)
        free(fib.family[i].leaves)
        free(fib.family[i].routes)
        free(fib.family[i].hops)
    free(fib.held)
    free(fib.cache)
    free(fib)
    net.fib = NULL


cdef void* allocate(size_t count, size_t size) except NULL:
    cdef void* made = calloc(count + 1, size)
    if made == NULL:
        raise MemoryError
    return made


cdef int fib_tables_load(Net* net, object compiled) except -1:
    """Replace the tables and rules by those of a CompiledHost."""
    cdef Fib* fib = <Fib*>allocate(1, sizeof(Fib))
    cdef int i = 0
    fib.seed = (<Fib*>net.fib).seed if net.fib != NULL else net.draws.state * <uint64_t>0x2545F4914F6CDD1D
    fib_tables_free(net)
    net.fib = fib
    family_load(&fib.family[0], 4, compiled)
    family_load(&fib.family[1], 6, compiled)
    held_load(net, fib)
    fib.cache = <RouteCacheEntry*>allocate(CACHE_PLACES, sizeof(RouteCacheEntry))
    for i in range(CACHE_PLACES):
        fib.cache[i].dev = -1
    fib.ports_decide = fib.family[0].dissect or fib.family[1].dissect
    for i in range(2):
        fib.ports_decide |= fib.family[i].n_hops > fib.family[i].n_routes   # a multipath route
    return 0


cdef int held_load(Net* net, Fib* fib) except -1:
    """The addresses of all devices, each with the first device that has it."""
    cdef uint64_t capacity = 16
    cdef uint64_t at = 0
    cdef uint32_t d = 0, i = 0, total = 0
    cdef const DeviceAddress* address
    cdef HeldAddress* held
    for d in range(net.n_devices):
        total += net.devices[d].n_addresses
    while capacity < 2 * <uint64_t>total + 2:
        capacity *= 2
    fib.held_mask = capacity - 1
    fib.held = <HeldAddress*>allocate(capacity, sizeof(HeldAddress))
    for at in range(capacity):
        fib.held[at].dev = -1
    for d in range(net.n_devices):
        for i in range(net.devices[d].n_addresses):
            address = &net.devices[d].addresses[i]
            at = address_hash(&address.addr, address.family) & fib.held_mask
            held = &fib.held[at]
            while held.dev >= 0 and not (held.family == address.family and addr_equal(&held.addr, &address.addr)):
                at = (at + 1) & fib.held_mask
                held = &fib.held[at]
            if held.dev < 0:
                held.addr = address.addr
                held.family = address.family
                held.dev = <int32_t>d
            held.settled |= not address.tentative or address.optimistic
    return 0


cdef int family_load(FibFamily* fib, int family, object compiled) except -1:
    cdef list routes = [route for route in compiled.routes if route[0] == family]
    cdef list rules = [rule for rule in compiled.rules if rule["family"] == family]
    cdef dict tables = {}
    cdef size_t n_hops = sum([max(1, len(route[13])) for route in routes])
    cdef size_t capacity = 16
    cdef size_t i = 0
    fib.custom_rules = compiled.custom_rules[0 if family == 4 else 1]
    fib.custom_local = compiled.custom_local
    fib.realms = compiled.realms
    for number in (TABLE_LOCAL, TABLE_MAIN, TABLE_DEFAULT):
        tables[number] = len(tables)
    if family == 4 and not fib.custom_rules:    # fib_trie_table: local is an alias of main until a rule is added
        tables = {TABLE_LOCAL: 0, TABLE_MAIN: 0, TABLE_DEFAULT: 1}
    for route in routes:
        tables.setdefault(route[1], max(tables.values()) + 1)
    fib.n_tables = max(tables.values()) + 1
    fib.tables = <FibTable*>allocate(fib.n_tables, sizeof(FibTable))
    for number, index in tables.items():
        fib.tables[<int>index].id = number
    fib.local, fib.main, fib.fallback = tables[TABLE_LOCAL], tables[TABLE_MAIN], tables[TABLE_DEFAULT]
    fib.tables[fib.main].id = TABLE_MAIN
    while capacity < 2 * <size_t>len(routes) + 2:
        capacity *= 2
    fib.mask = capacity - 1
    fib.leaves = <FibLeaf*>allocate(capacity, sizeof(FibLeaf))
    for i in range(capacity):
        fib.leaves[i].first = -1
    fib.routes = <FibRoute*>allocate(<size_t>len(routes), sizeof(FibRoute))
    fib.hops = <FibHop*>allocate(n_hops, sizeof(FibHop))
    for route in routes:
        route_load(fib, route, tables[route[1]])
    for i in range(fib.n_tables):
        lengths_load(fib, <uint16_t>i)
    return rules_load(fib, rules, tables)


cdef int route_load(FibFamily* fib, tuple compiled, int table) except -1:
    cdef FibRoute* route = &fib.routes[fib.n_routes]
    cdef FibLeaf* leaf
    cdef bytes prefix, source, sources
    cdef Addr address
    cdef uint64_t at = 0
    family, number, prefix, length, kind, tos, metric, scope, source, mtu, hop_limit, preference, file_number, hops, by_kernel, sources, length6 = compiled
    route.table = number
    route.prefix = length
    route.type = kind
    route.tos = tos
    route.metric = metric
    route.scope = scope
    route.mtu = mtu
    route.hop_limit = hop_limit
    route.preference = preference
    route.number = file_number
    route.kernel = by_kernel
    route.error = type_error(route.type)
    memcpy(&route.source, <const char*>source, 16)
    memcpy(&route.from_prefix, <const char*>sources, 16)
    route.from_length = length6
    memcpy(&address, <const char*>prefix, 16)
    route.first_hop = fib.n_hops
    hops_load(fib, route, hops)
    at = leaf_hash(&address, <uint16_t>table, route.prefix) & fib.mask
    while True:
        leaf = &fib.leaves[at]
        if leaf.first < 0:
            leaf.prefix = address
            leaf.table = <uint16_t>table
            leaf.length = route.prefix
            leaf.first = <int32_t>fib.n_routes
            route.next = -1
            break
        if leaf.table == table and leaf.length == route.prefix and addr_equal(&leaf.prefix, &address):
            route_insert(fib, leaf, route)
            break
        at = (at + 1) & fib.mask
    fib.n_routes += 1
    if family == 4 and length == 0 and kind == RTN_UNICAST:
        fib.tables[table].default_routes += 1
    return 0


cdef void route_insert(FibFamily* fib, FibLeaf* leaf, FibRoute* route) noexcept:
    """Into its leaf: by table (local before main), type of service, sources, metric, order in the file (fib_find_alias, fib6_add_rt2node)."""
    cdef int32_t* link = &leaf.first
    cdef FibRoute* other
    while link[0] >= 0:
        other = &fib.routes[link[0]]
        if other.table != route.table:
            if other.table < route.table:
                break
        elif other.tos != route.tos:
            if other.tos < route.tos:
                break
        elif other.from_length != route.from_length:
            if other.from_length < route.from_length:
                break
        elif not same_sources(other, route):
            if memcmp(&other.from_prefix, &route.from_prefix, 16) > 0:
                break
        elif other.metric > route.metric:
            break
        link = &other.next
    route.next = link[0]
    link[0] = <int32_t>fib.n_routes


cdef uint16_t type_error(uint8_t kind) noexcept nogil:
    """fib_props, ip6_rt_type_to_error: what a lookup that ends at a route of this type says."""
    if kind == RTN_BLACKHOLE:
        return EINVAL
    if kind == RTN_UNREACHABLE:
        return EHOSTUNREACH
    if kind == RTN_PROHIBIT:
        return EACCES
    return EAGAIN if kind == RTN_THROW else 0


cdef int hops_load(FibFamily* fib, FibRoute* route, tuple hops) except -1:
    """The next hops, with their shares of the multipath hash (fib_rebalance, rt6_upper_bound_set)."""
    cdef FibHop* hop
    cdef bytes gateway
    cdef uint64_t total = sum([entry[5] for entry in hops if not entry[3] & HOP_DEAD])
    cdef uint64_t upto = 0
    for entry in hops or ((-1, bytes(16), 0, 0, 0, 1),):
        hop = &fib.hops[fib.n_hops]
        hop.dev, gateway, hop.gateway_family, hop.flags, hop.scope, weight = entry
        memcpy(&hop.gateway, <const char*>gateway, 16)
        if not hop.flags & HOP_DEAD:
            upto += <uint64_t>weight
        hop.bound = <uint32_t>((upto * <uint64_t>0x80000000 + total // 2) // total - 1) if total else HASH_MAX
        fib.n_hops += 1
        route.n_hops += 1
    return 0


cdef int lengths_load(FibFamily* fib, uint16_t table) except -1:
    cdef FibTable* mine = &fib.tables[table]
    cdef uint64_t i = 0
    cdef uint8_t[129] present
    cdef int length = 128
    memset(present, 0, sizeof(present))
    for i in range(fib.mask + 1):
        if fib.leaves[i].first >= 0 and fib.leaves[i].table == table:
            present[fib.leaves[i].length] = 1
    while length >= 0:
        if present[length]:
            mine.lengths[mine.n_lengths] = <uint8_t>length
            mine.n_lengths += 1
        length -= 1
    return 0


cdef int rules_load(FibFamily* fib, list rules, dict tables) except -1:
    cdef FibRule* rule
    cdef dict index = {compiled["number"]: place for place, compiled in enumerate(rules)}
    cdef bytes packed
    fib.rules = <FibRule*>allocate(<size_t>len(rules), sizeof(FibRule))
    for compiled in rules:
        rule = &fib.rules[fib.n_rules]
        for name, place in (("src", 0), ("src_mask", 1), ("dst", 2), ("dst_mask", 3)):
            packed = compiled[name]
            memcpy(&(&rule.src)[<int>place], <const char*>packed, 16)
        rule.iif, rule.oif = compiled["iif"], compiled["oif"]
        rule.table = tables.get(compiled["table"], -1)
        rule.goto_rule = index.get(compiled["goto"], -1)
        if rule.goto_rule <= <int32_t>fib.n_rules:  # only forward
            rule.goto_rule = -1
        rule.suppress_prefix, rule.suppress_group = compiled["suppress_prefix"], compiled["suppress_group"]
        rule.number = compiled["number"]
        rule.mark, rule.mark_mask = compiled["mark"], compiled["mark_mask"]
        rule.uid_low, rule.uid_high = compiled["uid_low"], compiled["uid_high"]
        rule.sport_low, rule.sport_high = compiled["sport_low"], compiled["sport_high"]
        rule.dport_low, rule.dport_high = compiled["dport_low"], compiled["dport_high"]
        rule.tos, rule.dscp_full, rule.protocol = compiled["tos"], compiled["dscp_full"], compiled["protocol"]
        rule.action, rule.negated, rule.l3mdev = compiled["action"], compiled["negated"], compiled["l3mdev"]
        fib.dissect = fib.dissect or rule.protocol != 0 or rule.sport_low != 0 or rule.dport_low != 0
        fib.n_rules += 1
    return 0
