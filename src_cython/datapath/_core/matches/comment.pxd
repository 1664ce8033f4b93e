# -m comment: always matches (net/netfilter/xt_comment.c).
from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_YES


cdef inline int match_comment(Walk* walk, void* payload) noexcept nogil:
    return MATCH_YES
