"""The best path through an augmented graph.

    value_0(m) = log_start(state(m)) + log_b(y_0, state(m))
    value_t(m) = max_{n -> m} (value_{t-1}(n) + log_w(n -> m)) + log_b(y_t, state(m))

O(edges) a step. No back-pointers: the maximum is found again along the one path that is
traced back. Where the table of values would be large, only the rows at which blocks begin are
kept, and the blocks are filled again, last one first, so that memory is O(sqrt(T) nodes).
"""
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from .layout cimport Graph, Layout, epoch_of, frame, longest_sequence


cdef struct Scores:
    const double *log_weights
    const double *log_start
    const double *log_table
    const int32_t *rows


cdef inline void first_step(const Graph *g, const Scores *s, int64_t step,
                            double *out) noexcept nogil:
    cdef int64_t m, i
    cdef const double *log_b = s.log_table + frame(s.rows, step) * g.n_states
    for m in range(g.n_nodes):
        out[m] = -INFINITY
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0:
            out[g.start_nodes[i]] = s.log_start[i] + log_b[i]


cdef inline void next_step(const Graph *g, const Scores *s, int64_t e, int64_t step,
                           const double *before, double *out) noexcept nogil:
    cdef int64_t m, k
    cdef double best, candidate
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    cdef const double *log_b = s.log_table + frame(s.rows, step) * g.n_states
    for m in range(g.n_nodes):
        best = -INFINITY
        for k in range(start[m], start[m + 1]):
            candidate = before[g.sources[k]] + s.log_weights[k]
            if candidate > best:
                best = candidate
        out[m] = best + log_b[g.node_states[m]]


cdef inline int64_t best_source(const Graph *g, const Scores *s, int64_t e,
                                const double *before, int64_t m) noexcept nogil:
    """The first of the sources of node m that attain its value."""
    cdef int64_t k, source = -1
    cdef double best = -INFINITY, candidate
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    for k in range(start[m], start[m + 1]):
        candidate = before[g.sources[k]] + s.log_weights[k]
        if candidate > best:
            best = candidate
            source = g.sources[k]
    return source


cdef double decode(const Graph *g, const Scores *s, int64_t origin, int64_t T,
                   double *values, double *kept, int64_t block, int32_t *path) noexcept nogil:
    """One sequence; `values` holds `block` rows, `kept` the row before each block but the first."""
    cdef int64_t N = g.n_nodes, n_blocks = (T + block - 1) // block
    cdef int64_t t, m, e = 0, begin, end, b, last
    cdef double best = -INFINITY
    cdef double *before
    # What the first pass leaves in `values` is the last block, so a single block is filled once.
    first_step(g, s, origin, values)
    for t in range(1, T):
        before = values + ((t - 1) % block) * N
        if t % block == 0:
            memcpy(kept + (t // block - 1) * N, before, N * sizeof(double))
        e = epoch_of(g, t, e)
        next_step(g, s, e, origin + t, before, values + (t % block) * N)
    before = values + ((T - 1) % block) * N
    m = -1
    for last in range(N):
        if g.accept[last] and before[last] > best:
            best = before[last]
            m = last
    if m < 0:
        return -INFINITY
    path[T - 1] = g.node_states[m]
    for b in range(n_blocks - 1, -1, -1):
        begin = b * block
        end = min(T, begin + block)
        if b < n_blocks - 1:
            if b == 0:
                first_step(g, s, origin, values)
            for t in range(max(begin, 1), end):
                e = epoch_of(g, t, e)
                before = kept + (b - 1) * N if t == begin else values + (t - 1 - begin) * N
                next_step(g, s, e, origin + t, before, values + (t - begin) * N)
        for t in range(end - 1, max(begin, 1) - 1, -1):
            e = epoch_of(g, t, e)
            before = kept + (b - 1) * N if t == begin else values + (t - 1 - begin) * N
            m = best_source(g, s, e, before, m)
            path[t - 1] = g.node_states[m]
    return best


def viterbi(Layout layout,                     # IN
            const double[::1] log_weights,     # IN, one an edge
            const double[::1] log_start,       # IN
            const double[:, ::1] log_table,    # IN
            const int32_t[::1] rows,           # IN or None: row t of log_table is step t
            const int64_t[::1] offsets,        # IN
            int64_t begin, int64_t end,        # IN, the sequences to decode
            int64_t budget,                    # IN, bytes for the table of values
            int32_t[::1] path,                 # OUT, state indices
            double[::1] log_prob):             # OUT, -inf where no path is feasible
    """Decode sequences begin..end-1; what stands in `path` for infeasible ones means nothing."""
    cdef const Graph *g = &layout.graph
    cdef Scores scores
    cdef int64_t s, T, N = g.n_nodes, longest = longest_sequence(offsets, begin, end)
    cdef int64_t block = longest
    if N == 0:
        for s in range(begin, end):
            log_prob[s] = -INFINITY
        return
    scores.log_weights = &log_weights[0] if log_weights.shape[0] else NULL
    scores.log_start, scores.log_table = &log_start[0], &log_table[0, 0]
    scores.rows = NULL if rows is None else &rows[0]
    if longest * N * <int64_t> sizeof(double) > budget:
        block = <int64_t> sqrt(<double> longest) + 1
    cdef double *values = <double *> malloc(block * N * sizeof(double))
    cdef double *kept = <double *> malloc((longest // block + 1) * N * sizeof(double))
    try:
        if values == NULL or kept == NULL:
            raise MemoryError
        with nogil:
            for s in range(begin, end):
                T = offsets[s + 1] - offsets[s]
                log_prob[s] = decode(g, &scores, offsets[s], T, values, kept, block,
                                     &path[offsets[s]])
    finally:
        free(values)
        free(kept)
