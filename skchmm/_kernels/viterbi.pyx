"""The best path through an augmented graph.

    value_0(m) = log_start(state(m)) + log_b(y_0, state(m))
    value_t(m) = max_{n -> m} (value_{t-1}(n) + log_w(n -> m)) + log_b(y_t, state(m))

O(edges) a step. On all but small graphs there are no back-pointers: the maximum is found again
along the one path that is traced back. Where the table of values would be large, only the rows
before each block are kept, and the blocks are filled again, last one first, so that memory is
O(sqrt(T) nodes).
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from .layout cimport (
    CHUNK, Blocks, Emit, Graph, Layout, Steps, best_end, block_length, blocks_of, emit_row,
    epoch_of, free_rows, longest_sequence, new_rows, new_table, run_length, steps,
)


cdef int64_t SMALL_BYTES = 1 << 28


cdef struct Scores:
    const double *edge_weights   # by edge, to trace back
    const double *weights        # by entry of the blocks
    const double *log_start
    const int64_t *node_labels   # what the path has for each node


cdef inline void first_step(const Graph *g, const Scores *s, const double *log_b,
                            double *out) noexcept nogil:
    cdef int64_t m, i
    for m in range(g.stride):
        out[m] = -INFINITY
    for i in range(g.n_states):
        m = g.start_nodes[i]
        if m >= 0:
            out[m] = s.log_start[i] + log_b[m]


cdef double decode(const Graph *g, const Steps *do, const Scores *s, Emit *emit, int64_t origin,
                   int64_t T, double *values, double *kept, int64_t block,
                   int64_t *path) noexcept nogil:
    """One sequence; `values` holds `block` rows, `kept` the row before each block but the first."""
    cdef int64_t N = g.stride, n_blocks = (T + block - 1) // block, stop = origin + T
    cdef int64_t t, m, e = 0, begin, end, b, row = 0
    cdef double best
    cdef double *before = values
    cdef const int32_t *start
    cdef Blocks ahead = blocks_of(&g.ahead, 0)
    emit.chunk = -1
    # What the first pass leaves in `values` is the last block, so a single block is filled once.
    first_step(g, s, emit_row(g, emit, origin, stop), values)
    for t in range(1, T):
        before = values + row * N
        row += 1
        if row == block:
            row = 0
            memcpy(kept + (t // block - 1) * N, before, N * sizeof(double))
        if g.n_epochs > 1:
            e = epoch_of(g, t, e)
            ahead = blocks_of(&g.ahead, e)
        do.max_step(&ahead, s.weights, before, emit_row(g, emit, origin + t, stop),
                    values + row * N)
    before = values + row * N
    m = best_end(g, before, 1)
    if m < 0:
        return -INFINITY
    best = before[m]
    path[T - 1] = s.node_labels[m]
    for b in range(n_blocks - 1, -1, -1):
        begin = b * block
        end = min(T, begin + block)
        if b < n_blocks - 1:
            if b == 0:
                first_step(g, s, emit_row(g, emit, origin, stop), values)
            for t in range(max(begin, 1), end):
                e = epoch_of(g, t, e)
                ahead = blocks_of(&g.ahead, e)
                before = kept + (b - 1) * N if t == begin else values + (t - 1 - begin) * N
                do.max_step(&ahead, s.weights, before, emit_row(g, emit, origin + t, stop),
                            values + (t - begin) * N)
        for t in range(end - 1, max(begin, 1) - 1, -1):
            e = epoch_of(g, t, e)
            before = kept + (b - 1) * N if t == begin else values + (t - 1 - begin) * N
            start = g.indptr + e * (g.n_nodes + 1) + m
            m = do.best_source(start[1] - start[0], g.sources + start[0],
                               s.edge_weights + start[0], before)
            path[t - 1] = s.node_labels[m]
    return best


cdef double decode_small(const Graph *g, const Steps *do, const Scores *s, Emit *emit,
                         int64_t origin, int64_t T, double *values, uint8_t *choices,
                         int64_t *path) noexcept nogil:
    """One sequence on a graph of few entries; `values` holds 2 rows, `choices` T."""
    cdef int64_t N = g.stride, stop = origin + T, t = 1, m, e = 0, n
    cdef double best
    cdef double *here = values
    cdef const double *table
    cdef Blocks ahead
    emit.chunk = -1
    first_step(g, s, emit_row(g, emit, origin, stop), here)
    while t < T:
        e = epoch_of(g, t, e)
        ahead = blocks_of(&g.ahead, e)
        n = run_length(g, emit, origin, t, T, e)
        table = emit.table if emit.by_node else emit_row(g, emit, origin + t, stop)
        here = do.choose_run(&ahead, s.weights, n, table,
                             emit.rows + origin + t if emit.by_node else NULL,
                             here, values + N if here == values else values, choices + t * N)
        t += n
    m = best_end(g, here, 1)
    if m < 0:
        return -INFINITY
    best = here[m]
    path[T - 1] = s.node_labels[m]
    for t in range(T - 1, 0, -1):
        m = choices[t * N + m]
        path[t - 1] = s.node_labels[m]
    return best


def viterbi(Layout layout,                     # IN
            const double[::1] edge_weights,    # IN, log weights, one an edge
            const double[::1] weights,         # IN, the same by entry of the blocks
            const double[::1] log_start,       # IN
            const double[:, ::1] log_table,    # IN, columns are states, or nodes (padded)
            bint by_node,                      # IN, which of the two
            const int32_t[::1] rows,           # IN or None: row t of log_table is step t
            const int64_t[::1] offsets,        # IN
            const int64_t[::1] node_labels,    # IN, what to write for each node
            int64_t budget,                    # IN, bytes for the table of values
            int64_t[::1] path,                 # OUT, labels
            double[::1] log_prob):             # OUT, -inf where no path is feasible
    """Decode sequences; what stands in `path` for infeasible ones means nothing."""
    cdef const Graph *g = &layout.graph
    cdef const Steps *do = steps()
    cdef Scores scores
    cdef Emit emit
    cdef int64_t s, T, n = log_prob.shape[0], longest = longest_sequence(offsets, 0, n)
    cdef int64_t block = block_length(longest, g.stride, budget)
    # Noting the winner of every lane pays while a step has few entries.
    cdef bint small = (g.ahead.n_blocks <= do.small and longest * g.stride <= SMALL_BYTES)
    cdef double *values = NULL
    cdef double *kept = NULL
    cdef uint8_t *choices = NULL
    if g.n_nodes == 0:
        for s in range(n):
            log_prob[s] = -INFINITY
        return
    scores.edge_weights = &edge_weights[0] if edge_weights.shape[0] else NULL
    scores.weights = &weights[0] if weights.shape[0] else NULL
    scores.log_start = &log_start[0]
    scores.node_labels = &node_labels[0]
    emit.table, emit.by_node, emit.buffer = &log_table[0, 0], by_node, NULL
    emit.rows = NULL if rows is None else &rows[0]
    try:
        if small:
            choices = <uint8_t *> malloc(longest * g.stride)
            if choices == NULL:
                raise MemoryError
        values = new_table(2 if small else block, g.stride)
        kept = new_rows(1 if small else longest // block + 1, g.stride)
        emit.buffer = new_rows(1 if by_node else CHUNK, g.stride)
        with nogil:
            for s in range(n):
                T = offsets[s + 1] - offsets[s]
                if small:
                    log_prob[s] = decode_small(g, do, &scores, &emit, offsets[s], T, values,
                                               choices, &path[offsets[s]])
                else:
                    log_prob[s] = decode(g, do, &scores, &emit, offsets[s], T, values, kept,
                                         block, &path[offsets[s]])
    finally:
        free(choices)
        free_rows(values)
        free_rows(kept)
        free_rows(emit.buffer)
