"""Forward-backward with expected edge counts, 8 sequences at a time, one per lane.

    alpha_t(m) = b(y_t, state(m)) sum_{n -> m} alpha_{t-1}(n) w(n -> m)
    beta_t(n)  = sum_{n -> m} w(n -> m) b(y_{t+1}, state(m)) beta_{t+1}(m)

as in discrete/forward_backward.pyx; O(edges) vector operations per step of all 8. Nodes have
exponents (exponents.pyx), so no row of alpha loses anything, and the way back needs no care at all:
with beta(m) 2^exponent(m) as its row, the product of the two rows is the same at every step, so
what it may lose is below 1e-180 of that.
"""
from libc.math cimport INFINITY, M_LN2, frexp, ldexp, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.faint cimport faint_back, faint_off
from ..shared.interrupt cimport Watch, new_watch, stopped
from ..shared.layout cimport Graph, Layout, epoch_of, step_work
from ..shared.memory cimport Memory
from ..shared.scaling cimport log_lossy
from ..shared.threads cimport share, threads_for
from ..simd.instructions cimport instructions_in_use
from .edges cimport (
    LANES, Edges, Group, OneWay, Side, active_at, make_edges, n_groups, one_way_of, read_group,
    rows_of, side_of,
)
from .exponents cimport (
    LANES_CENTRE, Event, Exponents, balance, begin_care, end_care, new_exponents, silence,
    undo_event, weigh,
)


cdef extern from "lanes/one_way_steps.h" nogil:
    const int *instructions
    void lanes_fill(int64_t n, int64_t n_states, const double *table, const int64_t *at,
                    double *out)
    int LANES_STEPS, BACK_STEPS
    double LANES_WHOLE
    int lanes_exp(int64_t n, int64_t n_states, double log_lossy, const int8_t *active,
                  double *table, double *total, double *scales, uint8_t *lossy, int *beyond)
    int64_t lanes_sum_run(const Side *, const double *weights, int64_t n, int64_t n_states,
                          const double *emit, double *here, int watched, double *low,
                          double *high)
    void lanes_back_run(const Side *, const double *weights, int64_t n, int64_t n_states,
                        int active, const double *alpha, const double *emit, double **gamma,
                        double *beta, double *joint, double *v, double *by_state,
                        double *counts)
    int64_t one_way_sum_run(const OneWay *, const double *weights, int64_t n, int64_t n_states,
                            const double *emit, double *rows, int watched, double *low,
                            double *high)
    void one_way_back_run(const OneWay *, const Side *, const double *weights, int64_t n,
                          int64_t n_states, int active, const double *alpha, const double *emit,
                          double **gamma, double *beta, double *v, double *by_state,
                          double *counts)
    void lanes_first(const Side *, int64_t n_states, int active, const double *alpha,
                     const double *emit, double **gamma, const double *beta, double *by_state,
                     double *joint, double *v)

instructions = instructions_in_use()

cdef enum:
    BATCH = 32                   # steps at a time where only the likelihood is wanted
    MOST_COUNTED = 64            # pieces of work with counts of their own,
    COUNTS = 1 << 20             # and how many of these there are at most

# A number beyond these needs care. In uneven lanes weights were raised to the least one: what that
# makes of a number within the bounds is positive, and 1e-100 of any other at most.
cdef double LOW = 1e-115, HIGH = 1e220
cdef double LOW_UNEVEN = 1e-10, HIGH_UNEVEN = 1e180
cdef double NEAR_LOW = 1e80, NEAR_HIGH = 1e145
cdef double SMALL_START = 1e-20
cdef double CLOSE = 1e20


cdef struct Model:
    const double *start
    const double *table          # (rows, n_states)
    const int32_t *rows
    const double *row_max        # NULL: the table holds logarithms, still to be scaled
    double log_lossy


cdef struct Work:
    Edges ahead
    Edges back
    Exponents x
    double *alpha                # one row before the first step, then one per step
    double *emit                 # (steps, n_states, 8), and a row before that says nothing
    double *beta
    double *joint                # alpha beta
    double *v                    # emit beta
    double *by_state
    double *ends                 # (n_nodes, 8): beta at the end of each sequence
    double *counts               # (edges, 8), or NULL
    int64_t *at
    int8_t *active
    double *scales               # (steps, n_states, 8): exponents of emissions, in lossy steps
    uint8_t *lossy               # which these are
    bint any_lossy
    int beyond                   # lanes with emissions that they cannot hold
    int64_t chunk                # steps that alpha and emit hold
    bint keep                    # whether they are gone back to
    double *kept                 # of each chunk, alpha before it and the exponents, (n_nodes, 8)
    int *kept_uneven
    Watch watch
    char gap[64]                 # to that of another thread


