# Routing tables and policy rules from the compiled host.
from datapath._core.context cimport Net

cdef int fib_tables_load(Net* net, object compiled) except -1
cdef void fib_tables_free(Net* net) noexcept nogil
