"""Copying a compiled table from Python's bytes into a Table that belongs to the node."""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strncpy

from datapath._core.match_base cimport MatchFunction, OpHeader
from datapath._core.match_table cimport MATCHES, match_bind, match_release
from datapath._core.program cimport (
    ACTION_TARGET, Chain, InterfacePattern, Rule, WideAddresses, rule_action)
from datapath._core.rule_index cimport index_build, index_free
from datapath._core.target_table cimport TARGETS, target_release

RULE_SIZE = sizeof(Rule)
CHAIN_SIZE = sizeof(Chain)
WIDE_SIZE = sizeof(WideAddresses)
OP_HEADER_SIZE = sizeof(OpHeader)


cdef void* copy_of(bytes data) except NULL:
    cdef Py_ssize_t n = len(data)
    cdef void* copy = malloc(n + 1)
    if copy == NULL:
        raise MemoryError
    memcpy(copy, <const char*>data, n)
    return copy


cdef int resolve(Net* net, int family, str namespace, str name, uint64_t* value) except -1:
    """What a name in a payload stands for on this node."""
    raise LookupError(f"{namespace} {name} cannot be resolved")


cdef void link_ops(Table* table) noexcept nogil:
    """Fill in the functions of every op."""
    cdef OpHeader* op
    cdef Rule* rule
    cdef int32_t i
    cdef uint8_t _j
    for i in range(table.n_rules):
        rule = &table.rules[i]
        op = <OpHeader*>(table.arena + rule.matches)
        for _j in range(rule.n_matches):
            op.run = MATCHES[op.kind]
            op = <OpHeader*>(<uint8_t*>(op + 1) + op.size)
        if rule_action(rule) == ACTION_TARGET:
            op = <OpHeader*>(table.arena + rule.operand)
            op.run = <MatchFunction>TARGETS[op.kind]


cdef void release_shared(Table* table) noexcept nogil:
    """Let go of what the rules' matches and targets share with others on the node."""
    cdef OpHeader* op
    cdef int32_t i
    cdef uint8_t _j
    for i in range(table.n_rules):
        op = <OpHeader*>(table.arena + table.rules[i].matches)
        for _j in range(table.rules[i].n_matches):
            match_release(op)
            op = <OpHeader*>(<uint8_t*>(op + 1) + op.size)
        if rule_action(&table.rules[i]) == ACTION_TARGET:
            target_release(<OpHeader*>(table.arena + table.rules[i].operand))


cdef int table_fill(Table* table, Net* net, int family, object compiled) except -1:
    cdef int32_t i
    cdef uint64_t value = 0
    table.rules = <Rule*>copy_of(compiled.rules)
    table.n_rules = <int32_t>(len(compiled.rules) // sizeof(Rule))
    table.chains = <Chain*>copy_of(compiled.chains)
    table.n_chains = <int32_t>(len(compiled.chains) // sizeof(Chain))
    table.arena = <uint8_t*>copy_of(compiled.ops)
    table.arena_size = <uint32_t>len(compiled.ops)
    table.wide = <WideAddresses*>copy_of(compiled.wide)
    table.patterns = <InterfacePattern*>copy_of(compiled.interfaces)
    table.chain_names = <char*>copy_of(b"".join([name.encode()[:31].ljust(32, b"\0") for name in compiled.chain_names]))
    strncpy(table.name, <bytes>compiled.name.encode(), 31)
    table.number = compiled.number
    table.needs = compiled.needs
    table.nft = compiled.nft
    for i in range(5):
        table.entry[i] = compiled.entry[i]
    link_ops(table)
    for offset, namespace, name in compiled.references:
        if match_bind(net, table.arena + <uint32_t>offset, namespace, name):
            continue
        resolve(net, family, namespace, name, &value)
        memcpy(table.arena + <uint32_t>offset, &value, 8)
    for i in range(table.n_chains):
        index_build(table, &table.chains[i], family)
    return 0


cdef Table* table_load(Net* net, int family, object compiled) except NULL:
    """A Table from a CompiledTable."""
    cdef Table* table = <Table*>calloc(1, sizeof(Table))
    if table == NULL:
        raise MemoryError
    try:
        table_fill(table, net, family, compiled)
    except BaseException:
        table_free(table)
        raise
    return table


cdef void table_free(Table* table) noexcept nogil:
    cdef int32_t i
    if table == NULL:
        return
    if table.arena != NULL:
        release_shared(table)
    for i in range(table.n_chains):
        index_free(table.chains[i].index)
    free(table.chain_names)
    free(table.rules)
    free(table.chains)
    free(table.arena)
    free(table.wide)
    free(table.patterns)
    free(table)
