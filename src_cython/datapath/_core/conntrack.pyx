"""Connection tracking (net/netfilter/nf_conntrack_core.c).

A packet is given its entry when it comes in (conntrack_in); a new entry goes into the table when the packet leaves
the last hook (conntrack_confirm), so that a packet dropped on the way leaves nothing behind.
"""
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport calloc

from datapath._core.conn cimport (
    CT_ESTABLISHED, CT_ESTABLISHED_REPLY, CT_IS_REPLY, CT_NEW, CT_RELATED, CT_RELATED_REPLY, CT_UNTRACKED, HOW_CLASH,
    HOW_CLASH_RESOLVED, HOW_CREATED, HOW_FOUND, HOW_NO_TRANSPORT, HOW_NO_TUPLE, HOW_NONE, HOW_PREVIOUS,
    HOW_TABLE_FULL, IPS_CONFIRMED, IPS_COUNTED, IPS_DYING, IPS_EXPECTED, IPS_FIXED_TIMEOUT, IPS_NAT_CLASH,
    IPS_REPLY_ONLY, IPS_SEEN_REPLY, CtExtra,
)
from datapath._core.ct_generic cimport track_generic, track_gre
from datapath._core.ct_icmp cimport icmp_error, track_icmp, track_icmpv6
from datapath._core.ct_sctp cimport track_sctp
from datapath._core.ct_table cimport (
    entry_insert, entry_kill, entry_new, entry_put, table_find, table_find_zoned, table_free,
    table_init, table_sweep,
)
from datapath._core.ct_tcp cimport track_tcp
from datapath._core.ct_tcp_states cimport TCP_CLOSE
from datapath._core.ct_track cimport TRACK_ACCEPT, TRACK_DROP, TRACK_REPEAT, Tracking, direction_of
from datapath._core.ct_udp cimport track_udp, track_udplite
from datapath._core.ct_zone cimport find_in_zone
from datapath._core.record cimport STEP_CONNTRACK, record
from datapath._core.tuples cimport tuple_equal
from datapath._core.verdict cimport NF_ACCEPT, NF_DROP

cdef enum:
    PROTO_ICMP = 1
    PROTO_TCP = 6
    PROTO_UDP = 17
    PROTO_GRE = 47
    PROTO_ICMPV6 = 58
    PROTO_SCTP = 132
    PROTO_UDPLITE = 136

cdef uint64_t CLASH_LIFETIME_NS = 1000000000


cdef int conntrack_init(Net* net) except -1:
    return table_init(net)


cdef void conntrack_free(Net* net) noexcept nogil:
    table_free(net)


cdef int conntrack_in(Walk* walk, int arg) noexcept nogil:
    """nf_conntrack_in: find or make the packet's entry, and let its protocol judge it."""
    cdef Packet* pkt = walk.pkt
    cdef Tracking t
    cdef int32_t transport
    cdef int verdict
    if pkt.ctinfo == CT_UNTRACKED or pkt.ct != NULL:
        note(walk, HOW_PREVIOUS)
        return NF_ACCEPT
    t.net = walk.net
    t.walk = walk
    t.pkt = pkt
    t.how = HOW_NONE
    take_template(&t)
    transport = transport_offset(pkt, 0, &t.protocol)
    if transport <= 0:
        t.how = HOW_NO_TRANSPORT
        verdict = NF_ACCEPT
        (<Conntrack*>t.net.conntrack).stats.invalid += 1
    else:
        t.transport = <uint32_t>transport
        t.header = pkt.head + pkt.net + transport
        verdict = track(&t)
    note(walk, t.how)
    return verdict


cdef void take_template(Tracking* t) noexcept nogil:
    """A rule of the raw table may have said the zones."""
    t.zone[0] = 0
    t.zone[1] = 0
    if t.pkt.ctinfo == CT_NEW:
        t.zone[0] = t.pkt.ct_zone[0]
        t.zone[1] = t.pkt.ct_zone[1]
        t.pkt.ctinfo = CT_ESTABLISHED


