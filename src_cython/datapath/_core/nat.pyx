"""NAT at the hooks: binds new connections by the nat table, rewrites packets by their entry.

Followed: net/netfilter/nf_nat_core.c, nf_nat_inet_fn and nf_nat_packet; net/netfilter/nf_nat_proto.c,
nf_nat_icmp_reply_translation, nf_nat_icmpv6_reply_translation and the functions of the four hooks.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.conn cimport (
    CT_IS_REPLY, CT_NEW, CT_RELATED, CT_RELATED_REPLY, IPS_DST_NAT, IPS_NAT_DONE_MASK, IPS_NAT_MASK, IPS_SRC_NAT, CtEntry,
)
from datapath._core.conntrack cimport conntrack_find_dir, conntrack_kill, tuple_invert, tuple_of_packet
from datapath._core.context cimport Net
from datapath._core.device cimport DEVICE_VRF
from datapath._core.nat_binding cimport nat_is_bound
from datapath._core.nat_manip cimport MANIP_DST, MANIP_SRC, NatEnd, manip_of_hook, nat_manip_at
from datapath._core.packet cimport CSUM_NONE, CSUM_PARTIAL, Packet, packet_destination, packet_has, packet_ip, packet_source
from datapath._core.pieces cimport packet_pull
from datapath._core.program cimport program_run
from datapath._core.record cimport RECORD_NOTHING, STEP_NAT, STEP_REWRITE, Rewrite, record, recorder_rewrite
from datapath._core.route cimport route_me_harder
from datapath._core.tuples cimport Addr, Tuple, addr_equal
from datapath._core.verdict cimport (
    HOOK_OUTPUT, HOOK_POSTROUTING, NF_ACCEPT, NF_DROP, TABLE_NAT,
)
from datapath._core.wire cimport checksum_replace, fold, load_be16, store_be16, sum_bytes

cdef enum:
    PROTO_ICMP = 1
    PROTO_ICMPV6 = 58
    ICMP_REDIRECT = 5
    NDISC_REDIRECT = 137


cdef inline bint is_icmp(uint8_t protocol) noexcept nogil:
    return protocol == PROTO_ICMP or protocol == PROTO_ICMPV6


cdef inline bint has_ports(uint8_t protocol) noexcept nogil:
    return protocol == 6 or protocol == 17 or protocol == 132 or protocol == 136


cdef inline NatEnd end_of(const CtEntry* ct, int direction, uint8_t manip) noexcept nogil:
    """What an end of a packet of this direction becomes: the far side of the other direction's tuple."""
    cdef const Tuple* other = &ct.tuple[1 - direction]
    cdef NatEnd end
    end.manip = manip
    end.protocol = other.protocol
    if manip == MANIP_SRC:
        end.addr = &other.dst
        end.key = other.dport
    else:
        end.addr = &other.src
        end.key = other.sport
    if is_icmp(other.protocol):
        end.key = other.sport
    return end


cdef inline NatEnd end_before(const Tuple* own, uint8_t manip) noexcept nogil:
    """What an end of a packet was before."""
    cdef NatEnd end
    end.manip = manip
    end.protocol = own.protocol
    end.addr = &own.src if manip == MANIP_SRC else &own.dst
    end.key = own.dport if manip == MANIP_DST and not is_icmp(own.protocol) else own.sport
    return end


cdef inline bint is_translated(const CtEntry* ct, int direction, uint8_t manip) noexcept nogil:
    """Whether packets of this direction have this end rewritten: replies have the other one."""
    return (ct.status & (IPS_SRC_NAT if (manip ^ direction) == MANIP_SRC else IPS_DST_NAT)) != 0


cdef inline void note(Walk* walk, const CtEntry* ct, int direction, uint8_t manip) noexcept nogil:
    """Record that an earlier packet has decided."""
    cdef uint8_t binding = <uint8_t>(manip ^ direction)
    record(&walk.net.recorder, STEP_NAT, walk.hook, TABLE_NAT, binding, ct.rule[binding], 1, 0, False)


cdef uint16_t key_of_packet(const Packet* pkt, const NatEnd* end) noexcept nogil:
    """The port or id that the packet has at this end; 0: none that NAT knows."""
    cdef const uint8_t* header = packet_ip(pkt) + pkt.transport
    if end.protocol != pkt.protocol or not packet_has(pkt, pkt.transport, 6):
        return 0
    if is_icmp(pkt.protocol):
        return load_be16(header + 4)
    return load_be16(header + (2 if end.manip == MANIP_DST else 0)) if has_ports(pkt.protocol) else 0


