"""Running a table's chains over a packet (net/ipv4/netfilter/ip_tables.c, ipt_do_table, and its IPv6 twin)."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport realloc

from datapath._core.context cimport family_index
from datapath._core.header_view cimport PROTOCOL_CUT, HeaderView, view_addresses, view_protocol, view_read
from datapath._core.match_base cimport MATCH_NO, MATCH_UNKNOWN, MATCH_YES, OpHeader, TargetFunction
from datapath._core.nat_binding cimport nat_decided
from datapath._core.nf_log cimport LOG_DEFAULT, LOG_TRACE, log_packet
from datapath._core.record cimport (
    RECORD_NOTHING, RECORD_WHY, STEP_NOT_MATCHED, STEP_POLICY, STEP_RETURN, STEP_RULE, STEP_UNKNOWN, Recorder, record)
from datapath._core.rule_index cimport Cursor, cursor_next, cursor_seek
from datapath._core.verdict cimport NF_ACCEPT, NF_DROP, NF_UNKNOWN, TABLE_NAT, TABLES, XT_CONTINUE, XT_GOTO, XT_JUMP, XT_RETURN

cdef enum:
    DEEPEST = 1 << 20       # frames: more than any table that loads can need, nested traversals included


ctypedef struct Traversal:  # one walk through one table
    Walk* walk
    Table* table
    HeaderView view
    Cursor cursor
    int32_t chain           # where it stands
    int32_t next            # the next rule to try, a number in Table.rules
    int32_t failed          # of the rule that did not match: HeaderPart or, with bit 8, the match's place
    bint indexed
    bint why


cdef inline bint wide_equal(const uint64_t* address, const uint64_t* mask, const uint64_t* wanted) noexcept nogil:
    return ((address[0] & mask[0]) ^ wanted[0] | (address[1] & mask[1]) ^ wanted[1]) == 0


cdef inline bint name_equal(const uint64_t* name, const InterfacePattern* pattern) noexcept nogil:
    return (((name[0] ^ pattern.name[0]) & pattern.mask[0]) | ((name[1] ^ pattern.name[1]) & pattern.mask[1])) == 0


cdef int header_wide(const WideAddresses* wide, const HeaderView* view) noexcept nogil:
    if wide_equal(view.wide_source.q, wide.source_mask.q, wide.source.q) == ((wide.flags & RULE_NOT_SOURCE) != 0):
        return PART_SOURCE
    if wide_equal(view.wide_destination.q, wide.destination_mask.q, wide.destination.q) == ((wide.flags & RULE_NOT_DESTINATION) != 0):
        return PART_DESTINATION
    return 0


cdef int header_protocol(const Table* table, const Rule* rule, HeaderView* view, Walk* walk) noexcept nogil:
    """ip_packet_match and ip6_packet_match from the protocol on."""
    cdef int32_t protocol
    if rule.protocol:
        protocol = view_protocol(view, walk)
        if protocol == PROTOCOL_CUT:
            return PART_UNKNOWN
        if protocol < 0 and table.nft:
            walk.hotdrop = 0    # nft_meta_get_eval: the rule does not match, that is all
        if protocol < 0 or (protocol == rule.protocol) == ((rule.flags & RULE_NOT_PROTOCOL) != 0):
            return PART_PROTOCOL
    if rule.flags & (RULE_FRAGMENT | RULE_NOT_FRAGMENT):
        if ((rule.flags & RULE_FRAGMENT) != 0 and not view.later_fragment) != ((rule.flags & RULE_NOT_FRAGMENT) != 0):
            return PART_FRAGMENT
    return 0


cdef inline int header_part(const Table* table, const Rule* rule, HeaderView* view, Walk* walk) noexcept nogil:
    """0: the header part matches; else the HeaderPart that does not (ip_packet_match, ip6_packet_match)."""
    cdef int part
    if (((view.source ^ rule.source) & rule.source_mask) != 0) != ((rule.flags & RULE_NOT_SOURCE) != 0):
        return PART_SOURCE
    if (((view.destination ^ rule.destination) & rule.destination_mask) != 0) != ((rule.flags & RULE_NOT_DESTINATION) != 0):
        return PART_DESTINATION
    if rule.wide:
        part = header_wide(&table.wide[rule.wide], view)
        if part:
            return part
    if rule.in_pattern and name_equal(view.in_name, &table.patterns[rule.in_pattern]) == ((rule.flags & RULE_NOT_IN) != 0):
        return PART_IN
    if rule.out_pattern and name_equal(view.out_name, &table.patterns[rule.out_pattern]) == ((rule.flags & RULE_NOT_OUT) != 0):
        return PART_OUT
    return header_protocol(table, rule, view, walk)


cdef inline int rule_matches(Traversal* t, const Rule* rule) noexcept nogil:
    """MatchResult of the whole rule; t.failed says what failed. Matches behind the one that failed are not asked."""
    cdef int result = MATCH_YES
    cdef int answer
    cdef uint8_t _i
    cdef OpHeader* op
    t.failed = header_part(t.table, rule, &t.view, t.walk)
    if t.failed:
        return MATCH_UNKNOWN if t.failed == PART_UNKNOWN else MATCH_NO
    if rule.n_matches == 0:
        return MATCH_YES
    t.walk.rule = <void*>rule
    op = <OpHeader*>(t.table.arena + rule.matches)
    for _i in range(rule.n_matches):
        answer = op.run(t.walk, op + 1)
        if answer == MATCH_NO:
            t.failed = 256 | op.place
            return MATCH_NO
        if answer == MATCH_UNKNOWN:
            result = MATCH_UNKNOWN
        op = <OpHeader*>(<uint8_t*>(op + 1) + op.size)
    return result


cdef void record_not_matched(Traversal* t, int32_t rule) noexcept nogil:
    cdef bint header = t.failed < 256
    record(&t.walk.net.recorder, STEP_NOT_MATCHED, t.walk.hook, t.table.number, 0 if header else <uint8_t>((t.failed & 0xFF) + 1),
           t.chain, rule - t.table.chains[t.chain].first + 1, <uint64_t>t.failed if header else 0, False)


cdef inline void enter_chain(Traversal* t, int32_t chain, int32_t rule) noexcept nogil:
    t.chain = chain
    t.next = rule
    t.indexed = False
    if t.table.chains[chain].index != NULL and not t.why:
        t.indexed = cursor_seek(&t.cursor, t.table, &t.table.chains[chain], &t.view, t.walk, rule)


cdef inline int32_t pass_over(const Rule* rules, const HeaderView* view, int32_t at, int32_t end) noexcept nogil:
    """The next rule that its addresses and its protocol do not rule out: the tight loop of long chains without an index."""
    cdef uint32_t source = view.source
    cdef uint32_t destination = view.destination
    cdef int32_t protocol = view.protocol
    cdef uint16_t port = view.port
    cdef bint any_port = not view.has_port
    cdef const Rule* rule
    while at < end:
        rule = &rules[at]
        if ((((source ^ rule.source) & rule.source_mask) != 0) == ((rule.flags & RULE_NOT_SOURCE) != 0)
                and (((destination ^ rule.destination) & rule.destination_mask) != 0) == ((rule.flags & RULE_NOT_DESTINATION) != 0)
                and (rule.protocol == 0 or protocol < 0 or (protocol != rule.protocol) == ((rule.flags & RULE_NOT_PROTOCOL) != 0))
                and (any_port or rule.port_low <= port <= rule.port_high)):
            return at
        at += 1
    return end


cdef inline int find_match(Traversal* t, int32_t* rule) noexcept nogil:
    """Go to the next rule of the chain that matches: its MatchResult, or MATCH_NO at the chain's end or,
    with walk.hotdrop, at the rule that found the packet malformed."""
    cdef const Chain* chain = &t.table.chains[t.chain]
    cdef int32_t end = chain.first + chain.count
    cdef int32_t at = t.next
    cdef int result
    while True:
        if t.indexed:
            at = cursor_next(&t.cursor, t.table, chain)
            if at < 0:
                break
        else:
            if not t.why:
                at = pass_over(t.table.rules, &t.view, at, end)
            if at >= end:
                break
        result = rule_matches(t, &t.table.rules[at])
        if result != MATCH_NO:
            rule[0] = at
            return result
        if t.walk.hotdrop:
            record_not_matched(t, at)
            rule[0] = at
            return MATCH_NO
        if t.why:
            record_not_matched(t, at)
        at += 1
    rule[0] = end
    return MATCH_NO


cdef bint push(Program* program, int32_t chain, int32_t rule) noexcept nogil:
    cdef int32_t capacity
    cdef Frame* larger
    if program.depth == program.capacity:
        capacity = program.capacity * 2 if program.capacity else 64
        if capacity > DEEPEST:
            return False
        larger = <Frame*>realloc(program.stack, <size_t>capacity * sizeof(Frame))
        if larger == NULL:
            return False
        program.stack = larger
        program.capacity = capacity
    program.stack[program.depth].chain = chain
    program.stack[program.depth].rule = rule
    program.depth += 1
    return True


cdef inline uint64_t tried_word(int32_t tried, int32_t chain) noexcept nogil:
    return <uint64_t>tried << 32 | <uint32_t>(chain + 1)


cdef inline void record_rule(Traversal* t, int32_t rule, int32_t tried, uint8_t verdict, int32_t target_chain) noexcept nogil:
    record(&t.walk.net.recorder, STEP_RULE, t.walk.hook, t.table.number, verdict, t.chain,
           rule - t.table.chains[t.chain].first + 1, tried_word(tried, target_chain), False)


cdef void trace(Traversal* t, int32_t chain, const char* what, int32_t number) noexcept nogil:
    """trace_packet: the line that TRACE has asked for."""
    cdef char prefix[128]
    snprintf(prefix, 128, b"TRACE: %s:%s:%s:%u ", t.table.name, t.table.chain_names + 32 * chain, what, <unsigned int>number)
    t.walk.rule_table = t.table.number
    log_packet(t.walk, LOG_TRACE, LOG_DEFAULT, prefix)


cdef void trace_rule(Traversal* t, const Rule* rule, int32_t at) noexcept nogil:
    """A verdict without any condition looks to Linux like the end that it has itself put behind each chain."""
    cdef const char* what = b"rule"
    if rule.flags & RULE_UNCONDITIONAL:
        what = b"policy" if t.chain == t.table.entry[t.walk.hook] else b"return"
    trace(t, t.chain, what, at - t.table.chains[t.chain].first + 1)


cdef int run_target(Traversal* t, const Rule* rule, int32_t at, int32_t tried) noexcept nogil:
    """Carry out an extension's target. Its step stands before the steps that the target itself makes."""
    cdef Walk* walk = t.walk
    cdef Recorder* rec = &walk.net.recorder
    cdef OpHeader* op = <OpHeader*>(t.table.arena + rule.operand)
    cdef uint32_t step = rec.count
    cdef int verdict
    record_rule(t, at, tried, XT_CONTINUE, -1)
    walk.rule_table = t.table.number
    walk.rule_chain = t.chain
    walk.rule_number = at - t.table.chains[t.chain].first + 1
    verdict = (<TargetFunction>op.run)(walk, op + 1)
    if verdict == XT_CONTINUE:
        view_addresses(&t.view, walk.pkt)
    elif rec.level != RECORD_NOTHING and step < rec.count:
        rec.steps[step].arg = <uint8_t>verdict
    return verdict


