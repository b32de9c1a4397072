"""Single steps of the forward recursion, masses of completion, and draws of paths, all as logs.

    alpha_t(m) = b(y_t, state(m)) sum_{n -> m} alpha_{t-1}(n) w(n -> m)
    mass_t(n)  = sum_{n -> m} w(n -> m) mass_{t+1}(m),   mass_{T-1} = accept

A path is drawn from its end: the last node by alpha_{T-1} among the accepting ones, and the node
before m by alpha_{t-1}(n) w(n -> m). Logs, because what is negligible in a row of alpha may be
all that leads to the node that was drawn.
"""
from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from .layout cimport Graph, Layout, epoch_of, frame


cdef inline void shift(double *row, int64_t n) noexcept nogil:
    cdef int64_t m
    cdef double top = -INFINITY
    for m in range(n):
        top = max(top, row[m])
    if top > -INFINITY:
        for m in range(n):
            row[m] -= top


cdef inline void begin_row(const Graph *g, const double *log_start, const double *log_b,
                           double *out) noexcept nogil:
    cdef int64_t m, i
    for m in range(g.n_nodes):
        out[m] = -INFINITY
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0:
            out[g.start_nodes[i]] = log_start[i] + log_b[i]


cdef inline void next_row(const Graph *g, const double *log_weights, int64_t e,
                          const double *before, const double *log_b, bint best,
                          double *out) noexcept nogil:
    cdef int64_t m, k
    cdef double top, total
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    for m in range(g.n_nodes):
        top = -INFINITY
        for k in range(start[m], start[m + 1]):
            top = max(top, before[g.sources[k]] + log_weights[k])
        if top > -INFINITY and not best:
            total = 0.0
            for k in range(start[m], start[m + 1]):
                total += exp(before[g.sources[k]] + log_weights[k] - top)
            top += log(total)
        out[m] = top + log_b[g.node_states[m]]


cdef inline void next_sums(const Graph *g, const double *weights, const double *log_weights,
                           int64_t e, const double *before, const double *log_b, double *linear,
                           double *out) noexcept nogil:
    """next_row with few exponentials; `before` has maximum 0, `linear` is scratch."""
    cdef int64_t m, k
    cdef double top, total
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    for m in range(g.n_nodes):
        linear[m] = exp(before[m])
    for m in range(g.n_nodes):
        total = 0.0
        for k in range(start[m], start[m + 1]):
            total += linear[g.sources[k]] * weights[k]
        top = 0.0
        if total < 1e-200:  # something may have vanished
            top = -INFINITY
            for k in range(start[m], start[m + 1]):
                top = max(top, before[g.sources[k]] + log_weights[k])
            total = 1.0
            if top > -INFINITY:
                total = 0.0
                for k in range(start[m], start[m + 1]):
                    total += exp(before[g.sources[k]] + log_weights[k] - top)
        out[m] = top + log(total) + log_b[g.node_states[m]]


def first_step(Layout layout,                   # IN
               const double[::1] log_start,     # IN
               const double[::1] log_b,         # IN, of the states
               double[::1] out):                # OUT, one a node
    """log alpha_0."""
    if layout.graph.n_nodes:
        begin_row(&layout.graph, &log_start[0], &log_b[0], &out[0])


def step(Layout layout,                   # IN
         const double[::1] log_weights,   # IN, one an edge
         int64_t t,                       # IN
         const double[::1] before,        # IN, log alpha_{t-1}
         const double[::1] log_b,         # IN, of the states
         bint best,                       # IN, the maximum over paths instead of the sum
         double[::1] out):                # OUT
    """log alpha_t; not rescaled."""
    if layout.graph.n_nodes and log_weights.shape[0]:
        next_row(&layout.graph, &log_weights[0], epoch_of(&layout.graph, t, 0), &before[0],
                 &log_b[0], best, &out[0])
    else:
        out[:] = -INFINITY


def best_source(Layout layout,                   # IN
                const double[::1] log_weights,   # IN, one an edge
                int64_t t,                       # IN
                const double[::1] before,        # IN, values at t - 1
                int64_t m):                      # IN
    """The first of the best nodes at t - 1 on the way to node m at t."""
    cdef const Graph *g = &layout.graph
    cdef int64_t k, source = -1
    cdef double best = -INFINITY, value
    cdef const int32_t *start = g.indptr + epoch_of(g, t, 0) * (g.n_nodes + 1)
    for k in range(start[m], start[m + 1]):
        value = before[g.sources[k]] + log_weights[k]
        if value > best:
            best = value
            source = g.sources[k]
    return source


def completions(Layout layout,                   # IN
                const double[::1] log_weights,   # IN, one an edge
                double[:, ::1] out):             # OUT (T, n_nodes)
    """log P(a path of T steps is accepted | its node at step t)."""
    cdef const Graph *g = &layout.graph
    cdef int64_t T = out.shape[0], N = g.n_nodes, t, m, n, k, e = g.n_epochs - 1
    cdef const int32_t *start
    cdef double *top
    if N == 0:
        return
    top = <double *> malloc(N * sizeof(double))
    if top == NULL:
        raise MemoryError
    with nogil:
        for m in range(N):
            out[T - 1, m] = 0.0 if g.accept[m] else -INFINITY
        for t in range(T - 1, 0, -1):
            e = epoch_of(g, t, e)
            start = g.indptr + e * (N + 1)
            for n in range(N):
                top[n] = -INFINITY
                out[t - 1, n] = 0.0
            for m in range(N):
                for k in range(start[m], start[m + 1]):
                    n = g.sources[k]
                    top[n] = max(top[n], out[t, m] + log_weights[k])
            for m in range(N):
                if out[t, m] > -INFINITY:
                    for k in range(start[m], start[m + 1]):
                        n = g.sources[k]
                        if top[n] > -INFINITY:
                            out[t - 1, n] += exp(out[t, m] + log_weights[k] - top[n])
            for n in range(N):
                out[t - 1, n] = top[n] + log(out[t - 1, n]) if top[n] > -INFINITY else -INFINITY
    free(top)


