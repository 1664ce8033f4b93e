from datapath._core.match_base cimport OpHeader, TargetFunction

cdef enum:
    TARGET_KINDS_MAX = 64

cdef TargetFunction TARGETS[64]
cdef void target_release(OpHeader* op) noexcept nogil
