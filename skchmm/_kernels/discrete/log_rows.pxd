"""Rows of recursions on the edges of a graph, by logarithms; what log space, filtering, draws and
the best paths in order share. O(edges) per row, and where sums are taken as many exponentials.

    ahead  out(m) = log_b(state(m)) + max, or log sum exp, over n -> m of before(n) + log_w(n -> m)
    back   out(n) = log sum exp over n -> m of log_w(n -> m) + after(m)
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport Graph, edges_into


cdef inline double shift(double *row, int64_t n) noexcept nogil:
    """Subtract the maximum, so that long sequences do not lose digits, and return it."""
    cdef int64_t m
    cdef double top = -INFINITY
    for m in range(n):
        top = max(top, row[m])
    if top > -INFINITY:
        for m in range(n):
            row[m] -= top
    return top


cdef inline void first_row(const Graph *g, const double *log_start, const double *log_b,
                           double *out) noexcept nogil:
    cdef int64_t m, i
    for m in range(g.n_nodes):
        out[m] = -INFINITY
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0:
            out[g.start_nodes[i]] = log_start[i] + log_b[i]


cdef inline double largest(const Graph *g, const double *log_weights, const double *before,
                           int64_t begin, int64_t end) noexcept nogil:
    """The largest of the terms of edges begin..end-1."""
    cdef int64_t k
    cdef double top = -INFINITY
    for k in range(begin, end):
        top = max(top, before[g.sources[k]] + log_weights[k])
    return top


cdef inline double sum_around(const Graph *g, const double *log_weights, const double *before,
                              int64_t begin, int64_t end, double top) noexcept nogil:
    """The sum of the terms of edges begin..end-1, divided by e^top."""
    cdef int64_t k
    cdef double total = 0.0
    for k in range(begin, end):
        total += exp(before[g.sources[k]] + log_weights[k] - top)
    return total


cdef inline void max_row(const Graph *g, const double *log_weights, int64_t e,
                         const double *before, const double *log_b, double *out) noexcept nogil:
    cdef int64_t m
    cdef const int32_t *start = edges_into(g, e)
    for m in range(g.n_nodes):
        out[m] = (largest(g, log_weights, before, start[m], start[m + 1])
                  + log_b[g.node_states[m]])


cdef inline void sum_row(const Graph *g, const double *log_weights, int64_t e,
                         const double *before, const double *log_b, double *out) noexcept nogil:
    cdef int64_t m
    cdef double top
    cdef const int32_t *start = edges_into(g, e)
    for m in range(g.n_nodes):
        top = largest(g, log_weights, before, start[m], start[m + 1])
        if top > -INFINITY:
            top += log(sum_around(g, log_weights, before, start[m], start[m + 1], top))
        out[m] = top + log_b[g.node_states[m]]


cdef inline int32_t best_source(const Graph *g, const double *log_weights, int64_t e, int64_t m,
                                const double *before) noexcept nogil:
    """The first of the best nodes before node m; -1 where none leads to it."""
    cdef int64_t k
    cdef int32_t source = -1
    cdef double best = -INFINITY, value
    cdef const int32_t *start = edges_into(g, e)
    for k in range(start[m], start[m + 1]):
        value = before[g.sources[k]] + log_weights[k]
        if value > best:
            best = value
            source = g.sources[k]
    return source


cdef inline void back_row(const Graph *g, const double *log_weights, int64_t e,
                          const double *after, double *top, double *out) noexcept nogil:
    """`top` is scratch, one per node."""
    cdef int64_t N = g.n_nodes, m, n, k
    cdef const int32_t *start = edges_into(g, e)
    for n in range(N):
        top[n] = -INFINITY
        out[n] = 0.0
    for m in range(N):
        if after[m] > -INFINITY:
            for k in range(start[m], start[m + 1]):
                n = g.sources[k]
                top[n] = max(top[n], after[m] + log_weights[k])
    for m in range(N):
        if after[m] > -INFINITY:
            for k in range(start[m], start[m + 1]):
                n = g.sources[k]
                if top[n] > -INFINITY:
                    out[n] += exp(after[m] + log_weights[k] - top[n])
    for n in range(N):
        out[n] = top[n] + log(out[n]) if top[n] > -INFINITY else -INFINITY
