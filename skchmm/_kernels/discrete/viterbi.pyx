"""The best path through an augmented graph.

    value_0(m) = log_start(state(m)) + log_b(y_0, state(m))
    value_t(m) = max_{n -> m} (value_{t-1}(n) + log_w(n -> m)) + log_b(y_t, state(m))

O(edges) per step. On all but small graphs there are no back-pointers: the maximum is found again
along the one path that is traced back. Where the table of values would be large, it is kept in
chunks, so that memory is O(sqrt(T) nodes).
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.emit cimport BATCH, Emit, emit_row, run_length
from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport (
    Blocks, Graph, Layout, Siblings, best_end, blocks_of, edges_into, epoch_of, longest_sequence,
    step_work,
)
from ..shared.memory cimport Memory
from ..shared.tables cimport (
    Table, chunk_end, keep_row, n_chunks, open_table, row_at, row_before,
)
from ..shared.ties cimport (
    Tied, best_ends, equals_sibling, has_tie, open_tied, set_one, step_back, step_back_noted,
)
from ..simd.instructions cimport instructions_in_use


cdef extern from "discrete/max_steps.h" nogil:
    const int *instructions
    void max_step(const Blocks *, const double *weights, const double *before, const double *emit,
                  double *out)
    double *choose_run(const Blocks *, const double *weights, int64_t n, const double *table,
                       const int32_t *rows, double *here, double *there, int keep,
                       uint8_t *choices)
    int has_ties(const Siblings *, int64_t n, int64_t stride, const double *rows)
    int64_t best_source(int64_t n, const int32_t *sources, const double *weights,
                        const double *before)

instructions = instructions_in_use()

cdef int64_t SMALL_BYTES = 1 << 28
cdef int64_t RUN = 1 << 14        # steps after which to look whether the call is to end
# Blocks up to which noting the winners of a step beats finding them again, by instruction set.
cdef int64_t[3] SMALL_BLOCKS = [1, 2, 3]
cdef int64_t SMALL_KEPT = 1 << 22  # the same where values may be kept, which are 8 times as large
cdef int64_t MOST_WORK = 64      # edges into a node, for what larger tables are kept
cdef int64_t STRETCH = 64        # steps whose values are kept if there are ties among them


cdef struct Stretch:
    # Steps whose values are kept if siblings are equal somewhere in them, which is rare.
    int64_t begin
    double *before               # values from the step before the first on, or NULL


cdef struct Scores:
    const double *edge_weights   # by edge, to trace back
    const double *weights        # by entry of the blocks
    const double *log_start
    const int64_t *node_labels   # what the path has for each node
    Watch *watch


cdef inline void first_row(const Graph *g, const Scores *s, const double *log_b,
                           double *out) noexcept nogil:
    cdef int64_t m, i
    for m in range(g.stride):
        out[m] = -INFINITY
    for i in range(g.n_states):
        m = g.start_nodes[i]
        if m >= 0:
            out[m] = s.log_start[i] + log_b[m]


cdef void fill(const Graph *g, const Scores *s, Emit *emit, int64_t origin, int64_t T,
               int64_t begin, const Table *values) noexcept nogil:
    """The chunk that begins at a step."""
    cdef int64_t t, e = 0
    cdef double *row = values.rows
    cdef const double *before = NULL
    cdef Blocks ahead = blocks_of(&g.ahead, 0)
    if begin > 0:
        before = row_before(values, begin)
    for t in range(begin, chunk_end(values, begin, T)):
        if t == 0:
            first_row(g, s, emit_row(g, emit, origin, origin + T), row)
        else:
            if g.epochs.n > 1:
                e = epoch_of(&g.epochs, t, e)
                ahead = blocks_of(&g.ahead, e)
            max_step(&ahead, s.weights, before, emit_row(g, emit, origin + t, origin + T), row)
        before = row
        row += values.width
        if stopped(s.watch, 1):
            return


cdef double decode(const Graph *g, const Scores *s, Emit *emit, int64_t origin, int64_t T,
                   const Table *values, Tied *tied, int64_t *path) noexcept nogil:
    """One sequence."""
    cdef int64_t t, m, k, e = 0, c, begin, n = n_chunks(values, T)
    cdef double best
    cdef const int32_t *start
    emit.batch = -1
    for c in range(n):
        keep_row(values, c * values.chunk)
        fill(g, s, emit, origin, T, c * values.chunk, values)
        if stopped(s.watch, 0):
            return -INFINITY
    m = best_end(g, row_at(values, T - 1), 1)
    if m < 0:
        return -INFINITY
    best = row_at(values, T - 1)[m] + g.log_final[m]
    tied.n = best_ends(g, row_at(values, T - 1), 1, m, tied.nodes)
    path[T - 1] = s.node_labels[m]
    for c in range(n - 1, -1, -1):
        begin = c * values.chunk
        if c < n - 1:
            fill(g, s, emit, origin, T, begin, values)
            if stopped(s.watch, 0):
                return -INFINITY
        for t in range(chunk_end(values, begin, T) - 1, max(begin, 1) - 1, -1):
            e = epoch_of(&g.epochs, t, e)
            if tied.n == 1:
                start = edges_into(g, e) + m
                k = start[0] + best_source(start[1] - start[0], g.sources + start[0],
                                           s.edge_weights + start[0], row_before(values, t))
                if not g.several or not has_tie(g, s.edge_weights, row_before(values, t), k,
                                                start[1]):
                    m = g.sources[k]
                    path[t - 1] = s.node_labels[m]
                    continue
                set_one(tied, <int32_t> m)
            step_back(g, s.edge_weights, e, row_before(values, t), tied)
            m = tied.nodes[0]
            path[t - 1] = s.node_labels[m]
    return best


cdef double decode_small(const Graph *g, const Scores *s, Emit *emit, int64_t origin, int64_t T,
                         double *values, Stretch *stretches, uint8_t *choices, Tied *tied,
                         int64_t *path) noexcept nogil:
    """One sequence on a graph of few blocks.

    `choices` holds T rows. `values` begins with rows of zeros: two, which are written in turn, or,
    where there are siblings, those of a stretch. Its values are written over unless there are ties
    among them, so that they mostly stay in the cache.
    """
    cdef int64_t N = g.stride, stop = origin + T, t = 1, m, e = 0, i = 0, n, last
    cdef bint siblings = g.siblings.n > 0
    cdef int64_t most = STRETCH if siblings else RUN
    cdef double best
    cdef double *here = values
    cdef double *end = NULL
    cdef const double *table
    cdef const int32_t *rows
    cdef Blocks ahead
    emit.batch = -1
    first_row(g, s, emit_row(g, emit, origin, stop), here)
    while t < T:
        e = epoch_of(&g.epochs, t, e)
        ahead = blocks_of(&g.ahead, e)
        n = min(run_length(g, emit, origin, t, T, e), most)
        table = emit.table if emit.by_node else emit_row(g, emit, origin + t, stop)
        rows = emit.rows + origin + t if emit.by_node else NULL
        end = choose_run(&ahead, s.weights, n, table, rows, here,
                         here + N if siblings or here == values else values, siblings,
                         choices + t * N)
        stretches[i].begin, stretches[i].before = t, NULL
        if siblings and has_ties(&g.siblings, n, N, here):
            stretches[i].before = here
            memset(end + N, 0, STRETCH * N * sizeof(double))
            here = end
        elif siblings:
            memcpy(here, end, N * sizeof(double))
        else:
            here = end
        i += 1
        t += n
        if stopped(s.watch, n):
            return -INFINITY
    m = best_end(g, here, 1)
    if m < 0:
        return -INFINITY
    best = here[m] + g.log_final[m]
    path[T - 1] = s.node_labels[m]
    tied.n = best_ends(g, here, 1, m, tied.nodes)
    last = T - 1
    while i > 0:
        i -= 1
        m = trace_stretch(g, s, &stretches[i], last, choices, tied, m, path)
        last = stretches[i].begin - 1
    return best


cdef int64_t trace_stretch(const Graph *g, const Scores *s, const Stretch *stretch, int64_t last,
                           const uint8_t *choices, Tied *tied, int64_t m,
                           int64_t *path) noexcept nogil:
    """From node m (or those tied with it) at the last step of a stretch to the node before it."""
    cdef int64_t N = g.stride, t = last, e = 0, n
    cdef const double *before
    while t >= stretch.begin and (stretch.before != NULL or tied.n > 1):
        n = choices[t * N + m]
        if stretch.before == NULL:
            step_back_noted(g, e, choices + t * N, 1, False, NULL, 0, tied)
            n = tied.nodes[0]
        else:
            before = stretch.before + (t - stretch.begin) * N
            if tied.n > 1 or equals_sibling(&g.siblings, before, n):
                if tied.n == 1:
                    set_one(tied, <int32_t> m)
                e = epoch_of(&g.epochs, t, e)
                step_back(g, s.edge_weights, e, before, tied)
                n = tied.nodes[0]
        m = n
        path[t - 1] = s.node_labels[m]
        t -= 1
    for t in range(t, stretch.begin - 1, -1):
        m = choices[t * N + m]
        path[t - 1] = s.node_labels[m]
    return m


def viterbi(Layout layout,                     # IN
            const double[::1] edge_weights,    # IN, log weights, one an edge
            const double[::1] weights,         # IN, the same by entry of the blocks
            const double[::1] log_start,       # IN
            const double[:, ::1] log_table,    # IN, columns are states, or nodes (padded)
            bint by_node,                      # IN, which of the two
            const int32_t[::1] rows,           # IN or None: row t of log_table is step t
            const int64_t[::1] offsets,        # IN
            const int64_t[::1] labels,         # IN, what to write for each state
            int64_t budget,                    # IN, bytes for the table of values
            int64_t[::1] path,                 # OUT, labels
            double[::1] log_prob):             # OUT, -inf where no path is feasible
    """Decode sequences; what stands in `path` for infeasible ones means nothing."""
    cdef const Graph *g = &layout.graph
    cdef Scores scores
    cdef Emit emit
    cdef Table values
    cdef int64_t s, T, m, n = log_prob.shape[0], longest = longest_sequence(offsets, 0, n)
    cdef bint keep = g.siblings.n > 0
    cdef bint small = (g.ahead.n_blocks <= SMALL_BLOCKS[instructions[0]]
                       and longest * g.stride <= (SMALL_KEPT if keep else SMALL_BYTES))
    cdef int64_t *node_labels
    cdef uint8_t *choices = NULL
    cdef Stretch *stretches = NULL
    cdef Tied tied
    cdef Watch watch = new_watch(step_work(g))
    cdef Memory memory = Memory()
    if labels.shape[0] != g.n_states:
        raise ValueError(f"There are {g.n_states} states, but {labels.shape[0]} labels.")
    if g.n_nodes == 0:
        for s in range(n):
            log_prob[s] = -INFINITY
        return
    scores.edge_weights = &edge_weights[0] if edge_weights.shape[0] else NULL
    scores.weights = &weights[0] if weights.shape[0] else NULL
    scores.log_start = &log_start[0]
    scores.watch = &watch
    scores.node_labels = node_labels = <int64_t *> memory.room(g.n_nodes * sizeof(int64_t))
    for m in range(g.n_nodes):
        node_labels[m] = labels[g.node_states[m]]
    emit.table, emit.by_node = &log_table[0, 0], by_node
    emit.rows = NULL if rows is None else &rows[0]
    open_tied(&tied, memory, g.n_nodes)
    if small:
        choices = <uint8_t *> memory.room(longest * g.stride)
        stretches = <Stretch *> memory.room(longest * sizeof(Stretch))
        values.rows = memory.table(longest + STRETCH + 1 if keep else 2, g.stride)
        memset(values.rows, 0, (STRETCH + 1 if keep else 2) * g.stride * sizeof(double))
    else:
        open_table(&values, memory, longest, g.stride, budget, True,
                   min(step_work(g) // g.n_nodes, MOST_WORK))
    emit.buffer = memory.rows(1 if by_node else BATCH, g.stride)
    with nogil:
        for s in range(n):
            T = offsets[s + 1] - offsets[s]
            if small:
                log_prob[s] = decode_small(g, &scores, &emit, offsets[s], T, values.rows,
                                           stretches, choices, &tied, &path[offsets[s]])
            else:
                log_prob[s] = decode(g, &scores, &emit, offsets[s], T, &values, &tied,
                                     &path[offsets[s]])
            if stopped(&watch, 1):
                break
        check()
