"""Fragmentation on output (net/ipv4/ip_output.c, ip_do_fragment; net/ipv6/ip6_output.c, ip6_fragment).

A packet that was put together from fragments on its way in is cut at the same places again, if every piece still
fits; else, like any other, into pieces as large as the way allows.
"""
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memcpy

from datapath._core.conntrack cimport conntrack_get
from datapath._core.context cimport Net
from datapath._core.conntrack cimport conntrack_get
from datapath._core.draws cimport draw_u32
from datapath._core.exthdr cimport NEXTHDR_DEST, NEXTHDR_FRAGMENT, NEXTHDR_HOP, NEXTHDR_ROUTING
from datapath._core.icmp cimport icmp_send
from datapath._core.ip_options cimport fragment_options
from datapath._core.outcome cimport EMSGSIZE, packet_drop
from datapath._core.packet cimport HEADROOM, Packet, packet_has, packet_ip
from datapath._core.pool cimport packet_free, packet_new, packet_reserve
from datapath._core.record cimport STEP_FRAGMENT, record
from datapath._core.transmit cimport finish_output2
from datapath._core.verdict cimport DROP_NOT_SPECIFIED, HOOK_POSTROUTING
from datapath._core.wire cimport fold, load_be16, store_be16, store_be32, sum_bytes

cdef enum:
    UNREACHABLE = 3
    FRAGMENTATION_NEEDED = 4
    PACKET_TOO_BIG6 = 2
    DONT_FRAGMENT = 0x4000
    MORE_FRAGMENTS = 0x2000
    IPV6_MIN_MTU = 1280


cdef void too_big(Walk* walk) noexcept nogil:
    if walk.pkt.main and walk.pkt.local:
        walk.net.error = EMSGSIZE
    packet_drop(walk.net, walk.pkt, HOOK_POSTROUTING, DROP_NOT_SPECIFIED)


cdef uint32_t piece(const Packet* pkt, uint32_t i) noexcept nogil:
    return (<const uint16_t*>pkt.pieces)[i]


cdef bint pieces_fit(const Packet* pkt, uint32_t header, uint32_t room) noexcept nogil:
    """Whether the packet can be cut where it was put together: each piece but the last a multiple of 8, none too large."""
    cdef uint32_t i
    cdef uint32_t rest = 0
    if pkt.n_pieces < 2:
        return False
    for i in range(1, pkt.n_pieces):
        if piece(pkt, i) > room or (piece(pkt, i) & 7 and i + 1 < pkt.n_pieces):
            return False
        rest += piece(pkt, i)
    if rest + header > pkt.len:
        return False
    rest = pkt.len - header - rest      # the first, with the headers that belong to the fragmentable part
    return rest <= room and rest & 7 == 0


cdef uint32_t next_size(const Packet* pkt, uint32_t i, uint32_t left, uint32_t room, bint as_received) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t size
    if as_received:
        if i:
            return piece(pkt, i)
        size = left
        for k in range(1, pkt.n_pieces):
            size -= piece(pkt, k)
        return size
    return left if left <= room else room & ~<uint32_t>7


cdef Packet* cut(Net* net, const Packet* pkt, uint32_t header, uint32_t inserted, uint32_t start, uint32_t size) noexcept nogil:
    """A packet with the first `header` bytes of pkt, room for a header to be inserted, and `size` bytes from `start` on."""
    cdef Packet* new = packet_new(net)
    cdef uint8_t* head
    cdef uint32_t room
    cdef uint32_t have = 0
    if new == NULL:
        return NULL
    if not packet_reserve(new, header + inserted + size):
        packet_free(net, new)
        return NULL
    head = new.head
    room = new.size
    new[0] = pkt[0]
    new.head = head
    new.size = room
    new.net = new.mac = HEADROOM
    new.mac_len = 0
    new.next = NULL
    if new.ct != NULL:      # ip_copy_metadata: each fragment holds the connection
        conntrack_get(new.ct)
    new.pieces = NULL
    new.n_pieces = 0
    new.frag_max_size = 0
    if pkt.present > start:
        have = min(size, pkt.present - start)
    memcpy(packet_ip(new), packet_ip(pkt), header)
    memcpy(packet_ip(new) + header + inserted, packet_ip(pkt) + start, have)
    new.len = header + inserted + size
    new.present = header + inserted + have
    return new


