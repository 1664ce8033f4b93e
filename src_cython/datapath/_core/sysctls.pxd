# The node's sysctls from the compiled host.
from datapath._core.context cimport Sysctls

cdef int sysctls_load(Sysctls* sysctl, dict values) except -1
