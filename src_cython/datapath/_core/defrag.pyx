"""Reassembly (net/ipv4/ip_fragment.c, net/ipv4/inet_fragment.c, net/ipv6/reassembly.c,
net/ipv6/netfilter/nf_conntrack_reasm.c).
"""
from libc.stdint cimport int64_t, uint16_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove, memset

from datapath._core.conn cimport CT_UNTRACKED
from datapath._core.conntrack cimport conntrack_put
from datapath._core.exthdr cimport (
    NEXTHDR_AUTH, NEXTHDR_FRAGMENT, NEXTHDR_HOP, NEXTHDR_ICMP, NEXTHDR_NONE, NEXTHDR_TCP, NEXTHDR_UDP, Skipped, is_extension_header,
    packet_find_transport, skip_extension_headers,
)
from datapath._core.fib cimport RTN_LOCAL
from datapath._core.icmp cimport icmp_send
from datapath._core.icmp_limit cimport next_rid
from datapath._core.outcome cimport packet_became, packet_drop, packet_end
from datapath._core.packet cimport packet_destination, packet_has, packet_ip, packet_source
from datapath._core.pool cimport packet_expand, packet_free
from datapath._core.record cimport STEP_DEFRAG, record
from datapath._core.route cimport route_input
from datapath._core.verdict cimport (
    DROP_DUP_FRAG, DROP_FRAG_REASM_TIMEOUT, DROP_NONE, DROP_NOMEM, DROP_NOT_SPECIFIED, HOOK_INPUT, HOOK_PREROUTING,
    NF_ACCEPT, NF_DROP, NF_STOLEN, OUTCOME_DROPPED, OUTCOME_QUEUED,
)
from datapath._core.walk cimport walk_begin
from datapath._core.wire cimport fold, load_be16, load_be32, store_be16, sum_bytes

cdef enum:
    DONT_FRAGMENT = 0x4000
    MORE_FRAGMENTS = 0x2000
    ADDED = 0
    DUPLICATE = 1
    OVERLAP = 2
    REFUSED = 3
    UNALIGNED = 4
    TOO_LONG = 5
    LISTS = 3
    TIME_EXCEEDED = 11
    TIME_EXCEEDED6 = 3
    REASSEMBLY = 1
    PARAMETER_PROBLEM6 = 4
    HEADER_FIELD = 0
    HEADER_INCOMPLETE = 3
    TRUESIZE = 768          # what a small sk_buff counts besides its bytes
    CE = 3

# ip_frag_ecn_table: what the whole packet's ECN bits become, by the set of those of the fragments; 0xFF: not to be mixed.
cdef uint8_t* ECN_OF = [0, 0, 0, 0xFF, 0, 0xFF, 0, 0xFF, 0, 0xFF, CE, 0xFF, CE, 0xFF, CE, 0xFF]


cdef int fragments_init(Net* net) except -1:
    net.fragments = calloc(1, sizeof(Fragments))
    if net.fragments == NULL:
        raise MemoryError
    return 0


cdef void fragments_free(Net* net) noexcept nogil:
    cdef Fragments* fragments = <Fragments*>net.fragments
    cdef int i
    if fragments == NULL:
        return
    for i in range(LISTS):
        while fragments.oldest[i] != NULL:
            queue_kill(net, fragments.oldest[i])
    free(fragments)
    net.fragments = NULL


# ---- the table of queues ----

cdef inline int list_of(const FragmentKey* key) noexcept nogil:
    return 0 if key.family == 4 else 1 if key.user == DEFRAG_LOCAL_DELIVER else 2


cdef inline uint32_t bucket_of(const FragmentKey* key) noexcept nogil:
    cdef uint64_t h = (key.src.q[0] ^ key.src.q[1]) * <uint64_t>0x9FB21C651E98DF25
    h ^= (key.dst.q[0] ^ key.dst.q[1] ^ key.id ^ <uint64_t>key.user << 32) * <uint64_t>0x9E3779B97F4A7C15
    return <uint32_t>(h >> 54)