cdef void fragment_ipv4(Walk* walk, uint32_t mtu) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Packet* new
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint32_t header = (ip[0] & 0xF) * 4
    cdef uint16_t field = load_be16(ip + 6)
    cdef uint32_t offset = <uint32_t>(field & 0x1FFF) << 3
    cdef uint32_t at = header
    cdef uint32_t size
    cdef uint32_t i = 0
    cdef bint as_received
    if field & DONT_FRAGMENT and (not pkt.ignore_df or (pkt.frag_max_size and pkt.frag_max_size > mtu)):
        icmp_send(walk, UNREACHABLE, FRAGMENTATION_NEEDED, mtu)
        too_big(walk)
        return
    if pkt.frag_max_size and pkt.frag_max_size < mtu:
        mtu = pkt.frag_max_size
    if mtu < header + 8:
        too_big(walk)
        return
    as_received = field & (0x1FFF | MORE_FRAGMENTS) == 0 and pieces_fit(pkt, header, mtu - header)
    while at < pkt.len:
        size = next_size(pkt, i, pkt.len - at, mtu - header, as_received)
        new = cut(net, pkt, header, 0, at, size)
        if new == NULL:
            break
        if i == 0 and pkt.options:
            fragment_options(pkt)
        at += size
        write_ipv4_fragment(new, offset, at < pkt.len or field & MORE_FRAGMENTS, pkt.frag_pmtu and not as_received, header)
        offset += size
        i += 1
        finish_output2(net, new)
    record(&net.recorder, STEP_FRAGMENT, HOOK_POSTROUTING, 0, 0, <int>i, 0, 0, False)
    packet_free(net, pkt)


cdef void write_ipv4_fragment(Packet* new, uint32_t offset, bint more, bint keep_df, uint32_t header) noexcept nogil:
    cdef uint8_t* ip = packet_ip(new)
    cdef uint16_t field = <uint16_t>(offset >> 3)
    if more:
        field |= MORE_FRAGMENTS
    if keep_df:
        field |= DONT_FRAGMENT
    store_be16(ip + 2, <uint16_t>new.len)
    store_be16(ip + 6, field)
    store_be16(ip + 10, 0)
    store_be16(ip + 10, <uint16_t>~fold(sum_bytes(ip, header)))


cdef int first_fragmentable(const Packet* pkt, uint32_t* field) noexcept nogil:
    """ip6_find_1stfragopt: where the fragmentable part begins, and where the field stands that names its first header."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint32_t offset = 40
    cdef bint routing = False
    field[0] = 6
    while offset <= pkt.present:
        if ip[field[0]] == NEXTHDR_ROUTING:
            routing = True
        elif ip[field[0]] == NEXTHDR_DEST:
            if routing:
                return <int>offset
        elif ip[field[0]] != NEXTHDR_HOP:
            return <int>offset
        if not packet_has(pkt, offset, 2):
            return -1
        field[0] = offset
        offset += (<uint32_t>ip[offset + 1] + 1) << 3
    return -1


cdef void fragment_ipv6(Walk* walk, uint32_t mtu) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    cdef Packet* new
    cdef uint32_t field = 0
    cdef int found = first_fragmentable(pkt, &field)
    cdef uint32_t header
    cdef uint32_t at
    cdef uint32_t size
    cdef uint32_t id
    cdef uint32_t i = 0
    cdef bint as_received
    if found < 0:
        packet_drop(net, pkt, HOOK_POSTROUTING, DROP_NOT_SPECIFIED)
        return
    header = <uint32_t>found
    if (not pkt.ignore_df and pkt.len > mtu) or (pkt.frag_max_size and pkt.frag_max_size > mtu):
        icmp_send(walk, PACKET_TOO_BIG6, 0, mtu)
        too_big(walk)
        return
    if pkt.frag_max_size:       # nothing larger than what came in
        mtu = max(pkt.frag_max_size, <uint32_t>IPV6_MIN_MTU)
    if mtu < header + 16:
        icmp_send(walk, PACKET_TOO_BIG6, 0, mtu)
        too_big(walk)
        return
    mtu -= header + 8
    id = draw_u32(&net.draws)
    as_received = pieces_fit(pkt, header, mtu)
    at = header
    while at < pkt.len:
        size = next_size(pkt, i, pkt.len - at, mtu, as_received)
        new = cut(net, pkt, header, 8, at, size)
        if new == NULL:
            break
        write_ipv6_fragment(new, header, field, at - header, at + size < pkt.len, id)
        at += size
        i += 1
        finish_output2(net, new)
    record(&net.recorder, STEP_FRAGMENT, HOOK_POSTROUTING, 0, 0, <int>i, 0, 0, False)
    packet_free(net, pkt)


cdef void write_ipv6_fragment(Packet* new, uint32_t header, uint32_t field, uint32_t offset, bint more, uint32_t id) noexcept nogil:
    cdef uint8_t* ip = packet_ip(new)
    ip[header] = ip[field]
    ip[header + 1] = 0
    store_be16(ip + header + 2, <uint16_t>(offset | more))
    store_be32(ip + header + 4, id)
    ip[field] = NEXTHDR_FRAGMENT
    store_be16(ip + 4, <uint16_t>(new.len - 40))
