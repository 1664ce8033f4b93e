# The hooks: for each family and hook an ordered list of functions (struct nf_hook_entries).
from libc.stdint cimport int32_t, uint8_t

from datapath._core.context cimport HookFunction, Net, Walk


cdef enum HookPriority:  # enum nf_ip_hook_priorities
    PRIORITY_DEFRAG = -400
    PRIORITY_RAW = -300
    PRIORITY_CONNTRACK = -200
    PRIORITY_MANGLE = -150
    PRIORITY_NAT_DST = -100
    PRIORITY_FILTER = 0
    PRIORITY_SECURITY = 50
    PRIORITY_NAT_SRC = 100
    PRIORITY_CONFIRM = 0x7FFFFFFF


cdef int hooks_register(Net* net, int family, int hook, int32_t priority, HookFunction function, int arg) except -1
cdef int hooks_rebuild(Net* net, int family) except -1     # after tables were loaded: who takes part follows from Net.families
cdef int hook_run(Walk* walk, uint8_t hook) noexcept nogil  # NF_ACCEPT, NF_DROP, NF_STOLEN, NF_QUEUE, NF_UNKNOWN
