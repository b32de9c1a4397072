"""Forward-backward from both ends at once, for chains of up to 8 states without constraints.

With a few states a step waits for the one before it most of the time. The two recursions of
forward_backward.pyx do not wait for each other, and are the same one with reversed edges if the
second one carries its emission, v_t = b(y_t) beta_t:

    alpha_t = b(y_t) (alpha_{t-1} W),   v_t = b(y_t) (W v_{t+1}),   Z = (alpha_{t-1} W) v_t

So they run side by side, towards each other and past each other. Until they meet, they leave their
rows in the output; from there on each finds the rows of the other, and turns them into posteriors:

    gamma_t = (alpha_{t-1} W) v_t / Z = alpha_t (W v_{t+1}) / Z
    xi_t(n -> m) = alpha_{t-1}(n) w v_t(m) / Z

No table, no second forward pass; O(S^2) per step. Sums must stay as large as in
forward_backward.pyx, which is checked once in a few steps only. A sequence where they do not, or
that has a lossy row, or whose rows drift too fast, is left to that kernel.
"""
from libc.math cimport INFINITY, M_LN2, NAN, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout
from ..shared.memory cimport Memory
from ..shared.scaling cimport log_lossy
from ..simd.instructions cimport instructions_in_use


cdef extern from "discrete/two_ended_steps.h" nogil:
    const int *instructions

    ctypedef struct End:
        const double *weights
        const double *table
        int64_t stride
        const int32_t *rows
        double *out
        int64_t step
        int64_t at
        int64_t exponent
        double row[8]
        double least[8]
        double most
        double total
        double counts[64]

    enum:
        BATCH
    int WALK, LEAVE, FINISH, COUNT
    bint SOUND(double total)
    void sweep_run(int64_t n, int64_t n_states, int mode, End *ahead, End *back)
    bint convert(int64_t n, int64_t n_states, const double *rows, double log_lossy, double *out,
                 double *tops)

instructions = instructions_in_use()


cdef enum:
    NODES = 8

cdef double TINY = 1e-200       # as in forward_backward.pyx

cdef int32_t IN_TURN[BATCH]
cdef int32_t number
for number in range(BATCH):
    IN_TURN[number] = number


cdef struct Sweep:
    int64_t S
    const double *log_table
    const int32_t *rows          # NULL: row t is step t
    double log_lossy
    const double *start
    const double *final
    double *table                # all of log_table converted, or NULL: batch by batch
    double *tops
    double *buffers              # (3, BATCH, NODES)
    double *gamma                # NULL: likelihoods alone
    End ahead
    End back
    End idle


def handles(Layout layout):
    """Whether sweep() is for this graph, and the processor has vectors."""
    cdef const Graph *g = &layout.graph
    return (g.plain and g.epochs.n == 1 and 0 < g.n_nodes <= NODES
            and instructions[0] > 0)


cdef bint place(Sweep *w, End *end, int64_t n, double *total) noexcept nogil:
    """Make the next n steps of an end ready, and add what their emissions were divided by.

    False if there is a lossy row among them.
    """
    cdef int64_t i, first
    cdef double top = 0.0, second = 0.0
    cdef double tops[BATCH]
    cdef double *buffer
    cdef const double *log_rows
    if end.step == 0:
        return True
    if w.gamma != NULL:
        end.out = w.gamma + end.at * w.S
    if w.table != NULL:
        end.table, end.stride, end.rows = w.table, NODES, w.rows + end.at
        for i in range(0, n - 1, 2):
            top += w.tops[end.rows[i * end.step]]
            second += w.tops[end.rows[(i + 1) * end.step]]
        if n % 2:
            top += w.tops[end.rows[(n - 1) * end.step]]
        total[0] += top + second
        return True  # lossy rows are NaN
    first = end.at if end.step > 0 else end.at - (n - 1)
    buffer = w.buffers if end.step > 0 else w.buffers + BATCH * NODES
    end.table, end.stride, end.rows = buffer, w.S, IN_TURN + (0 if end.step > 0 else n - 1)
    log_rows = w.log_table + first * w.S
    if w.rows != NULL:
        log_rows = w.buffers + 2 * BATCH * NODES
        for i in range(n):
            memcpy(<double *> log_rows + i * w.S, w.log_table + w.rows[first + i] * w.S,
                   w.S * sizeof(double))
    if convert(n, w.S, log_rows, w.log_lossy, buffer, tops):
        memset(buffer, 0, BATCH * NODES * sizeof(double))  # beside a row there are only numbers
        return False
    for i in range(n):
        top += tops[i]
    total[0] += top
    return True


