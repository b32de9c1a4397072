from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "shared/blocks.h" nogil:
    ctypedef struct Blocks:
        int64_t n_blocks
        const int32_t *start
        const int32_t *shifted
        const int32_t *source
        const int32_t *together


cdef extern from "shared/siblings.h" nogil:
    ctypedef struct Siblings:
        int64_t n
        const int32_t *pairs
        const int32_t *places
        const int32_t *first
        const int32_t *of_node
        int64_t n_shifts
        const int32_t *shifts
        const double *others
    ctypedef struct Ties:
        uint8_t *any
        uint8_t *pairs


cdef struct Epochs:
    int64_t n
    const int64_t *first         # step of each


cdef struct Graph:
    int64_t n_nodes
    int64_t n_states
    int64_t stride               # n_nodes rounded up to whole blocks
    bint plain                   # node m is state m
    bint several                 # some state has several nodes
    const int32_t *node_states
    const int32_t *start_nodes
    const uint8_t *accept
    const double *final          # what to end in a node is worth: 0 where no path may
    const double *log_final
    Epochs epochs
    const int32_t *indptr        # edges by target, each epoch after the other
    const int32_t *sources
    const int32_t *order         # of a one-way graph: in each epoch, sources come before targets
    bint one_way                 # whether no path comes back to a node but by its own loop
    Blocks ahead                 # blocks of targets, of the first epoch
    Blocks back                  # the same for the reversed edges: blocks of sources
    Siblings siblings            # of graphs that are small enough to note winners


cdef class Layout:
    cdef Graph graph
    cdef list arrays
    cdef hold_blocks(self, Blocks *blocks, python_blocks)
    cdef hold_siblings(self, pairs)


cdef void *hold(list arrays, array, dtype) except NULL


cdef inline int64_t epoch_of(const Epochs *epochs, int64_t t, int64_t e) noexcept nogil:
    """The epoch of step t, searched from epoch e on, in either direction."""
    while e + 1 < epochs.n and t >= epochs.first[e + 1]:
        e += 1
    while e > 0 and t < epochs.first[e]:
        e -= 1
    return e


cdef inline const int32_t *edges_into(const Graph *g, int64_t e) noexcept nogil:
    """Edges start[m]..start[m + 1]-1 lead to node m in epoch e."""
    return g.indptr + e * (g.n_nodes + 1)


cdef inline const int32_t *first_nodes(const Graph *g, int32_t *out) noexcept nogil:
    """The first node of every state, and the number of nodes; they are in the order of states."""
    cdef int32_t i
    cdef int64_t m = 0
    for i in range(g.n_states):
        while m < g.n_nodes and g.node_states[m] < i:
            m += 1
        out[i] = <int32_t> m
    out[g.n_states] = <int32_t> g.n_nodes
    return out


cdef inline int64_t step_work(const Graph *g) noexcept nogil:
    """What a step passes through: edges, of the epoch that has most, and nodes."""
    cdef int64_t e, most = 0
    for e in range(g.epochs.n if g.n_nodes else 0):
        most = max(most, edges_into(g, e)[g.n_nodes] - edges_into(g, e)[0])
    return most + g.n_nodes


cdef inline Blocks blocks_of(const Blocks *first, int64_t e) noexcept nogil:
    """The blocks of epoch e."""
    cdef Blocks b = first[0]
    b.start = first.start + e * first.n_blocks
    b.shifted = first.shifted + e * first.n_blocks
    b.together = first.together + e * first.n_blocks
    return b


cdef inline int64_t frame(const int32_t *rows, int64_t step) noexcept nogil:
    """The *frame* of a step of the data: the row of the emission table that it reads."""
    return step if rows == NULL else rows[step]


cdef inline int64_t longest_sequence(const int64_t[::1] offsets, int64_t begin,
                                     int64_t end) noexcept nogil:
    cdef int64_t s, longest = 1
    for s in range(begin, end):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


cdef inline int64_t longest_of(const int64_t[::1] offsets,
                               const int64_t[::1] chosen) noexcept nogil:
    cdef int64_t c, longest = 1
    for c in range(chosen.shape[0]):
        longest = max(longest, offsets[chosen[c] + 1] - offsets[chosen[c]])
    return longest


cdef inline int64_t best_end(const Graph *g, const double *values, int64_t step) noexcept nogil:
    """The first of the best accepting nodes, whose values lie `step` apart; -1 where none is."""
    cdef int64_t m, best = -1
    cdef double top = -INFINITY
    for m in range(g.n_nodes):
        if values[m * step] + g.log_final[m] > top:
            best, top = m, values[m * step] + g.log_final[m]
    return best