cdef uint64_t timeout_of(const Net* net, int which) noexcept nogil:
    cdef uint32_t seconds = net.sysctl.ipfrag_time
    if which == 1:
        seconds = net.sysctl.ip6frag_time
    elif which == 2:
        seconds = net.sysctl.nf_frag6_timeout
    return <uint64_t>seconds * 1000000000


cdef uint64_t limit_of(const Net* net, int which) noexcept nogil:
    if which == 0:
        return net.sysctl.ipfrag_high_thresh
    return net.sysctl.ip6frag_high_thresh if which == 1 else net.sysctl.nf_frag6_high_thresh


cdef Queue* queue_find(Net* net, const FragmentKey* key) noexcept nogil:
    """inet_frag_find: found, or made if there is memory left."""
    cdef Fragments* fragments = <Fragments*>net.fragments
    cdef uint32_t place = bucket_of(key)
    cdef int which = list_of(key)
    cdef Queue* queue = fragments.buckets[place]
    while queue != NULL:
        if memcmp(&queue.key, key, sizeof(FragmentKey)) == 0:
            return queue
        queue = queue.hash_next
    if fragments.memory[which] > limit_of(net, which) or limit_of(net, which) == 0:
        return NULL
    queue = <Queue*>calloc(1, sizeof(Queue))
    if queue == NULL:
        return NULL
    queue.key = key[0]
    queue.expires_ns = net.now_ns + timeout_of(net, which)
    queue.hash_next = fragments.buckets[place]
    fragments.buckets[place] = queue
    queue.older = fragments.newest[which]
    if queue.older != NULL:
        queue.older.newer = queue
    else:
        fragments.oldest[which] = queue
    fragments.newest[which] = queue
    return queue


cdef void queue_forget(Net* net, Queue* queue) noexcept nogil:
    """Take it out of the table; its fragments stay with it."""
    cdef Fragments* fragments = <Fragments*>net.fragments
    cdef int which = list_of(&queue.key)
    cdef Queue** link = &fragments.buckets[bucket_of(&queue.key)]
    while link[0] != queue:
        link = &link[0].hash_next
    link[0] = queue.hash_next
    if queue.older != NULL:
        queue.older.newer = queue.newer
    else:
        fragments.oldest[which] = queue.newer
    if queue.newer != NULL:
        queue.newer.older = queue.older
    else:
        fragments.newest[which] = queue.older


cdef void queue_flush(Net* net, Queue* queue) noexcept nogil:
    """inet_frag_queue_flush: its fragments are given up."""
    cdef Fragments* fragments = <Fragments*>net.fragments
    cdef Packet* pkt
    while queue.first != NULL:
        pkt = queue.first
        queue.first = pkt.next
        fragments.memory[list_of(&queue.key)] -= TRUESIZE + pkt.present
        packet_free(net, pkt)
    queue.n_runs = 0
    queue.n_fragments = 0


cdef void queue_kill(Net* net, Queue* queue) noexcept nogil:
    queue_forget(net, queue)
    queue_flush(net, queue)
    free(queue.runs)
    free(queue)


# ---- one fragment ----

cdef bint run_insert(Queue* queue, uint32_t place, uint32_t start, uint32_t end) noexcept nogil:
    cdef Run* larger
    if queue.n_runs == queue.runs_capacity:
        larger = <Run*>realloc(queue.runs, (queue.runs_capacity + 16) * sizeof(Run))
        if larger == NULL:
            return False
        queue.runs = larger
        queue.runs_capacity += 16
    memmove(&queue.runs[place + 1], &queue.runs[place], (queue.n_runs - place) * sizeof(Run))
    queue.runs[place].start = start
    queue.runs[place].end = end
    queue.n_runs += 1
    return True


cdef int place_fragment(Queue* queue, uint32_t start, uint32_t end) noexcept nogil:
    """inet_frag_queue_insert: a fragment inside of a run is a duplicate, one that overlaps otherwise spoils the packet."""
    cdef Run* tail
    cdef uint32_t i
    if queue.n_runs == 0:
        return ADDED if run_insert(queue, 0, start, end) else OVERLAP
    tail = &queue.runs[queue.n_runs - 1]
    if tail.end < end:      # the usual case: behind all others
        if start < tail.end:
            return OVERLAP
        if start == tail.end:
            tail.end = end
            return ADDED
        return ADDED if run_insert(queue, queue.n_runs, start, end) else OVERLAP
    for i in range(queue.n_runs):
        if end <= queue.runs[i].start:
            return ADDED if run_insert(queue, i, start, end) else OVERLAP
        if start >= queue.runs[i].end:
            continue
        return DUPLICATE if start >= queue.runs[i].start and end <= queue.runs[i].end else OVERLAP
    return OVERLAP


cdef void link_fragment(Net* net, Queue* queue, Packet* pkt, uint32_t offset) noexcept nogil:
    cdef Fragments* fragments = <Fragments*>net.fragments
    cdef Packet** link = &queue.first
    pkt.piece_offset = offset
    while link[0] != NULL and link[0].piece_offset < offset:
        link = &link[0].next
    pkt.next = link[0]
    link[0] = pkt
    queue.n_fragments += 1
    fragments.memory[list_of(&queue.key)] += TRUESIZE + pkt.present


cdef bint range_fits(Queue* queue, uint32_t end, bint more) noexcept nogil:
    """Whether the fragment agrees with what is known of the whole packet's length."""
    if not more:
        if end < queue.length or (queue.last_in and end != queue.length):
            return False
        queue.last_in = 1
        queue.length = end
    elif end > queue.length:
        if queue.last_in:
            return False
        queue.length = end
    return True


cdef int gave_up(Walk* walk, Queue* queue, uint8_t reason, uint8_t hook) noexcept nogil:
    """The fragment, and with it the queue if there is one, is dropped."""
    if queue != NULL:
        queue_kill(walk.net, queue)
    packet_drop(walk.net, walk.pkt, hook, reason)
    return NF_STOLEN


cdef int kept_back(Walk* walk) noexcept nogil:
    record(&walk.net.recorder, STEP_DEFRAG, walk.hook, 0, 0, 0, 0, 0, False)
    packet_became(walk.net, walk.pkt, OUTCOME_QUEUED)
    walk.pkt.main = 0
    return NF_STOLEN


cdef bint complete(const Queue* queue) noexcept nogil:
    return queue.first_in and queue.last_in and queue.meat == queue.length


cdef int defrag_ipv4(Walk* walk, uint32_t user) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t hook = HOOK_PREROUTING if user else HOOK_INPUT
    cdef uint32_t start = pkt.frag_offset
    cdef uint32_t end = start + pkt.len - pkt.transport
    cdef FragmentKey key
    cdef Queue* queue
    cdef uint32_t rid
    cdef int placed
    memset(&key, 0, sizeof(FragmentKey))
    key.src = packet_source(pkt)
    key.dst = packet_destination(pkt)
    key.id = load_be16(ip + 4)
    key.user = user
    key.family = 4
    key.protocol = ip[9]
    key.dev = -1
    queue = queue_find(net, &key)
    if queue == NULL:
        return gave_up(walk, NULL, DROP_NOMEM, hook)
    if net.sysctl.ipfrag_max_dist:
        rid = queue.rid
        queue.rid = next_rid(net, &key.src)
        if queue.n_fragments and queue.rid - rid > net.sysctl.ipfrag_max_dist:
            queue_reinit(net, queue)
    if pkt.more_fragments:
        end &= ~<uint32_t>7
    if not range_fits(queue, end, pkt.more_fragments) or end == start:
        return gave_up(walk, queue, DROP_NOT_SPECIFIED, hook)
    pkt.transport_of_piece = pkt.transport
    pkt.len = pkt.transport + end - start
    pkt.present = min(pkt.present, pkt.len)
    placed = place_fragment(queue, start, end)
    if placed == DUPLICATE:
        return gave_up(walk, NULL, DROP_DUP_FRAG, hook)
    if placed == OVERLAP:
        return gave_up(walk, queue, DROP_NOT_SPECIFIED, hook)
    link_fragment(net, queue, pkt, start)
    queue.dev = pkt.dev
    queue.meat += end - start
    queue.ecn |= 1 << (ip[1] & 3)
    queue.first_in |= start == 0
    queue.max_size = max(queue.max_size, pkt.len)
    if load_be16(ip + 6) & DONT_FRAGMENT:
        queue.max_df_size = max(queue.max_df_size, pkt.len)
    if not complete(queue):
        return kept_back(walk)
    return whole_ipv4(walk, queue)


