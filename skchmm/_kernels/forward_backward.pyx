"""Forward-backward with expected edge counts on an augmented graph, in probabilities.

    alpha_t(m) = b(y_t, state(m)) sum_{n -> m} alpha_{t-1}(n) w(n -> m)
    beta_t(n)  = sum_{n -> m} w(n -> m) b(y_{t+1}, state(m)) beta_{t+1}(m)
    Z          = sum_{m accepting} alpha_T(m)
    gamma_t    = alpha_t beta_t / Z,   xi_t(n -> m) = alpha_{t-1}(n) w b(y_t) beta_t(m) / Z

O(edges) a step. Rows are rescaled by powers of two when they drift, the weights never.

What is accepted in the end can be e^-1000 of a row and would vanish. So the sums before an
emission is multiplied in must not come near the smallest double where they can be positive at
all: then whatever an emission loses is negligible in every sum that it enters. Emissions lose
something only in *lossy* rows, with ratios below 1e-100 (or more, where weights are so small that
both together could turn a sum into zero); after such a row zeros are checked to be true ones. A
sequence that fails a check is reported, and redone in log space.
"""
from libc.math cimport INFINITY, M_LN2, frexp, ldexp, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from .layout cimport (
    CHUNK, Backward, Blocks, Emit, Graph, Layout, Steps, block_length, blocks_of, emit_row,
    epoch_of, frame, free_rows, log_lossy, longest_of, new_rows, new_table, run_length, steps,
)

import numpy as np

cdef double TINY = 1e-200       # smaller sums may miss something
cdef int FINE = 0, REDO = 1, INFEASIBLE = 2


cdef struct Model:
    const double *edge_weights   # by edge
    const double *weights        # by entry of the blocks of targets
    const double *back_weights   # by entry of the blocks of sources
    const double *start
    const double *row_max
    const uint8_t *row_lossy
    const int32_t *rows


cdef struct Work:
    double *alpha                # (block, stride)
    double *kept                 # (blocks, stride): the row before each block but the first
    double *beta
    double *v                    # emission times beta
    double *product
    double *counts               # by entry, of one sequence
    uint8_t *possible            # after a lossy row: what was positive before it
    bint keep                    # False: a forward pass alone, nothing is gone back to


def scale_rows(const double[:, ::1] log_table, double smallest=1.0):
    """Rows divided by their maximum, as probabilities: (table, row_max, row_lossy).

    `smallest` is the smallest weight that they will be multiplied by.
    """
    cdef int64_t R = log_table.shape[0], S = log_table.shape[1], r, i
    cdef double top, lossy = log_lossy(smallest)
    table_ = np.empty((R, S))
    row_max_ = np.empty(R)
    row_lossy_ = np.zeros(R, dtype=np.uint8)
    cdef double[:, ::1] table = table_
    cdef double[::1] row_max = row_max_
    cdef uint8_t[::1] row_lossy = row_lossy_
    with nogil:
        for r in range(R):
            top = log_table[r, 0]
            for i in range(1, S):
                top = max(top, log_table[r, i])
            row_max[r] = top
            if top == -INFINITY:
                top = 0.0
            for i in range(S):
                table[r, i] = log_table[r, i] - top
                if -INFINITY < table[r, i] < lossy:
                    row_lossy[r] = 1
    np.exp(table_, out=table_)
    return table_, row_max_, row_lossy_


cdef inline int64_t rescale(int64_t n, double total, double *row) noexcept nogil:
    """Bring a row to a total between 1 and 2; the power of two that it was divided by."""
    cdef int exponent = 0
    cdef int64_t m
    cdef double factor
    frexp(total, &exponent)
    factor = ldexp(1.0, 1 - exponent)
    for m in range(n):
        row[m] *= factor
    return exponent - 1


cdef inline int first_row(const Graph *g, const Model *p, const double *emit,
                          double *out, double *total) noexcept nogil:
    cdef int64_t i, m
    cdef double c = 0.0
    memset(out, 0, g.stride * sizeof(double))
    for i in range(g.n_states):
        m = g.start_nodes[i]
        if m >= 0:
            if 0.0 < p.start[i] < TINY:
                return REDO
            out[m] = p.start[i] * emit[m]
            c += out[m]
    total[0] = c
    return FINE


