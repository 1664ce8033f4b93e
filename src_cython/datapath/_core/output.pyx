"""The list of frames that left: one growing buffer, emptied after each call."""
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

from datapath._core.record cimport STEP_OUTPUT, record


cdef int outputs_init(Net* net) except -1:
    net.outputs = calloc(1, sizeof(Outputs))
    if net.outputs == NULL:
        raise MemoryError
    return 0


cdef void outputs_free(Net* net) noexcept nogil:
    cdef Outputs* out = <Outputs*>net.outputs
    if out == NULL:
        return
    free(out.frames)
    free(out.bytes)
    free(out)
    net.outputs = NULL


cdef bint outputs_grow(Outputs* out, uint32_t length) noexcept nogil:
    cdef OutputFrame* frames
    cdef uint8_t* data
    cdef uint32_t size
    if out.count == out.capacity:
        size = out.capacity * 2 if out.capacity else 16
        frames = <OutputFrame*>realloc(out.frames, size * sizeof(OutputFrame))
        if frames == NULL:
            return False
        out.frames = frames
        out.capacity = size
    if out.size - out.used < length:
        if out.used > 0x40000000:
            return False
        size = (out.size + length) * 2
        data = <uint8_t*>realloc(out.bytes, size)
        if data == NULL:
            return False
        out.bytes = data
        out.size = size
    return True


cdef void output_frame(Net* net, int32_t dev, const uint8_t* frame, uint32_t length) noexcept nogil:
    """A frame leaves by a device whose far end is outside of the node."""
    cdef Outputs* out = <Outputs*>net.outputs
    cdef OutputFrame* entry
    if not outputs_grow(out, length):
        return
    entry = &out.frames[out.count]
    entry.dev = dev
    entry.offset = out.used
    entry.length = length
    memcpy(out.bytes + out.used, frame, length)
    record(&net.recorder, STEP_OUTPUT, 0, 0, 0, dev, 0, out.count, True)
    out.used += length
    out.count += 1


cdef list outputs_take(Net* net):
    cdef Outputs* out = <Outputs*>net.outputs
    cdef OutputFrame* entry
    cdef uint32_t i
    cdef list found = []
    for i in range(out.count):
        entry = &out.frames[i]
        found.append((entry.dev, (<char*>out.bytes + entry.offset)[:entry.length]))
    out.count = 0
    out.used = 0
    return found
