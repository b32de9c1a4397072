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
from libc.math cimport INFINITY, ldexp, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
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

cdef double LOW = 1e-115, HIGH = 1e140  # a sum beyond these may have lost something
cdef double NEAR_LOW = 1e-20, NEAR_HIGH = 1e10
cdef double CLOSE = 1e20
cdef double LOG_LOSSY = -230.0, LOG_ROOM = -253.0  # as in forward_backward.pyx
cdef double LOG2 = 0.6931471805599453


cdef struct Model:
    const double *start
    const double *table          # (rows, n_states)
    const int32_t *rows
    const double *row_max        # NULL: the table holds logarithms, still to be scaled
    const uint8_t *row_lossy
    double log_lossy


cdef struct Event:
    int64_t t
    int uneven                   # lanes that were before it


cdef struct Work:
    Edges ahead
    Edges back
    double *alpha                # one row before the first step, then one a step
    double *emit                 # (steps, n_states, 8)
    double *beta
    double *v
    double *by_state
    double *ends                 # (n_nodes, 8): beta at the end of each sequence
    double *counts               # (edges, 8), or NULL
    double *exponents            # (n_nodes, 8)
    double live[8]               # 1, or 0: nothing more happens in the lane
    int uneven                   # lanes whose nodes have different exponents
    int64_t *at
    int8_t *active
    Event *events
    double *shifts               # (events, n_nodes, 8)
    int64_t n_events
    int64_t chunk                # steps that alpha and emit hold
    bint keep                    # whether they are gone back to


cdef void weigh(const Steps *do, const Work *w, const Edges *edges) noexcept nogil:
    do.lanes_weigh(edges.n, edges.source, edges.target, edges.base, w.exponents, w.live,
                   edges.weights)


cdef void silence(Work *w, int64_t lane) noexcept nogil:
    """From here on, nothing in a lane; numbers that fade to denormal ones would take long."""
    cdef int64_t k
    w.live[lane] = 0.0
    for k in range(w.ahead.n):
        w.ahead.weights[k * LANES + lane] = 0.0


cdef void balance(const Graph *g, const Steps *do, Work *w, int lanes, int close, int64_t t,
                  double *row) noexcept nogil:
    """An event: new exponents for some lanes.

    `close`: lanes whose sums are, whatever the emissions made of them; the next will be again.
    """
    cdef Event *event = w.events + w.n_events
    cdef double chosen[8]
    cdef double kept[8]
    cdef int64_t l
    for l in range(LANES):
        chosen[l] = lanes >> l & 1
        kept[l] = (close & ~w.uneven) >> l & 1
    event.t, event.uneven = t, w.uneven
    w.uneven = (w.uneven & ~lanes) | do.lanes_balance(
        g.n_nodes, w.ahead.n, w.ahead.source, w.ahead.target, chosen, kept, row, w.exponents,
        w.shifts + w.n_events * g.n_nodes * LANES)
    if event.uneven | w.uneven:
        weigh(do, w, &w.ahead)
    if w.keep:
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
            m = side.node[p] + lane
            total = 0.0
            for _edge in range(run.degree):
                total += (row[side.other[k] - side.n_nodes * LANES + lane]
                          * weights[k * LANES + lane])
                k += 1
            if total > 0.0:
                low[0] = min(low[0], total)
            high[0] = max(high[0], total)
            row[m] = total * emit[side.state[p] + lane]


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
            beta[m] = ldexp(1.0, <int> (exponents[m] - top))
            total += row[m] * beta[m]
    for m in range(lane, g.n_nodes * LANES, 8):
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
    cdef int lost = 0, watched, beyond, near, close, everything = (1 << group.n) - 1
    cdef double total[8]
    cdef double low[8]
    cdef double high[8]
    cdef double *here = w.alpha
    cdef Side side
    w.n_events = 0
    w.uneven = 0
    memset(w.exponents, 0, N * sizeof(double))
    for l in range(LANES):
        total[l], w.live[l] = 0.0, 1.0
    weigh(do, w, &w.ahead)
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
                silence(w, l)
        while True:
            here = w.alpha + (t - begin) * N
            for l in range(group.n):
                if group.length[l] == t:
                    log_z[group.sequence[l]] = total[l] + finish(g, here, w.exponents, l, w.ends)
                    silence(w, l)
            end = min(begin + n, group.length[active_at(group, t) - 1] if t < T else T)
            if t >= end:
                break
            e = epoch_of(g, t, e)
            if e + 1 < g.n_epochs:
                end = min(end, g.epochs[e + 1])
            side = side_of(g, &w.ahead, True, e)
            watched = ((1 << active_at(group, t)) - 1) & ~lost
            beyond = near = close = 0
            for l in range(LANES):
                low[l], high[l] = INFINITY, 0.0
            k = do.lanes_sum_run(&side, w.ahead.weights, end - t, S,
                                 w.emit + (t - begin) * S * LANES, here, watched, low, high)
            here += k * N
            t += k
            for l in range(group.n):
                if watched >> l & 1 and not (low[l] > LOW and high[l] < HIGH):
                    beyond |= 1 << l
            if beyond:
                balance(g, do, w, beyond, 0, t - 2, here - N)
                for l in range(group.n):
                    if beyond >> l & 1:
                        repeat(&side, w.ahead.weights, w.emit + (t - 1 - begin) * S * LANES, here,
                               l, &low[l], &high[l])
                        if not (low[l] > LOW and high[l] < HIGH):
                            lost |= 1 << l
                            silence(w, l)
            # Lanes that are not out of bounds yet, but near, are spared an event of their own.
            for l in range(group.n):
                near |= (low[l] < NEAR_LOW or high[l] > NEAR_HIGH) << l
                close |= (high[l] < CLOSE * low[l]) << l
            near &= watched & ~lost
            if near:
                balance(g, do, w, near, close, t - 1, here)
        begin += n
    return lost


