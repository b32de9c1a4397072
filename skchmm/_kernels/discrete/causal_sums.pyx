"""Marginals given the observations so far, in probabilities: what causal.pyx does by logarithms.

The first way is that of forward_backward.pyx, rows of doubles that are rescaled as a whole, with
its way to see that a sum is too small to rely on. Where that happens, or an emission is too small
for a double, every node gets an exponent of its own: its value is p(m) 2^(256 x(m)) with p(m)
between 2^-128 and 2^128. In a sum only terms with the largest exponent and the one below count:
weights are at least 2^-100. Exponents seldom change, so these nodes go on in the first way too,
measured by units 2^(256 x(m)), until one of them gets too small for its unit.
"""
from libc.math cimport INFINITY, M_LN2, NAN, exp, floor
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..shared.emit cimport BATCH, Emit, emit_row, run_length
from ..shared.faint cimport faint_back, faint_off
from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Blocks, Graph, Layout, blocks_of, edges_into, epoch_of, first_nodes
from ..shared.layout cimport frame, step_work
from ..shared.memory cimport Memory
from ..shared.scaling cimport log_lossy
from ..simd.instructions cimport instructions_in_use


cdef extern from "discrete/filter_steps.h" nogil:
    const int *instructions

    double NEAR
    int64_t filter_run(const Blocks *, const double *weights, const double *dense, int64_t n_nodes,
                       int64_t n, const double *table, const int32_t *rows, double floor,
                       double *row, int64_t n_states, const int32_t *first, const double *shares,
                       const double *sure, double *out, int *last)
    void scale_run(int64_t n, int64_t n_states, const double *logs, double least, double *out,
                   uint8_t *lossy)

instructions = instructions_in_use()

cdef double TINY = 1e-200        # smaller sums may miss something
cdef double LARGE = 2.0 ** 128, SMALL = 2.0 ** -128, DOWN = 2.0 ** -256, UP = 2.0 ** 256
cdef double LOG_UP = 256 * M_LN2
cdef int64_t NEVER = -(1 << 62)  # the exponent of a sum without terms
cdef int64_t RUN = 1 << 14       # steps after which to look whether the call is to end


cdef struct Model:
    const double *weights        # by entry of the blocks of targets
    double *dense                # (8, 8) of up to 8 nodes and states in one epoch; else NULL
    const double *edge_weights
    const int64_t *slots         # where the weight of an edge is among the entries
    const double *start
    const double *log_start
    const double *log_table      # (rows, n_states)
    const uint8_t *lossy         # by row, NULL where emissions are logarithms
    double *scaled               # (BATCH, n_states): the others, as probabilities
    uint8_t *batch_lossy         # (BATCH,)
    double least                 # ratios of emissions below e^least lose something
    const int32_t *first         # the first node of every state, and how many nodes there are
    const uint8_t *live          # (steps, n_nodes); the last row holds on
    const uint8_t *all_live      # (steps,)
    int64_t last_live


cdef inline double split(double value, int64_t *x) noexcept nogil:
    """A positive value in range, and what that adds to its exponent."""
    while value < SMALL:
        value *= UP
        x[0] -= 1
    while value > LARGE:
        value *= DOWN
        x[0] += 1
    return value