cdef int zeros_are_true(const Graph *g, const Model *p, int64_t e, const double *before,
                        const uint8_t *possible, double floor) noexcept nogil:
    """After a lossy row: whether every node that may be reached keeps a safe sum."""
    cdef int64_t m, k
    cdef bint reached
    cdef double u
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    for m in range(g.n_nodes):
        u = 0.0
        reached = False
        for k in range(start[m], start[m + 1]):
            u += before[g.sources[k]] * p.edge_weights[k]
            reached = reached or (possible[g.sources[k]] and p.edge_weights[k] > 0.0)
        if reached and u < floor:
            return REDO
    return FINE


cdef void mark_possible(const Graph *g, const Model *p, int64_t e, const double *before,
                        bint first, uint8_t *possible) noexcept nogil:
    """What has a positive sum before the emission."""
    cdef int64_t m, k, i
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    memset(possible, 0, g.n_nodes)
    if first:
        for i in range(g.n_states):
            if g.start_nodes[i] >= 0 and p.start[i] > 0.0:
                possible[g.start_nodes[i]] = 1
        return
    for m in range(g.n_nodes):
        for k in range(start[m], start[m + 1]):
            if before[g.sources[k]] > 0.0 and p.edge_weights[k] > 0.0:
                possible[m] = 1
                break


