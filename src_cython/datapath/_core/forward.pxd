# What is checked and changed between the routing decision and FORWARD.
from datapath._core.context cimport Walk


cdef int forward_ipv4(Walk* walk) noexcept nogil    # ip_forward: 0 or the DropReason; the error has been sent
cdef int forward_ipv6(Walk* walk) noexcept nogil    # ip6_forward
cdef void route_error(Walk* walk) noexcept nogil    # the routing decision was an error: dst.input of such a route
