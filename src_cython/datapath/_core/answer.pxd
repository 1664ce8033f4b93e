# What the node's own sockets answer, when they are asked to (Net.answer).
from datapath._core.context cimport Walk


cdef void answer_packet(Walk* walk) noexcept nogil  # the packet stays the caller's
