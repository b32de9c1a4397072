"""Forward-backward with expected edge counts, 8 sequences at a time, one a lane.

The recursions of forward_backward.pyx. Where rules make a graph run in one direction, the nodes of
a row drift apart without bound, and what is negligible now may be all that is accepted in the end.
So every node has an exponent of its own in every lane,

    alpha(m) = row(m) 2^exponent(m),

and the edges of the lane carry weight 2^(exponent(n) - exponent(m)). Exponents change only when
a sum leaves [1e-40, 1e20] (an *event*); they are one number a lane while the nodes keep together.
Then no row loses anything, and the way back needs no care at all: with beta(m) 2^exponent(m) as
its row, the product of the two rows is 1 at every step, so what it may lose is below 1e-180 of
that.

A lane with lossy emissions (see forward_backward.pyx), or that leaves what a double holds between
two steps, is reported and has to be redone.
"""
from libc.math cimport INFINITY, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from .lanes cimport (
    LANES, Edges, Group, active_at, free_edges, make_edges, read_group, rows_of, side_of,
)
from .layout cimport (
    Graph, Layout, Run, Side, Steps, epoch_of, free_rows, new_rows, new_table, steps,
)

cdef enum:
    CHUNK = 32                   # steps at a time where only the likelihood is wanted
    COUNTED = 8                  # LANES_STEPS
    TOGETHER = 66                # nodes whose exponents differ by less share one

cdef double LOW = 1e-115, LEAST_WEIGHT = 1e-155
cdef double HIGH = 1e140, LARGEST_WEIGHT = 1e300
cdef double CLOSE = 1e20
cdef double LOG_LOSSY = -230.0, LOG_ROOM = -253.0  # as in forward_backward.pyx
cdef double LOG2 = 0.6931471805599453
cdef int32_t UNKNOWN = -(1 << 30)


cdef struct Model:
    const double *weights        # by edge
    const double *start
    const double *table          # (rows, n_states)
    const int32_t *rows
    const double *row_max        # NULL: the table holds logarithms, still to be scaled
    const uint8_t *row_lossy
    double log_lossy


cdef struct Event:
    int64_t t
    int32_t lane
    bint together                # were the exponents one number before


cdef struct Work:
    Edges ahead
    Edges back
    double *alpha                # one row before the first step, then one a step
    double *emit                 # (steps, n_states, 8)
    double *beta
    double *v
    double *by_state
    double *ends                 # (8, n_nodes): beta at the end of each sequence
    double *counts               # (edges, 8), or NULL
    int32_t *exponents           # (8, n_nodes)
    bint together[8]
    int64_t *at
    int8_t *active
    Event *events
    int32_t *shifts              # (events, n_nodes)
    int64_t n_events
    int64_t chunk                # steps that alpha and emit hold
    bint keep                    # whether they are gone back to


cdef inline int32_t exponent_of(double x) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &x, sizeof(double))
    return <int32_t> ((bits >> 52) & 2047) - 1023


cdef inline double power_of_two(int64_t k) noexcept nogil:
    cdef uint64_t bits = <uint64_t> (min(max(k, -1022), 1023) + 1023) << 52
    cdef double x
    memcpy(&x, &bits, sizeof(double))
    return x


cdef void weigh(const Edges *edges, const double *weights, const int32_t *exponents, bint together,
                int64_t lane) noexcept nogil:
    """The weights of a lane."""
    cdef int64_t k
    cdef double w
    for k in range(edges.n):
        w = weights[edges.number[k]]
        if not together and w > 0.0:
            w *= power_of_two(exponents[edges.source[k]] - exponents[edges.target[k]])
            w = min(max(w, LEAST_WEIGHT), LARGEST_WEIGHT)
        edges.weights[k * LANES + lane] = w


cdef void silence(const Edges *edges, int64_t lane) noexcept nogil:
    """From here on, nothing in a lane; numbers that fade to denormal ones would take long."""
    cdef int64_t k
    for k in range(edges.n):
        edges.weights[k * LANES + lane] = 0.0


