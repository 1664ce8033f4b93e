"""Which tuple a connection gets when its source or destination is bound (net/netfilter/nf_nat_core.c)."""
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcmp, memset

from datapath._core.conn cimport (
    DIR_REPLY, IPS_CONFIRMED, IPS_DST_NAT, IPS_DYING, IPS_FIXED_TIMEOUT, IPS_OFFLOAD, IPS_SRC_NAT,
)
from datapath._core.conntrack cimport conntrack_alter_reply, conntrack_find_dir, conntrack_kill, conntrack_tuple_taken, tuple_invert
from datapath._core.draws cimport DRAW_ICMP_ID, DRAW_NAT_PORT, Shown, draw_record, draw_u32
from datapath._core.nat_manip cimport MANIP_DST, MANIP_SRC
from datapath._core.nat_source cimport nat_rule_enter, nat_source_link, nat_source_next
from datapath._core.record cimport STEP_NAT, record
from datapath._core.tuples cimport addr_equal, tuple_equal
from datapath._core.verdict cimport NF_ACCEPT, NF_DROP, TABLE_NAT
from datapath._core.wire cimport load_be32, store_be32

cdef enum:
    PROTO_ICMP = 1
    PROTO_TCP = 6
    PROTO_UDP = 17
    PROTO_DCCP = 33
    PROTO_GRE = 47
    PROTO_ICMPV6 = 58
    PROTO_SCTP = 132
    PROTO_UDPLITE = 136
    MAX_ATTEMPTS = 128
    HARDER_THRESHOLD = 128 // 4
    TCP_SYN_SENT = 1
    TCP_TIME_WAIT = 7


cdef struct Search:  # of a port or id for one tuple
    Walk* walk
    CtEntry* ct
    Tuple* tuple
    uint16_t* key           # the part of the tuple that is sought
    uint32_t low
    uint32_t size
    uint8_t manip
    uint8_t draw            # DrawKind


cdef inline bint is_old(const Net* net) noexcept nogil:
    """Linux 6.1: no reuse of TIME_WAIT entries, and a destination's search begins anywhere in the range."""
    return net.kernel_major == 6 and net.kernel_minor < 12


cdef inline bint has_ports(const Net* net, uint8_t protocol) noexcept nogil:
    return protocol == PROTO_TCP or protocol == PROTO_UDP or protocol == PROTO_SCTP or protocol == PROTO_UDPLITE or (
        protocol == PROTO_DCCP and is_old(net))


cdef inline bint is_icmp(uint8_t protocol) noexcept nogil:
    return protocol == PROTO_ICMP or protocol == PROTO_ICMPV6


cdef inline bint used(Net* net, const Tuple* tuple, CtEntry* ct) noexcept nogil:
    """Whether another connection's packets would be taken for replies to this tuple (nf_nat_used_tuple)."""
    cdef Tuple reply
    tuple_invert(tuple, &reply)
    return conntrack_tuple_taken(net, &reply, ct)


cdef bint used_harder(Net* net, const Tuple* tuple, CtEntry* ct, uint32_t attempts_left) noexcept nogil:
    """The last attempts for a TCP port push out a source-translated connection in TIME_WAIT whose sequence numbers lie behind."""
    cdef Tuple reply
    cdef CtEntry* other
    cdef uint8_t direction = 0
    tuple_invert(tuple, &reply)
    if (attempts_left > HARDER_THRESHOLD or is_old(net) or tuple.protocol != PROTO_TCP or ct.proto.tcp.state != TCP_SYN_SENT):
        return conntrack_tuple_taken(net, &reply, ct)
    other = conntrack_find_dir(net, &reply, &direction)
    if other == NULL:
        return False
    if direction != DIR_REPLY or other.proto.tcp.state < TCP_TIME_WAIT:
        return True
    if other.status & (IPS_FIXED_TIMEOUT | IPS_DYING) or not other.status & IPS_SRC_NAT:
        return True
    if <int32_t>(ct.proto.tcp.seen[0].td_end - other.proto.tcp.seen[0].td_end) <= 0:
        return True
    if other.status & IPS_OFFLOAD:
        return True
    return not conntrack_kill(net, other)


