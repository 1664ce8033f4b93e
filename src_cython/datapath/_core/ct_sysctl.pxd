from libc.stdint cimport int64_t

from datapath._core.context cimport Net


cdef int conntrack_sysctl_defaults(Net* net) except -1
cdef bint conntrack_sysctl_set(Net* net, str name, int64_t value) except -1     # False: no such sysctl of conntrack