cdef void reach(const Edges *edges, int64_t n_nodes, const double *row, int64_t lane,
                int32_t *exponents) noexcept nogil:
    """Exponents of nodes without a number: of the largest that may come to them."""
    cdef int64_t k, m, _round
    cdef int32_t top = UNKNOWN
    cdef bint changed = True
    for m in range(n_nodes):
        top = max(top, exponents[m])
    for _round in range(n_nodes):
        if not changed:
            break
        changed = False
        for k in range(edges.n):
            m = edges.target[k]
            if row[m * LANES + lane] == 0.0 and exponents[edges.source[k]] > exponents[m]:
                exponents[m] = exponents[edges.source[k]]
                changed = True
    for m in range(n_nodes):
        if exponents[m] == UNKNOWN:
            exponents[m] = top


cdef bint balance(const Graph *g, const Model *p, Work *w, int64_t lane, bint close, double *row,
                  int32_t *shift) noexcept nogil:
    """New exponents for a lane; whether there was anything to scale.

    `close`: the sums are, whatever the emissions made of them; the next will be again.
    """
    cdef int64_t m
    cdef int32_t top = UNKNOWN, bottom = -UNKNOWN, old
    cdef int32_t *exponents = w.exponents + lane * g.n_nodes
    cdef bint together
    for m in range(g.n_nodes):
        shift[m] = UNKNOWN
        if row[m * LANES + lane] > 0.0:
            shift[m] = exponents[m] + exponent_of(row[m * LANES + lane])
            top = max(top, shift[m])
            bottom = min(bottom, shift[m])
    if top == UNKNOWN:
        return False
    together = top - bottom <= TOGETHER or (close and w.together[lane])
    if together:
        for m in range(g.n_nodes):
            shift[m] = top
    else:
        reach(&w.ahead, g.n_nodes, row, lane, shift)
    for m in range(g.n_nodes):
        old = exponents[m]
        exponents[m] = shift[m]
        shift[m] -= old
        row[m * LANES + lane] *= power_of_two(-shift[m])
    if not (together and w.together[lane]):
        weigh(&w.ahead, p.weights, exponents, together, lane)
    w.together[lane] = together
    return True


cdef void balance_at(const Graph *g, const Model *p, Work *w, int64_t lane, bint close, int64_t t,
                     double *row) noexcept nogil:
    cdef Event *event = w.events + w.n_events
    event.t, event.lane, event.together = t, <int32_t> lane, w.together[lane]
    if balance(g, p, w, lane, close, row, w.shifts + w.n_events * g.n_nodes) and w.keep:
        w.n_events += 1


cdef void repeat(const Side *side, const double *weights, const double *emit, double *row,
                 int64_t lane, double *low, double *high) noexcept nogil:
    """A step of one lane once more, from the row before, whose exponents have changed.

    An emission that was impossible can take a node's number away, and with it what its exponent
    was made for; only the sums of the next step show that.
    """
    cdef int64_t r, p, m, k, _edge
    cdef double total
    cdef const Run *run
    low[0], high[0] = INFINITY, 0.0
    for r in range(side.n_runs):
        run = side.runs + r
        k = run.edge
        for p in range(run.begin, run.end):
            m = side.node[p]
            total = 0.0
            for _edge in range(run.degree):
                total += (row[(side.other[k] - side.n_nodes) * LANES + lane]
                          * weights[k * LANES + lane])
                k += 1
            if total > 0.0:
                low[0] = min(low[0], total)
            high[0] = max(high[0], total)
            row[m * LANES + lane] = total * emit[side.states[m] * LANES + lane]


cdef bint first_row(const Graph *g, const Model *p, const double *emit, double *out) noexcept nogil:
    """Whether the probabilities of the start are safe."""
    cdef int64_t i, l, m
    cdef bint safe = True
    memset(out, 0, g.n_nodes * LANES * sizeof(double))
    for i in range(g.n_states):
        m = g.start_nodes[i]
        if m >= 0 and p.start[i] > 0.0:
            safe = safe and p.start[i] > LOW
            for l in range(LANES):
                out[m * LANES + l] = p.start[i] * emit[i * LANES + l]
    return safe


