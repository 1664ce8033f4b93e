# The states of a tracked TCP connection and how segments move them, as data.
from libc.stdint cimport uint8_t


cpdef enum TcpState:  # enum tcp_conntrack
    TCP_NONE = 0
    TCP_SYN_SENT = 1
    TCP_SYN_RECV = 2
    TCP_ESTABLISHED = 3
    TCP_FIN_WAIT = 4
    TCP_CLOSE_WAIT = 5
    TCP_LAST_ACK = 6
    TCP_TIME_WAIT = 7
    TCP_CLOSE = 8
    TCP_SYN_SENT2 = 9       # a SYN from either side: simultaneous open
    TCP_STATES = 10
    TCP_INVALID = 10        # not a state: the segment is INVALID
    TCP_IGNORE = 11         # not a state: the segment passes, the state stays


cpdef enum TcpEvent:  # enum tcp_bit_set: what of a segment's flags moves the state
    TCP_SYN_SET = 0
    TCP_SYNACK_SET = 1
    TCP_FIN_SET = 2
    TCP_ACK_SET = 3
    TCP_RST_SET = 4
    TCP_NONE_SET = 5
    TCP_EVENTS = 6


cdef uint8_t[2][10][6] TCP_NEXT     # by direction, state, event
