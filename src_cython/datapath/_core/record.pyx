"""The recorder's buffer."""
from libc.stdlib cimport free, malloc, realloc

cdef enum:
    FIRST_STEPS = 256
    MOST_STEPS = 1 << 22    # 100 MB: no walk of one packet is longer; steps beyond are not kept


cdef int recorder_init(Recorder* rec) except -1:
    rec.level = RECORD_STEPS
    rec.depth = 0
    rec.count = 0
    rec.rewrites = NULL
    rec.n_rewrites = 0
    rec.rewrites_size = 0
    rec.rules_tried = 0
    rec.text = NULL
    rec.text_used = 0
    rec.text_size = 0
    rec.capacity = FIRST_STEPS
    rec.steps = <Step*>malloc(FIRST_STEPS * sizeof(Step))
    if rec.steps == NULL:
        raise MemoryError
    return 0


cdef void recorder_free(Recorder* rec) noexcept nogil:
    free(rec.steps)
    free(rec.text)
    rec.text = NULL
    free(rec.rewrites)
    rec.steps = NULL
    rec.rewrites = NULL


cdef void recorder_grow(Recorder* rec) noexcept nogil:
    cdef Step* larger
    if rec.capacity >= MOST_STEPS:
        return
    larger = <Step*>realloc(rec.steps, <size_t>rec.capacity * 2 * sizeof(Step))
    if larger == NULL:
        return
    rec.steps = larger
    rec.capacity *= 2


cdef Rewrite* recorder_rewrite(Recorder* rec) noexcept nogil:
    cdef Rewrite* larger
    if rec.level < RECORD_STEPS:
        return NULL
    if rec.n_rewrites == rec.rewrites_size:
        larger = <Rewrite*>realloc(rec.rewrites, (<size_t>rec.rewrites_size * 2 + 8) * sizeof(Rewrite))
        if larger == NULL:
            return NULL
        rec.rewrites = larger
        rec.rewrites_size = rec.rewrites_size * 2 + 8
    rec.n_rewrites += 1
    return &rec.rewrites[rec.n_rewrites - 1]