cdef void note_rewrite(Walk* walk, const CtEntry* ct, int direction, const NatEnd* end, bint decided_before) noexcept nogil:
    """Record what will be rewritten, and that an earlier packet has decided so; nothing if the packet is so already."""
    cdef Packet* pkt = walk.pkt
    cdef Addr before = packet_destination(pkt) if end.manip == MANIP_DST else packet_source(pkt)
    cdef uint16_t key = key_of_packet(pkt, end)
    cdef uint16_t new_key = end.key if end.protocol == pkt.protocol and (is_icmp(pkt.protocol) or has_ports(pkt.protocol)) else 0
    cdef Rewrite* kept
    if addr_equal(&before, end.addr) and key == new_key:
        return
    if decided_before:
        note(walk, ct, direction, end.manip)
    kept = recorder_rewrite(&walk.net.recorder)
    record(&walk.net.recorder, STEP_REWRITE, walk.hook, TABLE_NAT, end.manip, 0, 0, walk.net.recorder.n_rewrites - 1, True)
    if kept != NULL:
        kept.before = before
        kept.after = end.addr[0]
        kept.before_key = key
        kept.after_key = new_key
        kept.family = walk.family
        kept.protocol = pkt.protocol


cdef int rewrite(Walk* walk, CtEntry* ct, int direction, uint8_t manip, bint decided_before) noexcept nogil:
    """nf_nat_packet, for an end that is translated. A packet that comes back from a loopback has it already."""
    cdef NatEnd end = end_of(ct, direction, manip)
    if walk.net.recorder.level != RECORD_NOTHING:
        note_rewrite(walk, ct, direction, &end, decided_before)
    return NF_ACCEPT if nat_manip_at(walk.pkt, 0, &end) else NF_DROP


cdef bint icmp_checksum_ok(const Packet* pkt) noexcept nogil:
    """nf_ip_checksum, nf_ip6_checksum. What was cut off cannot be verified."""
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint64_t total
    if pkt.csum != CSUM_NONE or pkt.present < pkt.len:
        return True
    total = sum_bytes(ip + pkt.transport, pkt.len - pkt.transport)
    if pkt.family == 6:
        total += sum_bytes(ip + 8, 32) + (pkt.len - pkt.transport) + PROTO_ICMPV6
    return fold(total) == 0xFFFF


cdef void icmp_checksum_renew(Packet* pkt, uint64_t before) noexcept nogil:
    """The checksum after the quoted packet changed; `before` is the sum of the message's bytes that are here."""
    cdef uint8_t* ip = packet_ip(pkt)
    cdef uint8_t* check = ip + pkt.transport + 2
    cdef uint64_t total
    if pkt.csum == CSUM_PARTIAL:
        return
    if pkt.present < pkt.len:
        store_be16(check, checksum_replace(load_be16(check), before, sum_bytes(ip + pkt.transport, pkt.present - pkt.transport)))
        return
    store_be16(check, 0)
    total = sum_bytes(ip + pkt.transport, pkt.len - pkt.transport)
    if pkt.family == 6:
        total += sum_bytes(ip + 8, 32) + (pkt.len - pkt.transport) + PROTO_ICMPV6
    store_be16(check, <uint16_t>~fold(total))


cdef int translate_icmp_error(Walk* walk, CtEntry* ct, int direction, uint8_t manip) noexcept nogil:
    """An error about a connection: the packet that it quotes goes the other way, so its other end is rewritten too."""
    cdef Packet* pkt = walk.pkt
    cdef const uint8_t* icmp = packet_ip(pkt) + pkt.transport
    cdef uint32_t quoted = pkt.transport + 8
    cdef uint64_t before
    cdef NatEnd end
    packet_pull(pkt, quoted + (20 if pkt.family == 4 else 40))
    if quoted + (20 if pkt.family == 4 else 40) > pkt.len or not icmp_checksum_ok(pkt):
        return NF_DROP
    if packet_has(pkt, pkt.transport, 1) and icmp[0] == (ICMP_REDIRECT if pkt.family == 4 else NDISC_REDIRECT):
        if ct.status & IPS_NAT_DONE_MASK != IPS_NAT_DONE_MASK or ct.status & IPS_NAT_MASK:
            return NF_DROP
    if not is_translated(ct, direction, manip):
        return NF_ACCEPT
    end = end_of(ct, direction, manip)
    if walk.net.recorder.level != RECORD_NOTHING:
        end.protocol = 0    # its ports are not the packet's own
        note_rewrite(walk, ct, direction, &end, True)
    end.protocol = ct.tuple[0].protocol
    before = sum_bytes(icmp, pkt.present - pkt.transport) if pkt.present > pkt.transport else 0
    end.manip = 1 - manip
    if not nat_manip_at(pkt, quoted, &end):
        return NF_DROP
    if packet_has(pkt, pkt.transport, 4):
        icmp_checksum_renew(pkt, before)
    end.manip = manip
    end.protocol = pkt.protocol
    return NF_ACCEPT if nat_manip_at(pkt, 0, &end) else NF_DROP


