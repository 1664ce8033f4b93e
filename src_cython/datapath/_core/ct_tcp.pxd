from datapath._core.conn cimport CtTcpSide
from datapath._core.ct_track cimport Tracking

cdef enum TcpSideFlags:  # IP_CT_TCP_FLAG_*
    SIDE_WINDOW_SCALE = 0x01
    SIDE_SACK_PERM = 0x02
    SIDE_CLOSE_INIT = 0x04          # this side sent the first FIN
    SIDE_BE_LIBERAL = 0x08          # its windows are not known: nothing it sends is out of window
    SIDE_DATA_UNACKED = 0x10
    SIDE_MAXACK_SET = 0x20
    EXPECT_CHALLENGE_ACK = 0x40     # in CtTcp.last_flags
    SIMULTANEOUS_OPEN = 0x80        # in CtTcp.last_flags


cdef int track_tcp(Tracking* t) noexcept nogil
