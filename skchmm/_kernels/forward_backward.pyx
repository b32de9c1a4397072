"""Forward-backward with expected edge counts on an augmented graph, in scaled probabilities.

    alpha_t(m) = b(y_t, state(m)) sum_{n -> m} alpha_{t-1}(n) w(n -> m)
    beta_t(n)  = sum_{n -> m} w(n -> m) b(y_{t+1}, state(m)) beta_{t+1}(m)
    Z          = sum_{m accepting} alpha_T(m)
    gamma_t    = alpha_t beta_t / Z,   xi_t(n -> m) = alpha_{t-1}(n) w b(y_t) beta_t(m) / Z

O(edges) a step. Rows are rescaled to sum 1, never the weights. What is accepted in the end can
be e^-1000 of a row and would vanish. So nothing that is possible may come near the smallest
double *before* the emission is multiplied in: then whatever the emission loses is negligible in
every sum it enters later. A sequence for which that fails is reported, and redone in log space.
"""
from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from .layout cimport Graph, Layout, epoch_of, frame, longest_sequence

import numpy as np

cdef double TINY = 1e-200      # smaller sums may miss something
cdef double LOST = 1e-290      # smaller products may have lost digits
cdef int FINE = 0, REDO = 1, INFEASIBLE = 2


cdef struct Model:
    const double *weights
    const double *start
    const double *table          # exp(log_table - its row's maximum)
    const double *row_max
    const uint8_t *row_lossy     # whether that exp lost something finite
    const int32_t *rows


cdef struct Check:
    bint lossy                   # something was lost so far
    uint8_t *possible            # from then on: nodes that are not structurally zero
    uint8_t *possible_next


cdef struct Work:
    double *alpha                # (block, N)
    double *kept                 # (blocks, N): the row before each block but the first
    double *beta
    double *beta_before
    double *counts               # (n_edges,) of one sequence
    Check ahead                  # of the forward pass
    Check back                   # of the backward pass


def scale_rows(const double[:, ::1] log_table):
    """Rows divided by their maximum, as probabilities: (table, row_max, row_lossy)."""
    cdef int64_t R = log_table.shape[0], S = log_table.shape[1], r, i
    cdef double top, x
    table_ = np.empty((R, S))
    row_max_ = np.empty(R)
    row_lossy_ = np.zeros(R, dtype=np.uint8)
    cdef double[:, ::1] table = table_
    cdef double[::1] row_max = row_max_
    cdef uint8_t[::1] row_lossy = row_lossy_
    with nogil:
        for r in range(R):
            top = -INFINITY
            for i in range(S):
                top = max(top, log_table[r, i])
            row_max[r] = top
            for i in range(S):
                x = 0.0 if top == -INFINITY else exp(log_table[r, i] - top)
                table[r, i] = x
                if x < LOST and log_table[r, i] > -INFINITY:
                    row_lossy[r] = 1
    return table_, row_max_, row_lossy_


cdef inline void swap_marks(Check *check) noexcept nogil:
    cdef uint8_t *swap = check.possible
    check.possible = check.possible_next
    check.possible_next = swap


cdef inline int finish_row(const Graph *g, const Model *p, int64_t row, double *out, Check *check,
                           double *total) noexcept nogil:
    """Check the predicted masses, multiply the emissions in, rescale to sum 1."""
    cdef int64_t m
    cdef double c = 0.0, u, b
    cdef const double *table = p.table + row * g.n_states
    cdef bint lost = p.row_lossy[row]
    for m in range(g.n_nodes):
        u = out[m]
        if u < TINY and (u > 0.0 or (check.lossy and check.possible[m])):
            return REDO
        b = table[g.node_states[m]]
        out[m] = u * b
        if out[m] < LOST and u > 0.0 and b > 0.0:
            lost = True
        c += out[m]
        # Whether b is zero or lost is told apart by row_lossy; possible errs on the safe side.
        if not check.lossy:
            check.possible[m] = u > 0.0
    check.lossy = check.lossy or lost
    total[0] = c
    if c < TINY:
        return REDO if check.lossy or c > 0.0 else INFEASIBLE
    c = 1.0 / c
    for m in range(g.n_nodes):
        out[m] *= c
    return FINE


cdef inline int first_row(const Graph *g, const Model *p, int64_t step, double *out, Check *check,
                          double *total) noexcept nogil:
    cdef int64_t i
    memset(out, 0, g.n_nodes * sizeof(double))
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0:
            out[g.start_nodes[i]] = p.start[i]
    return finish_row(g, p, frame(p.rows, step), out, check, total)


