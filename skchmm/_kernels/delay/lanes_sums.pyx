"""Forward-backward on a graph with delay lines, 8 sequences at a time, one per lane.

The recursions of delay/sums.pyx, with one number for each lane where that has one. Exponents stay
as they are for a *group* of steps, over which no product of emissions and weights gets too small.
Where a group begins they are chosen anew; what comes out of a line is brought from the exponents of
the group in which it went in to those of now. A group ends early where that would be too far, and
is a single step where exponents of places change by more than can be held: so nothing is lost.
O(edges + lines) vector operations per step of all 8.
"""
from libc.math cimport INFINITY, M_LN2, exp, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..lanes.edges cimport LANES, Group, active_at, n_groups, read_group, rows_of
from ..shared.faint cimport faint_back, faint_off
from ..shared.interrupt cimport stopped
from ..shared.layout cimport Layout
from ..shared.memory cimport Memory
from ..shared.threads cimport share, threads_for
from ..simd.instructions cimport instructions_in_use
from .lane_core cimport LaneCore, least_kept, make_compact
from .lane_groups cimport (
    MOST, NOTHING, add_up, begin_ahead, begin_back, come_ahead, come_back, delay_lanes_ahead,
    delay_lanes_back, delay_lanes_exp, delay_lanes_factors, delay_lanes_inside,
    delay_lanes_normal, delay_lanes_sizes, delay_lanes_window, delay_lanes_write, lanes_fill,
    next_ahead, set_nothing,
)
from .lane_work cimport Job, Work, new_work
from .lanes_apart cimport apart_backward, apart_forward, make_apart, open_lane_apart
from .lines cimport Lines
from .spread cimport mean_spread


cdef extern from "delay/lanes_sum_steps.h" nogil:
    const int *instructions

instructions = instructions_in_use()

# Emissions that are smaller are left to others; those that have an exponent in every step may be
# any number that weights leave one.
cdef double LEAST = -138.0, LEAST_APART = -640.0


cdef void load(const Job *job, const Group *group, Work *w) noexcept nogil:
    """The emissions of all steps."""
    cdef int64_t T = group.length[0], S = job.g.n_states, t, l
    w.beyond = 0
    for l in range(LANES):
        w.total[l] = 0.0
    for t in range(T):
        w.active[t] = <int8_t> active_at(group, t)
    rows_of(group, job.rows, 0, T, w.at)
    lanes_fill(T, S, job.table, w.at, w.emit)
    if job.row_tops == NULL:
        w.beyond = delay_lanes_exp(T, S, job.least, w.active, w.emit, w.total)
        return
    for t in range(T):
        for l in range(w.active[t]):
            w.total[l] += job.row_tops[w.at[t * LANES + l]]


cdef void first_row(const Job *job, Work *w) noexcept nogil:
    """Step 0 is a group of its own."""
    cdef const LaneCore *c = &job.c
    cdef int64_t P = c.n_plain, L = c.n_lines, i, l, m, k
    memset(w.alpha, 0, (P + L) * LANES * sizeof(double))
    memset(w.ahead.places, 0, (P + L) * LANES * sizeof(double))
    for i in range(job.g.n_states):
        if job.g.start_nodes[i] >= 0:
            m = job.compact.place[job.g.start_nodes[i]]
            for l in range(LANES):
                w.alpha[m * LANES + l] = job.start[i] * w.emit[i * LANES + l]
    delay_lanes_normal(P + L, w.alpha, w.ahead.places)
    for l in range(L):
        for k in range(LANES):
            w.ring[l * LANES + k] = w.alpha[(P + l) * LANES + k] * c.step[l]
            w.run[l * LANES + k], w.run_e[l * LANES + k] = 1.0, 0.0
    memcpy(w.ahead.sizes, w.ahead.places + P * LANES, L * LANES * sizeof(double))
    w.ahead.of_step[0], w.ahead.begin[0], w.ahead.end[0] = 0, 0, 1


# --------------------------------------------------------------------- ahead
cdef void forward(const Job *job, const Group *group, Work *w) noexcept nogil:
    cdef const LaneCore *c = &job.c
    cdef int64_t T = group.length[0], S = job.g.n_states, width = (c.n_plain + c.n_lines) * LANES
    cdef int64_t t = 1, g = 0, end, stop, l, done
    w.usual = MOST
    first_row(job, w)
    finish(job, group, w, 0, 1)
    while t < T:
        g += 1
        end = begin_ahead(job, group, w, g, t)
        while t < end:
            stop = end
            for l in range(c.n_lines):
                come_ahead(c, w, l, t)
                stop = min(stop, next_ahead(c, w, l, t))
            if job.core.aligned:
                delay_lanes_factors(c.n_lines, w.come, w.ahead.places + g * width, -1.0, NULL, NULL,
                                    w.scale)
            else:
                for l in range(c.n_lines):
                    delay_lanes_factors(1, w.come + l * LANES,
                                        w.ahead.places + g * width + c.tail[l] * LANES, -1.0,
                                        NULL, NULL, w.scale + l * LANES)
            done = delay_lanes_ahead(c, w.weights, w.scale, w.ahead.begin[g], t, stop - t,
                                     job.inside, S, w.emit + t * S * LANES,
                                     w.alpha + (t + g - 1) * width,
                                     w.ring, w.mask, w.run, job.decay, w.products)
            t += done
            if t < stop:
                break
        w.ahead.end[g] = t
        w.usual = min(2 * (t - w.ahead.begin[g]) + 2, MOST)
        finish(job, group, w, g, t)
        if stopped(&w.watch, t - w.ahead.begin[g]):
            return


