"""The table of hooks: who looks at a packet, at which hook, in which order (net/netfilter/core.c, nf_hook_slow)."""
from libc.stdint cimport uint32_t, uint64_t

from datapath._core.conntrack cimport conntrack_confirm, conntrack_in
from datapath._core.context cimport Family, HookEntry, HookList, family_index
from datapath._core.defrag cimport defrag_hook
from datapath._core.nat cimport nat_hook
from datapath._core.packet cimport Packet, packet_destination, packet_ip, packet_source
from datapath._core.program cimport program_run
from datapath._core.record cimport STEP_HOOK, record
from datapath._core.route cimport route_me_harder
from datapath._core.tuples cimport Addr, addr_equal
from datapath._core.verdict cimport (
    HOOK_FORWARD, HOOK_INPUT, HOOK_OUTPUT, HOOK_POSTROUTING, HOOK_PREROUTING, HOOKS, NF_ACCEPT, NF_DROP, TABLE_FILTER, TABLE_MANGLE,
    TABLE_NAT, TABLE_RAW, TABLE_SECURITY,
)
from datapath._core.wire cimport load_be32


cdef int hooks_register(Net* net, int family, int hook, int32_t priority, HookFunction function, int arg) except -1:
    """Enter a function behind those of lower or equal priority."""
    cdef HookList* hooks = &net.hooks[family_index(<uint8_t>family)][hook]
    cdef uint32_t place = hooks.count
    if hooks.count == 16:
        raise RuntimeError(f"hook {hook} is full")
    while place > 0 and hooks.entries[place - 1].priority > priority:
        hooks.entries[place] = hooks.entries[place - 1]
        place -= 1
    hooks.entries[place].priority = priority
    hooks.entries[place].arg = arg
    hooks.entries[place].run = function
    hooks.count += 1
    return 0


cdef int hooks_rebuild(Net* net, int family) except -1:
    """Register what the loaded tables call for: themselves, and conntrack, defragmentation and NAT if a rule needs them."""
    cdef const Family* loaded = &net.families[family_index(<uint8_t>family)]
    cdef uint8_t hook
    for hook in range(HOOKS):
        net.hooks[family_index(<uint8_t>family)][hook].count = 0
    if loaded.conntrack:
        for hook in (HOOK_PREROUTING, HOOK_OUTPUT):
            hooks_register(net, family, hook, PRIORITY_DEFRAG, defrag_hook, 0)
            hooks_register(net, family, hook, PRIORITY_CONNTRACK, conntrack_in, 0)
        for hook in (HOOK_INPUT, HOOK_POSTROUTING):
            hooks_register(net, family, hook, PRIORITY_CONFIRM, conntrack_confirm, 0)
    if loaded.nat:
        for hook in (HOOK_PREROUTING, HOOK_OUTPUT):
            hooks_register(net, family, hook, PRIORITY_NAT_DST, nat_hook, TABLE_NAT)
        for hook in (HOOK_INPUT, HOOK_POSTROUTING):
            hooks_register(net, family, hook, PRIORITY_NAT_SRC, nat_hook, TABLE_NAT)
    register_tables(net, family, loaded.tables)
    return 0


cdef int register_tables(Net* net, int family, uint8_t tables) except -1:
    cdef uint8_t hook
    for hook in range(HOOKS):
        if tables & 1 << TABLE_RAW and (hook == HOOK_PREROUTING or hook == HOOK_OUTPUT):
            hooks_register(net, family, hook, PRIORITY_RAW, program_run, TABLE_RAW)
        if tables & 1 << TABLE_MANGLE:
            hooks_register(net, family, hook, PRIORITY_MANGLE, mangle_output if hook == HOOK_OUTPUT else program_run, TABLE_MANGLE)
        if hook == HOOK_INPUT or hook == HOOK_FORWARD or hook == HOOK_OUTPUT:
            if tables & 1 << TABLE_FILTER:
                hooks_register(net, family, hook, PRIORITY_FILTER, program_run, TABLE_FILTER)
            if tables & 1 << TABLE_SECURITY:
                hooks_register(net, family, hook, PRIORITY_SECURITY, program_run, TABLE_SECURITY)
    return 0


cdef int hook_run(Walk* walk, uint8_t hook) noexcept nogil:
    """Ask each function in turn until one does not accept."""
    cdef HookList* hooks = &walk.net.hooks[family_index(walk.family)][hook]
    cdef const HookEntry* entry
    cdef uint32_t i
    cdef int verdict
    walk.hook = hook
    walk.hotdrop = 0
    walk.drop_reason = 0
    record(&walk.net.recorder, STEP_HOOK, hook, 0, walk.family, walk.in_dev, 0, <uint64_t>walk.out_dev, False)
    for i in range(hooks.count):
        entry = &hooks.entries[i]
        verdict = entry.run(walk, entry.arg)
        if verdict != NF_ACCEPT:
            return verdict
    return NF_ACCEPT


# ---- changes that ask for another route ----

cdef struct Seen:           # of a packet, before somebody may change it
    Addr src
    Addr dst
    uint32_t mark
    uint32_t first          # traffic class and flow label (IPv6)
    uint8_t tos             # IPv4
    uint8_t hops            # IPv6


cdef void look(const Packet* pkt, Seen* seen) noexcept nogil:
    cdef const uint8_t* ip = packet_ip(pkt)
    seen.src = packet_source(pkt)
    seen.dst = packet_destination(pkt)
    seen.mark = pkt.mark
    seen.tos = ip[1] if pkt.family == 4 else 0
    seen.first = 0 if pkt.family == 4 else load_be32(ip)
    seen.hops = 0 if pkt.family == 4 else ip[7]


cdef bint changed(const Seen* a, const Seen* b) noexcept nogil:
    return (a.mark != b.mark or a.tos != b.tos or a.first != b.first or a.hops != b.hops
            or not addr_equal(&a.src, &b.src) or not addr_equal(&a.dst, &b.dst))


cdef int mangle_output(Walk* walk, int table) noexcept nogil:
    """ipt_mangle_out, ip6t_mangle_out: what mangle changes in OUTPUT is routed anew."""
    cdef Seen before
    cdef Seen after
    cdef int verdict
    look(walk.pkt, &before)
    verdict = program_run(walk, table)
    if verdict != NF_ACCEPT:
        return verdict
    look(walk.pkt, &after)
    return reroute(walk) if changed(&before, &after) else NF_ACCEPT


cdef int reroute(Walk* walk) noexcept nogil:
    """The hook's functions go on to see the device of the first decision (state->out), as in Linux."""
    cdef int errno = route_me_harder(walk)
    if errno:
        walk.error = errno
        return NF_DROP
    return NF_ACCEPT
