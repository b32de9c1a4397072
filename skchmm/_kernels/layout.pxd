from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct Graph:
    int64_t n_nodes
    int64_t n_states
    int64_t n_epochs
    const int32_t *node_states
    const int32_t *start_nodes
    const uint8_t *accept
    const int64_t *epochs
    const int32_t *indptr
    const int32_t *sources


cdef class Layout:
    cdef Graph graph
    cdef object arrays


cdef inline int64_t epoch_of(const Graph *g, int64_t t, int64_t e) noexcept nogil:
    """The epoch of step t, searched from epoch e on, in either direction."""
    while e + 1 < g.n_epochs and t >= g.epochs[e + 1]:
        e += 1
    while e > 0 and t < g.epochs[e]:
        e -= 1
    return e


cdef inline int64_t frame(const int32_t *rows, int64_t step) noexcept nogil:
    """The row of the emission table that a step of the data reads."""
    return step if rows == NULL else rows[step]


cdef inline int64_t longest_sequence(const int64_t[::1] offsets, int64_t begin,
                                     int64_t end) noexcept nogil:
    cdef int64_t s, longest = 1
    for s in range(begin, end):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest
