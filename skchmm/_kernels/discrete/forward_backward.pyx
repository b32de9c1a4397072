"""Forward-backward with expected edge counts on an augmented graph, in probabilities.

    alpha_t(m) = b(y_t, state(m)) sum_{n -> m} alpha_{t-1}(n) w(n -> m)
    beta_t(n)  = sum_{n -> m} w(n -> m) b(y_{t+1}, state(m)) beta_{t+1}(m)
    Z          = sum_m alpha_T(m) final(m)
    gamma_t    = alpha_t beta_t / Z,   xi_t(n -> m) = alpha_{t-1}(n) w b(y_t) beta_t(m) / Z

O(edges) per step. Rows are rescaled by powers of two when they drift, the weights never.

What is accepted in the end can be e^-1000 of a row and would vanish. So the sums before an
emission is multiplied in must not come near the smallest double where they can be positive at
all: then whatever an emission loses is negligible in every sum that it enters. Emissions lose
something only in *lossy* rows, with ratios below 1e-100 (or more, where weights are so small that
both together could turn a sum into zero); after such a row zeros are checked to be true ones. A
sequence that fails a check is reported, and redone in log space.
"""
from libc.math cimport INFINITY, M_LN2, frexp, ldexp, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..shared.emit cimport BATCH, Emit, emit_row, run_length
from ..shared.faint cimport faint_back, faint_off
from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport (
    Blocks, Graph, Layout, blocks_of, epoch_of, first_nodes, frame, longest_of, step_work,
)
from ..shared.memory cimport Memory
from ..shared.tables cimport (
    Table, chunk_end, keep_row, n_chunks, open_table, row_at, row_before,
)
from ..simd.instructions cimport instructions_in_use
from .exponents cimport (
    Exponents, accepted, keep_exponents, open_exponents, rebalance, take_back, take_kept, weigh,
)
from .lossy cimport (
    FINE, INFEASIBLE, REDO, TINY, Model, any_lossy, lost_behind, mark_possible, zeros_are_true,
)


cdef extern from "discrete/sum_steps.h" nogil:
    const int *instructions

    ctypedef struct Backward:
        Blocks ahead
        Blocks back
        const double *back_weights
        int64_t n_nodes
        int64_t n_states
        const int32_t *first
        double floor
        int masked
        double *v
        double *counts

    double sum_step(const Blocks *, const double *weights, const double *before,
                    const double *emit, double floor, double *out, int *tiny)
    int64_t sum_run(const Blocks *, const double *weights, int64_t n, const double *table,
                    const int32_t *rows, const uint8_t *lossy, double floor, const double *before,
                    double *out, double *total, int *tiny)
    void back_step(const Blocks *, const double *weights, const double *v, const double *alpha,
                   double floor, int masked, double *out, double *mass, double *top, int *tiny)
    int64_t back_run(const Backward *, int64_t n, const double *alpha, const double *table,
                     const int32_t *rows, double *gamma, double **beta, double **spare,
                     double *mass, double *top, int *tiny)
    void count_step(const Blocks *, const double *before, const double *v, double *counts)
    void put_gamma(const Backward *, const double *alpha, const double *beta, double scale,
                   double *gamma)
    void multiply(int64_t n, const double *a, const double *b, double c, double *out)

instructions = instructions_in_use()

cdef double TINY_UNEVEN = 1e-130  # as TINY, between nodes with exponents
cdef double LOW = 1e-100         # sums for which there should be exponents
cdef int64_t RUN = 1 << 14       # steps after which to look whether the call is to end


cdef struct Work:
    Table alpha
    double *beta
    double *v                    # emission times beta
    double *product
    double *counts               # by entry, of one sequence, without weights
    int64_t n_counts
    double *counted              # with the weights of their time
    bint any_lossy               # in the sequence
    Exponents x
    const int32_t *first         # node of each state; NULL where nodes are states
    uint8_t *possible            # after a lossy row: what was positive before it


cdef struct Last:
    # What is known of the last row.
    double total
    double floor                 # sums that enter the next row must not be smaller
    int64_t exponent             # rows were divided by 2^exponent so far
    bint lossy


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


cdef inline int settle(const Graph *g, double *row, Last *last) noexcept nogil:
    """Rescale a row if it has drifted; whether something is left of it."""
    cdef int64_t power
    if last.total < TINY:
        return REDO if last.lossy or last.total > 0.0 else INFEASIBLE
    last.floor = TINY
    if last.total < 1e-30 or last.total > 1e30:
        power = rescale(g.stride, last.total, row)
        last.exponent += power
        if last.lossy:  # what the row has lost has grown as well
            last.floor = ldexp(TINY, <int> -power)
    return FINE


cdef const double *weights_ahead(const Graph *g, const Model *p, Exponents *x) noexcept nogil:
    if x.uneven:
        weigh(x, g, p.weights, False, x.ahead)
    return x.ahead if x.uneven else p.weights


cdef const double *weights_back(const Graph *g, const Model *p, Exponents *x) noexcept nogil:
    if x.uneven:
        weigh(x, g, p.back_weights, True, x.back)
    return x.back if x.uneven else p.back_weights


cdef int fill(const Graph *g, const Model *p, Emit *emit, int64_t origin, int64_t T, int64_t begin,
              Work *w, Last *last) noexcept nogil:
    """The chunk of alpha that begins at a step."""
    cdef int64_t t = begin, n = 1, e = 0, stop = origin + T, end = chunk_end(&w.alpha, begin, T)
    cdef int tiny = 0, status
    cdef double *before
    cdef const double *table
    cdef const uint8_t *marks
    cdef const double *weights = weights_ahead(g, p, &w.x)
    cdef Blocks ahead
    w.x.n = 0
    if t == 0:
        if first_row(g, p, emit_row(g, emit, origin, stop), w.alpha.rows, &last.total):
            return REDO
        last.lossy = p.row_lossy[frame(p.rows, origin)]
        if last.lossy:
            w.any_lossy = True
            mark_possible(g, p, 0, NULL, True, w.possible)
        status = settle(g, w.alpha.rows, last)
        if status != FINE:
            return status
        t = 1
    while t < end:
        before = row_before(&w.alpha, t)
        e = epoch_of(&g.epochs, t, e)
        ahead = blocks_of(&g.ahead, e)
        if last.lossy and zeros_are_true(g, p, e, before, w.possible, last.floor):
            return REDO
        last.lossy = p.row_lossy[frame(p.rows, origin + t)]
        if last.lossy:
            if w.x.uneven:
                return REDO
            w.any_lossy = True
            mark_possible(g, p, e, before, False, w.possible)
            last.total = sum_step(&ahead, p.weights, before, emit_row(g, emit, origin + t, stop),
                                  TINY, row_at(&w.alpha, t), &tiny)
            t += 1
        else:
            n = min(run_length(g, emit, origin, t, min(end, w.x.until + 1), e), RUN)
            table, marks = emit.table, p.row_lossy
            if not emit.by_node:
                table = emit_row(g, emit, origin + t, stop)
                marks = NULL
                while n > 1 and any_lossy(p, origin + t, n):
                    n //= 2
            t += sum_run(&ahead, weights, n, table,
                         p.rows + origin + t if emit.by_node else NULL, marks, LOW, before,
                         row_at(&w.alpha, t), &last.total, &tiny)
        if stopped(p.watch, n) or tiny and last.lossy or not last.total < INFINITY:
            return REDO
        if tiny or w.x.uneven and (last.total > 1e30 or t > w.x.until):
            before = row_before(&w.alpha, t - 1)
            sum_step(&ahead, weights, before, emit_row(g, emit, origin + t - 1, stop),
                     TINY_UNEVEN if w.x.uneven else TINY, w.product, &tiny)
            if tiny or not rebalance(&w.x, g, p.weights, t - 1, row_at(&w.alpha, t - 1),
                                     &last.total):
                return REDO
            weights = weights_ahead(g, p, &w.x)
        status = settle(g, row_at(&w.alpha, t - 1), last)
        if status != FINE:
            return status
    return FINE


