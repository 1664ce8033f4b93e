from datapath._core.match_base cimport TargetFunction

cdef enum:
    TARGET_KINDS_MAX = 64

cdef TargetFunction TARGETS[64]