cdef struct Job:
    const Graph *g
    Model model
    const int64_t *offsets
    const int64_t *order
    const double *seq_weights
    double *log_z
    uint8_t *left
    double *gamma                # NULL: the forward pass is all
    double *counts               # (pieces, edges), or NULL
    int64_t n                    # sequences
    int64_t n_pieces             # of whole groups
    Work *works                  # one per thread


cdef void step_with_care(const Graph *g, Work *w, const Side *side, int64_t e, int64_t t,
                         int64_t begin, double *before, double *low, double *high) noexcept nogil:
    cdef int64_t S = g.n_states * LANES
    cdef const Event *event = begin_care(g, &w.x, &w.ahead, e, t, before)
    lanes_sum_run(side, w.ahead.weights, 1, g.n_states, w.emit + (t - begin) * S, before,
                  (1 << LANES) - 1, low, high)
    end_care(g, &w.x, event, w.scales + (t - begin) * S if w.lossy[t - begin] else NULL)


cdef void first_row(const Graph *g, const Model *p, Work *w, double *out) noexcept nogil:
    cdef int64_t i, l, m
    cdef int power
    cdef double start, centre = ldexp(1.0, <int> LANES_CENTRE)
    memset(out, 0, g.n_nodes * LANES * sizeof(double))
    for m in range(g.n_nodes * LANES):
        w.x.values[m] = -LANES_CENTRE
    w.x.uneven = 0
    for i in range(g.n_states):
        m = g.start_nodes[i]
        if m < 0 or p.start[i] == 0.0:
            continue
        power = 0
        start = p.start[i] if p.start[i] > SMALL_START else frexp(p.start[i], &power)
        for l in range(LANES):
            out[m * LANES + l] = centre * start * w.emit[i * LANES + l]
            w.x.values[m * LANES + l] += power + (w.scales[i * LANES + l] if w.lossy[0] else 0.0)
        if power != 0 or w.lossy[0]:
            w.x.uneven = (1 << LANES) - 1