cdef int apply_policy(Traversal* t, int32_t tried) noexcept nogil:
    cdef int32_t number = t.table.entry[t.walk.hook]
    cdef Chain* chain = &t.table.chains[number]
    chain.packets += 1
    chain.bytes += t.walk.pkt.len
    record(&t.walk.net.recorder, STEP_POLICY, t.walk.hook, t.table.number, <uint8_t>chain.policy, number, chain.count,
           tried_word(tried, -1), False)
    if t.walk.pkt.nf_trace:
        trace(t, number, b"policy", chain.count + 1)
    return chain.policy


cdef bint leave_chain(Traversal* t, Program* program, int32_t bottom, bint by_rule, int32_t tried) noexcept nogil:
    """Back to where the chain was called from; False: there is no such place, the base chain's policy decides."""
    cdef Frame* frame
    if not by_rule and t.chain != t.table.entry[t.walk.hook]:
        record(&t.walk.net.recorder, STEP_RETURN, t.walk.hook, t.table.number, 0, t.chain, t.table.chains[t.chain].count,
               tried_word(tried, -1), False)
        if t.walk.pkt.nf_trace:
            trace(t, t.chain, b"return", t.table.chains[t.chain].count + 1)
    if program.depth == bottom:
        return False
    program.depth -= 1
    frame = &program.stack[program.depth]
    enter_chain(t, frame.chain, frame.rule)
    return True


