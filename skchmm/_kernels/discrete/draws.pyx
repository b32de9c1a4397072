"""Draws of paths given the observations.

A path is drawn from its end: the last node by alpha_{T-1} among the accepting ones, and the node
before m by alpha_{t-1}(n) w(n -> m). alpha is kept as logarithms, because what is negligible in a
row of it may be all that leads to the node that was drawn. O(edges) per step and O(log degree) per
path and step, after O(degree) for each node that some path takes.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, edges_into, epoch_of, frame, step_work
from ..shared.memory cimport Memory
from ..shared.tables cimport (
    Table, chunk_end, keep_row, n_chunks, open_table, row_at, row_before,
)
from .log_rows cimport first_row, largest, shift, sum_around


cdef struct Model:
    const double *weights
    const double *log_weights
    const double *log_start
    const double *log_table
    const int32_t *rows
    Watch *watch


cdef void next_row(const Graph *g, const Model *p, int64_t e, const double *before,
                   const double *log_b, double *linear, double *out) noexcept nogil:
    """sum_row with few exponentials; `before` has maximum 0, `linear` is scratch."""
    cdef int64_t m, k
    cdef double top, total
    cdef const int32_t *start = edges_into(g, e)
    for m in range(g.n_nodes):
        linear[m] = exp(before[m])
    for m in range(g.n_nodes):
        total = 0.0
        for k in range(start[m], start[m + 1]):
            total += linear[g.sources[k]] * p.weights[k]
        top = 0.0
        if total < 1e-200:  # something may have vanished
            top = largest(g, p.log_weights, before, start[m], start[m + 1])
            total = 1.0
            if top > -INFINITY:
                total = sum_around(g, p.log_weights, before, start[m], start[m + 1], top)
        out[m] = top + log(total) + log_b[g.node_states[m]]


cdef void fill(const Graph *g, const Model *p, int64_t origin, int64_t T, int64_t begin,
               const Table *alpha, double *linear) noexcept nogil:
    """The chunk that begins at a step."""
    cdef int64_t t, e = 0
    cdef const double *log_b
    for t in range(begin, chunk_end(alpha, begin, T)):
        log_b = p.log_table + frame(p.rows, origin + t) * g.n_states
        if t == 0:
            first_row(g, p.log_start, log_b, row_at(alpha, t))
        else:
            e = epoch_of(&g.epochs, t, e)
            next_row(g, p, e, row_before(alpha, t), log_b, linear, row_at(alpha, t))
        shift(row_at(alpha, t), g.n_nodes)
        if stopped(p.watch, 1):
            return


cdef inline void cumulate(const Graph *g, const double *log_weights, const double *before,
                          int64_t begin, int64_t end, double *sums) noexcept nogil:
    """Running sums of the weights of the edges begin..end-1, the largest weight being 1."""
    cdef int64_t k
    cdef double top = largest(g, log_weights, before, begin, end), total = 0.0
    for k in range(begin, end):
        total += exp(before[g.sources[k]] + log_weights[k] - top)
        sums[k] = total


cdef inline int64_t pick(const double *sums, int64_t begin, int64_t end, double u) noexcept nogil:
    """The first place whose running sum exceeds u times the total."""
    cdef double point = u * sums[end - 1]
    cdef int64_t middle, first = begin, last = end - 1
    while begin < last:
        middle = (begin + last) // 2
        if sums[middle] > point:
            last = middle
        else:
            begin = middle + 1
    while begin > first and sums[begin] == sums[begin - 1]:  # u rounded up to the total
        begin -= 1
    return begin


cdef bint draw_last(const Graph *g, const double *alpha, double *sums, int64_t n_paths,
                    const double *uniforms, int64_t *nodes) noexcept nogil:
    cdef int64_t m, p
    cdef double top = -INFINITY, total = 0.0
    for m in range(g.n_nodes):
        top = max(top, alpha[m] + g.log_final[m])
    if top == -INFINITY:
        return False
    for m in range(g.n_nodes):
        if g.accept[m]:
            total += exp(alpha[m] + g.log_final[m] - top)
        sums[m] = total
    for p in range(n_paths):
        nodes[p] = pick(sums, 0, g.n_nodes, uniforms[p])
    return True


def draw_paths(Layout layout,                     # IN
               const double[::1] edge_weights,    # IN, one an edge
               const double[::1] log_weights,     # IN, their logarithms
               const double[::1] log_start,       # IN
               const double[:, ::1] log_table,    # IN
               const int32_t[::1] rows,           # IN or None: row t of log_table is step t
               int64_t origin,                    # IN, first step in the data
               int64_t budget,                    # IN, bytes for the table of alpha
               const double[:, ::1] uniforms,     # IN (T, n_paths), in [0, 1)
               int32_t[:, ::1] paths):            # OUT (n_paths, T), state indices
    """Draw paths given the data; False if there are none to draw from."""
    cdef const Graph *g = &layout.graph
    cdef int64_t T = uniforms.shape[0], n_paths = uniforms.shape[1], N = g.n_nodes
    cdef int64_t M = log_weights.shape[0], begin, n, c, t, p, m, k, e = 0
    cdef bint found = False
    cdef Model model
    cdef Table alpha
    cdef double *sums
    cdef double *linear
    cdef int64_t *filled          # the step for which `sums` of a node's edges were made
    cdef int64_t *nodes
    cdef const int32_t *start
    cdef Watch watch = new_watch(4 * step_work(g) + n_paths)
    cdef Memory memory = Memory()
    if N == 0:
        return False
    model.weights = &edge_weights[0] if M else NULL
    model.log_weights = &log_weights[0] if M else NULL
    model.log_start, model.log_table = &log_start[0], &log_table[0, 0]
    model.rows, model.watch = NULL if rows is None else &rows[0], &watch
    open_table(&alpha, memory, T, N, budget, True)
    sums = memory.rows(1, M + N)
    linear = memory.rows(1, N)
    filled = <int64_t *> memory.room(N * sizeof(int64_t))
    nodes = <int64_t *> memory.room(n_paths * sizeof(int64_t))
    with nogil:
        for m in range(N):
            filled[m] = -1
        n = n_chunks(&alpha, T)
        for c in range(n):
            keep_row(&alpha, c * alpha.chunk)
            fill(g, &model, origin, T, c * alpha.chunk, &alpha, linear)
            if stopped(&watch, 0):
                break
        check()
        found = draw_last(g, row_at(&alpha, T - 1), sums, n_paths, &uniforms[T - 1, 0], nodes)
        for c in range(n - 1 if found else -1, -1, -1):
            begin = c * alpha.chunk
            if c < n - 1:
                fill(g, &model, origin, T, begin, &alpha, linear)
                check()
            for t in range(chunk_end(&alpha, begin, T) - 1, begin - 1, -1):
                for p in range(n_paths):
                    paths[p, t] = g.node_states[nodes[p]]
                if stopped(&watch, 1):
                    check()
                if t == 0:
                    break
                e = epoch_of(&g.epochs, t, e)
                start = edges_into(g, e)
                for p in range(n_paths):
                    m = nodes[p]
                    if filled[m] != t:
                        cumulate(g, model.log_weights, row_before(&alpha, t), start[m],
                                 start[m + 1], sums)
                        filled[m] = t
                    k = pick(sums, start[m], start[m + 1], uniforms[t - 1, p])
                    nodes[p] = g.sources[k]
    return found
