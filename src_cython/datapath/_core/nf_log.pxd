# The lines that LOG, NFLOG and TRACE write about a packet (net/netfilter/nf_log_syslog.c).
from libc.stdint cimport uint8_t

from datapath._core.context cimport Walk


cdef enum LogKind:
    LOG_LOG = 0
    LOG_NFLOG = 1
    LOG_TRACE = 2


cdef enum LogFlag:          # NF_LOG_*
    LOG_TCP_SEQUENCE = 0x01
    LOG_TCP_OPTIONS = 0x02
    LOG_IP_OPTIONS = 0x04
    LOG_UID = 0x08
    LOG_MAC_DECODE = 0x20
    LOG_DEFAULT = 0x0F


cdef void log_packet(Walk* walk, uint8_t kind, uint8_t flags, const char* prefix) noexcept nogil