cdef void queue_reinit(Net* net, Queue* queue) noexcept nogil:
    """ip_frag_reinit: the fragments are from too long ago; begin anew with the same queue."""
    queue_flush(net, queue)
    queue.length = 0
    queue.meat = 0
    queue.ecn = 0
    queue.first_in = 0
    queue.last_in = 0
    queue.expires_ns = net.now_ns + timeout_of(net, 0)


cdef int whole_ipv4(Walk* walk, Queue* queue) noexcept nogil:
    """ip_frag_reasm."""
    cdef Packet* pkt = walk.pkt
    cdef uint8_t* ip
    cdef uint8_t ecn = ECN_OF[queue.ecn]
    cdef uint32_t header = queue.first.transport
    if ecn == 0xFF or header + queue.length > 0xFFFF or not join(walk, queue, header, 0):
        return spoiled(walk, queue)
    ip = packet_ip(pkt)
    store_be16(ip + 2, <uint16_t>pkt.len)
    ip[1] |= ecn
    store_be16(ip + 6, DONT_FRAGMENT if queue.max_df_size == queue.max_size else 0)
    store_be16(ip + 10, 0)
    store_be16(ip + 10, <uint16_t>~fold(sum_bytes(ip, header)))
    pkt.frag_max_size = max(queue.max_df_size, queue.max_size)
    pkt.frag_pmtu = queue.max_df_size == queue.max_size
    if queue.key.user != DEFRAG_LOCAL_DELIVER:
        pkt.ignore_df = 1
    return joined(walk, queue)


cdef int joined(Walk* walk, Queue* queue) noexcept nogil:
    queue_kill(walk.net, queue)
    packet_find_transport(walk.pkt)
    record(&walk.net.recorder, STEP_DEFRAG, walk.hook, 0, 1, 0, 0, 0, False)
    return NF_ACCEPT


cdef int spoiled(Walk* walk, Queue* queue) noexcept nogil:
    """It cannot be put together: the last fragment, which is in the queue, goes with the others. Linux tells no reason."""
    unlink(walk.net, queue, walk.pkt)
    queue_kill(walk.net, queue)
    packet_end(walk.net, walk.pkt, OUTCOME_DROPPED)
    return NF_STOLEN


cdef void unlink(Net* net, Queue* queue, Packet* pkt) noexcept nogil:
    cdef Packet** link = &queue.first
    while link[0] != pkt:
        link = &link[0].next
    link[0] = pkt.next
    pkt.next = NULL
    (<Fragments*>net.fragments).memory[list_of(&queue.key)] -= TRUESIZE + pkt.present


