from libc.math cimport INFINITY, log, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t


cdef extern from "blocks.h" nogil:
    ctypedef struct Blocks:
        int64_t n_blocks
        const int32_t *start
        const int32_t *shifted
        const int32_t *source

    ctypedef struct Backward:
        Blocks ahead
        Blocks back
        const double *back_weights
        int64_t n_nodes
        int64_t n_states
        const int32_t *node_states
        double floor
        double *v
        double *counts

    int LANES_STEPS

    const double LANES_NUMBER

    ctypedef struct Side:
        int64_t n_nodes
        const int32_t *nodes
        int64_t edge
        const double *numbers
        const int32_t *states

    ctypedef struct Steps:
        const char *name
        int64_t small
        void (*max_step)(const Blocks *, const double *, const double *, const double *,
                         double *) noexcept nogil
        double (*sum_step)(const Blocks *, const double *, const double *, const double *, double,
                           double *, int *) noexcept nogil
        void (*back_step)(const Blocks *, const double *, const double *, const double *, double,
                          double *, double *, double *, int *) noexcept nogil
        void (*count_step)(const Blocks *, const double *, const double *,
                           double *) noexcept nogil
        double *(*choose_run)(const Blocks *, const double *, int64_t, const double *,
                              const int32_t *, double *, double *, uint8_t *) noexcept nogil
        int64_t (*sum_run)(const Blocks *, const double *, int64_t, const double *,
                           const int32_t *, const uint8_t *, double, const double *, double *,
                           double *, int *) noexcept nogil
        int64_t (*best_source)(int64_t, const int32_t *, const double *,
                               const double *) noexcept nogil
        int64_t (*back_run)(const Backward *, int64_t, const double *, const double *,
                            const int32_t *, double *, double **, double **, double *, double *,
                            int *) noexcept nogil
        void (*put_gamma)(const Backward *, const double *, const double *, double,
                          double *) noexcept nogil
        void (*multiply)(int64_t, const double *, const double *, double,
                         double *) noexcept nogil
        void (*spread_rows)(int64_t, int64_t, int64_t, int64_t, const int32_t *, const double *,
                            const int32_t *, double *) noexcept nogil
        void (*normal_rows)(int64_t, int64_t, int64_t, const double *, const double *,
                            const double *, const double *, double *) noexcept nogil
        void (*lanes_fill)(int64_t, int64_t, const double *, const int64_t *,
                           double *) noexcept nogil
        int (*lanes_exp)(int64_t, int64_t, double, const int8_t *, double *, double *, double *,
                         uint8_t *) noexcept nogil
        double *(*lanes_choose_run)(const Side *, const double *, int64_t, int64_t,
                                    const double *, double *, double *,
                                    uint8_t *) noexcept nogil
        int64_t (*lanes_sum_run)(const Side *, const double *, int64_t, int64_t, const double *,
                                 double *, int, double *, double *) noexcept nogil
        void (*lanes_back_run)(const Side *, const double *, int64_t, int64_t, int,
                               const double *, const double *, double **, double *, double *,
                               double *, double *) noexcept nogil
        void (*lanes_first)(const Side *, int64_t, int, const double *, const double *,
                            double **, const double *, double *, double *) noexcept nogil
        void (*lanes_weigh)(int64_t, const int32_t *, const int32_t *, const double *,
                            const double *, const double *, double, int, const double *,
                            double *) noexcept nogil
        void (*lanes_reach)(int64_t, int64_t, const int32_t *, const int32_t *, const double *,
                            const double *, double *) noexcept nogil
        void (*lanes_move)(int64_t, const int32_t *, const double *, const double *, double *,
                           double *) noexcept nogil
        int (*lanes_balance)(int64_t, int64_t, const int32_t *, const int32_t *, const double *,
                             const double *, double *, double *, double *) noexcept nogil
        void (*lanes_undo)(int64_t, const double *, double *, double *, double *) noexcept nogil
        void (*moment_rows)(int64_t, int64_t, int64_t, const double *, const double *,
                            const double *, double *) noexcept nogil
        void (*full_normal_rows)(int64_t, int64_t, int64_t, const double *, const double *,
                                 const double *, const double *, double *) noexcept nogil
        void (*product_rows)(int64_t, int64_t, int64_t, const double *, const double *,
                             const double *, double *) noexcept nogil

    const Steps *choose_steps(int at_most)


