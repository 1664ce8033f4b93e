# -j LOG, -j NFLOG and -j TRACE (net/netfilter/xt_LOG.c, xt_NFLOG.c, xt_TRACE.c).
from libc.stdint cimport uint8_t

from datapath._core.context cimport Walk
from datapath._core.nf_log cimport LOG_LOG, LOG_NFLOG, log_packet
from datapath._core.verdict cimport XT_CONTINUE


cdef struct LogTarget:  # packed by datapath/extensions/targets/log.py and nflog.py
    uint8_t nflog
    uint8_t flags           # LogFlag
    char prefix[70]


cdef inline int target_log(Walk* walk, void* payload) noexcept nogil:
    cdef const LogTarget* info = <const LogTarget*>payload
    log_packet(walk, LOG_NFLOG if info.nflog else LOG_LOG, info.flags, info.prefix)
    return XT_CONTINUE


cdef inline int target_trace(Walk* walk, void* payload) noexcept nogil:
    walk.pkt.nf_trace = 1
    return XT_CONTINUE