cdef void note(Walk* walk, uint8_t how) noexcept nogil:
    """Write down the state, and how the packet came to it. b = 1: cut by the snap length, its checksum is not known."""
    cdef Packet* pkt = walk.pkt
    record(&walk.net.recorder, STEP_CONNTRACK, walk.hook, 0, pkt.ctinfo, how, pkt.present < pkt.len,
           pkt.ct.id if pkt.ct != NULL else 0, True)


cdef int track(Tracking* t) noexcept nogil:
    """The entry of a packet whose transport header is known."""
    cdef Conntrack* table = <Conntrack*>t.net.conntrack
    cdef int answer = TRACK_DROP
    if t.protocol == PROTO_ICMP or t.protocol == PROTO_ICMPV6:
        if icmp_error(t) != TRACK_ACCEPT:
            table.stats.error += 1
            return NF_ACCEPT
        if t.pkt.ct != NULL or t.pkt.ctinfo == CT_UNTRACKED:
            return NF_ACCEPT
    while True:
        if not resolve(t):
            t.how = HOW_TABLE_FULL
            table.stats.drop += 1
            return NF_DROP
        if t.pkt.ct == NULL:
            t.how = HOW_NO_TUPLE
            table.stats.invalid += 1
            return NF_ACCEPT
        answer = judge(t)
        if answer == TRACK_ACCEPT:
            if t.ctinfo == CT_ESTABLISHED_REPLY:
                t.ct.status |= IPS_SEEN_REPLY
            return NF_ACCEPT
        entry_put(t.net, t.ct)
        t.pkt.ct = NULL
        t.pkt.ctinfo = CT_ESTABLISHED
        if answer != TRACK_REPEAT:
            break
    table.stats.invalid += 1
    if answer == TRACK_DROP:
        table.stats.drop += 1
        return NF_DROP
    return NF_ACCEPT


cdef bint resolve(Tracking* t) noexcept nogil:
    """The packet's entry by its tuple, a new one if there is none (resolve_normal_ct). The packet holds it; it holds
    none when it has no tuple. False: the table is full."""
    cdef Tuple tuple
    cdef Tuple inverse
    cdef CtEntry* ct
    cdef uint8_t direction = 0
    t.pkt.ct = NULL
    if not tuple_at(t.pkt, 0, t.transport, t.protocol, &tuple):
        return True
    ct = find_in_zone(t, &tuple, &direction)
    if ct == NULL:
        if not tuple_invert(&tuple, &inverse):
            return True
        inverse.zone = t.zone[1]
        ct = entry_new(t.net, &tuple)
        if ct == NULL:
            return False
        ct.tuple[0] = tuple
        ct.tuple[1] = inverse
        if t.net.sysctl.ct_acct:
            ct.status |= IPS_COUNTED
        if t.net.sysctl.ct_timestamp:
            add_timestamp(ct)
        direction = 0
        t.ctinfo = CT_NEW
        if t.how == HOW_NONE:
            t.how = HOW_CREATED
    else:
        ct.refs += 1
        t.how = HOW_FOUND
        if direction:
            t.ctinfo = CT_ESTABLISHED_REPLY
        elif ct.status & IPS_SEEN_REPLY:
            t.ctinfo = CT_ESTABLISHED
        else:
            t.ctinfo = CT_RELATED if ct.status & IPS_EXPECTED else CT_NEW
    t.ct = ct
    t.pkt.ct = ct
    t.pkt.ctinfo = t.ctinfo
    return True


cdef void add_timestamp(CtEntry* ct) noexcept nogil:
    """Its beginning will be kept (nf_ct_tstamp_ext_add). Without memory it is not, as in Linux."""
    ct.extra = <CtExtra*>calloc(1, sizeof(CtExtra))
    if ct.extra != NULL:
        ct.extra.has_start = 1


cdef inline int judge(Tracking* t) noexcept nogil:
    """Ask the protocol's tracker (nf_conntrack_handle_packet)."""
    cdef uint8_t protocol = t.protocol
    if protocol == PROTO_TCP:
        return track_tcp(t)
    if protocol == PROTO_UDP:
        return track_udp(t)
    if protocol == PROTO_ICMP:
        return track_icmp(t)
    if protocol == PROTO_ICMPV6:
        return track_icmpv6(t)
    if protocol == PROTO_GRE:
        return track_gre(t)
    if protocol == PROTO_SCTP:
        return track_sctp(t)
    if protocol == PROTO_UDPLITE:
        return track_udplite(t)
    return track_generic(t)