cdef inline int next_row(const Graph *g, const Model *p, int64_t e, int64_t step,
                         const double *before, double *out, Check *check,
                         double *total) noexcept nogil:
    cdef int64_t m, k
    cdef double u
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    for m in range(g.n_nodes):
        u = 0.0
        for k in range(start[m], start[m + 1]):
            u += before[g.sources[k]] * p.weights[k]
        out[m] = u
    if check.lossy:
        for m in range(g.n_nodes):
            check.possible_next[m] = 0
            for k in range(start[m], start[m + 1]):
                if check.possible[g.sources[k]] and p.weights[k] > 0.0:
                    check.possible_next[m] = 1
        swap_marks(check)
    return finish_row(g, p, frame(p.rows, step), out, check, total)


cdef int forward(const Graph *g, const Model *p, int64_t origin, int64_t T, int64_t block,
                 Work *w, double *log_z) noexcept nogil:
    """Leaves the last block in w.alpha."""
    cdef int64_t N = g.n_nodes, t, e = 0, m
    cdef int status
    cdef double c = 1.0, product = 1.0, total = 0.0
    cdef double *before = w.alpha
    log_z[0] = -INFINITY
    w.ahead.lossy = False
    status = first_row(g, p, origin, w.alpha, &w.ahead, &c)
    if status:
        return status
    total = log(c) + p.row_max[frame(p.rows, origin)]
    for t in range(1, T):
        before = w.alpha + ((t - 1) % block) * N
        if t % block == 0:
            memcpy(w.kept + (t // block - 1) * N, before, N * sizeof(double))
        e = epoch_of(g, t, e)
        status = next_row(g, p, e, origin + t, before, w.alpha + (t % block) * N,
                          &w.ahead, &c)
        if status:
            return status
        total += p.row_max[frame(p.rows, origin + t)]
        product *= c
        if product < 1e-60 or product > 1e60:
            total += log(product)
            product = 1.0
    total += log(product)
    before = w.alpha + ((T - 1) % block) * N
    c = 0.0
    for m in range(N):
        if g.accept[m]:
            c += before[m]
    if c < TINY:
        return REDO if w.ahead.lossy or c > 0.0 else INFEASIBLE
    log_z[0] = total + log(c)
    return FINE


cdef int backward_row(const Graph *g, const Model *p, int64_t e, int64_t step,
                      const double *alpha, Work *w, double *counts) noexcept nogil:
    """beta at `step` - 1 from beta at `step`; alpha is the row at `step` - 1."""
    cdef int64_t N = g.n_nodes, m, n, k
    cdef double v, top, mass
    cdef double *swap_beta
    cdef const int32_t *start = g.indptr + e * (N + 1)
    cdef int64_t row = frame(p.rows, step)
    cdef const double *table = p.table + row * g.n_states
    cdef bint lost = p.row_lossy[row]
    for m in range(N):
        v = w.beta[m]
        if not w.back.lossy:
            w.back.possible[m] = v > 0.0
        w.beta[m] = v * table[g.node_states[m]]
        if v > 0.0 and w.beta[m] < LOST and table[g.node_states[m]] > 0.0:
            lost = True
    w.back.lossy = w.back.lossy or lost
    memset(w.beta_before, 0, N * sizeof(double))
    for m in range(N):
        v = w.beta[m]
        if v > 0.0:
            for k in range(start[m], start[m + 1]):
                w.beta_before[g.sources[k]] += p.weights[k] * v
    if w.back.lossy:
        memset(w.back.possible_next, 0, N)
        for m in range(N):
            if w.back.possible[m]:
                for k in range(start[m], start[m + 1]):
                    if p.weights[k] > 0.0:
                        w.back.possible_next[g.sources[k]] = 1
        swap_marks(&w.back)
    top = mass = 0.0
    for n in range(N):
        v = w.beta_before[n]
        if v < TINY and (v > 0.0 or (w.back.lossy and w.back.possible[n])):
            return REDO
        top = max(top, v)
        mass += alpha[n] * v
    if mass < TINY * top or top < TINY:
        return REDO
    if counts != NULL:
        mass = 1.0 / mass
        for m in range(N):
            v = w.beta[m] * mass
            if v > 0.0:
                for k in range(start[m], start[m + 1]):
                    counts[k] += alpha[g.sources[k]] * v
    top = 1.0 / top
    for n in range(N):
        w.beta_before[n] *= top
    swap_beta = w.beta
    w.beta = w.beta_before
    w.beta_before = swap_beta
    return FINE


cdef inline int put_gamma(const Graph *g, const double *alpha, const double *beta,
                          double *gamma) noexcept nogil:
    cdef int64_t m, i
    cdef double mass = 0.0
    for i in range(g.n_states):
        gamma[i] = 0.0
    for m in range(g.n_nodes):
        mass += alpha[m] * beta[m]
        gamma[g.node_states[m]] += alpha[m] * beta[m]
    if mass < TINY:
        return REDO
    mass = 1.0 / mass
    for i in range(g.n_states):
        gamma[i] *= mass
    return FINE


cdef int backward(const Graph *g, const Model *p, int64_t origin, int64_t T, int64_t block,
                  Work *w, double *gamma, double *counts) noexcept nogil:
    cdef int64_t N = g.n_nodes, S = g.n_states, b, t, e = 0, begin, end, m
    cdef int64_t n_blocks = (T + block - 1) // block
    cdef double c
    cdef double *before
    w.back.lossy = False
    for m in range(N):
        w.beta[m] = g.accept[m]
    for b in range(n_blocks - 1, -1, -1):
        begin = b * block
        end = min(T, begin + block)
        if b < n_blocks - 1:  # passes the checks again, as it did the first time
            w.ahead.lossy = False
            if b == 0:
                first_row(g, p, origin, w.alpha, &w.ahead, &c)
            for t in range(max(begin, 1), end):
                e = epoch_of(g, t, e)
                before = w.kept + (b - 1) * N if t == begin else w.alpha + (t - 1 - begin) * N
                next_row(g, p, e, origin + t, before, w.alpha + (t - begin) * N, &w.ahead, &c)
        for t in range(end - 1, begin - 1, -1):
            if put_gamma(g, w.alpha + (t - begin) * N, w.beta, gamma + (origin + t) * S):
                return REDO
            if t == 0:
                break
            e = epoch_of(g, t, e)
            before = w.kept + (b - 1) * N if t == begin else w.alpha + (t - 1 - begin) * N
            if backward_row(g, p, e, origin + t, before, w, counts):
                return REDO
    return FINE


def forward_backward(Layout layout,                   # IN
                     const double[::1] weights,       # IN, one an edge
                     const double[::1] start,         # IN
                     const double[:, ::1] table,      # IN, with row_max, row_lossy: scale_rows
                     const double[::1] row_max,       # IN
                     const uint8_t[::1] row_lossy,    # IN
                     const int32_t[::1] rows,         # IN or None: row t of table is step t
                     const int64_t[::1] offsets,      # IN
                     const double[::1] seq_weights,   # IN or None, for the counts
                     int64_t begin, int64_t end,      # IN, the sequences
                     int64_t budget,                  # IN, bytes for the table of alpha
                     double[::1] log_z,               # OUT, -inf where infeasible
                     uint8_t[::1] redo,               # OUT, 1: not right, needs log space
                     double[:, ::1] gamma=None,       # OUT or None: the forward pass is all
                     double[::1] counts=None):        # INOUT or None, one an edge
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef const Graph *g = &layout.graph
    cdef Model model
    cdef Work w
    cdef int64_t s, k, T, N = g.n_nodes, longest = longest_sequence(offsets, begin, end)
    cdef int64_t block = longest, M = weights.shape[0]
    cdef bint counting = counts is not None
    cdef int status
    cdef double weight
    if N == 0:
        for s in range(begin, end):
            log_z[s] = -INFINITY
            redo[s] = 0
        return
    model.weights = &weights[0] if M else NULL
    model.start, model.table, model.row_max = &start[0], &table[0, 0], &row_max[0]
    model.row_lossy = &row_lossy[0]
    model.rows = NULL if rows is None else &rows[0]
    if longest * N * <int64_t> sizeof(double) > budget or gamma is None:
        block = <int64_t> sqrt(<double> longest) + 1
    w.alpha = <double *> malloc(block * N * sizeof(double))
    w.kept = <double *> malloc((longest // block + 1) * N * sizeof(double))
    w.beta = <double *> malloc(N * sizeof(double))
    w.beta_before = <double *> malloc(N * sizeof(double))
    w.counts = <double *> calloc(M + 1, sizeof(double))
    cdef uint8_t *marks = <uint8_t *> calloc(4 * N, 1)
    w.ahead.possible, w.ahead.possible_next = marks, marks + N
    w.back.possible, w.back.possible_next = marks + 2 * N, marks + 3 * N
    try:
        if (w.alpha == NULL or w.kept == NULL or w.beta == NULL or w.beta_before == NULL
                or w.counts == NULL or marks == NULL):
            raise MemoryError
        with nogil:
            for s in range(begin, end):
                T = offsets[s + 1] - offsets[s]
                status = forward(g, &model, offsets[s], T, block, &w, &log_z[s])
                if status == FINE and gamma is not None:
                    if counting:
                        memset(w.counts, 0, M * sizeof(double))
                    status = backward(g, &model, offsets[s], T, block, &w, &gamma[0, 0],
                                      w.counts if counting else NULL)
                redo[s] = status == REDO
                if status == FINE and counting:
                    weight = 1.0 if seq_weights is None else seq_weights[s]
                    for k in range(M):
                        counts[k] += weight * w.counts[k] * weights[k]
    finally:
        free(w.alpha)
        free(w.kept)
        free(w.beta)
        free(w.beta_before)
        free(w.counts)
        free(marks)
