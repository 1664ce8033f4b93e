# The programs of a node: loading tables, giving them back, and what they have counted.
from datapath._core.context cimport Net


cdef int program_load(Net* net, int family, object compiled) except -1
cdef void program_free(Net* net) noexcept
cdef void program_force_sysctls(Net* net) noexcept nogil
cdef object program_counters(Net* net, int family)
cdef object program_tables(Net* net, int family)