cdef int bind_or_rewrite(Walk* walk, CtEntry* ct, uint8_t manip) noexcept nogil:
    """nf_nat_inet_fn."""
    cdef Packet* pkt = walk.pkt
    cdef Net* net = walk.net
    cdef int direction = 1 if pkt.ctinfo >= CT_IS_REPLY else 0
    cdef bint decided_before = True
    cdef int verdict
    if walk.hook == HOOK_POSTROUTING and walk.out_dev >= 0 and net.devices[walk.out_dev].kind == DEVICE_VRF:
        return NF_ACCEPT
    if (pkt.ctinfo == CT_NEW or pkt.ctinfo == CT_RELATED or pkt.ctinfo == CT_RELATED_REPLY) and not nat_is_bound(ct, manip):
        decided_before = False
        verdict = program_run(walk, TABLE_NAT)
        if verdict != NF_ACCEPT:
            return verdict
        if not nat_is_bound(ct, manip):
            verdict = nat_setup_null(walk, ct, manip)
            if verdict != NF_ACCEPT:
                return verdict
    elif ct.masq_dev >= 0 and walk.hook == HOOK_POSTROUTING and direction == 0 and ct.masq_dev != walk.out_dev:
        # The route changed: what was masqueraded for one device must not leave by another (nf_nat_oif_changed).
        conntrack_kill(net, ct)
        return NF_DROP
    if not is_translated(ct, direction, manip):
        return NF_ACCEPT
    return rewrite(walk, ct, direction, manip, decided_before)


cdef int nat_hook(Walk* walk, int arg) noexcept nogil:
    cdef Packet* pkt = walk.pkt
    cdef CtEntry* ct = pkt.ct
    cdef uint8_t manip = manip_of_hook(walk.hook)
    cdef int direction = 1 if pkt.ctinfo >= CT_IS_REPLY else 0
    cdef int verdict
    cdef Addr before
    cdef Addr after
    if ct == NULL:
        return NF_ACCEPT
    before = packet_destination(pkt)
    if (pkt.ctinfo == CT_RELATED or pkt.ctinfo == CT_RELATED_REPLY) and pkt.protocol == (PROTO_ICMP if walk.family == 4 else PROTO_ICMPV6):
        verdict = translate_icmp_error(walk, ct, direction, manip)
    else:
        verdict = bind_or_rewrite(walk, ct, manip)
    if verdict != NF_ACCEPT:
        return verdict
    if manip == MANIP_DST and not addr_equal(&ct.tuple[direction].dst, &ct.tuple[1 - direction].src):
        if walk.hook == HOOK_OUTPUT:
            walk.error = route_me_harder(walk)
            return NF_DROP if walk.error else NF_ACCEPT
        after = packet_destination(pkt)
        if not addr_equal(&before, &after):
            pkt.route = -1
    return NF_ACCEPT


cdef bint nat_undo(Net* net, Packet* pkt) noexcept nogil:
    cdef Tuple left
    cdef Tuple answer
    cdef CtEntry* ct
    cdef uint8_t answers = 0
    cdef NatEnd end
    if not tuple_of_packet(pkt, 0, &left) or not tuple_invert(&left, &answer):
        return False
    ct = conntrack_find_dir(net, &answer, &answers)
    if ct == NULL:
        return False
    end = end_before(&ct.tuple[1 - answers], MANIP_SRC)
    if not nat_manip_at(pkt, 0, &end):
        return False
    end = end_before(&ct.tuple[1 - answers], MANIP_DST)
    return nat_manip_at(pkt, 0, &end)