cdef void finish(const Job *job, const Group *group, Work *w, int64_t g, int64_t T) noexcept nogil:
    """The sums over all paths of the sequences that end before step T."""
    cdef const LaneCore *c = &job.c
    cdef int64_t P = c.n_plain, L = c.n_lines, width = (P + L) * LANES, l, m, lane, t, begin, k
    cdef const double *row = w.alpha + (T - 1 + g) * width
    cdef const double *e = w.ahead.places + g * width
    cdef double x[8]
    cdef double x_e[8]
    cdef double line_x[8]
    cdef double line_e[8]
    cdef double size[8]
    cdef bint any_ends = False
    for lane in range(group.n):
        any_ends = any_ends or group.length[lane] == T
        x[lane], x_e[lane] = 0.0, NOTHING
    if not any_ends:
        return
    for m in range(P):
        for lane in range(group.n):
            add_up(&x[lane], &x_e[lane],
                   row[m * LANES + lane] * job.g.final[job.core.nodes[m]], e[m * LANES + lane])
    for l in range(L):
        if c.final[l] <= 0.0:
            continue
        memset(line_x, 0, sizeof(line_x))
        set_nothing(line_e, 1)
        t = T - 1
        while t >= max(T - c.delay[l], 0):
            k = w.ahead.of_step[t]
            begin = max(max(w.ahead.begin[k], T - c.delay[l]), 0)
            delay_lanes_sizes(1, w.ahead.sizes + (k * L + l) * LANES, 1.0, w.run_e + l * LANES,
                              size)
            delay_lanes_inside(begin, t, w.ring + l * LANES, w.mask, L * LANES, size, line_x,
                               line_e)
            t = begin - 1
        for lane in range(group.n):  # the way out of a line was counted already
            add_up(&x[lane], &x_e[lane],
                   line_x[lane] * w.run[l * LANES + lane] / c.step[l] * c.final[l], line_e[lane])
    for lane in range(group.n):
        if group.length[lane] == T:
            job.log_z[group.sequence[lane]] = -INFINITY
            w.norm_x[lane], w.norm_e[lane] = 0.0, 0.0
            if x[lane] > 0.0:
                job.log_z[group.sequence[lane]] = (
                    w.total[lane] + x_e[lane] * M_LN2 + log(x[lane]))
                w.norm_x[lane], w.norm_e[lane] = 1.0 / x[lane], -x_e[lane]


# ---------------------------------------------------------------------- back
cdef void backward(const Job *job, const Group *group, Work *w) noexcept nogil:
    cdef const LaneCore *c = &job.c
    cdef int64_t P = c.n_plain, L = c.n_lines, width = (P + L) * LANES, S = job.g.n_states
    cdef int64_t T = group.length[0], t = T - 1, g = 0, k, l, begin, stop, last
    cdef bint single
    memset(w.y, 0, P * LANES * sizeof(double))
    set_nothing(w.e, P)
    for l in range(L * LANES):
        w.run[l], w.run_e[l] = 1.0, 0.0
    while t >= 0:
        last = t
        begin = begin_back(job, group, w, g, t, &single)
        while t >= begin:
            k = w.ahead.of_step[t]
            stop = max(begin, w.ahead.begin[k])
            for l in range(L):
                stop = max(stop, come_back(c, group, w, l, t) + 1)
            delay_lanes_factors(L, w.come, w.e + P * LANES, -1.0, NULL, NULL, w.scale)
            delay_lanes_factors(P + L, w.ahead.places + k * width, w.e, 1.0, w.norm_e, w.norm_x,
                                w.factors)
            t -= delay_lanes_back(c, w.weights, w.scale, w.factors, w.ending, last, t,
                                  t - stop + 1, job.inside, S, w.emit + t * S * LANES,
                                  w.alpha + (t + k) * width, w.entering + t * L * LANES, w.y,
                                  w.v, w.ring, w.mask, w.run, job.decay, w.products)
            if t >= stop:
                break
        w.back.begin[g] = t + 1
        w.usual = min(2 * (last - t) + 2, MOST)
        if single:
            memcpy(w.e, w.fresh, P * LANES * sizeof(double))
        g += 1
        if stopped(&w.watch, last - t):
            return
    write_marginals(job, group, w, w.entering, LANES)