cdef int forward(const Graph *g, const Model *p, Emit *emit, int64_t origin, int64_t T, Work *w,
                 double *log_z) noexcept nogil:
    """Leaves the last chunk of alpha, and beta at the end."""
    cdef int64_t c, t
    cdef int status
    cdef double total = 0.0, mass = 0.0, power
    cdef const double *row = row_at(&w.alpha, T - 1)
    cdef Last last
    last.exponent = 0
    log_z[0] = -INFINITY
    emit.batch = -1
    w.any_lossy = False
    take_kept(&w.x, g.stride, 0)
    for c in range(n_chunks(&w.alpha, T)):
        keep_row(&w.alpha, c * w.alpha.chunk)
        if w.alpha.kept_width:
            keep_exponents(&w.x, g.stride, c)
        status = fill(g, p, emit, origin, T, c * w.alpha.chunk, w, &last)
        if status != FINE:
            return status
    power = accepted(&w.x, g, row, w.beta, &mass)
    if mass < (TINY_UNEVEN if w.x.uneven else last.floor):
        return REDO if last.lossy or mass > 0.0 else INFEASIBLE
    for t in range(T):
        total += p.row_max[frame(p.rows, origin + t)]
    log_z[0] = total + (last.exponent + power) * M_LN2 + log(mass)
    return FINE


cdef int backward(const Graph *g, const Model *p, Emit *emit, int64_t origin, int64_t T, Work *w,
                  double *gamma, double *counts) noexcept nogil:
    cdef int64_t N = g.stride, S = g.n_states, stop = origin + T, c, t, n = 0, e = 0, begin
    cdef int64_t last_chunk = n_chunks(&w.alpha, T) - 1
    cdef int tiny = 0
    cdef double mass = 0.0, top = 1.0
    cdef double *alpha
    cdef double *swap
    cdef const double *table
    cdef Backward shared
    cdef Last last
    last.exponent = 0
    shared.back_weights, shared.n_nodes, shared.n_states = weights_back(g, p, &w.x), g.n_nodes, S
    shared.first = w.first
    shared.floor, shared.v, shared.counts = TINY, w.v, counts
    # Without lossy rows alpha is exact, and what beta loses is nothing of their product.
    shared.masked = not w.any_lossy
    accepted(&w.x, g, row_at(&w.alpha, T - 1), w.beta, &mass)
    for c in range(last_chunk, -1, -1):
        begin = c * w.alpha.chunk
        if c < last_chunk:  # it passed the checks the first time
            last.lossy = False
            take_kept(&w.x, N, c)
            fill(g, p, emit, origin, T, begin, w, &last)
        t = chunk_end(&w.alpha, begin, T) - 1
        while t >= begin:
            if mass < TINY or top < TINY or stopped(p.watch, max(n, 1)):
                return REDO
            alpha = row_at(&w.alpha, t)
            if t == 0:
                put_gamma(&shared, alpha, w.beta, 1.0 / mass, gamma + origin * S)
                break
            if top < 1e-30 or top > 1e30:
                mass = ldexp(mass, -<int> rescale(N, top, w.beta))
            e = epoch_of(&g.epochs, t, e)
            shared.ahead, shared.back = blocks_of(&g.ahead, e), blocks_of(&g.back, e)
            n = back_length(g, p, emit, origin, t, begin, e)
            if w.x.n > 0:
                n = min(n, t - w.x.at[w.x.n - 1])
            if n > 0:
                table = emit.table if emit.by_node else emit_row(g, emit, origin + t, stop)
                t -= back_run(&shared, n, alpha, table,
                              p.rows + origin + t if emit.by_node else NULL,
                              gamma + (origin + t) * S, &w.beta, &w.product, &mass, &top, &tiny)
                if tiny:
                    return REDO
                continue
            # The first row of a chunk, whose predecessor lies elsewhere, a lossy one, or one that
            # has new exponents.
            table = emit_row(g, emit, origin + t, stop)
            put_gamma(&shared, alpha, w.beta, 1.0 / mass, gamma + (origin + t) * S)
            if w.x.n > 0 and w.x.at[w.x.n - 1] == t:
                if counts != NULL:
                    count_up(g, p, w)
                take_back(&w.x, g, w.beta)
                shared.back_weights = weights_back(g, p, &w.x)
            alpha = row_before(&w.alpha, t)
            multiply(N, table, w.beta, 1.0, w.v)
            back_step(&shared.back, shared.back_weights, w.v, alpha, TINY, shared.masked,
                      w.product, &mass, &top, &tiny)
            if tiny or mass < TINY:
                return REDO
            if p.row_lossy[frame(p.rows, origin + t)] and lost_behind(g, p, e, w.beta, w.product):
                return REDO
            if counts != NULL:
                multiply(N, table, w.beta, 1.0 / mass, w.v)
                count_step(&shared.ahead, alpha, w.v, counts)
            swap = w.beta
            w.beta = w.product
            w.product = swap
            t -= 1
    return FINE