cdef int unknown_rule(Traversal* t, Rule* rule, int32_t at) noexcept nogil:
    """A rule that may or may not match: harmless when it does nothing, else nobody knows what comes of the packet."""
    t.walk.pkt.unknown = 1
    t.walk.net.unknown_count += 1
    record(&t.walk.net.recorder, STEP_UNKNOWN, t.walk.hook, t.table.number, 0, t.chain,
           at - t.table.chains[t.chain].first + 1, 0, False)
    return XT_CONTINUE if rule_action(rule) == ACTION_NONE else NF_UNKNOWN


cdef int traverse(Traversal* t, Program* program) noexcept nogil:
    """From the base chain's first rule to a verdict."""
    cdef int32_t bottom = program.depth
    cdef int32_t at = 0
    cdef int32_t tried
    cdef int result, verdict
    cdef Rule* rule
    cdef uint64_t* total = &t.walk.net.recorder.rules_tried
    while True:
        result = find_match(t, &at)
        tried = at - t.next
        if t.walk.hotdrop and result == MATCH_NO:
            total[0] += <uint64_t>tried + 1
            return NF_DROP
        if result == MATCH_NO:
            total[0] += <uint64_t>tried
            if leave_chain(t, program, bottom, False, tried):
                continue
            return apply_policy(t, tried if t.chain == t.table.entry[t.walk.hook] else 0)
        tried += 1
        total[0] += <uint64_t>tried
        t.next = at + 1
        rule = &t.table.rules[at]
        if result == MATCH_UNKNOWN:
            if unknown_rule(t, rule, at) == XT_CONTINUE:
                continue
            return NF_UNKNOWN
        rule.packets += 1
        rule.bytes += t.walk.pkt.len
        if t.walk.pkt.nf_trace:
            trace_rule(t, rule, at)
        if t.walk.hotdrop:      # a negated match found the packet malformed: the rule matches, and then the packet is dropped
            if rule_action(rule) == ACTION_TARGET:
                run_target(t, rule, at, tried)
            else:
                record_rule(t, at, tried, NF_DROP, -1)
            return NF_DROP
        if rule_action(rule) == ACTION_TARGET:
            verdict = run_target(t, rule, at, tried)
            if t.walk.hotdrop:
                return NF_DROP
            if verdict != XT_CONTINUE:
                return verdict
        elif rule_action(rule) == ACTION_VERDICT:
            record_rule(t, at, tried, <uint8_t>rule.operand, -1)
            return rule.operand
        elif rule_action(rule) == ACTION_NONE:
            record_rule(t, at, tried, XT_CONTINUE, -1)
        elif rule_action(rule) == ACTION_RETURN:
            record_rule(t, at, tried, XT_RETURN, -1)
            if not leave_chain(t, program, bottom, True, 0):
                return apply_policy(t, 0)
        else:
            record_rule(t, at, tried, XT_JUMP if rule_action(rule) == ACTION_JUMP else XT_GOTO, rule.operand)
            if rule_action(rule) == ACTION_JUMP and not push(program, t.chain, at + 1):
                return NF_DROP
            enter_chain(t, rule.operand, t.table.chains[rule.operand].first)


cdef int table_run(Walk* walk, Program* program, Table* table) noexcept nogil:
    cdef Traversal t
    cdef int32_t bottom = program.depth
    cdef int32_t base = table.entry[walk.hook]
    cdef int verdict
    if base < 0:
        return NF_ACCEPT
    t.walk = walk
    t.table = table
    t.why = walk.net.recorder.level == RECORD_WHY
    walk.table = <void*>table
    walk.hotdrop = 0
    view_read(&t.view, walk)
    enter_chain(&t, base, table.chains[base].first)
    verdict = traverse(&t, program)
    program.depth = bottom
    return verdict


cdef int program_run(Walk* walk, int table) noexcept nogil:
    """Run a table (TableId) of both back ends at walk.hook. A HookFunction."""
    cdef Program* program = <Program*>walk.net.families[family_index(walk.family)].program
    cdef int backend, verdict
    if program == NULL:
        return NF_ACCEPT
    for backend in range(BACKENDS):
        if program.tables[table + backend * TABLES] != NULL:
            verdict = table_run(walk, program, program.tables[table + backend * TABLES])
            if verdict != NF_ACCEPT or table == TABLE_NAT and nat_decided(walk):
                return verdict
    return NF_ACCEPT