cdef struct Graph:
    int64_t n_nodes
    int64_t n_states
    int64_t n_epochs
    int64_t stride               # n_nodes rounded up to whole blocks
    bint plain                   # node m is state m
    const int32_t *node_states
    const int32_t *start_nodes
    const uint8_t *accept
    const int64_t *epochs
    const int32_t *indptr        # edges by target, each epoch after the other
    const int32_t *sources
    Blocks ahead                 # blocks of targets, of the first epoch
    Blocks back                  # the same for the reversed edges: blocks of sources


cdef class Layout:
    cdef Graph graph
    cdef list arrays
    cdef hold_blocks(self, Blocks *blocks, python_blocks, held)


cdef const Steps *steps() noexcept nogil


cdef struct Emit:
    const double *table          # (rows, n_states), or (rows, stride) where already by node
    const int32_t *rows          # NULL: row t is step t
    bint by_node
    double *buffer               # (CHUNK, stride): rows of one chunk of steps, by node
    int64_t chunk                # which chunk that is


cdef enum:
    CHUNK = 64


cdef inline int64_t epoch_of(const Graph *g, int64_t t, int64_t e) noexcept nogil:
    """The epoch of step t, searched from epoch e on, in either direction."""
    while e + 1 < g.n_epochs and t >= g.epochs[e + 1]:
        e += 1
    while e > 0 and t < g.epochs[e]:
        e -= 1
    return e


cdef inline Blocks blocks_of(const Blocks *first, int64_t e) noexcept nogil:
    """The blocks of epoch e."""
    cdef Blocks b = first[0]
    b.start = first.start + e * first.n_blocks
    b.shifted = first.shifted + e * first.n_blocks
    return b


cdef inline int64_t frame(const int32_t *rows, int64_t step) noexcept nogil:
    """The row of the emission table that a step of the data reads."""
    return step if rows == NULL else rows[step]


cdef inline const double *emit_row(const Graph *g, Emit *emit, int64_t step,
                                   int64_t end) noexcept nogil:
    """Emissions of a step, one a node; steps from `end` on are never asked for."""
    cdef int64_t first
    if emit.by_node:
        return emit.table + frame(emit.rows, step) * g.stride
    if step // CHUNK != emit.chunk:
        emit.chunk = step // CHUNK
        first = emit.chunk * CHUNK
        steps().spread_rows(
            min(CHUNK, end - first), g.n_states, g.n_nodes, g.stride, g.node_states,
            emit.table if emit.rows != NULL else emit.table + first * g.n_states,
            emit.rows + first if emit.rows != NULL else NULL, emit.buffer)
    return emit.buffer + (step % CHUNK) * g.stride


cdef inline int64_t run_length(const Graph *g, const Emit *emit, int64_t origin, int64_t t,
                               int64_t end, int64_t e) noexcept nogil:
    """Steps from t on, before `end`, that share an epoch and a chunk of emissions."""
    if e + 1 < g.n_epochs:
        end = min(end, g.epochs[e + 1])
    if not emit.by_node:
        end = min(end, ((origin + t) // CHUNK + 1) * CHUNK - origin)
    return end - t


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
    for m in range(g.n_nodes):
        if g.accept[m] and values[m * step] > (values[best * step] if best >= 0 else -INFINITY):
            best = m
    return best


cdef inline double log_lossy(double smallest) noexcept nogil:
    """Emission ratios below this may lose something; `smallest` is the smallest weight.

    Those below 1e-100 may, and those that with a weight use up what is below 1e-200.
    """
    return max(-230.0, -253.0 - log(smallest))


cdef inline int64_t block_length(int64_t longest, int64_t stride, int64_t budget) noexcept nogil:
    """Rows of a table that is kept at once: all, or about sqrt(T), or what the cache holds."""
    cdef int64_t row = stride * <int64_t> sizeof(double)
    if longest * row <= budget:
        return longest
    return min(longest, max(<int64_t> sqrt(<double> longest) + 1, budget // 4 // row))


cdef double *new_rows(int64_t n_rows, int64_t stride) except NULL
cdef double *new_table(int64_t n_rows, int64_t stride) except NULL
cdef void free_rows(double *rows) noexcept