cdef inline bint key_in_range(const Net* net, const Tuple* tuple, const NatRange* bounds, int manip) noexcept nogil:
    """l4proto_in_range: protocols without ports are always in it."""
    cdef uint16_t key
    if is_icmp(tuple.protocol) or manip == MANIP_SRC:
        key = tuple.sport
    else:
        key = tuple.dport
    if has_ports(net, tuple.protocol) or tuple.protocol == PROTO_GRE or is_icmp(tuple.protocol):
        return bounds.min_port <= key <= bounds.max_port
    return True


cdef inline bint source_in_range(const Net* net, const Tuple* tuple, const NatRange* bounds) noexcept nogil:
    """nf_in_range."""
    if bounds.flags & RANGE_MAP_IPS:
        if memcmp(&tuple.src, &bounds.min_addr, 16) < 0 or memcmp(&tuple.src, &bounds.max_addr, 16) > 0:
            return False
    return not bounds.flags & RANGE_PROTO_SPECIFIED or key_in_range(net, tuple, bounds, MANIP_SRC)


cdef bint translation_of_source(Net* net, const Tuple* source, const Tuple* wanted, Tuple* found, const NatRange* bounds) noexcept nogil:
    """What the same source was translated to before, if the range allows it (find_appropriate_src)."""
    cdef CtEntry* ct = nat_source_next(net, source, NULL)
    while ct != NULL:
        if not ct.status & IPS_CONFIRMED or ct.timeout_ns > net.now_ns:
            found[0] = wanted[0]
            found.src = ct.tuple[1].dst
            if is_icmp(wanted.protocol):
                found.sport = ct.tuple[1].sport
            else:
                found.sport = ct.tuple[1].dport
            if source_in_range(net, found, bounds):
                return True
        ct = nat_source_next(net, source, ct)
    return False


cdef inline uint32_t rotated(uint32_t word, int by) noexcept nogil:
    return (word << by) | (word >> (32 - by))


cdef uint32_t hash_address(const Addr* addr, uint32_t seed) noexcept nogil:
    """Bob Jenkins' lookup3 of four words in the machine's order (Linux's jhash2)."""
    cdef uint32_t a = <uint32_t>0xDEADBEEF + 16 + seed
    cdef uint32_t b = a
    cdef uint32_t c = a
    a += addr.w[0]
    b += addr.w[1]
    c += addr.w[2]
    a -= c
    a ^= rotated(c, 4)
    c += b
    b -= a
    b ^= rotated(a, 6)
    a += c
    c -= b
    c ^= rotated(b, 8)
    b += a
    a -= c
    a ^= rotated(c, 16)
    c += b
    b -= a
    b ^= rotated(a, 19)
    a += c
    c -= b
    c ^= rotated(b, 4)
    b += a
    a += addr.w[3]
    c ^= b
    c -= rotated(b, 14)
    a ^= c
    a -= rotated(c, 11)
    b ^= a
    b -= rotated(a, 25)
    c ^= b
    c -= rotated(b, 16)
    a ^= c
    a -= rotated(c, 4)
    b ^= a
    b -= rotated(a, 14)
    c ^= b
    c -= rotated(b, 24)
    return c


cdef void nat_choose_address(Tuple* tuple, const NatRange* bounds, int manip, uint16_t zone) noexcept nogil:
    cdef Addr* chosen = &tuple.src if manip == MANIP_SRC else &tuple.dst
    cdef int last = 0 if tuple.family == 4 else 3
    cdef int i
    cdef bint below = False     # a word below the range's end: whatever follows is in the range
    cdef uint32_t j, low, count
    if not bounds.flags & RANGE_MAP_IPS:
        return
    if addr_equal(&bounds.min_addr, &bounds.max_addr):
        chosen[0] = bounds.min_addr
        return
    j = hash_address(&tuple.src, 0 if bounds.flags & RANGE_PERSISTENT else tuple.dst.w[last] ^ zone)
    for i in range(last + 1):
        low = 0 if below else load_be32(&bounds.min_addr.b[i * 4])
        count = <uint32_t>0xFFFFFFFF if below else load_be32(&bounds.max_addr.b[i * 4]) - low + 1
        store_be32(&chosen.b[i * 4], low + <uint32_t>((<uint64_t>j * count) >> 32))
        if chosen.w[i] != bounds.max_addr.w[i]:
            below = True
        if not bounds.flags & RANGE_PERSISTENT:
            j ^= tuple.dst.w[i]     # of a destination: the one just chosen