cdef double finish(const Graph *g, const double *row, const int32_t *exponents, int64_t lane,
                   double *beta) noexcept nogil:
    """log of what is accepted in the last row of a lane; beta there."""
    cdef int64_t m
    cdef int32_t top = UNKNOWN
    cdef double total = 0.0
    for m in range(g.n_nodes):
        beta[m] = 0.0
        if g.accept[m] and row[m * LANES + lane] > 0.0:
            top = max(top, exponents[m])
    if top == UNKNOWN:
        return -INFINITY
    for m in range(g.n_nodes):
        if g.accept[m] and exponents[m] > top - 1000:
            beta[m] = power_of_two(exponents[m] - top)
            total += row[m * LANES + lane] * beta[m]
    for m in range(g.n_nodes):
        beta[m] /= total
    return top * LOG2 + log(total)


cdef int load(const Graph *g, const Steps *do, const Model *p, const Group *group, int64_t first,
              int64_t n, Work *w, double *total) noexcept nogil:
    """Emissions of steps first..first+n-1; lanes that are lossy."""
    cdef int64_t t, l, r
    cdef int lossy = 0
    rows_of(group, p.rows, first, n, w.at)
    do.lanes_fill(n, g.n_states, p.table, w.at, w.emit)
    for t in range(n):
        w.active[t] = <int8_t> active_at(group, first + t)
    if p.row_max == NULL:
        return do.lanes_exp(n, g.n_states, p.log_lossy, w.active, w.emit, total)
    for t in range(n):
        for l in range(w.active[t]):
            r = w.at[t * LANES + l]
            total[l] += p.row_max[r]
            lossy |= p.row_lossy[r] << l
    return lossy


cdef int forward(const Graph *g, const Steps *do, const Model *p, const Group *group, Work *w,
                 double *log_z) noexcept nogil:
    """Likelihoods of a group; the lanes that have to be redone."""
    cdef int64_t T = group.length[0], S = g.n_states, N = g.n_nodes * LANES
    cdef int64_t t = 0, n, begin = 0, end, e = 0, l, k
    cdef int lost = 0, watched, everything = (1 << group.n) - 1
    cdef double total[8]
    cdef double low[8]
    cdef double high[8]
    cdef double *here = w.alpha
    cdef Side side
    w.n_events = 0
    memset(w.exponents, 0, N * sizeof(int32_t))
    for l in range(LANES):
        total[l] = 0.0
        w.together[l] = True
        weigh(&w.ahead, p.weights, w.exponents, True, l)
    while begin < T:
        n = min(T - begin, w.chunk)
        lost |= load(g, do, p, group, begin, n, w, total)
        if begin > 0:
            memcpy(w.alpha, here, N * sizeof(double))
        elif first_row(g, p, w.emit, w.alpha + N):
            t = 1
        else:
            lost = everything
        if lost == everything:
            return lost
        for l in range(group.n):
            if lost >> l & 1:
                silence(&w.ahead, l)
        while True:
            here = w.alpha + (t - begin) * N
            for l in range(group.n):
                if group.length[l] == t:
                    log_z[group.sequence[l]] = total[l] + finish(
                        g, here, w.exponents + l * g.n_nodes, l, w.ends + l * g.n_nodes)
                    silence(&w.ahead, l)
            end = min(begin + n, group.length[active_at(group, t) - 1] if t < T else T)
            if t >= end:
                break
            e = epoch_of(g, t, e)
            if e + 1 < g.n_epochs:
                end = min(end, g.epochs[e + 1])
            side = side_of(g, &w.ahead, True, e)
            watched = ((1 << active_at(group, t)) - 1) & ~lost
            for l in range(LANES):
                low[l], high[l] = INFINITY, 0.0
            k = do.lanes_sum_run(&side, w.ahead.weights, end - t, S,
                                 w.emit + (t - begin) * S * LANES, here, watched, low, high)
            here += k * N
            t += k
            for l in range(group.n):
                if watched >> l & 1 and not (low[l] > LOW and high[l] < HIGH):
                    balance_at(g, p, w, l, False, t - 2, here - N)
                    repeat(&side, w.ahead.weights, w.emit + (t - 1 - begin) * S * LANES, here, l,
                           &low[l], &high[l])
                    if not (low[l] > LOW and high[l] < HIGH):
                        lost |= 1 << l
                        silence(&w.ahead, l)
            # Lanes that are not out of bounds yet, but near, are spared an event of their own.
            for l in range(group.n):
                if (watched & ~lost) >> l & 1 and (low[l] < 1e-20 or high[l] > 1e10):
                    balance_at(g, p, w, l, high[l] < CLOSE * low[l], t - 1, here)
        begin += n
    return lost