cdef bint join(Walk* walk, Queue* queue, uint32_t header, uint32_t removed) noexcept nogil:
    """Make walk.pkt the whole packet: the first fragment's headers (less `removed` bytes at their end) and all data.

    As in Linux everything but the device and the route is the first fragment's, whichever came last.
    """
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Packet* head = queue.first
    cdef Packet* item
    cdef Packet kept
    cdef uint32_t at = header - removed
    cdef uint32_t cut_at = 0
    cdef uint32_t data
    cdef uint32_t have
    cdef uint32_t i = 0
    cdef uint16_t* sizes = <uint16_t*>malloc(queue.n_fragments * sizeof(uint16_t))
    if sizes == NULL or not packet_expand(head, header + queue.length):
        free(sizes)
        return False
    if removed:
        memmove(packet_ip(head) + at, packet_ip(head) + header, head.present - min(head.present, header))
    item = head
    while item != NULL:
        data = item.len - item.transport_of_piece
        have = item.present - min(item.present, item.transport_of_piece)
        if item != head:
            memcpy(packet_ip(head) + at, packet_ip(item) + item.transport_of_piece, have)
        if have < data and cut_at == 0:     # the snap length took some: what lies behind cannot be read
            cut_at = at + have
        sizes[i] = <uint16_t>data
        i += 1
        at += data
        item = item.next
    unlink(net, queue, pkt)
    if head != pkt:
        unlink(net, queue, head)
        kept = pkt[0]
        if kept.ct != NULL:
            conntrack_put(net, kept.ct)
        pkt[0] = head[0]
        head.head = kept.head
        head.size = kept.size
        head.ct = NULL
        head.pieces = NULL
        pkt.main = kept.main
        pkt.depth = kept.depth
        pkt.serial = kept.serial
        pkt.dev = kept.dev
        pkt.route = kept.route
        packet_free(net, head)
    pkt.len = at
    pkt.present = cut_at if cut_at else at
    pkt.pieces = <uint8_t*>sizes
    pkt.n_pieces = i
    return True


# ---- IPv6 ----

cdef bint find_fragment_header(const Packet* pkt, uint32_t* named_at, uint32_t* offset) noexcept nogil:
    """find_prev_fhdr: the fragment header and the field before it that names it."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint8_t nexthdr = ip[6]
    cdef uint32_t size
    named_at[0] = 6
    offset[0] = 40
    while nexthdr != NEXTHDR_FRAGMENT:
        if not is_extension_header(nexthdr) or nexthdr == NEXTHDR_NONE or not packet_has(pkt, offset[0], 2):
            return False
        named_at[0] = offset[0]
        size = (<uint32_t>ip[offset[0] + 1] + 2) << 2 if nexthdr == NEXTHDR_AUTH else (<uint32_t>ip[offset[0] + 1] + 1) << 3
        nexthdr = ip[offset[0]]
        offset[0] += size
    return offset[0] <= pkt.len


cdef bint truncated(const Packet* pkt, uint32_t start, uint8_t nexthdr) noexcept nogil:
    """ipv6frag_thdr_truncated: the first fragment must hold all headers (RFC 8200, 4.5)."""
    cdef Skipped found = skip_extension_headers(pkt, start, nexthdr)
    cdef uint32_t end
    if found.offset < 0 or found.frag_field & 0xFFF8:
        return False
    end = <uint32_t>found.offset + 1
    if found.protocol == NEXTHDR_TCP:
        end += 19
    elif found.protocol == NEXTHDR_UDP or found.protocol == NEXTHDR_ICMP:
        end += 7
    return end > pkt.len


cdef Queue* ipv6_queue(Net* net, const Packet* pkt, uint32_t offset, uint32_t user) noexcept nogil:
    cdef FragmentKey key
    memset(&key, 0, sizeof(FragmentKey))
    key.src = packet_source(pkt)
    key.dst = packet_destination(pkt)
    key.id = load_be32(packet_ip(pkt) + offset + 4)
    key.user = user
    key.family = 6
    key.dev = -1
    if key.dst.b[0] == 0xFF or (key.dst.b[0] == 0xFE and key.dst.b[1] & 0xC0 == 0x80):
        key.dev = pkt.dev
    return queue_find(net, &key)


cdef int defrag_ipv6(Walk* walk, uint32_t user) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint32_t named_at = 0
    cdef uint32_t offset = 0
    cdef Queue* queue
    cdef int placed
    if load_be16(ip + 4) == 0 or not find_fragment_header(pkt, &named_at, &offset):
        return NF_ACCEPT
    if truncated(pkt, offset, NEXTHDR_FRAGMENT):
        return NF_ACCEPT
    if not packet_has(pkt, offset, 8):
        return NF_DROP
    queue = ipv6_queue(net, pkt, offset, user)
    if queue == NULL:
        return NF_DROP
    placed = place_ipv6(net, queue, pkt, offset, named_at)
    if placed == UNALIGNED:         # for the receiver to complain about
        queue_kill(net, queue)
        return NF_ACCEPT
    if placed == REFUSED or placed == TOO_LONG:
        return NF_DROP
    if placed == DUPLICATE:
        record(&net.recorder, STEP_DEFRAG, walk.hook, 0, 0, 0, 0, 0, False)
        packet_drop(net, pkt, walk.hook, DROP_DUP_FRAG)
        return NF_STOLEN
    if placed == OVERLAP:
        queue_kill(net, queue)
        return NF_DROP
    queue.max_size = max(queue.max_size, load_be16(ip + 4))
    if not complete(queue):
        return kept_back(walk)
    return whole_ipv6(walk, queue, 40 + queue.max_size)


cdef int place_ipv6(Net* net, Queue* queue, Packet* pkt, uint32_t offset, uint32_t named_at) noexcept nogil:
    """What nf_ct_frag6_queue and ip6_frag_queue share."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint16_t field = load_be16(ip + offset + 2)
    cdef uint32_t start = field & 0xFFF8
    cdef int64_t size = <int64_t>load_be16(ip + 4) + 40 - offset - 8
    cdef uint32_t end
    cdef int placed
    if start + size > 0xFFFF or start + size < 0:
        return TOO_LONG
    end = <uint32_t>(start + size)
    if field & 1 and end & 7:
        return UNALIGNED
    if not range_fits(queue, end, field & 1) or end == start:
        return REFUSED
    pkt.transport_of_piece = offset + 8
    if end > start:         # a process may have sent a header with too small a length: then nothing is cut off
        pkt.len = offset + 8 + end - start
        pkt.present = min(pkt.present, pkt.len)
    placed = place_fragment(queue, start, end)
    if placed != ADDED:
        return placed
    link_fragment(net, queue, pkt, start)
    pkt.ip6_nhoff = <uint16_t>named_at
    queue.dev = pkt.dev
    queue.meat += pkt.len - offset - 8
    queue.ecn |= 1 << (ip[1] >> 4 & 3)
    queue.first_in |= start == 0
    return ADDED