cdef int shown_key(const Search* search) noexcept nogil:
    """The key that the capture shows for this end, if Linux could have drawn it; else -1."""
    cdef const Shown* shown = &search.walk.net.draws.shown
    cdef uint16_t key
    if search.manip == MANIP_SRC:
        if not shown.has_src or not addr_equal(&shown.src, &search.tuple.src):
            return -1
        key = shown.sport
    else:
        if not shown.has_dst or not addr_equal(&shown.dst, &search.tuple.dst):
            return -1
        key = shown.sport if search.draw == DRAW_ICMP_ID else shown.dport
    if not search.low <= key < search.low + search.size:
        return -1
    return key


cdef bint is_free(Search* search, uint32_t key, uint32_t attempts_left) noexcept nogil:
    search.key[0] = <uint16_t>key
    return not used_harder(search.walk.net, search.tuple, search.ct, attempts_left)


cdef void find_free(Search* search, uint16_t offset, bint drawn) noexcept nogil:
    """Look for a free key from an offset on, then from elsewhere with ever smaller windows.

    When none is found the last one tried stays: the connection will not be confirmed.
    """
    cdef uint32_t attempts = min(search.size, <uint32_t>MAX_ATTEMPTS)
    cdef uint32_t i
    cdef int key
    cdef Net* net = search.walk.net
    if drawn:
        key = shown_key(search)
        if key >= 0 and is_free(search, key, attempts):
            draw_record(&net.draws, &net.recorder, search.walk.hook, TABLE_NAT, search.draw, True, key)
            return
        offset = <uint16_t>draw_u32(&net.draws)
    while True:
        for i in range(attempts):
            if is_free(search, search.low + offset % search.size, attempts - i):
                if drawn and search.size > 1:
                    draw_record(&net.draws, &net.recorder, search.walk.hook, TABLE_NAT, search.draw, False, search.key[0])
                return
            offset += 1
        if attempts >= search.size or attempts < 16:
            return
        attempts //= 2
        offset = <uint16_t>draw_u32(&net.draws)
        drawn = True


cdef bint search_bounds(Search* search, const NatRange* bounds) noexcept nogil:
    """Among which keys to look; False: the key of this protocol stays (nf_nat_l4proto_unique_tuple)."""
    cdef Tuple* tuple = search.tuple
    cdef bint specified = (bounds.flags & RANGE_PROTO_SPECIFIED) != 0
    search.draw = DRAW_NAT_PORT
    search.key = &tuple.dport if search.manip == MANIP_DST else &tuple.sport
    search.low = bounds.min_port
    search.size = <uint32_t>bounds.max_port - bounds.min_port + 1
    if is_icmp(tuple.protocol):
        search.draw = DRAW_ICMP_ID
        search.key = &tuple.sport
        if not specified:
            search.low = 0
            search.size = 65536
        return True
    if tuple.protocol == PROTO_GRE:
        if search.ct.master == NULL:    # not PPTP
            return False
        if not specified:
            search.low = 1
            search.size = 65535
        return True
    if not has_ports(search.walk.net, tuple.protocol):
        return False
    if specified:
        if bounds.max_port < bounds.min_port:
            search.low = bounds.max_port
            search.size = <uint32_t>bounds.min_port - bounds.max_port + 1
        return True
    if search.manip == MANIP_DST:
        return False
    # Low ports mean privileges, the lowest ones credentials: a source keeps its class.
    if search.key[0] < 512:
        search.low = 1
        search.size = 511
    elif search.key[0] < 1024:
        search.low = 600
        search.size = 424
    else:
        search.low = 1024
        search.size = 64512
    return True