cdef int conntrack_confirm(Walk* walk, int arg) noexcept nogil:
    """nf_confirm: a new entry goes into the table. Replies to the packet that made it (attached errors and resets) do
    not confirm it."""
    cdef Packet* pkt = walk.pkt
    cdef CtEntry* ct = pkt.ct
    cdef Net* net = walk.net
    cdef CtEntry* winner
    if ct == NULL or ct.status & IPS_CONFIRMED or pkt.ctinfo >= CT_IS_REPLY:
        return NF_ACCEPT
    if ct.status & IPS_DYING:
        (<Conntrack*>net.conntrack).stats.insert_failed += 1
        return NF_DROP
    winner = clashing(net, ct)
    if winner != NULL:
        return resolve_clash(walk, ct, winner)
    ct.timeout_ns += net.now_ns
    if ct.extra != NULL:
        ct.extra.start_ns = net.now_ns
    entry_insert(net, ct)
    return NF_ACCEPT


cdef CtEntry* clashing(Net* net, CtEntry* ct) noexcept nogil:
    """An entry in the table that has one of its tuples."""
    cdef CtEntry* other = holder(net, ct, 0)
    return other if other != NULL else holder(net, ct, 1)


cdef CtEntry* holder(Net* net, CtEntry* ct, uint8_t direction) noexcept nogil:
    """An entry in the table that has the tuple of one of its directions."""
    cdef uint16_t[2] zone
    cdef uint8_t found = 0
    zone[0] = ct.tuple[0].zone
    zone[1] = ct.tuple[1].zone
    return table_find_zoned(net, &ct.tuple[direction], zone, ct, &found)


cdef int resolve_clash(Walk* walk, CtEntry* ct, CtEntry* winner) noexcept nogil:
    """Two packets of one flow were in flight at once (nf_ct_resolve_clash): the later one joins the entry of the first if
    both entries mean the same; else it is entered for its replies only, for a second. TCP may not."""
    cdef Conntrack* table = <Conntrack*>walk.net.conntrack
    if not allows_clash(ct.tuple[0].protocol):
        return refuse_clash(walk)
    if join(walk, ct, winner):
        return NF_ACCEPT
    winner = holder(walk.net, ct, 1)
    if winner != NULL:
        return NF_ACCEPT if join(walk, ct, winner) else refuse_clash(walk)
    ct.timeout_ns = walk.net.now_ns + CLASH_LIFETIME_NS
    ct.status |= IPS_FIXED_TIMEOUT | IPS_NAT_CLASH | IPS_REPLY_ONLY
    entry_insert(walk.net, ct)
    table.stats.clash_resolve += 1
    note(walk, HOW_CLASH_RESOLVED)
    return NF_ACCEPT


cdef bint allows_clash(uint8_t protocol) noexcept nogil:
    """nf_conntrack_l4proto.allow_clash."""
    return protocol in (PROTO_UDP, PROTO_UDPLITE, PROTO_GRE) or protocol not in (
        PROTO_TCP, PROTO_ICMP, PROTO_ICMPV6, PROTO_SCTP)


cdef int refuse_clash(Walk* walk) noexcept nogil:
    cdef Conntrack* table = <Conntrack*>walk.net.conntrack
    table.stats.drop += 1
    table.stats.insert_failed += 1
    note(walk, HOW_CLASH)
    return NF_DROP


cdef bint join(Walk* walk, CtEntry* ct, CtEntry* winner) noexcept nogil:
    """Give the packet the entry that was faster, if both mean the same flow, in either direction."""
    cdef Packet* pkt = walk.pkt
    cdef bint same = tuple_equal(&ct.tuple[0], &winner.tuple[0]) and tuple_equal(&ct.tuple[1], &winner.tuple[1])
    cdef bint reverse = tuple_equal(&ct.tuple[0], &winner.tuple[1]) and tuple_equal(&ct.tuple[1], &winner.tuple[0])
    cdef uint8_t direction = direction_of(pkt.ctinfo)
    if not same and not reverse:
        return False
    if winner.status & IPS_COUNTED and ct.status & IPS_COUNTED:
        winner.packets[direction] += 1
        winner.bytes[direction] += ct.bytes[direction]
    winner.refs += 1
    entry_put(walk.net, ct)
    pkt.ct = winner
    (<Conntrack*>walk.net.conntrack).stats.clash_resolve += 1
    note(walk, HOW_CLASH_RESOLVED)
    return True