cdef void undo(const Graph *g, const Steps *do, Work *w, double *alpha) noexcept nogil:
    """Take back the last event: exponents, rows and weights are those from before it."""
    w.n_events -= 1
    do.lanes_undo(g.n_nodes, w.shifts + w.n_events * g.n_nodes * LANES, alpha, w.beta,
                  w.exponents)
    if w.uneven | w.events[w.n_events].uneven:
        weigh(do, w, &w.back)
    w.uneven = w.events[w.n_events].uneven


cdef void backward(const Graph *g, const Steps *do, const Group *group, Work *w, int lost,
                   double *gamma) noexcept nogil:
    cdef int64_t S = g.n_states, N = g.n_nodes * LANES, t = group.length[0] - 1, l, m, e = 0, last
    cdef int active
    cdef double *rows[8]
    cdef double *alpha
    cdef Side side
    memset(w.beta, 0, N * sizeof(double))
    memset(w.live, 0, sizeof(w.live))
    while True:
        alpha = w.alpha + (t + 1) * N
        active = active_at(group, t)
        last = group.length[active] if active < group.n else 0
        for l in range(active):
            rows[l] = gamma + (group.origin[l] + t) * S
            if group.length[l] == t + 1 and not lost >> l & 1:
                w.live[l] = 1.0
                for m in range(l, N, 8):
                    w.beta[m] = w.ends[m]
        if group.length[active - 1] == t + 1:
            weigh(do, w, &w.back)
        while w.n_events > 0 and w.events[w.n_events - 1].t == t:
            undo(g, do, w, alpha)
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
        make_edges(g, &weights[0], True, &w.ahead)
        make_edges(g, &weights[0], False, &w.back)
        w.alpha = new_table(w.chunk + 1, N)
        w.emit = new_table(w.chunk, g.n_states * LANES)
        w.beta = new_rows(1, N)
        w.v = new_rows(COUNTED, N)
        w.by_state = new_rows(g.n_states, LANES)
        w.ends = new_rows(1, N)
        if counts is not None:
            w.counts = new_rows(w.back.n, LANES)
        w.exponents = new_rows(1, N)
        w.at = <int64_t *> malloc(w.chunk * LANES * sizeof(int64_t))
        w.active = <int8_t *> malloc(w.chunk)
        n_events = 2 * longest if w.keep else 1  # at most, a step; memory that is rarely touched
        w.events = <Event *> malloc(n_events * sizeof(Event))
        w.shifts = new_table(n_events, N)
        if w.at == NULL or w.active == NULL or w.events == NULL:
            raise MemoryError
        with nogil:
            for k in range(first, last, 8):
                read_group(&order[k], last - k, &offsets[0], &group)
                lost = forward(g, do, &model, &group, &w, &log_z[0])
                if w.keep and lost != (1 << group.n) - 1:
                    backward(g, do, &group, &w, lost, &gamma[0, 0])
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
        free_rows(w.exponents)
        free(w.at)
        free(w.active)
        free(w.events)
        free_rows(w.shifts)


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