cdef double finish(const Graph *g, const double *row, const double *exponents, int64_t lane,
                   double *beta) noexcept nogil:
    """log of what is accepted in the last row of a lane; beta there."""
    cdef int64_t m
    cdef double top = -INFINITY, total = 0.0
    for m in range(lane, g.n_nodes * LANES, 8):
        beta[m] = 0.0
        if g.accept[m // LANES] and row[m] > 0.0:
            top = max(top, exponents[m])
    if top == -INFINITY:
        return -INFINITY
    for m in range(lane, g.n_nodes * LANES, 8):
        if g.accept[m // LANES] and row[m] > 0.0 and exponents[m] > top - 1000:
            beta[m] = ldexp(g.final[m // LANES], <int> (exponents[m] - top))
            total += row[m] * beta[m]
    for m in range(lane, g.n_nodes * LANES, 8):
        beta[m] *= LANES_WHOLE / total
    return top * M_LN2 + log(total)


cdef void load(const Graph *g, const Model *p, const Group *group, int64_t first,
               int64_t n, Work *w, double *total) noexcept nogil:
    """Emissions of steps first..first+n-1; what they were divided by is added to the totals."""
    cdef int64_t t = 0, l, end
    cdef int active
    rows_of(group, p.rows, first, n, w.at)
    lanes_fill(n, g.n_states, p.table, w.at, w.emit)
    while t < n:
        active = active_at(group, first + t)
        end = min(n, group.length[active - 1] - first) if active > 0 else n
        memset(w.active + t, active, end - t)
        t = end
    if p.row_max == NULL:
        w.any_lossy = lanes_exp(n, g.n_states, p.log_lossy, w.active, w.emit, total, w.scales,
                                w.lossy, &w.beyond)
        return
    for t in range(n):
        for l in range(w.active[t]):
            total[l] += p.row_max[w.at[t * LANES + l]]


cdef int64_t next_stop(const Graph *g, const Group *group, const Work *w, int64_t t, int64_t e,
                       int64_t begin, int64_t end) noexcept nogil:
    """Until where steps from t on are alike: no sequence ends, no epoch begins, none is lossy."""
    cdef int64_t stop = min(end, group.length[active_at(group, t) - 1])
    if e + 1 < g.epochs.n:
        stop = min(stop, g.epochs.first[e + 1])
    if w.any_lossy:
        for t in range(t, stop):
            if w.lossy[t - begin]:
                return t
    return stop


cdef void forward(const Graph *g, const Model *p, const Group *group, Work *w,
                  double *log_z) noexcept nogil:
    """Likelihoods of a group. Kept are the last chunk, and the row before each but the first."""
    cdef int64_t T = group.length[0], N = g.n_nodes * LANES, begin = 0, l
    cdef double total[8]
    for l in range(LANES):
        total[l], w.x.live[l] = 0.0, 1.0
    w.x.stale = True
    w.beyond = 0
    while begin < T:
        if begin > 0:
            memcpy(w.alpha, w.alpha + w.chunk * N, N * sizeof(double))
            if w.keep:
                keep_row(w, begin // w.chunk, N)
        forward_chunk(g, p, group, begin, min(T - begin, w.chunk), w, total, log_z)
        begin += w.chunk
        if stopped(&w.watch, w.chunk):
            return


cdef void keep_row(Work *w, int64_t i, int64_t N) noexcept nogil:
    memcpy(w.kept + 2 * i * N, w.alpha, N * sizeof(double))
    memcpy(w.kept + (2 * i + 1) * N, w.x.values, N * sizeof(double))
    w.kept_uneven[i] = w.x.uneven


cdef void forward_again(const Graph *g, const Model *p, const Group *group,
                        int64_t begin, Work *w) noexcept nogil:
    """Fill a chunk as `forward` did."""
    cdef int64_t N = g.n_nodes * LANES, i = begin // w.chunk, l
    cdef double total[8]
    cdef double live[8]
    memcpy(live, w.x.live, sizeof(live))
    for l in range(LANES):
        total[l], w.x.live[l] = 0.0, group.length[l] > begin
    if i > 0:
        memcpy(w.alpha, w.kept + 2 * i * N, N * sizeof(double))
        memcpy(w.x.values, w.kept + (2 * i + 1) * N, N * sizeof(double))
        w.x.uneven = w.kept_uneven[i]
    w.x.stale = True
    forward_chunk(g, p, group, begin, w.chunk, w, total, NULL)
    memcpy(w.x.live, live, sizeof(live))
    w.x.stale = True


cdef int out_of_bounds(const Exponents *x, const double *low, const double *high) noexcept nogil:
    """Lanes with a sum that may have lost something."""
    cdef int64_t l
    cdef int lanes = 0
    for l in range(LANES):
        if x.uneven >> l & 1:
            lanes |= (not (low[l] > LOW_UNEVEN and high[l] < HIGH_UNEVEN)) << l
        else:
            lanes |= (not (low[l] > LOW and high[l] < HIGH)) << l
    return lanes


cdef void forward_chunk(const Graph *g, const Model *p, const Group *group,
                        int64_t begin, int64_t n, Work *w, double *total,
                        double *log_z) noexcept nogil:
    """Steps begin..begin+n-1, after the first row of alpha; log_z may be known already."""
    cdef int64_t S = g.n_states, N = g.n_nodes * LANES, t = max(begin, 1), stop, e = 0, l
    cdef int64_t n_done, alone = 0  # up to here, steps are done one by one
    cdef int watched, beyond, near, close
    cdef double low[8]
    cdef double high[8]
    cdef double *here
    cdef Side side
    cdef OneWay way
    w.x.n_events = 0
    load(g, p, group, begin, n, w, total)
    if begin == 0:
        first_row(g, p, w, w.alpha + N)
    while True:
        here = w.alpha + (t - begin) * N
        for l in range(group.n):
            if group.length[l] == t:
                if log_z != NULL:
                    log_z[group.sequence[l]] = total[l] + finish(g, here, w.x.values, l, w.ends)
                silence(&w.x, &w.ahead, l)
        if t == begin + n:
            break
        e = epoch_of(&g.epochs, t, e)
        side = side_of(g, &w.ahead, e)
        watched = (1 << active_at(group, t)) - 1
        near = close = 0
        for l in range(LANES):
            low[l], high[l] = INFINITY, 0.0
        stop = next_stop(g, group, w, t, e, begin, begin + n)
        if stop == t:
            step_with_care(g, w, &side, e, t, begin, here, low, high)
            t += 1
        else:
            if w.x.stale:
                weigh(&w.x, &w.ahead)
            if g.one_way and t >= alone:
                way = one_way_of(g, &w.ahead, e)
                n_done = one_way_sum_run(&way, w.ahead.weights, stop - t, S,
                                         w.emit + (t - begin) * S * LANES, here, watched, low, high)
                if out_of_bounds(&w.x, low, high) & watched:
                    alone = t + n_done
                    t += (n_done - 1) // LANES_STEPS * LANES_STEPS
                    continue
                t += n_done
            else:
                if t < alone:
                    stop = min(stop, alone)
                t += lanes_sum_run(&side, w.ahead.weights, stop - t, S,
                                   w.emit + (t - begin) * S * LANES, here, watched, low, high)
            beyond = out_of_bounds(&w.x, low, high)
            if beyond & watched:
                step_with_care(g, w, &side, e, t - 1, begin, w.alpha + (t - 1 - begin) * N,
                               low, high)
        # Lanes that are not out of bounds yet, but near, are spared an event of their own.
        for l in range(group.n):
            near |= (low[l] < NEAR_LOW or high[l] > NEAR_HIGH) << l
            close |= (high[l] < CLOSE * low[l]) << l
        if near & watched:
            balance(g, &w.x, &w.ahead, near & watched, close, t - 1, w.alpha + (t - begin) * N)


cdef void backward(const Graph *g, const Model *p, const Group *group, Work *w,
                   double *gamma) noexcept nogil:
    """Marginals and counts, after `forward`."""
    cdef int64_t S = g.n_states, N = g.n_nodes * LANES, t = group.length[0] - 1, l, m, e = 0, last
    cdef int64_t begin = t // w.chunk * w.chunk
    cdef int active
    cdef bint care
    cdef double *rows[8]
    cdef double *alpha
    cdef Side side
    cdef OneWay way
    memset(w.beta, 0, N * sizeof(double))
    memset(w.x.live, 0, sizeof(w.x.live))
    w.x.stale = True
    while True:
        if t < begin:
            begin -= w.chunk
            forward_again(g, p, group, begin, w)
        alpha = w.alpha + (t + 1 - begin) * N
        active = active_at(group, t)
        for l in range(active):
            rows[l] = gamma + (group.origin[l] + t) * S
            if group.length[l] == t + 1:
                w.x.live[l] = 1.0
                w.x.stale = True
                for m in range(l, N, 8):
                    w.beta[m] = w.ends[m]
        e = epoch_of(&g.epochs, t, e)
        side = side_of(g, &w.back, e)
        last = max(max(group.length[active] if active < group.n else 0, 1), g.epochs.first[e])
        last = max(last, begin)
        care = False
        while w.x.n_events > 0 and w.x.events[w.x.n_events - 1].t == t:
            if undo_event(g, &w.x, &w.back, e, alpha, w.beta):
                care = True
                last = t
        if t == 0:
            lanes_first(&side, S, active, alpha, w.emit, rows, w.beta, w.by_state, w.joint,
                        w.v)
            break
        if w.x.n_events > 0:
            last = max(last, w.x.events[w.x.n_events - 1].t + 1)
        if w.x.stale and not care:
            weigh(&w.x, &w.back)
        if g.one_way:
            way = one_way_of(g, &w.back, e)
            one_way_back_run(&way, &side, w.back.weights, t - last + 1, S, active, alpha,
                             w.emit + (t - begin) * S * LANES, rows, w.beta, w.v, w.by_state,
                             w.counts)
        else:
            lanes_back_run(&side, w.back.weights, t - last + 1, S, active, alpha,
                           w.emit + (t - begin) * S * LANES, rows, w.beta, w.joint, w.v, w.by_state,
                           w.counts)
        if stopped(&w.watch, t - last + 1):
            return
        t = last - 1


def lanes_sums(Layout layout,                   # IN
               const double[::1] weights,       # IN, one an edge
               double smallest,                 # IN, the smallest of them that is positive
               const double[::1] start,         # IN
               const double[:, ::1] table,      # IN, logarithms, or with row_max: of scale_rows
               const double[::1] row_max,       # IN or None
               const int32_t[::1] rows,         # IN or None: row t of the table is step t
               const int64_t[::1] offsets,      # IN
               const double[::1] seq_weights,   # IN or None, for the counts
               const int64_t[::1] order,        # IN, the sequences, longest first
               int64_t chunk,                   # IN, steps to keep; others are computed twice
               double[::1] log_z,               # OUT, -inf where infeasible
               uint8_t[::1] left,               # OUT, 1: scores too far apart, for log space
               double[:, ::1] gamma=None,       # OUT or None: the forward pass is all
               double[::1] counts=None):        # INOUT or None, one an edge
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef Job job
    cdef int64_t i, k, longest = offsets[order[0] + 1] - offsets[order[0]]
    cdef int64_t n_pieces = n_groups(order.shape[0]), n_threads
    if counts is not None:
        # Pieces are counted apart, and there are as many whatever the threads: or sums would
        # depend, in the last bits, on who was faster.
        n_pieces = max(min(min(n_pieces, MOST_COUNTED), COUNTS // counts.shape[0]), 1)
    n_threads = threads_for(n_pieces)
    cdef Memory memory = Memory()
    memset(&job, 0, sizeof(Job))
    job.g = &layout.graph
    job.model.start, job.model.table = &start[0], &table[0, 0]
    job.model.rows = NULL if rows is None else &rows[0]
    job.model.row_max = NULL if row_max is None else &row_max[0]
    job.model.log_lossy = log_lossy(smallest)
    job.offsets, job.order, job.n = &offsets[0], &order[0], order.shape[0]
    job.seq_weights = NULL if seq_weights is None else &seq_weights[0]
    job.log_z, job.left = &log_z[0], &left[0]
    job.gamma = NULL if gamma is None else &gamma[0, 0]
    job.works = <Work *> memory.room(n_threads * sizeof(Work))
    memset(job.works, 0, n_threads * sizeof(Work))
    job.n_pieces = n_pieces
    if counts is not None:
        job.counts = memory.rows(n_pieces, counts.shape[0])
    for i in range(n_threads):
        memory.part()
        new_work(&job, memory, &weights[0], longest, chunk, job.works + i)
    with nogil:
        share(sum_piece, &job, n_pieces)
    if counts is not None:
        for i in range(n_pieces):
            for k in range(counts.shape[0]):
                counts[k] += job.counts[i * counts.shape[0] + k]


cdef int new_work(const Job *job, Memory memory, const double *weights, int64_t longest,
                  int64_t chunk, Work *w) except -1:
    cdef const Graph *g = job.g
    cdef int64_t N = g.n_nodes * LANES, n_kept
    w.keep = job.gamma != NULL
    w.chunk = min(longest, chunk if w.keep else <int64_t> BATCH)
    make_edges(g, memory, weights, True, &w.ahead)
    if w.keep:
        make_edges(g, memory, weights, False, &w.back)
    w.alpha = memory.table(w.chunk + 1, N)
    w.emit = memory.table(w.chunk + 1, g.n_states * LANES, w.alpha) + g.n_states * LANES
    memset(w.emit - g.n_states * LANES, 0, g.n_states * LANES * sizeof(double))
    w.beta = memory.rows(1, N)
    w.joint = memory.rows(1, N)
    w.v = memory.rows(BACK_STEPS + 1, N)
    w.by_state = memory.rows((BACK_STEPS + 1) * g.n_states + LANES, LANES)
    w.ends = memory.rows(1, N)
    if job.counts != NULL:
        w.counts = memory.rows(w.back.n, LANES)
    new_exponents(g, memory, w.chunk, w.keep, &w.x)
    w.at = <int64_t *> memory.room(w.chunk * LANES * sizeof(int64_t))
    w.active = <int8_t *> memory.room(w.chunk)
    w.lossy = <uint8_t *> memory.room(w.chunk)
    memset(w.lossy, 0, w.chunk)
    w.scales = memory.table(w.chunk, g.n_states * LANES)
    n_kept = longest // w.chunk + 1 if w.keep else 1
    w.kept = memory.table(2 * n_kept, N)
    w.kept_uneven = <int *> memory.room(n_kept * sizeof(int))
    w.watch = new_watch(LANES * step_work(g))
    return 0


cdef void sum_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef Work *w = job.works + thread
    cdef Group group
    cdef int64_t n = n_groups(job.n), k, l
    cdef unsigned faint = faint_off()
    for k in range(n * number // job.n_pieces, n * (number + 1) // job.n_pieces):
        read_group(job.order + LANES * k, job.n - LANES * k, job.offsets, &group)
        forward(job.g, &job.model, &group, w, job.log_z)
        if stopped(&w.watch, 0):
            break
        if w.keep:
            backward(job.g, &job.model, &group, w, job.gamma)
        for l in range(group.n):
            job.left[group.sequence[l]] = w.beyond >> l & 1
        if w.counts != NULL:
            add_counts(w, &group, job.seq_weights, job.counts + number * w.back.n)
    faint_back(faint)


cdef void add_counts(Work *w, const Group *group, const double *seq_weights,
                     double *counts) noexcept nogil:
    cdef int64_t k, l
    cdef double total
    for k in range(w.back.n):
        total = 0.0
        for l in range(group.n):
            if w.beyond >> l & 1:
                continue
            total += w.counts[k * LANES + l] * (
                1.0 if seq_weights == NULL else seq_weights[group.sequence[l]])
        counts[w.back.number[k]] += total
    memset(w.counts, 0, w.back.n * LANES * sizeof(double))