cdef int forward(const Graph *g, const Steps *do, const Model *p, Emit *emit, int64_t origin,
                 int64_t T, int64_t block, Work *w, double *log_z) noexcept nogil:
    """Leaves the last block in w.alpha."""
    cdef int64_t N = g.stride, t = 1, n, e = 0, m, row = 0, stop = origin + T, exponent = 0, power
    cdef int tiny = 0
    cdef bint lossy
    cdef double c = 0.0, total = 0.0, floor = TINY
    cdef double *before = w.alpha
    cdef const double *table
    cdef const uint8_t *marks
    cdef Blocks ahead
    log_z[0] = -INFINITY
    emit.chunk = -1
    if first_row(g, p, emit_row(g, emit, origin, stop), w.alpha, &c):
        return REDO
    lossy = p.row_lossy[frame(p.rows, origin)]
    if lossy:
        mark_possible(g, p, 0, before, True, w.possible)
    for m in range(T):
        total += p.row_max[frame(p.rows, origin + m)]
    while True:
        before = w.alpha + row * N
        if c < TINY:
            return REDO if lossy or c > 0.0 else INFEASIBLE
        floor = TINY
        if c < 1e-30 or c > 1e30:
            power = rescale(N, c, before)
            exponent += power
            if lossy:  # what the row has lost has grown as well
                floor = ldexp(TINY, <int> -power)
        if t == T:
            break
        row += 1
        if row == block:
            row = 0
            if w.keep:
                memcpy(w.kept + (t // block - 1) * N, before, N * sizeof(double))
        e = epoch_of(g, t, e)
        ahead = blocks_of(&g.ahead, e)
        if lossy and zeros_are_true(g, p, e, before, w.possible, floor):
            return REDO
        lossy = p.row_lossy[frame(p.rows, origin + t)]
        if lossy:
            mark_possible(g, p, e, before, False, w.possible)
            c = do.sum_step(&ahead, p.weights, before, emit_row(g, emit, origin + t, stop), TINY,
                            w.alpha + row * N, &tiny)
            t += 1
        else:
            n = min(run_length(g, emit, origin, t, T, e), block - row)
            table, marks = emit.table, p.row_lossy
            if not emit.by_node:
                table = emit_row(g, emit, origin + t, stop)
                marks = NULL
                while n > 1 and any_lossy(p, origin + t, n):
                    n //= 2
            n = do.sum_run(&ahead, p.weights, n, table,
                           p.rows + origin + t if emit.by_node else NULL, marks, TINY, before,
                           w.alpha + row * N, &c, &tiny)
            t += n
            row += n - 1
        if tiny:
            return REDO
    c = 0.0
    for m in range(g.n_nodes):
        if g.accept[m]:
            c += before[m]
    if c < floor:
        return REDO if lossy or c > 0.0 else INFEASIBLE
    log_z[0] = total + exponent * M_LN2 + log(c)
    return FINE


cdef inline bint any_lossy(const Model *p, int64_t first, int64_t n) noexcept nogil:
    cdef int64_t t
    for t in range(first, first + n):
        if p.row_lossy[frame(p.rows, t)]:
            return True
    return False


cdef void refill(const Graph *g, const Steps *do, const Model *p, Emit *emit, int64_t origin,
                 int64_t stop, int64_t begin, int64_t end, const double *before,
                 Work *w) noexcept nogil:
    """Rows begin..end-1 once more; they passed the checks the first time."""
    cdef int64_t N = g.stride, t, e = 0
    cdef int tiny = 0
    cdef double c = 0.0
    cdef Blocks ahead
    for t in range(begin, end):
        if t == 0:
            first_row(g, p, emit_row(g, emit, origin, stop), w.alpha, &c)
        else:
            e = epoch_of(g, t, e)
            ahead = blocks_of(&g.ahead, e)
            c = do.sum_step(&ahead, p.weights, before, emit_row(g, emit, origin + t, stop), TINY,
                            w.alpha + (t - begin) * N, &tiny)
        before = w.alpha + (t - begin) * N
        if c < 1e-30 or c > 1e30:
            rescale(N, c, w.alpha + (t - begin) * N)


cdef int lost_behind(const Graph *g, const Model *p, int64_t e, const double *beta,
                     const double *beta_before) noexcept nogil:
    """After a lossy row: whether some sum that should be positive is too small."""
    cdef int64_t m, k
    cdef const int32_t *start = g.indptr + e * (g.n_nodes + 1)
    for m in range(g.n_nodes):
        if beta[m] > 0.0:
            for k in range(start[m], start[m + 1]):
                if p.edge_weights[k] > 0.0 and beta_before[g.sources[k]] < TINY:
                    return REDO
    return FINE


cdef int backward(const Graph *g, const Steps *do, const Model *p, Emit *emit, int64_t origin,
                  int64_t T, int64_t block, Work *w, double *gamma,
                  double *counts) noexcept nogil:
    cdef int64_t N = g.stride, S = g.n_states, stop = origin + T, b, t, n, e = 0, begin, end, m
    cdef int64_t n_blocks = (T + block - 1) // block
    cdef int tiny = 0
    cdef double mass = 0.0, top = 1.0
    cdef double *alpha
    cdef double *swap
    cdef const double *table
    cdef Backward pass_
    pass_.back_weights, pass_.n_nodes, pass_.n_states = p.back_weights, g.n_nodes, S
    pass_.node_states = NULL if g.plain else g.node_states
    pass_.floor, pass_.v, pass_.counts = TINY, w.v, counts
    memset(w.beta, 0, N * sizeof(double))
    alpha = w.alpha + ((T - 1) % block) * N
    for m in range(g.n_nodes):
        if g.accept[m]:
            w.beta[m] = 1.0
            mass += alpha[m]
    for b in range(n_blocks - 1, -1, -1):
        begin = b * block
        end = min(T, begin + block)
        if b < n_blocks - 1:
            refill(g, do, p, emit, origin, stop, begin, end, w.kept + (b - 1) * N, w)
        t = end - 1
        while t >= begin:
            if mass < TINY or top < TINY:
                return REDO
            alpha = w.alpha + (t - begin) * N
            if t == 0:
                do.put_gamma(&pass_, alpha, w.beta, 1.0 / mass, gamma + origin * S)
                break
            if top < 1e-30 or top > 1e30:
                mass = ldexp(mass, -<int> rescale(N, top, w.beta))
            e = epoch_of(g, t, e)
            pass_.ahead, pass_.back = blocks_of(&g.ahead, e), blocks_of(&g.back, e)
            n = back_length(g, p, emit, origin, t, begin, e)
            if n > 0:
                table = emit.table if emit.by_node else emit_row(g, emit, origin + t, stop)
                t -= do.back_run(&pass_, n, alpha, table,
                                 p.rows + origin + t if emit.by_node else NULL,
                                 gamma + (origin + t) * S, &w.beta, &w.product, &mass, &top,
                                 &tiny)
                if tiny:
                    return REDO
                continue
            # The first row of a block, whose predecessor lies elsewhere, or a lossy one.
            do.put_gamma(&pass_, alpha, w.beta, 1.0 / mass, gamma + (origin + t) * S)
            alpha = w.kept + (b - 1) * N if t == begin else alpha - N
            do.multiply(N, emit_row(g, emit, origin + t, stop), w.beta, 1.0, w.v)
            do.back_step(&pass_.back, p.back_weights, w.v, alpha, TINY, w.product, &mass, &top,
                         &tiny)
            if tiny or mass < TINY:
                return REDO
            if p.row_lossy[frame(p.rows, origin + t)] and lost_behind(g, p, e, w.beta, w.product):
                return REDO
            if counts != NULL:
                do.multiply(N, emit_row(g, emit, origin + t, stop), w.beta, 1.0 / mass, w.v)
                do.count_step(&pass_.ahead, alpha, w.v, counts)
            swap = w.beta
            w.beta = w.product
            w.product = swap
            t -= 1
    return FINE


cdef inline int64_t back_length(const Graph *g, const Model *p, const Emit *emit, int64_t origin,
                                int64_t t, int64_t begin, int64_t e) noexcept nogil:
    """Steps from t down, after `begin`, that share an epoch and a chunk and are not lossy."""
    cdef int64_t first = max(max(begin + 1, g.epochs[e]), t - 4 * CHUNK), n = 0
    if not emit.by_node:
        first = max(first, (origin + t) // CHUNK * CHUNK - origin)
    while t - n >= first and not p.row_lossy[frame(p.rows, origin + t - n)]:
        n += 1
    return n


def forward_backward(Layout layout,                     # IN
                     const double[::1] edge_weights,    # IN, one an edge
                     const double[::1] weights,         # IN, by entry of the blocks of targets
                     const double[::1] back_weights,    # IN, by entry of the blocks of sources
                     const double[::1] start,           # IN
                     const double[:, ::1] table,        # IN, with row_max, row_lossy: scale_rows
                     bint by_node,                      # IN, columns are nodes, not states
                     const double[::1] row_max,         # IN
                     const uint8_t[::1] row_lossy,      # IN
                     const int32_t[::1] rows,           # IN or None: row t of table is step t
                     const int64_t[::1] offsets,        # IN
                     const double[::1] seq_weights,     # IN or None, for the counts
                     const int64_t[::1] chosen,         # IN, the sequences
                     int64_t budget,                    # IN, bytes for the table of alpha
                     double[::1] log_z,                 # OUT, -inf where infeasible
                     uint8_t[::1] redo,                 # OUT, 1: not right, needs log space
                     double[:, ::1] gamma=None,         # OUT or None: the forward pass is all
                     double[::1] counts=None):          # INOUT or None, by entry
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef const Graph *g = &layout.graph
    cdef const Steps *do = steps()
    cdef Model model
    cdef Emit emit
    cdef Work w
    cdef int64_t s, c, k, T, longest = longest_of(offsets, chosen)
    cdef int64_t block = block_length(longest, g.stride, budget), M = weights.shape[0]
    cdef bint counting = counts is not None
    cdef int status
    cdef double weight
    if g.n_nodes == 0:
        for c in range(chosen.shape[0]):
            log_z[chosen[c]] = -INFINITY
            redo[chosen[c]] = 0
        return
    model.edge_weights = &edge_weights[0] if edge_weights.shape[0] else NULL
    model.weights = &weights[0] if M else NULL
    model.back_weights = &back_weights[0] if back_weights.shape[0] else NULL
    model.start, model.row_max, model.row_lossy = &start[0], &row_max[0], &row_lossy[0]
    model.rows = NULL if rows is None else &rows[0]
    emit.table, emit.rows, emit.by_node = &table[0, 0], model.rows, by_node
    emit.buffer = w.alpha = w.kept = w.beta = w.v = w.product = w.counts = NULL
    w.keep = gamma is not None
    if not w.keep:
        block = 2
    w.possible = <uint8_t *> calloc(g.n_nodes, 1)
    try:
        if w.possible == NULL:
            raise MemoryError
        w.alpha = new_table(block, g.stride)
        w.kept = new_rows(longest // block + 1 if w.keep else 1, g.stride)
        w.beta = new_rows(1, g.stride)
        w.v = new_rows(1, g.stride)
        w.product = new_rows(1, g.stride)
        w.counts = new_rows(1, M)
        emit.buffer = new_rows(1 if by_node else CHUNK, g.stride)
        with nogil:
            for c in range(chosen.shape[0]):
                s = chosen[c]
                T = offsets[s + 1] - offsets[s]
                status = forward(g, do, &model, &emit, offsets[s], T, block, &w, &log_z[s])
                if status == FINE and w.keep:
                    if counting:
                        memset(w.counts, 0, M * sizeof(double))
                    status = backward(g, do, &model, &emit, offsets[s], T, block, &w,
                                      &gamma[0, 0], w.counts if counting else NULL)
                redo[s] = status == REDO
                if status == FINE and counting:
                    weight = 1.0 if seq_weights is None else seq_weights[s]
                    for k in range(M):
                        counts[k] += weight * w.counts[k] * weights[k]
    finally:
        free(w.possible)
        free_rows(w.alpha)
        free_rows(w.kept)
        free_rows(w.beta)
        free_rows(w.v)
        free_rows(w.product)
        free_rows(w.counts)
        free_rows(emit.buffer)
