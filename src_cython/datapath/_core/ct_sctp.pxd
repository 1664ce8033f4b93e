from datapath._core.ct_track cimport Tracking


cdef int track_sctp(Tracking* t) noexcept nogil
