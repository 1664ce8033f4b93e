# The frames that left the node during a call.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from datapath._core.context cimport Net


cdef struct OutputFrame:
    int32_t dev
    uint32_t offset         # in Outputs.bytes
    uint32_t length


cdef struct Outputs:
    OutputFrame* frames
    uint32_t count
    uint32_t capacity
    uint8_t* bytes
    uint32_t used
    uint32_t size


cdef int outputs_init(Net* net) except -1
cdef void outputs_free(Net* net) noexcept nogil
cdef void output_frame(Net* net, int32_t dev, const uint8_t* frame, uint32_t length) noexcept nogil
cdef list outputs_take(Net* net)    # [(device, bytes)], and forget them
