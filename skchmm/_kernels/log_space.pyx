"""Forward-backward in log space: slower, for sequences that scaled probabilities cannot hold.

The same recursions as in forward_backward.pyx, with sums as log-sum-exp around the largest
term. Rows are shifted to maximum 0 and the shifts summed apart, so that long sequences do not
lose digits. O(edges) exponentials a step; the same blocks bound the memory.
"""
from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from .layout cimport Graph, Layout, epoch_of, frame, longest_of


cdef struct Model:
    const double *log_weights
    const double *log_start
    const double *log_table
    const int32_t *rows


cdef struct Work:
    double *alpha
    double *kept
    double *beta
    double *beta_before
    double *top
    double *counts


cdef inline double shift(double *row, int64_t n) noexcept nogil:
    """Subtract the maximum; -inf if there is nothing in the row."""
    cdef int64_t m
    cdef double top = -INFINITY
    for m in range(n):
        top = max(top, row[m])
    if top > -INFINITY:
        for m in range(n):
            row[m] -= top
    return top


cdef inline double first_row(const Graph *g, const Model *p, int64_t step,
                             double *out) noexcept nogil:
    cdef int64_t m, i
    cdef const double *log_b = p.log_table + frame(p.rows, step) * g.n_states
    for m in range(g.n_nodes):
        out[m] = -INFINITY
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0:
            out[g.start_nodes[i]] = p.log_start[i] + log_b[i]
    return shift(out, g.n_nodes)


cdef inline double next_row(const Graph *g, const Model *p, int64_t e, int64_t step,
                            const double *before, double *out) noexcept nogil:
    cdef int64_t m, k
    cdef double top, total
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    cdef const double *log_b = p.log_table + frame(p.rows, step) * g.n_states
    for m in range(g.n_nodes):
        top = -INFINITY
        for k in range(start[m], start[m + 1]):
            top = max(top, before[g.sources[k]] + p.log_weights[k])
        if top > -INFINITY:
            total = 0.0
            for k in range(start[m], start[m + 1]):
                total += exp(before[g.sources[k]] + p.log_weights[k] - top)
            top += log(total)
        out[m] = top + log_b[g.node_states[m]]
    return shift(out, g.n_nodes)