cdef int whole_ipv6(Walk* walk, Queue* queue, uint32_t max_size) noexcept nogil:
    """nf_ct_frag6_reasm, ip6_frag_reasm: the fragment header is taken out."""
    cdef Packet* pkt = walk.pkt
    cdef Packet* head = queue.first
    cdef uint8_t* ip
    cdef uint8_t ecn = ECN_OF[queue.ecn]
    cdef uint32_t header = head.transport_of_piece
    cdef uint32_t named_at = head.ip6_nhoff
    if ecn == 0xFF or header - 48 + queue.length > 0xFFFF:
        return spoiled(walk, queue)
    ip = packet_ip(head)
    ip[named_at] = ip[header - 8]
    if not join(walk, queue, header, 8):
        return spoiled(walk, queue)
    ip = packet_ip(pkt)
    store_be16(ip + 4, <uint16_t>(pkt.len - 40))
    ip[1] |= ecn << 4
    pkt.frag_max_size = max_size
    pkt.ip6_nhoff = <uint16_t>named_at
    if queue.key.user != DEFRAG_LOCAL_DELIVER:
        # Linux goes on behind the headers that stood before the fragment header, but by the name of the first of them:
        # destination options there make local delivery take the transport header for options.
        pkt.ip6_nhoff = 40 if ip[6] == NEXTHDR_HOP else 6
        pkt.ip6_start = <uint16_t>(header - 8)
        pkt.ignore_df = 1
    return joined(walk, queue)


cdef int parameter_problem(Walk* walk, Queue* queue, uint8_t code, uint32_t pointer) noexcept nogil:
    icmp_send(walk, PARAMETER_PROBLEM6, code, pointer)
    return gave_up(walk, queue, DROP_NOT_SPECIFIED, HOOK_INPUT)


