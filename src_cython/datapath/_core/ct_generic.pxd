from datapath._core.ct_track cimport Tracking


cdef int track_generic(Tracking* t) noexcept nogil
cdef int track_gre(Tracking* t) noexcept nogil