cdef void write_marginals(const Job *job, const Group *group, Work *w, double *entering,
                          int64_t width) noexcept nogil:
    """Where `emit` has the marginals of tails, those of lines are added; then all are divided."""
    cdef const LaneCore *c = &job.c
    cdef int64_t L = c.n_lines, T = group.length[0], S = job.g.n_states, l
    cdef double *gamma[8]
    for l in range(L):
        delay_lanes_window(T, c.delay[l], L * width, entering + l * width, S * LANES,
                           w.emit + c.states[c.n_plain + l] * LANES)
    for l in range(group.n):
        gamma[l] = job.gamma + group.origin[l] * S
    delay_lanes_write(T, S, w.active, w.emit, gamma)


cdef void sum_group(const Job *job, const Group *group, Work *w) noexcept nogil:
    cdef int64_t l, batches = 0
    load(job, group, w)
    if job.is_apart:
        batches = apart_forward(job, group, w)
    else:
        forward(job, group, w)
    if stopped(&w.watch, 0):
        return
    if job.gamma != NULL and job.is_apart:
        apart_backward(job, group, w, batches)
        write_marginals(job, group, w, w.apart.enter, 2 * LANES)
    elif job.gamma != NULL:
        backward(job, group, w)
    for l in range(group.n):
        job.left[group.sequence[l]] = w.beyond >> l & 1


cdef void sum_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef Group group
    cdef unsigned faint = faint_off()
    read_group(job.order + LANES * number, job.n - LANES * number, job.offsets, &group)
    sum_group(job, &group, job.works + thread)
    faint_back(faint)


cdef bint few_rows(Job *job, Memory memory, int64_t n, int64_t S):
    """Probabilities of the rows of a table; False: some are too small."""
    cdef int64_t r, i
    cdef double top, low
    cdef double *table = memory.table(n, S)
    cdef double *tops = memory.table(n, 1)
    for r in range(n):
        top, low = -INFINITY, INFINITY
        for i in range(S):
            top, low = max(top, job.table[r * S + i]), min(low, job.table[r * S + i])
        if not low - top > job.least:
            return False
        tops[r] = top
        for i in range(S):
            table[r * S + i] = exp(job.table[r * S + i] - top)
    job.table, job.row_tops = table, tops
    return True


def delayed_lanes_sums(Layout layout,                    # IN
                       Lines lines,                      # IN
                       const double[::1] weights,        # IN, one an edge
                       double smallest,                  # IN, of those that are positive
                       const double[::1] start,          # IN
                       const double[:, ::1] log_table,   # IN
                       const int32_t[::1] rows,          # IN or None: row t is step t
                       const int64_t[::1] offsets,       # IN
                       const int64_t[::1] order,         # IN, the sequences, longest first
                       double apart,                     # IN, where emissions are further, not
                       double[::1] log_z,                # OUT, -inf where infeasible
                       uint8_t[::1] left,                # OUT, 1: nothing said
                       double[:, ::1] gamma=None):       # OUT or None: the forward pass is all
    """Likelihoods and marginals; False: nothing was done, the graph or the table is not for it."""
    cdef Job job
    cdef int64_t i, longest = offsets[order[0] + 1] - offsets[order[0]], n_threads
    cdef int64_t S = layout.graph.n_states, n_rows = log_table.shape[0]
    cdef Memory memory = Memory()
    memset(&job, 0, sizeof(Job))
    job.g, job.core = &layout.graph, &lines.core
    if smallest < 1e-10:
        return False
    if not make_compact(job.g, job.core, &weights[0], memory, &job.c, &job.compact):
        return False
    job.is_apart = lines.uniform and make_apart(&job)
    job.least = LEAST_APART if job.is_apart else LEAST
    if not job.is_apart and mean_spread(&log_table[0, 0], n_rows, S) > apart:
        return False
    job.start, job.table = &start[0], &log_table[0, 0]
    job.rows = NULL if rows is None else &rows[0]
    if rows is not None and 4 * n_rows <= offsets[offsets.shape[0] - 1]:
        if not few_rows(&job, memory, n_rows, S):
            return False
    job.offsets, job.order, job.n = &offsets[0], &order[0], order.shape[0]
    job.log_z, job.left = &log_z[0], &left[0]
    job.gamma = NULL if gamma is None else &gamma[0, 0]
    job.decay = least_kept(&job.c, &job.compact, smallest)
    job.inside = longest
    for i in range(job.c.n_lines):
        job.inside = min(job.inside, job.c.delay[i])
    for i in range(S):
        if layout.graph.start_nodes[i] >= 0 and start[i] > 0.0:
            if job.compact.place[layout.graph.start_nodes[i]] < job.c.n_plain:
                job.inside = 0
    n_threads = threads_for(n_groups(job.n))
    job.works = <Work *> memory.room(n_threads * sizeof(Work))
    for i in range(n_threads):
        memory.part()
        new_work(&job, memory, longest, job.works + i)
        if job.is_apart:
            open_lane_apart(&job, memory, longest, job.works + i)
    with nogil:
        share(sum_piece, &job, n_groups(job.n))
    return True
