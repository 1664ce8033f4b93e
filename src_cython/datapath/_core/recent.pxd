# Lists of recently seen addresses (net/netfilter/xt_recent.c). They belong to the node and are shared by name
# between all rules of both families; a list lives as long as a loaded rule refers to it.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.context cimport Net
from datapath._core.tuples cimport Addr


cdef enum:
    RECENT_JIFFY_NS = 4000000       # HZ 250, as in Debian's and most other distributions' kernels
    RECENT_HZ = 250
    RECENT_ENTRIES = 100            # ip_list_tot, the module's default


cdef struct RecentEntry:
    Addr addr
    RecentEntry* older      # neighbours in the order of last use
    RecentEntry* newer
    uint64_t* stamps        # jiffies, a ring
    uint16_t index          # where the next stamp goes; as in Linux it is taken modulo the ring only when it is used
    uint16_t n_stamps
    uint8_t family
    uint8_t ttl


cdef struct RecentTable:
    RecentTable* next
    RecentTable** owner     # the head of the list that it hangs in
    RecentEntry* oldest
    RecentEntry* newest
    Addr mask               # the mask of the rule that made the table
    uint32_t refs           # rules that refer to it
    uint32_t entries
    uint32_t most_entries
    uint16_t stamps_mask    # size of the rings - 1
    uint8_t waiting         # its stamps count from the first packet, which has not come yet
    char name[200]


cdef inline uint64_t recent_jiffies(const Net* net) noexcept nogil:
    return net.now_ns // RECENT_JIFFY_NS


cdef RecentTable* recent_bind(Net* net, str name, const uint8_t* mask, uint32_t hits) except NULL
cdef void recent_release(RecentTable* table) noexcept nogil
cdef void recent_free(Net* net) noexcept nogil
cdef RecentEntry* recent_find(const RecentTable* table, const Addr* addr, uint8_t family, uint8_t ttl) noexcept nogil
cdef RecentEntry* recent_add(RecentTable* table, const Addr* addr, uint8_t family, uint8_t ttl, uint64_t now) noexcept nogil
cdef void recent_touch(RecentTable* table, RecentEntry* entry, uint64_t now) noexcept nogil
cdef void recent_remove(RecentTable* table, RecentEntry* entry) noexcept nogil
cdef void recent_start(Net* net) noexcept nogil
cdef object recent_export(Net* net)
cdef int recent_import(Net* net, str name, object entries) except -1
