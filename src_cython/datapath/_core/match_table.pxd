from datapath._core.context cimport Net
from datapath._core.match_base cimport MatchFunction, OpHeader

cdef enum:
    MATCH_KINDS_MAX = 96

cdef MatchFunction MATCHES[96]
cdef int match_bind(Net* net, void* payload, str namespace, str name) except -1
cdef void match_release(OpHeader* op) noexcept nogil