cdef void count_up(const Graph *g, const Model *p, Work *w) noexcept nogil:
    """Counts since the last change of exponents, with their weights."""
    cdef int64_t k
    cdef const double *weights = weights_ahead(g, p, &w.x)
    for k in range(w.n_counts):
        w.counted[k] += w.counts[k] * weights[k]
    memset(w.counts, 0, w.n_counts * sizeof(double))


cdef inline int64_t back_length(const Graph *g, const Model *p, const Emit *emit, int64_t origin,
                                int64_t t, int64_t begin, int64_t e) noexcept nogil:
    """Steps from t down, after `begin`, that share an epoch and a batch and are not lossy."""
    cdef int64_t first = max(max(begin + 1, g.epochs.first[e]), t - 4 * BATCH), n = 0
    if not emit.by_node:
        first = max(first, (origin + t) // BATCH * BATCH - origin)
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
                     double[:, ::1] gamma=None,         # OUT or None: the forward pass is all;
                                                        # may be the table, if steps are its rows
                     double[::1] counts=None):          # INOUT or None, by entry
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef const Graph *g = &layout.graph
    cdef Model model
    cdef Emit emit
    cdef Work w
    cdef int64_t s, c, k, T, M = weights.shape[0]
    cdef bint keep = gamma is not None, counting = counts is not None
    cdef int status
    cdef double weight
    cdef Watch watch = new_watch(step_work(g))
    cdef unsigned faint
    cdef Memory memory = Memory()
    if g.n_nodes == 0:
        for c in range(chosen.shape[0]):
            log_z[chosen[c]] = -INFINITY
            redo[chosen[c]] = 0
        return
    model.edge_weights = &edge_weights[0] if edge_weights.shape[0] else NULL
    model.weights = &weights[0] if M else NULL
    model.back_weights = &back_weights[0] if back_weights.shape[0] else NULL
    model.start, model.row_max, model.row_lossy = &start[0], &row_max[0], &row_lossy[0]
    model.rows, model.watch = NULL if rows is None else &rows[0], &watch
    emit.table, emit.rows, emit.by_node = &table[0, 0], model.rows, by_node
    w.possible = <uint8_t *> memory.room(g.n_nodes)
    w.first = NULL
    if keep and not g.plain:
        w.first = first_nodes(g, <int32_t *> memory.room((g.n_states + 1) * sizeof(int32_t)))
    open_table(&w.alpha, memory, longest_of(offsets, chosen), g.stride, budget, keep)
    w.beta = memory.rows(1, g.stride)
    w.v = memory.rows(1, g.stride)
    w.product = memory.rows(1, g.stride)
    w.counts = memory.rows(1, M)
    w.counted = memory.rows(1, M)
    w.n_counts = M
    open_exponents(&w.x, g, memory, M, back_weights.shape[0],
                   n_chunks(&w.alpha, longest_of(offsets, chosen)) if keep else 1, w.alpha.chunk)
    emit.buffer = memory.rows(1 if by_node else BATCH, g.stride)
    with nogil:
        faint = faint_off()
        for c in range(chosen.shape[0]):
            s = chosen[c]
            T = offsets[s + 1] - offsets[s]
            status = forward(g, &model, &emit, offsets[s], T, &w, &log_z[s])
            if status == FINE and keep:
                if counting:
                    memset(w.counts, 0, M * sizeof(double))
                    memset(w.counted, 0, M * sizeof(double))
                status = backward(g, &model, &emit, offsets[s], T, &w, &gamma[0, 0],
                                  w.counts if counting else NULL)
            redo[s] = status == REDO
            if status == FINE and counting:
                count_up(g, &model, &w)
                weight = 1.0 if seq_weights is None else seq_weights[s]
                for k in range(M):
                    counts[k] += weight * w.counted[k]
            if stopped(&watch, 1):
                break
        faint_back(faint)
        check()