cdef void undo(const Graph *g, const Model *p, Work *w, double *alpha) noexcept nogil:
    """Take back the last event: exponents, rows and weights are those from before it."""
    cdef int64_t m, l
    cdef const int32_t *shift
    cdef int32_t *exponents
    cdef bint together
    w.n_events -= 1
    l = w.events[w.n_events].lane
    together = w.events[w.n_events].together
    shift = w.shifts + w.n_events * g.n_nodes
    exponents = w.exponents + l * g.n_nodes
    for m in range(g.n_nodes):
        exponents[m] -= shift[m]
        alpha[m * LANES + l] *= power_of_two(shift[m])
        w.beta[m * LANES + l] *= power_of_two(-shift[m])
    if not (together and w.together[l]):
        weigh(&w.back, p.weights, exponents, together, l)
    w.together[l] = together


cdef void backward(const Graph *g, const Steps *do, const Model *p, const Group *group, Work *w,
                   int lost, double *gamma) noexcept nogil:
    cdef int64_t S = g.n_states, N = g.n_nodes * LANES, t = group.length[0] - 1, l, m, e = 0, last
    cdef int active
    cdef double *rows[8]
    cdef double *alpha
    cdef Side side
    memset(w.beta, 0, N * sizeof(double))
    memset(w.back.weights, 0, w.back.n * LANES * sizeof(double))
    while True:
        alpha = w.alpha + (t + 1) * N
        active = active_at(group, t)
        last = group.length[active] if active < group.n else 0
        for l in range(active):
            rows[l] = gamma + (group.origin[l] + t) * S
            if group.length[l] == t + 1 and not lost >> l & 1:
                for m in range(g.n_nodes):
                    w.beta[m * LANES + l] = w.ends[l * g.n_nodes + m]
                weigh(&w.back, p.weights, w.exponents + l * g.n_nodes, w.together[l], l)
        while w.n_events > 0 and w.events[w.n_events - 1].t == t:
            undo(g, p, w, alpha)
        e = epoch_of(g, t, e)
        side = side_of(g, &w.back, False, e)
        if t == 0:
            do.lanes_first(&side, S, active, alpha, w.emit, rows, w.beta, w.by_state, w.v)
            break
        last = max(max(last, 1), g.epochs[e])
        if w.n_events > 0:
            last = max(last, w.events[w.n_events - 1].t + 1)
        do.lanes_back_run(&side, w.back.weights, t - last + 1, S, active, alpha,
                          w.emit + t * S * LANES, rows, w.beta, w.v, w.by_state, w.counts)
        t = last - 1


