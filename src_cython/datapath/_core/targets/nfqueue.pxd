# -j NFQUEUE (net/netfilter/xt_NFQUEUE.c): user space decides, so the walk ends here.
from datapath._core.context cimport Walk
from datapath._core.verdict cimport NF_QUEUE


cdef inline int target_nfqueue(Walk* walk, void* payload) noexcept nogil:
    return NF_QUEUE
