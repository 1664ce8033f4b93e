# A match that is not emulated (--lenient): it may hold or not.
from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_UNKNOWN


cdef inline int match_unknown(Walk* walk, void* payload) noexcept nogil:
    return MATCH_UNKNOWN
