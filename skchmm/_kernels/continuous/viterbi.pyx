"""Max-plus over irregular gaps, and products of matrices of logarithms.

    value_t(m) = max_n (value_{t-1}(n) + log E(gap_t)[n, m]) + log_b(y_t, state(m))

O(nodes^2) per step where the matrix is between nodes, O(edges) where it is between states and is
read along the edges of a graph. The first of equally good nodes wins: the lowest state.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, edges_into, epoch_of, frame

cdef double SAFE = 1e-270


cdef struct Row:
    double value
    int32_t node


cdef inline Row best_source(const Graph *g, const int32_t *base_edges, const double *matrix,
                            bint logs, int64_t e, int64_t m, const double *value) noexcept nogil:
    """The best way into a node, by logarithms."""
    cdef int64_t N = g.n_nodes, k, begin = 0, end = N
    cdef double x, w
    cdef int32_t n
    cdef Row best
    best.value, best.node = -INFINITY, 0
    if base_edges != NULL:
        begin, end = edges_into(g, e)[m], edges_into(g, e)[m + 1]
    for k in range(begin, end):
        n = <int32_t> k if base_edges == NULL else g.sources[k]
        w = matrix[k * N + m] if base_edges == NULL else matrix[base_edges[k]]
        x = value[n] + (w if logs else log(w))
        if x > best.value:
            best.value, best.node = x, n
    return best


def best_steps(Layout layout,                       # IN
               const int32_t[::1] base_edges,       # IN or None: matrices are between nodes
               const double[:, :, ::1] matrices,    # IN, one a gap
               const double[::1] log_scales,        # IN or None: the matrices are logarithms
               double weak,                         # IN, entries up to this are only bounds
               const int32_t[::1] gaps,             # IN, the matrix before each step
               const double[:, ::1] log_table,      # IN
               const int32_t[::1] rows,             # IN or None
               int64_t origin, int64_t begin, int64_t end,  # IN, steps begin..end-1 of a sequence
               double[::1] value,                   # INOUT, of step begin - 1, then of end - 1
               int32_t[:, ::1] came_from,           # OUT, row t - 1 for step t; -1 - node if weak
               double[:, ::1] room):                # work, three rows of one per node
    """Advance Viterbi by some steps of the sequence that starts at `origin`.

    Maxima are taken of products of probabilities divided by the largest value; where one comes
    out so small that something larger may have been lost, it is taken again of logarithms.
    """
    cdef const Graph *g = &layout.graph
    cdef int64_t N = g.n_nodes, t, n, m, k, e = 0
    cdef double top, x, y, scale
    cdef bint logs = log_scales is None
    cdef Row best
    cdef const double *matrix
    cdef const double *log_b
    cdef const int32_t *edges = NULL if base_edges is None else &base_edges[0]
    cdef const int32_t *row_of = NULL if rows is None else &rows[0]
    cdef double *product
    cdef double *source
    cdef double *p
    cdef Watch watch = new_watch(N * N)
    if N == 0:
        return
    p, product, source = &room[0, 0], &room[1, 0], &room[2, 0]
    with nogil:
        for t in range(begin, end):
            if stopped(&watch, 1):
                check()
            matrix = &matrices[gaps[origin + t], 0, 0]
            scale = 0.0 if logs else log_scales[gaps[origin + t]]
            log_b = &log_table[frame(row_of, origin + t), 0]
            e = epoch_of(&g.epochs, t, e)
            top = -INFINITY
            for n in range(N):
                top = max(top, value[n])
            for m in range(N):
                product[m] = source[m] = 0.0
                p[m] = exp(value[m] - top) if top > -INFINITY else 0.0
            if not logs and edges == NULL:
                for n in range(N):
                    x = p[n]
                    if x > 0.0:
                        for m in range(N):
                            y = x * matrix[n * N + m]
                            source[m] = n if y > product[m] else source[m]
                            product[m] = y if y > product[m] else product[m]
            elif not logs:
                for m in range(N):
                    for k in range(edges_into(g, e)[m], edges_into(g, e)[m + 1]):
                        y = p[g.sources[k]] * matrix[edges[k]]
                        if y > product[m]:
                            product[m] = y
                            source[m] = g.sources[k]
            for m in range(N):
                if product[m] > SAFE:
                    p[m] = top + log(product[m])
                    came_from[t - 1, m] = <int32_t> source[m]
                else:
                    best = best_source(g, edges, matrix, logs, e, m, &value[0])
                    p[m] = best.value
                    came_from[t - 1, m] = best.node
            for m in range(N):
                value[m] = p[m] + scale + log_b[g.node_states[m]]
                if weak > 0.0 and edges == NULL and matrix[came_from[t - 1, m] * N + m] <= weak:
                    came_from[t - 1, m] = -1 - came_from[t - 1, m]


def log_product(const double[:, ::1] left, const double[:, ::1] right, double[:, ::1] out):
    """out[i, k] = log sum_j exp(left[i, j] + right[j, k]); O(n^3), few exponentials."""
    cdef int64_t I = left.shape[0], J = left.shape[1], K = right.shape[1], i, j, k
    cdef double x, y
    cdef Watch watch = new_watch(4 * J * K)
    with nogil:
        for i in range(I):
            if stopped(&watch, 1):
                check()
            for k in range(K):
                out[i, k] = -INFINITY
            for j in range(J):
                x = left[i, j]
                if x > -INFINITY:
                    for k in range(K):
                        if x + right[j, k] > out[i, k]:
                            out[i, k] = x + right[j, k]
            for k in range(K):
                y = out[i, k]
                if y > -INFINITY:
                    x = 0.0
                    for j in range(J):
                        # what is e^-40 of the largest term makes no difference
                        if left[i, j] + right[j, k] > y - 40.0:
                            x += exp(left[i, j] + right[j, k] - y)
                    out[i, k] = y + log(x)