cdef bint sound(const End *end) noexcept nogil:
    """Whether nothing can have been lost so far."""
    cdef int64_t k
    cdef double least = INFINITY
    for k in range(NODES):
        least = min(least, end.least[k])
    return end.step == 0 or least >= TINY and SOUND(end.total) and end.most <= 1.0 / TINY


cdef bint advance(Sweep *w, End *ahead, End *back, int64_t n, int mode,
                  double *total) noexcept nogil:
    """n steps of both; False if they cannot be relied on."""
    cdef int64_t m
    while n > 0:
        m = min(n, BATCH)
        if not (place(w, ahead, m, total) and place(w, back, m, total)):
            return False
        sweep_run(m, w.S, mode, ahead, back)
        ahead.at += m * ahead.step
        back.at += m * back.step
        if not (sound(ahead) and sound(back)):
            return False
        n -= m
    return True


cdef bint advance_far(Sweep *w, Watch *watch, int64_t n, int mode, double *total) noexcept nogil:
    """The same, with a look now and then whether the call is to end."""
    cdef int64_t m
    while n > 0:
        m = min(n, 1024 * BATCH)
        if not advance(w, &w.ahead, &w.back, m, mode, total) or stopped(watch, m):
            return False
        n -= m
    return True


cdef bint begin_at(Sweep *w, End *end, int64_t at, const double *sums,
                   double *total) noexcept nogil:
    """The first row of an end."""
    cdef int64_t k
    cdef const double *emission
    end.at, end.exponent, end.most, end.total = at, 0, 0.0, 0.0
    if not place(w, end, 1, total):
        return False
    emission = end.table + end.rows[0] * end.stride
    for k in range(NODES):
        end.row[k] = sums[k] * emission[k]
        end.total += end.row[k]
        end.least[k] = sums[k] if sums[k] > 0.0 else INFINITY
        if w.gamma != NULL and k < w.S:
            end.out[k] = end.row[k]
    end.at += end.step
    return sound(end)


cdef double meet(const End *ahead, const End *back) noexcept nogil:
    """Z, from rows of neighbouring steps."""
    cdef int64_t n, m
    cdef double total = 0.0, out
    for n in range(NODES):
        out = 0.0
        for m in range(NODES):
            out += ahead.weights[n * NODES + m] * back.row[m]
        total += ahead.row[n] * out
    return total


cdef bint one_step(Sweep *w, int64_t at, double *log_z) noexcept nogil:
    """A sequence of one step."""
    cdef int64_t k
    cdef double top = 0.0, mass = 0.0
    if not begin_at(w, &w.ahead, at, w.start, &top):
        return False
    for k in range(NODES):
        w.ahead.row[k] *= w.final[k]
        mass += w.ahead.row[k]
    if not mass >= TINY:
        return False
    if w.gamma != NULL:
        for k in range(w.S):
            w.gamma[at * w.S + k] = w.ahead.row[k] / mass
    log_z[0] = top + log(mass)
    return True


cdef bint sweep(Sweep *w, Watch *watch, int64_t origin, int64_t T, bint counting,
                double *log_z) noexcept nogil:
    """One sequence; False if it is left to the general kernel."""
    cdef int64_t half = T // 2
    cdef int mode = LEAVE if w.gamma != NULL else WALK
    cdef double total = 0.0, ignored = 0.0, mass
    cdef End *ahead = &w.ahead
    cdef End *back = &w.back
    memset(ahead.counts, 0, sizeof(ahead.counts))
    memset(back.counts, 0, sizeof(back.counts))
    if T < 2:
        return T == 1 and one_step(w, origin, log_z)
    if not (begin_at(w, ahead, origin, w.start, &total)
            and begin_at(w, back, origin + T - 1, w.final, &total)
            and advance_far(w, watch, half - 1, mode, &total)
            and advance(w, &w.idle, back, T % 2, mode, &total)):
        return False
    mass = meet(ahead, back)
    if not SOUND(mass):
        return False
    log_z[0] = total + (ahead.exponent + back.exponent) * M_LN2 + log(mass)
    if w.gamma == NULL:
        return True
    mode = COUNT if counting else FINISH
    if not advance(w, ahead, back, counting, mode, &ignored):
        return False
    memset(back.counts, 0, sizeof(back.counts))  # both have counted the step where they met
    return (advance_far(w, watch, half - counting, mode, &ignored)
            and advance(w, ahead, &w.idle, T % 2, mode, &ignored))