cdef inline void cumulate(const Graph *g, const double *log_weights, const double *before,
                          int64_t begin, int64_t end, double *sums) noexcept nogil:
    """Running sums of the weights of the edges begin..end-1, the largest weight being 1."""
    cdef int64_t k
    cdef double top = -INFINITY, total = 0.0
    for k in range(begin, end):
        top = max(top, before[g.sources[k]] + log_weights[k])
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
    cdef int64_t M = log_weights.shape[0], block = T, b, begin, end, t, p, m, k, e = 0
    cdef bint found = False
    cdef double *alpha
    cdef double *kept
    cdef double *sums
    cdef double *linear
    cdef double *before
    cdef int64_t *filled          # the step for which `sums` of a node's edges were made
    cdef int64_t *nodes
    cdef const double *weights = &edge_weights[0] if M else NULL
    cdef const double *logs = &log_weights[0] if M else NULL
    cdef const double *table = &log_table[0, 0]
    cdef const int32_t *index = NULL if rows is None else &rows[0]
    cdef const int32_t *start
    if N == 0:
        return False
    if T * N * <int64_t> sizeof(double) > budget:
        block = <int64_t> sqrt(<double> T) + 1
    alpha = <double *> malloc(block * N * sizeof(double))
    kept = <double *> malloc((T // block + 1) * N * sizeof(double))
    sums = <double *> malloc((M + N) * sizeof(double))
    linear = <double *> malloc(N * sizeof(double))
    filled = <int64_t *> malloc(N * sizeof(int64_t))
    nodes = <int64_t *> malloc(n_paths * sizeof(int64_t))
    try:
        if (alpha == NULL or kept == NULL or sums == NULL or linear == NULL or filled == NULL
                or nodes == NULL):
            raise MemoryError
        with nogil:
            for m in range(N):
                filled[m] = -1
            for t in range(T):
                if t == 0:
                    begin_row(g, &log_start[0], table + frame(index, origin) * g.n_states, alpha)
                else:
                    before = alpha + ((t - 1) % block) * N
                    if t % block == 0:
                        memcpy(kept + (t // block - 1) * N, before, N * sizeof(double))
                    e = epoch_of(g, t, e)
                    next_sums(g, weights, logs, e, before,
                              table + frame(index, origin + t) * g.n_states, linear,
                              alpha + (t % block) * N)
                shift(alpha + (t % block) * N, N)
            before = alpha + ((T - 1) % block) * N
            found = draw_last(g, before, sums, n_paths, &uniforms[T - 1, 0], nodes)
            for b in range((T - 1) // block if found else -1, -1, -1):
                begin = b * block
                end = min(T, begin + block)
                if end < T:
                    if b == 0:
                        begin_row(g, &log_start[0], table + frame(index, origin) * g.n_states,
                                  alpha)
                        shift(alpha, N)
                    for t in range(max(begin, 1), end):
                        e = epoch_of(g, t, e)
                        before = kept + (b - 1) * N if t == begin else alpha + (t - 1 - begin) * N
                        next_sums(g, weights, logs, e, before,
                                  table + frame(index, origin + t) * g.n_states, linear,
                                  alpha + (t - begin) * N)
                        shift(alpha + (t - begin) * N, N)
                for t in range(end - 1, begin - 1, -1):
                    for p in range(n_paths):
                        paths[p, t] = g.node_states[nodes[p]]
                    if t == 0:
                        break
                    e = epoch_of(g, t, e)
                    start = g.indptr + e * (N + 1)
                    before = kept + (b - 1) * N if t == begin else alpha + (t - 1 - begin) * N
                    for p in range(n_paths):
                        m = nodes[p]
                        if filled[m] != t:
                            cumulate(g, logs, before, start[m], start[m + 1], sums)
                            filled[m] = t
                        k = pick(sums, start[m], start[m + 1], uniforms[t - 1, p])
                        nodes[p] = g.sources[k]
    finally:
        free(alpha)
        free(kept)
        free(sums)
        free(linear)
        free(filled)
        free(nodes)
    return found


cdef bint draw_last(const Graph *g, const double *alpha, double *sums, int64_t n_paths,
                    const double *uniforms, int64_t *nodes) noexcept nogil:
    cdef int64_t m, p
    cdef double top = -INFINITY, total = 0.0
    for m in range(g.n_nodes):
        if g.accept[m]:
            top = max(top, alpha[m])
    if top == -INFINITY:
        return False
    for m in range(g.n_nodes):
        if g.accept[m]:
            total += exp(alpha[m] - top)
        sums[m] = total
    for p in range(n_paths):
        nodes[p] = pick(sums, 0, g.n_nodes, uniforms[p])
    return True
