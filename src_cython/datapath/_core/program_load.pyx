"""The programs of a node: loading tables, giving them back, and what they have counted."""
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport calloc, free

from datapath._core.context cimport family_index
from datapath._core.program cimport (
    NEED_ACCOUNTING, NEED_CONNTRACK, NEED_NAT, TABLE_SLOTS, Chain, Program, Rule, Table)
from datapath._core.program_tables cimport table_free, table_load
from datapath._core.verdict cimport TABLES


cdef Program* program_of(Net* net, int family) except NULL:
    """The family's program, made when there is none."""
    cdef int index = family_index(<uint8_t>family)
    cdef Program* program = <Program*>net.families[index].program
    cdef object names
    if program == NULL:
        program = <Program*>calloc(1, sizeof(Program))
        if program == NULL:
            raise MemoryError
        names = [None] * TABLE_SLOTS
        Py_INCREF(names)
        program.compiled = <void*>names
        net.families[index].program = program
    return program


cdef void summarize(Net* net, int family) noexcept nogil:
    """What the loaded tables together need from the node."""
    cdef int index = family_index(<uint8_t>family)
    cdef Program* program = <Program*>net.families[index].program
    cdef uint8_t needs = 0
    cdef int slot
    net.families[index].tables = 0
    for slot in range(TABLE_SLOTS):
        if program.tables[slot] != NULL:
            needs |= program.tables[slot].needs
            net.families[index].tables |= <uint8_t>(1 << (slot % TABLES))
    net.families[index].conntrack = (needs & NEED_CONNTRACK) != 0
    net.families[index].nat = (needs & NEED_CONNTRACK) != 0 and (needs & NEED_NAT) != 0
    if needs & NEED_ACCOUNTING:
        net.families[index].accounting = 1      # and it stays on when the rule goes
    program_force_sysctls(net)


cdef void program_force_sysctls(Net* net) noexcept nogil:
    """What rules have switched on, again after the node's sysctls were loaded."""
    if net.families[0].accounting or net.families[1].accounting:
        net.sysctl.ct_acct = 1


cdef int program_load(Net* net, int family, object compiled) except -1:
    """Put compiled tables in the place of those of the same name. All or nothing: an error changes nothing.

    Their counters and the memory of their matches begin anew; other tables stay as they are.
    """
    cdef Program* program = program_of(net, family)
    cdef Table* fresh[10]
    cdef int slot
    for slot in range(TABLE_SLOTS):
        fresh[slot] = NULL
    try:
        for table in compiled.tables:
            slot = table.table + TABLES * table.backend
            if fresh[slot] != NULL:
                raise ValueError(f"table {table.name} stands twice in a program")
            fresh[slot] = table_load(net, family, table)
    except BaseException:
        for slot in range(TABLE_SLOTS):
            table_free(fresh[slot])
        raise
    for table in compiled.tables:
        slot = table.table + TABLES * table.backend
        table_free(program.tables[slot])
        program.tables[slot] = fresh[slot]
        (<list>program.compiled)[slot] = table
    summarize(net, family)
    return 0


cdef void program_free(Net* net) noexcept:
    """Give back both families' programs."""
    cdef Program* program
    cdef int index, slot
    for index in range(2):
        program = <Program*>net.families[index].program
        if program == NULL:
            continue
        for slot in range(TABLE_SLOTS):
            table_free(program.tables[slot])
        Py_DECREF(<object>program.compiled)
        free(program.stack)
        free(program)
        net.families[index].program = NULL


cdef object program_tables(Net* net, int family):
    """{table number as in steps: the CompiledTable that is loaded}."""
    cdef Program* program = <Program*>net.families[family_index(<uint8_t>family)].program
    if program == NULL:
        return {}
    return {table.number: table for table in <list>program.compiled if table is not None}


cdef object program_counters(Net* net, int family):
    """{"filter/FORWARD/1": (packets, bytes), "filter/FORWARD/policy": ...}; rules count from 1 per chain.

    Legacy tables beside nft ones of the same node are called "legacy/filter/...".
    """
    cdef Program* program = <Program*>net.families[family_index(<uint8_t>family)].program
    cdef dict counters = {}
    cdef Table* table
    cdef Chain* chain
    cdef Rule* rule
    cdef int32_t i, j
    cdef int slot
    if program == NULL:
        return counters
    for slot in range(TABLE_SLOTS):
        table = program.tables[slot]
        if table == NULL:
            continue
        compiled = (<list>program.compiled)[slot]
        for i in range(table.n_chains):
            chain = &table.chains[i]
            place = f"{compiled.label}/{compiled.chain_names[i]}/"
            for j in range(chain.count):
                rule = &table.rules[chain.first + j]
                counters[f"{place}{j + 1}"] = (rule.packets, rule.bytes)
            if chain.policy >= 0:
                counters[place + "policy"] = (chain.packets, chain.bytes)
    return counters