cdef CtEntry* conntrack_find(Net* net, const Tuple* t) noexcept nogil:
    """The live entry that has the tuple in either direction, NULL if there is none. No reference is taken."""
    cdef uint8_t direction = 0
    return table_find(net, t, &direction)


cdef CtEntry* conntrack_find_dir(Net* net, const Tuple* t, uint8_t* direction) noexcept nogil:
    """The same, and in which direction it has it."""
    return table_find(net, t, direction)


cdef bint conntrack_tuple_taken(Net* net, const Tuple* reply, const CtEntry* ignored) noexcept nogil:
    """Whether another live entry has the tuple (nf_conntrack_tuple_taken). An entry with the same original tuple is
    the same flow, in flight at the same time: clash resolution will deal with it."""
    cdef Tuple t = reply[0]
    cdef CtEntry* ct
    cdef uint16_t[2] zone
    cdef uint8_t direction = 0
    zone[0] = ignored.tuple[0].zone
    zone[1] = ignored.tuple[1].zone
    t.zone = zone[1]
    ct = table_find_zoned(net, &t, zone, ignored, &direction)
    if ct == NULL:
        return False
    if tuple_equal(&ct.tuple[0], &ignored.tuple[0]):
        return False
    (<Conntrack*>net.conntrack).stats.found += 1
    return True


cdef void conntrack_alter_reply(Net* net, CtEntry* ct, const Tuple* reply) noexcept nogil:
    """Change the reply tuple of an entry that is not in the table yet; its zone stays."""
    cdef uint16_t zone = ct.tuple[1].zone
    ct.tuple[1] = reply[0]
    ct.tuple[1].zone = zone


cdef void conntrack_attach(Net* net, Packet* new, const Packet* old) noexcept nogil:
    """A packet that the kernel sends on account of `old` goes the other way in its connection (nf_conntrack_attach).

    Of an untracked one it gets the state alone, without a connection: NOTRACK takes it for seen, and nothing finds it valid.
    """
    if old.ct == NULL:
        if old.ctinfo == CT_UNTRACKED:
            new.ctinfo = CT_RELATED
        return
    if new.ct != NULL:
        entry_put(net, new.ct)
    new.ct = old.ct
    new.ct.refs += 1
    new.ctinfo = CT_RELATED if old.ctinfo >= CT_IS_REPLY else CT_RELATED_REPLY


cdef void conntrack_get(CtEntry* ct) noexcept nogil:
    ct.refs += 1


cdef void conntrack_put(Net* net, CtEntry* ct) noexcept nogil:
    """Give a packet's reference back. NULL is allowed."""
    if ct != NULL:
        entry_put(net, ct)


cdef bint conntrack_kill(Net* net, CtEntry* ct) noexcept nogil:
    """Take an entry out of the table. False when it was out already."""
    return entry_kill(net, ct)


cdef void conntrack_set_closing(Net* net, CtEntry* ct) noexcept nogil:
    """nf_conntrack_tcp_set_closing: the entry of a connection that was reset by a rule does not live long."""
    if ct == NULL or not ct.status & IPS_CONFIRMED or ct.tuple[0].protocol != PROTO_TCP or ct.proto.tcp.state == TCP_CLOSE:
        return
    ct.proto.tcp.state = TCP_CLOSE
    if not ct.status & IPS_FIXED_TIMEOUT:
        ct.timeout_ns = net.now_ns + net.sysctl.ct_timeout_tcp[<int>TCP_CLOSE]


cdef void conntrack_sweep(Net* net) noexcept nogil:
    table_sweep(net, (<Conntrack*>net.conntrack).used)
