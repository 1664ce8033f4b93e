# -m quota: true until so many bytes have gone by (net/netfilter/xt_quota.c, quota_mt).
from libc.stdint cimport uint8_t, uint64_t

from datapath._core.context cimport Walk


cdef struct QuotaMatch:  # packed by datapath/extensions/matches/quota.py
    uint64_t left           # its memory
    uint8_t invert


cdef inline int match_quota(Walk* walk, void* payload) noexcept nogil:
    cdef QuotaMatch* quota = <QuotaMatch*>payload
    cdef bint within = quota.left >= walk.pkt.len
    # A packet that is too large uses up the rest: smaller ones do not match from then on.
    quota.left = quota.left - walk.pkt.len if within else 0
    return within != quota.invert