cdef double forward(const Graph *g, const Model *p, int64_t origin, int64_t T, int64_t block,
                    Work *w) noexcept nogil:
    """log Z; leaves the last block in w.alpha."""
    cdef int64_t N = g.n_nodes, t, e = 0, m
    cdef double total = first_row(g, p, origin, w.alpha), c
    cdef double *before = w.alpha
    for t in range(1, T):
        before = w.alpha + ((t - 1) % block) * N
        if t % block == 0:
            memcpy(w.kept + (t // block - 1) * N, before, N * sizeof(double))
        e = epoch_of(g, t, e)
        c = next_row(g, p, e, origin + t, before, w.alpha + (t % block) * N)
        if c == -INFINITY:
            return c
        total += c
    before = w.alpha + ((T - 1) % block) * N
    c = -INFINITY
    for m in range(N):
        if g.accept[m]:
            c = max(c, before[m])
    if c == -INFINITY:
        return c
    total += c
    cdef double rest = 0.0
    for m in range(N):
        if g.accept[m]:
            rest += exp(before[m] - c)
    return total + log(rest)


cdef void backward_row(const Graph *g, const Model *p, int64_t e, int64_t step,
                       const double *alpha, Work *w, double *counts) noexcept nogil:
    cdef int64_t N = g.n_nodes, m, n, k
    cdef double v, x, norm
    cdef double *swap
    cdef const int32_t *start = g.indptr + e * (N + 1)
    cdef const double *log_b = p.log_table + frame(p.rows, step) * g.n_states
    for m in range(N):
        w.beta[m] += log_b[g.node_states[m]]
        w.top[m] = -INFINITY
        w.beta_before[m] = 0.0
    for m in range(N):
        v = w.beta[m]
        if v > -INFINITY:
            for k in range(start[m], start[m + 1]):
                w.top[g.sources[k]] = max(w.top[g.sources[k]], v + p.log_weights[k])
    for m in range(N):
        v = w.beta[m]
        if v > -INFINITY:
            for k in range(start[m], start[m + 1]):
                x = v + p.log_weights[k]
                if x > -INFINITY:
                    w.beta_before[g.sources[k]] += exp(x - w.top[g.sources[k]])
    for n in range(N):
        if w.top[n] > -INFINITY:
            w.beta_before[n] = w.top[n] + log(w.beta_before[n])
        else:
            w.beta_before[n] = -INFINITY
    if counts != NULL:
        norm = log_mass(N, alpha, w.beta_before)
        for m in range(N):
            v = w.beta[m] - norm
            if v > -INFINITY:
                for k in range(start[m], start[m + 1]):
                    counts[k] += exp(alpha[g.sources[k]] + p.log_weights[k] + v)
    shift(w.beta_before, N)
    swap = w.beta
    w.beta = w.beta_before
    w.beta_before = swap


cdef inline double log_mass(int64_t N, const double *alpha, const double *beta) noexcept nogil:
    cdef int64_t m
    cdef double top = -INFINITY, total = 0.0
    for m in range(N):
        top = max(top, alpha[m] + beta[m])
    for m in range(N):
        total += exp(alpha[m] + beta[m] - top)
    return top + log(total)


cdef inline void put_gamma(const Graph *g, const double *alpha, const double *beta,
                           double *gamma) noexcept nogil:
    cdef int64_t m, i
    cdef double norm = log_mass(g.n_nodes, alpha, beta)
    for i in range(g.n_states):
        gamma[i] = 0.0
    for m in range(g.n_nodes):
        gamma[g.node_states[m]] += exp(alpha[m] + beta[m] - norm)


cdef void backward(const Graph *g, const Model *p, int64_t origin, int64_t T, int64_t block,
                   Work *w, double *gamma, double *counts) noexcept nogil:
    cdef int64_t N = g.n_nodes, S = g.n_states, b, t, e = 0, begin, end, m
    cdef int64_t n_blocks = (T + block - 1) // block
    cdef double *before
    for m in range(N):
        w.beta[m] = 0.0 if g.accept[m] else -INFINITY
    for b in range(n_blocks - 1, -1, -1):
        begin = b * block
        end = min(T, begin + block)
        if b < n_blocks - 1:
            if b == 0:
                first_row(g, p, origin, w.alpha)
            for t in range(max(begin, 1), end):
                e = epoch_of(g, t, e)
                before = w.kept + (b - 1) * N if t == begin else w.alpha + (t - 1 - begin) * N
                next_row(g, p, e, origin + t, before, w.alpha + (t - begin) * N)
        for t in range(end - 1, begin - 1, -1):
            put_gamma(g, w.alpha + (t - begin) * N, w.beta, gamma + (origin + t) * S)
            if t == 0:
                break
            e = epoch_of(g, t, e)
            before = w.kept + (b - 1) * N if t == begin else w.alpha + (t - 1 - begin) * N
            backward_row(g, p, e, origin + t, before, w, counts)


def forward_backward_log(Layout layout,                   # IN
                         const double[::1] log_weights,   # IN, one an edge
                         const double[::1] log_start,     # IN
                         const double[:, ::1] log_table,  # IN
                         const int32_t[::1] rows,         # IN or None: row t is step t
                         const int64_t[::1] offsets,      # IN
                         const double[::1] seq_weights,   # IN or None, for the counts
                         const int64_t[::1] chosen,       # IN, the sequences
                         int64_t budget,                  # IN, bytes for the table of alpha
                         double[::1] log_z,               # OUT, -inf where infeasible
                         double[:, ::1] gamma=None,       # OUT or None: the forward pass is all
                         double[::1] counts=None):        # INOUT or None, one an edge
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef const Graph *g = &layout.graph
    cdef Model model
    cdef Work w
    cdef int64_t s, c, k, T, N = g.n_nodes, longest = longest_of(offsets, chosen)
    cdef int64_t M = log_weights.shape[0]
    cdef bint counting = counts is not None
    cdef double weight
    cdef int64_t block = longest
    model.log_weights = &log_weights[0] if M else NULL
    model.log_start, model.log_table = &log_start[0], &log_table[0, 0]
    model.rows = NULL if rows is None else &rows[0]
    if longest * N * <int64_t> sizeof(double) > budget or gamma is None:
        block = <int64_t> sqrt(<double> longest) + 1
    w.alpha = <double *> malloc(block * N * sizeof(double))
    w.kept = <double *> malloc((longest // block + 1) * N * sizeof(double))
    w.beta = <double *> malloc(N * sizeof(double))
    w.beta_before = <double *> malloc(N * sizeof(double))
    w.top = <double *> malloc(N * sizeof(double))
    w.counts = <double *> calloc(M + 1, sizeof(double))
    try:
        if (w.alpha == NULL or w.kept == NULL or w.beta == NULL or w.beta_before == NULL
                or w.top == NULL or w.counts == NULL):
            raise MemoryError
        with nogil:
            for c in range(chosen.shape[0]):
                s = chosen[c]
                T = offsets[s + 1] - offsets[s]
                log_z[s] = forward(g, &model, offsets[s], T, block, &w)
                if gamma is None or log_z[s] == -INFINITY:
                    continue
                memset(w.counts, 0, M * sizeof(double))
                backward(g, &model, offsets[s], T, block, &w, &gamma[0, 0],
                         w.counts if counting else NULL)
                if counting:
                    weight = 1.0 if seq_weights is None else seq_weights[s]
                    for k in range(M):
                        counts[k] += weight * w.counts[k]
    finally:
        free(w.alpha)
        free(w.kept)
        free(w.beta)
        free(w.beta_before)
        free(w.top)
        free(w.counts)
