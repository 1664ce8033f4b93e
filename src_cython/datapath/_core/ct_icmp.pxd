from datapath._core.ct_track cimport Tracking


cdef int track_icmp(Tracking* t) noexcept nogil
cdef int track_icmpv6(Tracking* t) noexcept nogil
cdef int icmp_error(Tracking* t) noexcept nogil
