from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport Blocks


cdef extern from "delay/lines.h" nogil:
    ctypedef struct Core:
        int64_t n_plain
        int64_t n_heads
        int64_t n_places
        int64_t n_lines
        bint aligned
        int64_t same
        int64_t longest
        Blocks blocks
        Blocks back
        const int32_t *nodes
        const int32_t *states
        const int32_t *place
        const int32_t *first
        const int32_t *sources
        const int32_t *edges
        const int64_t *delay
        const int32_t *tail
        const int32_t *through
        const int32_t *arriving
        const int32_t *into
        const int64_t *begin
        const int32_t *inside
        bint open
        bint ends_alike
        const int32_t *emit
        bint by_state


cdef class Lines:
    cdef Core core
    cdef list arrays
    cdef readonly bint direct
    cdef readonly bint uniform
    cdef const int32_t *numbers(self, array) except NULL
    cdef hold_blocks(self, Blocks *, blocks)
