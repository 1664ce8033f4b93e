"""The table of hooks: who looks at a packet, at which hook, in which order (net/netfilter/core.c, nf_hook_slow)."""
from libc.stdint cimport uint32_t, uint64_t

from datapath._core.context cimport HookEntry, HookList, family_index
from datapath._core.record cimport STEP_HOOK, record
from datapath._core.verdict cimport HOOKS, NF_ACCEPT


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


cdef void hooks_clear(Net* net, int family) noexcept nogil:
    cdef int hook
    for hook in range(HOOKS):
        net.hooks[family_index(<uint8_t>family)][hook].count = 0


cdef int hook_run(Walk* walk, uint8_t hook) noexcept nogil:
    """Ask each function in turn until one does not accept."""
    cdef HookList* hooks = &walk.net.hooks[family_index(walk.family)][hook]
    cdef const HookEntry* entry
    cdef uint32_t i
    cdef int verdict
    walk.hook = hook
    record(&walk.net.recorder, STEP_HOOK, hook, 0, 0, walk.in_dev, 0, <uint64_t>walk.out_dev, False)
    for i in range(hooks.count):
        entry = &hooks.entries[i]
        verdict = entry.run(walk, entry.arg)
        if verdict != NF_ACCEPT:
            return verdict
    return NF_ACCEPT
