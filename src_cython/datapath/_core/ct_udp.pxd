from datapath._core.ct_track cimport Tracking


cdef int track_udp(Tracking* t) noexcept nogil
cdef int track_udplite(Tracking* t) noexcept nogil
