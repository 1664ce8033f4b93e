# The table as Python sees it: listing, import, deletion.
from datapath._core.context cimport Net


cdef list view_entries(Net* net)
cdef int view_load(Net* net, object rows) except -1
cdef int view_delete(Net* net, object ids) except -1
cdef dict view_stats(Net* net)
cdef void view_start(Net* net) noexcept nogil
cdef tuple view_track(Net* net, const unsigned char[::1] packet, int hook, bint confirm)