cdef void make_unique(Search* search, const NatRange* bounds) noexcept nogil:
    cdef uint16_t offset = 0
    cdef bint drawn = False
    if not search_bounds(search, bounds):
        return
    if bounds.flags & RANGE_PROTO_OFFSET:
        offset = <uint16_t>(search.key[0] - bounds.base_port)
    else:
        drawn = (bounds.flags & RANGE_PROTO_RANDOM_ALL) != 0 or search.manip == MANIP_SRC or is_old(search.walk.net)
    find_free(search, offset, drawn)


cdef void unique_tuple(Walk* walk, CtEntry* ct, const Tuple* current, const NatRange* bounds, int manip, Tuple* chosen) noexcept nogil:
    """get_unique_tuple."""
    cdef Net* net = walk.net
    cdef Search search
    cdef bint random = (bounds.flags & RANGE_PROTO_RANDOM_ALL) != 0
    chosen[0] = current[0]
    if manip == MANIP_SRC and not random:
        if source_in_range(net, current, bounds):
            if not used(net, current, ct):
                return
        elif translation_of_source(net, &ct.tuple[0], current, chosen, bounds):
            if not used(net, chosen, ct):
                return
    chosen[0] = current[0]
    nat_choose_address(chosen, bounds, manip, max(ct.tuple[0].zone, ct.tuple[1].zone))
    if not random:
        if not bounds.flags & RANGE_PROTO_SPECIFIED:
            # The port of a destination stays whether the tuple is used or not.
            if manip == MANIP_DST and not is_icmp(chosen.protocol) or not used(net, chosen, ct):
                return
        elif not bounds.flags & RANGE_PROTO_OFFSET and key_in_range(net, chosen, bounds, manip):
            if bounds.min_port == bounds.max_port or not used(net, chosen, ct):
                return
    search.walk = walk
    search.ct = ct
    search.tuple = chosen
    search.manip = <uint8_t>manip
    make_unique(&search, bounds)


cdef int bind(Walk* walk, CtEntry* ct, const NatRange* bounds, int manip, int32_t rule) noexcept nogil:
    cdef Tuple current
    cdef Tuple chosen
    cdef Tuple reply
    if ct.status & IPS_CONFIRMED:
        return NF_ACCEPT
    if nat_is_bound(ct, manip):
        return NF_DROP
    tuple_invert(&ct.tuple[1], &current)
    unique_tuple(walk, ct, &current, bounds, manip, &chosen)
    if not tuple_equal(&current, &chosen):
        tuple_invert(&chosen, &reply)
        conntrack_alter_reply(walk.net, ct, &reply)
        ct.status |= IPS_DST_NAT if manip == MANIP_DST else IPS_SRC_NAT
    if manip == MANIP_SRC:
        nat_source_link(walk.net, ct)
    ct.status |= IPS_DST_NAT_DONE if manip == MANIP_DST else IPS_SRC_NAT_DONE
    ct.rule[manip] = rule
    record(&walk.net.recorder, STEP_NAT, walk.hook, TABLE_NAT, <uint8_t>manip, rule, 0, 0, False)
    return NF_ACCEPT


cdef int nat_setup(Walk* walk, CtEntry* ct, NatRange* bounds, int manip) noexcept nogil:
    if bounds.rule == 0:
        bounds.rule = 1 + nat_rule_enter(walk.net, walk.family, walk.rule_table, walk.rule_chain, walk.rule_number)
    return bind(walk, ct, bounds, manip, <int32_t>bounds.rule - 1)


cdef int nat_setup_null(Walk* walk, CtEntry* ct, int manip) noexcept nogil:
    cdef NatRange own
    memset(&own, 0, sizeof(NatRange))
    own.flags = RANGE_MAP_IPS
    own.min_addr = ct.tuple[1].src if manip == MANIP_DST else ct.tuple[1].dst
    own.max_addr = own.min_addr
    return bind(walk, ct, &own, manip, -1)