def lanes_sums(Layout layout,                   # IN
               const double[::1] weights,       # IN, one an edge
               double smallest,                 # IN, the smallest of them that is positive
               const double[::1] start,         # IN
               const double[:, ::1] table,      # IN, logarithms, or with row_max: of scale_rows
               const double[::1] row_max,       # IN or None
               const uint8_t[::1] row_lossy,    # IN or None
               const int32_t[::1] rows,         # IN or None: row t of the table is step t
               const int64_t[::1] offsets,      # IN
               const double[::1] seq_weights,   # IN or None, for the counts
               const int64_t[::1] order,        # IN, the sequences, longest first
               int64_t begin, int64_t end,      # IN, groups of 8 of them
               double[::1] log_z,               # OUT, -inf where infeasible
               uint8_t[::1] redo,               # OUT, 1: not right, needs log space
               double[:, ::1] gamma=None,       # OUT or None: the forward pass is all
               double[::1] counts=None):        # INOUT or None, one an edge
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef const Graph *g = &layout.graph
    cdef const Steps *do = steps()
    cdef Model model
    cdef Group group
    cdef Work w
    cdef int64_t first = LANES * begin, last = min(LANES * end, order.shape[0])
    cdef int64_t longest, k, l, N, n_events
    cdef int lost
    read_group(&order[first], last - first, &offsets[0], &group)
    longest = group.length[0]
    model.weights = &weights[0] if weights.shape[0] else NULL
    model.start, model.table = &start[0], &table[0, 0]
    model.rows = NULL if rows is None else &rows[0]
    model.row_max = NULL if row_max is None else &row_max[0]
    model.row_lossy = NULL if row_lossy is None else &row_lossy[0]
    model.log_lossy = max(LOG_LOSSY, LOG_ROOM - log(smallest))
    memset(&w, 0, sizeof(Work))
    w.keep = gamma is not None
    w.chunk = longest if w.keep else min(longest, <int64_t> CHUNK)
    N = g.n_nodes * LANES
    try:
        make_edges(g, True, &w.ahead)
        make_edges(g, False, &w.back)
        w.alpha = new_table(w.chunk + 1, N)
        w.emit = new_table(w.chunk, g.n_states * LANES)
        w.beta = new_rows(1, N)
        w.v = new_rows(COUNTED, N)
        w.by_state = new_rows(g.n_states, LANES)
        w.ends = new_rows(1, N)
        if counts is not None:
            w.counts = new_rows(w.back.n, LANES)
        w.exponents = <int32_t *> malloc(N * sizeof(int32_t))
        w.at = <int64_t *> malloc(w.chunk * LANES * sizeof(int64_t))
        w.active = <int8_t *> malloc(w.chunk)
        n_events = 2 * longest * LANES if w.keep else 1
        w.events = <Event *> malloc(n_events * sizeof(Event))
        w.shifts = <int32_t *> malloc(n_events * g.n_nodes * sizeof(int32_t))
        if (w.exponents == NULL or w.at == NULL or w.active == NULL or w.events == NULL
                or w.shifts == NULL):
            raise MemoryError
        with nogil:
            for k in range(first, last, 8):
                read_group(&order[k], last - k, &offsets[0], &group)
                lost = forward(g, do, &model, &group, &w, &log_z[0])
                if w.keep and lost != (1 << group.n) - 1:
                    backward(g, do, &model, &group, &w, lost, &gamma[0, 0])
                for l in range(group.n):
                    redo[group.sequence[l]] = lost >> l & 1
                if w.counts != NULL:
                    add_counts(&w, &group, NULL if seq_weights is None else &seq_weights[0],
                               &counts[0])
    finally:
        free_edges(&w.ahead)
        free_edges(&w.back)
        free_rows(w.alpha)
        free_rows(w.emit)
        free_rows(w.beta)
        free_rows(w.v)
        free_rows(w.by_state)
        free_rows(w.ends)
        free_rows(w.counts)
        free(w.exponents)
        free(w.at)
        free(w.active)
        free(w.events)
        free(w.shifts)


cdef void add_counts(Work *w, const Group *group, const double *seq_weights,
                     double *counts) noexcept nogil:
    cdef int64_t k, l
    cdef double total
    for k in range(w.back.n):
        total = 0.0
        for l in range(group.n):
            total += w.counts[k * LANES + l] * (
                1.0 if seq_weights == NULL else seq_weights[group.sequence[l]])
        counts[w.back.number[k]] += total
    memset(w.counts, 0, w.back.n * LANES * sizeof(double))