cdef inline double highest(const double *row, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef double top = row[0]
    for i in range(1, n):
        top = max(top, row[i])
    return top


cdef inline double emission(double value, int64_t *x, bint *huge) noexcept nogil:
    """The emission with this logarithm, its exponent added to x."""
    cdef double k
    if not value > -INFINITY:
        return 0.0
    if value < -1e12:  # exponents of a long sequence could not hold it
        huge[0] = True
        return 0.0
    k = floor(value / LOG_UP) + 1
    x[0] += <int64_t> k
    return exp(value - k * LOG_UP)


cdef void first_values(const Graph *g, const Model *p, int64_t row, double *now, int64_t *x,
                       bint *huge) noexcept nogil:
    cdef int64_t i, m
    cdef double k
    cdef const double *logs = p.log_table + row * g.n_states
    cdef double top = highest(logs, g.n_states)
    memset(now, 0, g.stride * sizeof(double))
    for i in range(g.n_states):
        m = g.start_nodes[i]
        if m >= 0 and p.log_start[i] > -INFINITY:
            k = floor(p.log_start[i] / LOG_UP) + 1
            x[m] = <int64_t> k
            now[m] = exp(p.log_start[i] - k * LOG_UP) * emission(logs[i] - top, &x[m], huge)
            if now[m] > 0.0:
                now[m] = split(now[m], &x[m])


cdef void next_values(const Graph *g, const Model *p, int64_t e, int64_t row, bint by_logs,
                      const double *emit, const double *before, const int64_t *x_before,
                      double *now, int64_t *x, bint *huge) noexcept nogil:
    """A step; `emit` by node, not read where the row is lossy, so that logarithms are taken."""
    cdef int64_t m, k, n, top
    cdef double total, term, level = 0.0
    cdef const int32_t *start = edges_into(g, e)
    cdef const double *logs = p.log_table + row * g.n_states
    if by_logs:
        level = highest(logs, g.n_states)
    for m in range(g.n_nodes):
        top, total = NEVER, 0.0
        for k in range(start[m], start[m + 1]):
            n = g.sources[k]
            term = before[n] * p.edge_weights[k]
            if term > 0.0:
                add(term, x_before[n], &total, &top)
        x[m], now[m] = top, 0.0
        if total > 0.0:
            total = split(total, &x[m])
            if by_logs:
                total *= emission(logs[g.node_states[m]] - level, &x[m], huge)
            else:
                total *= emit[m]
            if total > 0.0:
                now[m] = split(total, &x[m])


cdef inline void add(double term, int64_t x, double *total, int64_t *top) noexcept nogil:
    """Add a term to a total with the exponent `top`."""
    if x == top[0]:
        total[0] += term
    elif x > top[0]:
        total[0] = term + (total[0] * DOWN if x == top[0] + 1 else 0.0)
        top[0] = x
    elif x == top[0] - 1:
        total[0] += term * DOWN


cdef void put(const Graph *g, const uint8_t *live, const double *now, const int64_t *x,
              double *out) noexcept nogil:
    """The marginals of the states over the live nodes."""
    cdef int64_t m, i, _, top = NEVER
    cdef double total = 0.0, value
    for m in range(g.n_nodes):
        if live[m] and now[m] > 0.0 and x[m] > top:
            top = x[m]
    for i in range(g.n_states):
        out[i] = 0.0 if top > NEVER else NAN
    for m in range(g.n_nodes):
        if live[m] and now[m] > 0.0 and top - x[m] < 4:
            value = now[m]
            for _ in range(top - x[m]):
                value *= DOWN
            out[g.node_states[m]] += value
            total += value
    for i in range(g.n_states if top > NEVER else 0):
        out[i] /= total


cdef struct Units:
    # Nodes whose exponents differ, measured each by 2^(256 x): weights are those between units.
    int64_t *of                  # x, by node
    double *weights              # by entry of the blocks
    int64_t n_weights
    double *dense                # as that of the model
    double *shares               # by node, relative to the largest unit
    double *sure                 # by node, 0 where a way in is from where too little comes


cdef bint measure(const Graph *g, const Model *p, int64_t e, double *row, const int64_t *x,
                  Units *units) noexcept nogil:
    """Units for the nodes of a row, so that no way leads to a smaller one.

    What is empty, or just below, takes a larger one. False while a node is on the way up from
    further below; `row` is then as it was.
    """
    cdef int64_t m, n, k, _, top = NEVER
    cdef double weight
    cdef bint changed = True
    cdef const int32_t *start = edges_into(g, e)
    for m in range(g.n_nodes):
        units.of[m] = x[m] if row[m] > 0.0 else NEVER
        top = max(top, units.of[m])
    while changed:
        changed = False
        for m in range(g.n_nodes):
            for k in range(start[m], start[m + 1]):
                n = g.sources[k]
                if p.edge_weights[k] > 0.0 and units.of[n] > units.of[m]:
                    if row[m] > 0.0 and units.of[n] > x[m] + 1:
                        return False
                    units.of[m] = units.of[n]
                    changed = True
    memset(units.weights, 0, units.n_weights * sizeof(double))
    if units.dense != NULL:
        memset(units.dense, 0, 64 * sizeof(double))
    for m in range(g.n_nodes):
        if row[m] > 0.0 and units.of[m] > x[m]:
            row[m] *= DOWN
        # Further down nothing of a sum is seen, and what is no normal double takes its time.
        units.shares[m] = 0.0 if top - units.of[m] > 2 else 1.0
        for _ in range(min(top - units.of[m], 2)):
            units.shares[m] *= DOWN
        units.sure[m] = 1.0
        for k in range(start[m], start[m + 1]):
            n, weight = g.sources[k], p.edge_weights[k]
            if weight > 0.0 and NEVER < units.of[n] < units.of[m] - 1:
                units.sure[m] = 0.0
            if units.of[n] < units.of[m]:
                weight *= DOWN if units.of[n] == units.of[m] - 1 else 0.0
            units.weights[p.slots[k]] = weight
            if units.dense != NULL:
                units.dense[8 * n + m] = weight
    return True


cdef bint filtered(const Graph *g, const Model *p, Emit *emit, int64_t origin, int64_t T,
                   double *rows, int64_t *exponents, Units *units, double *out,
                   Watch *watch) noexcept nogil:
    """The marginals of a sequence; False where they need logarithms.

    There is room for two rows and for two rows of exponents. Steps are taken in runs, with one
    scale for all nodes or, once they are apart, with units; a step that stops a run, by itself.
    """
    cdef int64_t t = 0, e = 0, n, done, m, i, S = g.n_states, N = g.n_nodes, step, epoch = -1
    cdef int64_t clear = 0       # steps before this one are known not to be lossy
    cdef int last = 0
    cdef bint whole, apart = False, huge = False
    cdef const double *b
    cdef Blocks ahead
    emit.batch = -1
    step = frame(emit.rows, origin)
    for i in range(S):
        apart = apart or (g.start_nodes[i] >= 0 and 0.0 < p.start[i] < TINY)
    b = probabilities(g, p, emit, origin, origin + T)
    apart = apart or until_lossy(p, emit.rows, origin, 1) == 0
    memset(exponents, 0, 2 * g.stride * sizeof(int64_t))
    if apart:
        first_values(g, p, step, rows, exponents, &huge)
    else:
        memset(rows, 0, g.stride * sizeof(double))
        for i in range(S):
            if g.start_nodes[i] >= 0:
                rows[g.start_nodes[i]] = p.start[i] * b[g.start_nodes[i]]
    put(g, p.live, rows, exponents, out)
    t = 1
    while t < T:
        e = epoch_of(&g.epochs, t, e)
        whole = p.all_live[min(t, p.last_live)]
        n = 1
        if whole:
            n = while_live(p, t, min(run_length(g, emit, origin, t, T, e), RUN))
        b = probabilities(g, p, emit, origin + t, origin + T)
        if t >= clear:
            clear = t + until_lossy(p, emit.rows, origin + t, n)
        n = done = min(n, clear - t)
        if apart and epoch != e and n > 0:
            if measure(g, p, e, rows + last * g.stride, exponents + last * g.stride, units):
                epoch = e
            else:
                done = 0
        if done > 0:
            ahead = blocks_of(&g.ahead, e)
            done = filter_run(&ahead, units.weights if apart else p.weights,
                              units.dense if apart else p.dense, N, n,
                              emit.table if emit.by_node else b,
                              emit.rows + origin + t if emit.by_node else NULL,
                              NEAR if apart else TINY, rows, S, NULL if g.plain else p.first,
                              units.shares if apart else NULL, units.sure if apart else NULL,
                              out + t * S if whole else NULL, &last)
            for m in range(N if apart else 0):
                exponents[last * g.stride + m] = units.of[m]
            if done and not whole:
                put(g, p.live + min(t, p.last_live) * N, rows + last * g.stride,
                    exponents + last * g.stride, out + t * S)
            t += done
            if stopped(watch, done):
                return False
            if done == n:
                continue
        apart, epoch = True, -1
        for m in range(N):
            if rows[last * g.stride + m] > 0.0:
                rows[last * g.stride + m] = split(
                    rows[last * g.stride + m], &exponents[last * g.stride + m])
        if done > 0:
            continue  # with other units
        step = frame(emit.rows, origin + t)
        b = probabilities(g, p, emit, origin + t, origin + T)
        next_values(g, p, e, step, until_lossy(p, emit.rows, origin + t, 1) == 0, b,
                    rows + last * g.stride, exponents + last * g.stride,
                    rows + (1 - last) * g.stride, exponents + (1 - last) * g.stride, &huge)
        last = 1 - last
        put(g, p.live + min(t, p.last_live) * N, rows + last * g.stride,
            exponents + last * g.stride, out + t * S)
        t += 1
        if huge or stopped(watch, 1):
            return False
    return not huge


cdef inline void put_by_node(const Graph *g, int64_t n, const double *rows,
                             double *out) noexcept nogil:
    """Rows of states as rows of nodes."""
    cdef int64_t t, m
    for t in range(n):
        for m in range(g.n_nodes):
            out[t * g.stride + m] = rows[t * g.n_states + g.node_states[m]]


cdef const double *probabilities(const Graph *g, const Model *p, Emit *emit, int64_t step,
                                 int64_t end) noexcept nogil:
    """Emissions of a step by node, which mean nothing where its row is lossy."""
    cdef int64_t n, skip = step % BATCH
    cdef double *out = emit.buffer + skip * g.stride
    if p.lossy != NULL:
        return emit_row(g, emit, step, end)
    if step // BATCH != emit.batch:
        emit.batch = step // BATCH
        n = min(BATCH - skip, end - step)
        scale_run(n, g.n_states, p.log_table + step * g.n_states, p.least, p.scaled,
                  p.batch_lossy + skip)
        put_by_node(g, n, p.scaled, out)
    return emit.buffer + (step % BATCH) * g.stride


cdef inline int64_t until_lossy(const Model *p, const int32_t *rows, int64_t first,
                                int64_t n) noexcept nogil:
    """How many of n steps of a batch, or of a table, come before one whose row is lossy."""
    cdef int64_t t
    cdef bint by_batch = p.lossy == NULL
    for t in range(first, first + n):
        if p.batch_lossy[t % BATCH] if by_batch else p.lossy[frame(rows, t)]:
            return t - first
    return n


cdef inline int64_t while_live(const Model *p, int64_t t, int64_t n) noexcept nogil:
    """For how many of n steps from t on all nodes are live."""
    cdef int64_t k
    for k in range(min(n, p.last_live - t)):
        if not p.all_live[t + k]:
            return k
    return n if p.all_live[p.last_live] else max(min(n, p.last_live - t), 0)


cdef void lay_out_weights(const Graph *g, const double *edge_weights,
                          double *out) noexcept nogil:
    """(8, 8): row n is what node n gives to each node."""
    cdef int64_t m, k
    for m in range(g.n_nodes):
        for k in range(g.indptr[m], g.indptr[m + 1]):
            out[8 * g.sources[k] + m] = edge_weights[k]


cdef const double *scaled_by_node(const Graph *g, const double[:, ::1] log_table, Model *p,
                                  Memory memory) except NULL:
    """All rows as probabilities by node; which are lossy is noted."""
    cdef int64_t R = log_table.shape[0], S = g.n_states
    cdef double *scaled = memory.table(R, S)
    cdef double *wide = memory.rows(R, g.stride)
    cdef uint8_t *lossy = <uint8_t *> memory.room(R)
    scale_run(R, S, p.log_table, p.least, scaled, lossy)
    put_by_node(g, R, scaled, wide)
    p.lossy = lossy
    return wide


def causal_sums(Layout layout,                     # IN
                const double[::1] weights,         # IN, by entry of the blocks of targets
                const double[::1] edge_weights,    # IN, one an edge, zero or at least 2^-100
                const int64_t[::1] slots,          # IN, where in `weights` each of them is
                const double[::1] start,           # IN
                const double[::1] log_start,       # IN
                const double[:, ::1] log_table,    # IN, frames
                const double[:, ::1] table,        # IN or None, with row_lossy: scale_rows
                bint by_node,                      # IN, columns of `table` are nodes, not states
                const uint8_t[::1] row_lossy,      # IN or None
                const int32_t[::1] rows,           # IN or None: row t of a table is step t
                const int64_t[::1] offsets,        # IN
                int64_t begin, int64_t end,        # IN, sequences
                const uint8_t[:, ::1] live,        # IN, by step; the last row holds on
                const uint8_t[::1] all_live,       # IN, whether every node of a row is live
                double smallest,                   # IN, the smallest weight
                uint8_t[::1] redo,                 # OUT, 1: needs logarithms
                double[:, ::1] out):               # OUT (n_steps, S), NaN once no path is left
    """Fill the rows of sequences begin..end-1 of a graph that has nodes and edges.

    Without `table`, rows are scaled here: those of steps as they come, those that `rows` names all.
    Whether one of them needs logarithms.
    """
    cdef const Graph *g = &layout.graph
    cdef Model model
    cdef Emit emit
    cdef Units units
    cdef int64_t s
    cdef bint left = False
    cdef Watch watch = new_watch(2 * step_work(g))
    cdef unsigned faint
    cdef Memory memory = Memory()
    cdef double *two = memory.rows(2, g.stride)
    cdef int64_t *exponents = <int64_t *> memory.room(2 * g.stride * sizeof(int64_t))
    if begin == end:
        return False
    units.of = <int64_t *> memory.room(g.stride * sizeof(int64_t))
    units.n_weights = weights.shape[0]
    units.weights = memory.table(1, units.n_weights)
    units.shares, units.sure = memory.rows(1, g.stride), memory.table(1, g.stride)
    for s in range(g.stride):
        units.sure[s] = 1.0
    model.weights, model.edge_weights = &weights[0], &edge_weights[0]
    model.start, model.log_start, model.slots = &start[0], &log_start[0], &slots[0]
    model.log_table, model.least = &log_table[0, 0], log_lossy(smallest)
    model.lossy, model.scaled, model.batch_lossy, model.dense = NULL, NULL, NULL, NULL
    units.dense = NULL
    if g.n_nodes <= 8 and g.n_states <= 8 and g.epochs.n == 1:
        units.dense, model.dense = memory.rows(8, 8), memory.rows(8, 8)
        lay_out_weights(g, model.edge_weights, model.dense)
    model.first = first_nodes(g, <int32_t *> memory.room((g.n_states + 1) * sizeof(int32_t)))
    model.live, model.all_live, model.last_live = &live[0, 0], &all_live[0], live.shape[0] - 1
    emit.by_node = by_node
    emit.rows = NULL if rows is None else &rows[0]
    if table is None and rows is not None:
        emit.table, emit.by_node = scaled_by_node(g, log_table, &model, memory), True
    elif table is None:
        emit.table, model.scaled = model.log_table, memory.rows(BATCH, g.n_states)
        model.batch_lossy = <uint8_t *> memory.room(BATCH)
    else:
        emit.table, model.lossy = &table[0, 0], &row_lossy[0]
    emit.buffer = memory.rows(1 if emit.by_node else BATCH, g.stride)
    with nogil:
        faint = faint_off()
        for s in range(begin, end):
            redo[s] = not filtered(g, &model, &emit, offsets[s], offsets[s + 1] - offsets[s], two,
                                   exponents, &units, &out[offsets[s], 0], &watch)
            left = left or redo[s]
            if stopped(&watch, 1):
                break
        faint_back(faint)
        check()
    return left