cdef void add_counts(const Sweep *w, double weight, double[:, ::1] counts) noexcept nogil:
    cdef int64_t n, m
    for n in range(w.S):
        for m in range(w.S):
            counts[n, m] += weight * w.ahead.weights[n * NODES + m] * (
                w.ahead.counts[n * NODES + m] + w.back.counts[m * NODES + n])


def two_ended(Layout layout,                     # IN, one that handles() says yes to
              const double[::1] edge_weights,    # IN, one an edge
              double smallest,                   # IN, of the positive ones
              const double[::1] start,           # IN
              const double[:, ::1] log_table,    # IN
              const int32_t[::1] rows,           # IN or None: row t of log_table is step t
              const int64_t[::1] offsets,        # IN
              const double[::1] seq_weights,     # IN or None, for the counts
              const int64_t[::1] chosen,         # IN, the sequences
              double[::1] log_z,                 # OUT
              uint8_t[::1] left,                 # OUT, 1: nothing said, for the general kernel
              double[:, ::1] gamma=None,         # OUT or None
              double[:, ::1] counts=None):       # INOUT or None, by source and target
    """Likelihoods, marginals of the states, and expected counts of the transitions."""
    cdef const Graph *g = &layout.graph
    cdef Sweep w
    cdef int64_t R = log_table.shape[0], S = g.n_states, n_steps = 0, c, s, n, m, k
    cdef bint counting = counts is not None, bounded = True
    cdef double *vectors
    cdef Watch watch = new_watch(NODES)
    cdef Memory memory = Memory()
    memset(&w, 0, sizeof(Sweep))
    w.S = S
    w.log_table = &log_table[0, 0]
    w.rows = NULL if rows is None else &rows[0]
    w.log_lossy = log_lossy(smallest)
    w.gamma = NULL if gamma is None else &gamma[0, 0]
    vectors = memory.rows(3 * NODES + 2, NODES)  # both weights, zeros, start, final
    w.buffers = memory.rows(3 * BATCH, NODES)
    for c in range(chosen.shape[0]):
        n_steps += offsets[chosen[c] + 1] - offsets[chosen[c]]
    if rows is not None and 4 * R <= n_steps:
        w.table = memory.rows(R, NODES)
        w.tops = memory.rows(R, 1)
        for n in range(R):
            if convert(1, S, &log_table[n, 0], w.log_lossy, w.table + n * NODES, w.tops + n):
                for m in range(NODES):
                    w.table[n * NODES + m] = NAN
    with nogil:
        for m in range(S):
            for k in range(g.indptr[m], g.indptr[m + 1]):
                n = g.sources[k]
                bounded = bounded and edge_weights[k] <= 2.0  # or a row might overflow
                vectors[n * NODES + m] = edge_weights[k]
                vectors[(NODES + m) * NODES + n] = edge_weights[k]
            if g.start_nodes[m] >= 0:
                vectors[3 * NODES * NODES + m] = start[m]
            vectors[(3 * NODES + 1) * NODES + m] = g.final[m]
        w.start, w.final = vectors + 3 * NODES * NODES, vectors + (3 * NODES + 1) * NODES
        w.ahead.weights, w.ahead.step = vectors, 1
        w.back.weights, w.back.step = vectors + NODES * NODES, -1
        w.idle.weights = w.idle.table = vectors + 2 * NODES * NODES
        w.idle.rows, w.idle.out = IN_TURN, w.idle.row
        for c in range(chosen.shape[0]):
            s = chosen[c]
            left[s] = not (bounded and sweep(&w, &watch, offsets[s], offsets[s + 1] - offsets[s],
                                             counting, &log_z[s]))
            if counting and not left[s]:
                add_counts(&w, 1.0 if seq_weights is None else seq_weights[s], counts)
            if stopped(&watch, 1):
                break
        check()