cdef int defrag_ipv6_local(Walk* walk, uint32_t offset) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef Queue* queue
    cdef int placed
    if load_be16(ip + 4) == 0 or not packet_has(pkt, offset, 8):
        return parameter_problem(walk, NULL, HEADER_FIELD, offset)
    if truncated(pkt, 40, ip[6]):
        return parameter_problem(walk, NULL, HEADER_INCOMPLETE, 0)
    queue = ipv6_queue(net, pkt, offset, DEFRAG_LOCAL_DELIVER)
    if queue == NULL:
        return gave_up(walk, NULL, DROP_NOMEM, HOOK_INPUT)
    placed = place_ipv6(net, queue, pkt, offset, pkt.ip6_nhoff)
    if placed == TOO_LONG:
        return parameter_problem(walk, NULL, HEADER_FIELD, offset + 2)
    if placed == UNALIGNED:
        return parameter_problem(walk, NULL, HEADER_FIELD, 4)
    if placed == DUPLICATE:
        return gave_up(walk, NULL, DROP_DUP_FRAG, HOOK_INPUT)
    if placed != ADDED:
        return gave_up(walk, queue, DROP_NOT_SPECIFIED, HOOK_INPUT)
    queue.max_size = max(queue.max_size, pkt.len)
    if not complete(queue):
        return kept_back(walk)
    return whole_ipv6(walk, queue, queue.max_size)


# ---- the hook, the time ----

cdef int defrag_hook(Walk* walk, int arg) noexcept nogil:
    """ipv4_conntrack_defrag, ipv6_defrag."""
    cdef Packet* pkt = walk.pkt
    cdef uint32_t user = DEFRAG_CONNTRACK_IN if walk.hook == HOOK_PREROUTING else DEFRAG_CONNTRACK_OUT
    if pkt.ctinfo == CT_UNTRACKED:
        return NF_ACCEPT
    if pkt.family == 6:
        return NF_ACCEPT if pkt.ct != NULL else defrag_ipv6(walk, user)
    if pkt.frag_offset or pkt.more_fragments:
        return defrag_ipv4(walk, user)
    return NF_ACCEPT


cdef uint64_t fragments_due(Net* net) noexcept nogil:
    cdef Fragments* fragments = <Fragments*>net.fragments
    cdef uint64_t due = <uint64_t>0xFFFFFFFFFFFFFFFF
    cdef int i
    for i in range(LISTS):
        if fragments.oldest[i] != NULL and fragments.oldest[i].expires_ns < due:
            due = fragments.oldest[i].expires_ns
    return due


cdef void fragments_advance(Net* net) noexcept nogil:
    cdef Fragments* fragments = <Fragments*>net.fragments
    cdef int i
    for i in range(LISTS):
        while fragments.oldest[i] != NULL and fragments.oldest[i].expires_ns <= net.now_ns:
            expire(net, fragments.oldest[i])


cdef void expire(Net* net, Queue* queue) noexcept nogil:
    """ip_expire, ip6frag_expire_frag_queue: an error to the sender, if the first fragment came."""
    cdef Packet* head = NULL
    cdef Walk walk
    cdef bint tell = queue.first_in
    if tell:
        head = queue.first
        unlink(net, queue, head)
        head.dev = queue.dev
        walk_begin(&walk, net, head, queue.dev, -1)
        if head.family == 4:
            head.route = -1
            if queue.dev < 0 or route_input(&walk) != DROP_NONE:
                tell = False
            elif queue.key.user != DEFRAG_LOCAL_DELIVER and queue.key.user < DEFRAG_CONNTRACK_OUT:
                tell = net.routes[head.route].type == RTN_LOCAL and not net.routes[head.route].error
            if tell:
                icmp_send(&walk, TIME_EXCEEDED, REASSEMBLY, 0)
        elif queue.dev >= 0:
            icmp_send(&walk, TIME_EXCEEDED6, REASSEMBLY, 0)
        packet_drop(net, head, HOOK_PREROUTING, DROP_FRAG_REASM_TIMEOUT)
    queue_kill(net, queue)
