"""Which branch of a random choice the capture shows.

kube-proxy spreads connections with `-m statistic --mode random -j KUBE-SEP-...`, and the chosen chain ends in a DNAT. The
capture shows the translated packet; so at the draw one looks down the branch: a branch that holds a NAT target which
yields the shown end is taken, one that holds only others is not, as long as a later rule of the chain can yield it.
The look is at the rules alone: no match is asked and no counter changes.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp

from datapath._core.context cimport Net
from datapath._core.draws cimport Shown
from datapath._core.match_base cimport OpHeader
from datapath._core.nat_binding cimport RANGE_MAP_IPS, RANGE_PROTO_SPECIFIED, NatRange
from datapath._core.program cimport ACTION_GOTO, ACTION_JUMP, ACTION_TARGET, ACTION_VERDICT, Chain, Rule, Table, rule_action
from datapath._core.tuples cimport Addr, addr_equal
from datapath._core.verdict cimport HOOK_OUTPUT, HOOK_PREROUTING, NF_DROP

from datapath._core.target_table import TARGET_KINDS

cdef enum:
    DEEPEST = 16            # jumps that a look follows
    MOST_RULES = 4096       # rules that a look tries before it gives up

cdef enum NatTarget:
    NAT_NONE = 0
    NAT_DESTINATION = 1     # a NatRange with addresses
    NAT_SOURCE = 2
    NAT_MAP = 3             # the same for either end
    NAT_HERE = 4            # destination: an address of the node
    NAT_LEAVING = 5         # source: an address of the node
    NAT_REFUSES = 6         # the packet ends here

cdef uint8_t NAT_TARGETS[64]

for name, what in (("DNAT", NAT_DESTINATION), ("SNAT", NAT_SOURCE), ("NETMAP", NAT_MAP), ("REDIRECT", NAT_HERE),
                   ("MASQUERADE", NAT_LEAVING), ("REJECT", NAT_REFUSES)):
    if name in TARGET_KINDS:
        NAT_TARGETS[TARGET_KINDS[name][0]] = what


cdef struct Look:
    Walk* walk
    const Table* table
    const Shown* shown
    int32_t budget
    bint destination        # which end is translated at this hook
    bint others             # a NAT target was found that does not yield what is shown


cdef int shown_leads(Walk* walk) noexcept nogil:
    cdef Look look
    cdef const Rule* rule = <const Rule*>walk.rule
    cdef const Chain* chain
    cdef int32_t at, end
    look.walk = walk
    look.table = <const Table*>walk.table
    look.shown = &walk.net.draws.shown
    look.budget = MOST_RULES
    look.destination = walk.hook == HOOK_PREROUTING or walk.hook == HOOK_OUTPUT
    look.others = False
    if look.table == NULL or not (look.shown.has_dst if look.destination else look.shown.has_src):
        return LEADS_SILENT
    if rule_yields(&look, rule, 0):
        return LEADS_THERE
    if not look.others:
        return LEADS_SILENT
    at = <int32_t>(rule - look.table.rules)
    chain = chain_of(look.table, at)
    if chain == NULL:
        return LEADS_SILENT
    end = chain.first + chain.count
    for at in range(at + 1, end):
        if rule_yields(&look, &look.table.rules[at], 0):
            return LEADS_ELSEWHERE
    return LEADS_SILENT


cdef const Chain* chain_of(const Table* table, int32_t rule) noexcept nogil:
    cdef int32_t i
    for i in range(table.n_chains):
        if table.chains[i].first <= rule < table.chains[i].first + table.chains[i].count:
            return &table.chains[i]
    return NULL


cdef bint rule_yields(Look* look, const Rule* rule, int depth) noexcept nogil:
    """Whether the rule's action can give the packet the end that the capture shows."""
    cdef const Chain* chain
    cdef int32_t at
    look.budget -= 1
    if look.budget < 0:
        return False
    if rule_action(rule) == ACTION_TARGET:
        return target_yields(look, <const OpHeader*>(look.table.arena + rule.operand))
    if rule_action(rule) == ACTION_VERDICT and rule.operand == NF_DROP:
        look.others = True
        return False
    if (rule_action(rule) != ACTION_JUMP and rule_action(rule) != ACTION_GOTO) or depth == DEEPEST:
        return False
    chain = &look.table.chains[rule.operand]
    for at in range(chain.first, chain.first + chain.count):
        if rule_yields(look, &look.table.rules[at], depth + 1):
            return True
    return False


cdef bint target_yields(Look* look, const OpHeader* op) noexcept nogil:
    cdef uint8_t what = NAT_TARGETS[op.kind]
    cdef const NatRange* bounds = <const NatRange*>(op + 1)
    cdef const Addr* shown = &look.shown.dst if look.destination else &look.shown.src
    cdef bint yields = False
    if what == NAT_NONE:
        return False
    if what == NAT_DESTINATION or what == NAT_SOURCE or what == NAT_MAP:
        yields = range_yields(look, bounds, shown)
    elif what == NAT_HERE or what == NAT_LEAVING:
        yields = is_own(look.walk, shown)
    look.others |= not yields
    return yields


cdef bint range_yields(const Look* look, const NatRange* bounds, const Addr* shown) noexcept nogil:
    cdef uint16_t port = look.shown.dport if look.destination else look.shown.sport
    if bounds.flags & RANGE_MAP_IPS or memcmp(&bounds.min_addr, &bounds.max_addr, 16) != 0:
        if memcmp(shown, &bounds.min_addr, 16) < 0 or memcmp(shown, &bounds.max_addr, 16) > 0:
            return False
    if bounds.flags & RANGE_PROTO_SPECIFIED and look.destination and port:
        return bounds.min_port <= port <= bounds.max_port
    return True


cdef bint is_own(const Walk* walk, const Addr* addr) noexcept nogil:
    """Whether a device of the node has the address."""
    cdef const Net* net = walk.net
    cdef uint32_t i, j
    for i in range(net.n_devices):
        for j in range(net.devices[i].n_addresses):
            if net.devices[i].addresses[j].family == walk.family and addr_equal(&net.devices[i].addresses[j].addr, addr):
                return True
    return False
