# Connection tracking as the rest of the core sees it: the hooks, lookups for NAT and matches, references.
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.conn cimport CtEntry
from datapath._core.context cimport Net, Walk
from datapath._core.ct_table cimport Conntrack
from datapath._core.ct_tuple cimport transport_offset, tuple_at, tuple_invert, tuple_of_packet
from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Tuple


cdef int conntrack_init(Net* net) except -1
cdef void conntrack_free(Net* net) noexcept nogil
cdef int conntrack_in(Walk* walk, int arg) noexcept nogil           # HookFunction at -200 (PREROUTING, OUTPUT)
cdef int conntrack_confirm(Walk* walk, int arg) noexcept nogil      # HookFunction at INT_MAX (INPUT, POSTROUTING)
cdef CtEntry* conntrack_find(Net* net, const Tuple* t) noexcept nogil
cdef CtEntry* conntrack_find_dir(Net* net, const Tuple* t, uint8_t* direction) noexcept nogil
cdef bint conntrack_tuple_taken(Net* net, const Tuple* reply, const CtEntry* ignored) noexcept nogil
cdef void conntrack_alter_reply(Net* net, CtEntry* ct, const Tuple* reply) noexcept nogil
cdef void conntrack_attach(Net* net, Packet* new, const Packet* old) noexcept nogil
cdef void conntrack_get(CtEntry* ct) noexcept nogil
cdef void conntrack_put(Net* net, CtEntry* ct) noexcept nogil
cdef bint conntrack_kill(Net* net, CtEntry* ct) noexcept nogil      # nf_ct_delete
cdef void conntrack_set_closing(Net* net, CtEntry* ct) noexcept nogil     # nf_ct_set_closing: REJECT has reset the connection; ct may be NULL
cdef void conntrack_sweep(Net* net) noexcept nogil                  # remove all that has expired
