# A target that is not emulated (--lenient): what it does is not known, so the walk ends here.
from datapath._core.context cimport Walk
from datapath._core.verdict cimport NF_UNKNOWN


cdef inline int target_unknown(Walk* walk, void* payload) noexcept nogil:
    return NF_UNKNOWN
