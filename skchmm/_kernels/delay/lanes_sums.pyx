"""Forward-backward on a graph with delay lines, 8 sequences at a time, one per lane.

The recursions of delay/sums.pyx, with one number for each lane where that has one. Exponents stay
as they are for a *group* of steps, over which no product of emissions and weights gets too small.
Where a group begins they are chosen anew; what comes out of a line is brought from the exponents of
the group in which it went in to those of now. A group ends early where that would be too far, and
is a single step where exponents of places change by more than can be held: so nothing is lost.
O(edges + lines) vector operations per step of all 8.
"""
from libc.math cimport INFINITY, M_LN2, exp, frexp, ldexp, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset

from ..lanes.edges cimport LANES, Group, active_at, n_groups, read_group, rows_of
from ..shared.interrupt cimport Watch, new_watch, stopped
from ..shared.layout cimport Graph, Layout
from ..shared.memory cimport Memory
from ..shared.threads cimport share, threads_for
from ..simd.instructions cimport instructions_in_use
from .lane_core cimport Compact, LaneCore, least_kept, make_compact
from .lines cimport Core, Lines


cdef extern from "delay/lanes_sum_steps.h" nogil:
    const int *instructions
    const double NOTHING

    void lanes_fill(int64_t n, int64_t n_states, const double *table, const int64_t *at,
                    double *out)
    int delay_lanes_exp(int64_t n, int64_t n_states, double least, const int8_t *active,
                        double *table, double *total)
    void delay_lanes_normal(int64_t n, double *x, double *e)
    void delay_lanes_reach(int64_t n, const int32_t *first, const int32_t *others,
                           const double *e, double *out)
    void delay_lanes_weigh(int64_t n, const int32_t *first, const int32_t *others,
                           const double *base, const double *before, const double *after,
                           double *out)
    int delay_lanes_apart(int64_t n, const double *a, const double *b, double far, int either)
    void delay_lanes_sizes(int64_t n, const double *a, double sign, const double *b, double *out)
    void delay_lanes_larger(int64_t n, const double *a, const double *b, double *out)
    void delay_lanes_rescale(int64_t n, const double *before, const double *after, double *x)
    void delay_lanes_factors(int64_t n, const double *a, const double *b, double sign,
                             const double *shift, const double *norm, double *out)
    int64_t delay_lanes_ahead(const LaneCore *, const double *weights, const double *scale,
                              int64_t begin, int64_t t, int64_t n, int64_t n_states,
                              const double *emit, double *alpha, double *ring, int64_t mask,
                              double *run, double decay, double *products)
    int64_t delay_lanes_back(const LaneCore *, const double *weights, const double *scale,
                             const double *factors, const double *ending, int64_t begin,
                             int64_t t, int64_t n, int64_t n_states, double *emit,
                             const double *alpha, double *entering, double *y, double *v,
                             double *ring, int64_t mask, double *run, double decay,
                             double *products)
    void delay_lanes_inside(int64_t begin, int64_t end, const double *ring, int64_t mask,
                            int64_t width, const double *size, double *x, double *e)
    void delay_lanes_window(int64_t T, int64_t delay, int64_t width, double *entering,
                            int64_t stride, double *out)
    void delay_lanes_write(int64_t T, int64_t n_states, const int8_t *active, const double *rows,
                           double **gamma)

instructions = instructions_in_use()

cdef double LEAST = -138.0       # emissions that are smaller are left to others
cdef double FAR = 100.0          # exponents may differ by so much from what they should be
cdef int64_t MOST = 64           # steps of a group
cdef double APART = 15.0         # where emissions are further apart, in powers of two, groups are short


cdef struct Groups:
    # Of one direction; exponents are rows of 8 lanes.
    int32_t *of_step
    int64_t *begin               # the first step, and
    int64_t *end                 # the one after the last, whichever direction it is
    double *places               # (groups, places): the exponents of a row
    double *sizes                # (groups, lines): of what goes into lines, less those of `run`


cdef struct Work:
    double *emit                 # (longest, n_states, 8)
    double *alpha                # (2 longest, places, 8): before a group, its own copy of a row
    double *entering             # (longest, lines, 8)
    double *ring                 # (mask + 1, lines, 8)
    int64_t mask
    double *run                  # (lines, 8) and
    double *run_e
    double *weights              # (edges, 8)
    double *scale                # (lines, 8)
    double *factors              # (places, 8)
    double *ending               # (lines, 8)
    double *y
    double *v
    double *e                    # (places, 8): exponents as they are,
    double *reached              # after one step,
    double *closed               # after some,
    double *fresh                # and those that are chosen
    double *come                 # (lines, 8): of what comes out of lines
    Groups ahead
    Groups back
    int64_t *at
    int8_t *active
    double *products             # (n_states, 8): of emissions since a group began
    int64_t usual                # steps of a group
    double norm_x[8]
    double norm_e[8]
    double total[8]
    int beyond                   # lanes with emissions that are too small
    Watch watch


cdef struct Job:
    const Graph *g
    const Core *core
    LaneCore c
    Compact compact
    const double *start
    const double *table          # logarithms, or of few rows:
    const double *row_tops       # what they were divided by
    const int32_t *rows
    const int64_t *offsets
    const int64_t *order
    double *log_z
    uint8_t *left
    double *gamma                # NULL: the forward pass is all
    double decay                 # no place gets less than this of a step before, but for emissions
    int64_t n                    # sequences
    Work *works                  # one per thread


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
        w.beyond = delay_lanes_exp(T, S, LEAST, w.active, w.emit, w.total)
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


cdef void begin_products(const Job *job, Work *w) noexcept nogil:
    cdef int64_t i
    for i in range(job.g.n_states * LANES):
        w.products[i] = 1.0


cdef void set_nothing(double *e, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n * LANES):
        e[i] = NOTHING


cdef bint choose(const Job *job, Work *w, const int32_t *first, const int32_t *others,
                 int lanes) noexcept nogil:
    """Exponents for a group, from those of now and what is reached; whether it is a single step."""
    cdef int64_t P = job.c.n_plain, size = P * LANES * sizeof(double), i
    cdef bint single
    memcpy(w.closed, w.reached, size)
    for i in range(P):
        memcpy(w.fresh, w.closed, size)
        delay_lanes_reach(P, first, others, w.closed, w.closed)
        if memcmp(w.fresh, w.closed, size) == 0:
            break
    single = (delay_lanes_apart(P, w.reached, w.closed, FAR, False)
              | delay_lanes_apart(P, w.e, w.reached, FAR, True)) & lanes
    if single:
        memcpy(w.fresh, w.reached, size)
    else:
        delay_lanes_larger(P, w.closed, w.e, w.fresh)
    return single


# --------------------------------------------------------------------- ahead
cdef void come_ahead(const LaneCore *c, Work *w, int64_t l, int64_t t) noexcept nogil:
    """The exponents of what comes out of a line at step t."""
    cdef int64_t since = t - c.delay[l]
    if since < 0:
        set_nothing(w.come + l * LANES, 1)
    else:
        delay_lanes_sizes(1, w.ahead.sizes + (w.ahead.of_step[since] * c.n_lines + l) * LANES,
                          1.0, w.run_e + l * LANES, w.come + l * LANES)


cdef inline int64_t next_ahead(const LaneCore *c, const Work *w, int64_t l,
                               int64_t t) noexcept nogil:
    """The first step after t at which a line is read from another group."""
    cdef int64_t since = t - c.delay[l]
    return c.delay[l] if since < 0 else w.ahead.end[w.ahead.of_step[since]] + c.delay[l]


cdef int64_t begin_ahead(const Job *job, const Group *group, Work *w, int64_t g,
                         int64_t t) noexcept nogil:
    """Group g begins at step t; where it ends."""
    cdef const LaneCore *c = &job.c
    cdef int64_t P = c.n_plain, L = c.n_lines, width = (P + L) * LANES, l, k, u, end
    cdef int lanes = (1 << active_at(group, t)) - 1
    cdef double *row = w.alpha + (t + g - 1) * width
    cdef double *places = w.ahead.places + g * width
    cdef double *sizes = w.ahead.sizes + g * L * LANES
    cdef bint single
    memcpy(row, row - width, P * LANES * sizeof(double))
    memcpy(w.e, places - width, P * LANES * sizeof(double))
    delay_lanes_normal(P, row, w.e)
    delay_lanes_normal(L, w.run, w.run_e)
    set_nothing(w.reached, P)
    for l in range(L):
        come_ahead(c, w, l, t)
        k = c.tail[l] * LANES
        delay_lanes_larger(1, w.reached + k, w.come + l * LANES, w.reached + k)
    delay_lanes_reach(P, c.first, c.sources, w.e, w.reached)
    # What comes out of lines stays where it is: it is reached in every step.
    single = choose(job, w, c.first, c.sources, lanes)
    if not single:
        delay_lanes_rescale(P, w.e, w.fresh, row)
        memcpy(w.e, w.fresh, P * LANES * sizeof(double))
    memcpy(places, w.fresh, P * LANES * sizeof(double))
    set_nothing(places + P * LANES, L)
    delay_lanes_reach(L, c.first + P, c.sources, w.e, places + P * LANES)
    delay_lanes_sizes(L, places + P * LANES, -1.0, w.run_e, sizes)
    delay_lanes_weigh(P + L, c.first, c.sources, job.compact.base, w.e, places, w.weights)
    end = t + 1
    if not single:
        end = min(group.length[active_at(group, t) - 1], t + w.usual)
    begin_products(job, w)
    w.ahead.begin[g], w.ahead.end[g] = t, t + MOST
    for u in range(t, end):
        w.ahead.of_step[u] = <int32_t> g
    for l in range(L):
        u = next_ahead(c, w, l, t)
        while u < end:
            come_ahead(c, w, l, u)
            if delay_lanes_apart(1, places + c.tail[l] * LANES, w.come + l * LANES, FAR,
                                 False) & lanes:
                end = u
                break
            u = next_ahead(c, w, l, u)
    w.ahead.end[g] = end
    return end


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
            done = delay_lanes_ahead(c, w.weights, w.scale, w.ahead.begin[g], t, stop - t, S,
                                     w.emit + t * S * LANES, w.alpha + (t + g - 1) * width,
                                     w.ring, w.mask, w.run, job.decay, w.products)
            t += done
            if t < stop:
                break
        w.ahead.end[g] = t
        w.usual = min(2 * (t - w.ahead.begin[g]) + 2, MOST)
        finish(job, group, w, g, t)
        if stopped(&w.watch, t - w.ahead.begin[g]):
            return


cdef inline void add_up(double *x, double *e, double more_x, double more_e) noexcept nogil:
    """The sum of two numbers."""
    cdef int power
    if more_x <= 0.0:
        return
    if x[0] <= 0.0 or more_e > e[0] + 900.0:
        x[0], e[0] = more_x, more_e
    elif more_e >= e[0] - 900.0:
        x[0] += ldexp(more_x, <int> (more_e - e[0]))
    x[0] = frexp(x[0], &power)
    e[0] += power


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
cdef int64_t come_back(const LaneCore *c, const Group *group, Work *w, int64_t l,
                       int64_t t) noexcept nogil:
    """The exponents of what follows the head of a line at step t, and which lanes end inside.

    Returns the last step before t at which that is another matter.
    """
    cdef int64_t lane, u = t + c.delay[l], active = active_at(group, t), following = -1, g
    cdef double *come = w.come + l * LANES
    cdef double *ending = w.ending + l * LANES
    cdef const double *run_e = w.run_e + l * LANES
    cdef bint reads = False
    if active == LANES and u < group.length[LANES - 1]:
        memset(ending, 0, LANES * sizeof(double))
        g = w.back.of_step[u]
        delay_lanes_sizes(1, w.back.sizes + (g * c.n_lines + l) * LANES, 1.0, run_e, come)
        return w.back.begin[g] - 1 - c.delay[l]
    set_nothing(come, 1)
    for lane in range(LANES):
        ending[lane] = 1.0
        if lane >= active:
            continue
        if u >= group.length[lane]:
            come[lane] = run_e[lane] if c.final[l] > 0.0 else NOTHING
            following = max(following, group.length[lane] - 1 - c.delay[l])
            continue
        ending[lane] = 0.0
        reads = True
    if reads:
        g = w.back.of_step[u]
        following = max(following, w.back.begin[g] - 1 - c.delay[l])
        for lane in range(active):
            if ending[lane] == 0.0:
                come[lane] = w.back.sizes[(g * c.n_lines + l) * LANES + lane]
                if come[lane] > 0.5 * NOTHING:
                    come[lane] += run_e[lane]
    return following


cdef void wake(const Job *job, const Group *group, Work *w, int64_t t) noexcept nogil:
    """Sequences whose last step is t."""
    cdef int64_t lane, m, l
    for lane in range(group.n):
        if group.length[lane] == t + 1:
            for m in range(job.c.n_plain):
                w.y[m * LANES + lane] = job.g.final[job.core.nodes[m]]
                w.e[m * LANES + lane] = 0.0
            for l in range(job.c.n_lines):
                w.run[l * LANES + lane], w.run_e[l * LANES + lane] = 1.0, 0.0


cdef int64_t begin_back(const Job *job, const Group *group, Work *w, int64_t g,
                        int64_t t, bint *single) noexcept nogil:
    """Group g goes back from step t on; its first step. w.e: the exponents of its rows."""
    cdef const LaneCore *c = &job.c
    cdef int64_t P = c.n_plain, L = c.n_lines, l, u, begin, active = active_at(group, t)
    cdef int64_t following
    cdef int lanes = (1 << active) - 1
    cdef double *heads = w.e + P * LANES
    wake(job, group, w, t)
    delay_lanes_normal(P, w.y, w.e)
    delay_lanes_normal(L, w.run, w.run_e)
    for l in range(L):
        come_back(c, group, w, l, t)
    memcpy(heads, w.come, L * LANES * sizeof(double))
    memcpy(w.closed + P * LANES, w.come, L * LANES * sizeof(double))
    set_nothing(w.reached, P)
    delay_lanes_reach(P, c.out, c.targets, w.e, w.reached)
    single[0] = choose(job, w, c.out, c.targets, lanes)
    if not single[0]:
        delay_lanes_rescale(P, w.e, w.fresh, w.y)
        memcpy(w.e, w.fresh, P * LANES * sizeof(double))
    for l in range(L):
        delay_lanes_sizes(1, w.e + c.tail[l] * LANES, -1.0, w.run_e + l * LANES,
                          w.back.sizes + (g * L + l) * LANES)
    delay_lanes_weigh(P, c.out, c.targets, job.compact.base_out, w.e, w.fresh, w.weights)
    begin = t
    if not single[0]:
        begin = max(group.length[active] if active < group.n else 0, t + 1 - w.usual)
    begin_products(job, w)
    w.back.begin[g] = t + 1 - MOST
    for u in range(begin, t + 1):
        w.back.of_step[u] = <int32_t> g
    for l in range(L):
        u = come_back(c, group, w, l, t)
        while u >= begin:
            following = come_back(c, group, w, l, u)
            if (delay_lanes_apart(1, heads + l * LANES, w.come + l * LANES, FAR, True)
                    | delay_lanes_apart(1, heads + l * LANES, w.come + l * LANES, FAR,
                                        False)) & lanes:
                begin = u + 1
            u = following
    w.back.begin[g] = begin
    return begin


cdef void backward(const Job *job, const Group *group, Work *w) noexcept nogil:
    cdef const LaneCore *c = &job.c
    cdef int64_t P = c.n_plain, L = c.n_lines, width = (P + L) * LANES, S = job.g.n_states
    cdef int64_t T = group.length[0], t = T - 1, g = 0, k, l, begin, stop, last
    cdef bint single
    cdef double *gamma[8]
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
                                  t - stop + 1, S, w.emit + t * S * LANES,
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
    for l in range(L):
        delay_lanes_window(T, c.delay[l], L * LANES, w.entering + l * LANES, S * LANES,
                           w.emit + c.states[P + l] * LANES)
    for l in range(group.n):
        gamma[l] = job.gamma + group.origin[l] * S
    delay_lanes_write(T, S, w.active, w.emit, gamma)


cdef void sum_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef Work *w = job.works + thread
    cdef Group group
    cdef int64_t l
    read_group(job.order + LANES * number, job.n - LANES * number, job.offsets, &group)
    load(job, &group, w)
    forward(job, &group, w)
    if stopped(&w.watch, 0):
        return
    if job.gamma != NULL:
        backward(job, &group, w)
    for l in range(group.n):
        job.left[group.sequence[l]] = w.beyond >> l & 1


cdef int new_groups(Memory memory, int64_t longest, int64_t P, int64_t L, Groups *g) except -1:
    g.of_step = <int32_t *> memory.room(longest * sizeof(int32_t))
    g.begin = <int64_t *> memory.room((longest + 1) * sizeof(int64_t))
    g.end = <int64_t *> memory.room((longest + 1) * sizeof(int64_t))
    g.places = memory.table(longest + 1, (P + L) * LANES)
    g.sizes = memory.table(longest + 1, L * LANES)
    return 0


cdef int new_work(const Job *job, Memory memory, int64_t longest, Work *w) except -1:
    cdef int64_t P = job.c.n_plain, L = job.c.n_lines, S = job.g.n_states, ring = 1
    while ring <= min(job.core.longest, longest):
        ring *= 2
    w.mask = ring - 1
    w.ring = memory.rows(ring, L * LANES)
    w.emit = memory.table(longest, S * LANES)
    w.alpha = memory.table(2 * longest + 1, (P + L) * LANES)
    w.entering = memory.table(longest if job.gamma != NULL else 0, L * LANES)
    w.run, w.run_e = memory.rows(L, LANES), memory.rows(L, LANES)
    w.weights = memory.table(job.c.first[P + L], LANES)
    w.scale, w.ending, w.come = memory.rows(L, LANES), memory.rows(L, LANES), memory.rows(L, LANES)
    w.factors, w.v = memory.rows(P + L, LANES), memory.rows(P + L, LANES)
    w.y, w.e = memory.rows(P, LANES), memory.rows(P + L, LANES)
    w.reached, w.closed = memory.rows(P, LANES), memory.rows(P + L, LANES)
    w.fresh = memory.rows(P, LANES)
    new_groups(memory, longest, P, L, &w.ahead)
    new_groups(memory, longest if job.gamma != NULL else 1, P, L, &w.back)
    w.at = <int64_t *> memory.room(longest * LANES * sizeof(int64_t))
    w.active = <int8_t *> memory.room(longest)
    w.products = memory.rows(S, LANES)
    memset(w.norm_x, 0, sizeof(w.norm_x))
    memset(w.norm_e, 0, sizeof(w.norm_e))
    w.watch = new_watch(2 * LANES * (job.c.first[P + L] + 3 * (P + L)))
    return 0


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
        if not low - top > LEAST:
            return False
        tops[r] = top
        for i in range(S):
            table[r * S + i] = exp(job.table[r * S + i] - top)
    job.table, job.row_tops = table, tops
    return True


cdef double mean_spread(const double *table, int64_t n, int64_t S) noexcept nogil:
    """How many powers of two the emissions of a row are apart, from some of n rows."""
    cdef int64_t r, i, step = max(n // 256, 1), seen = 0
    cdef double top, low, total = 0.0
    for r from 0 <= r < n by step:
        top, low = -INFINITY, INFINITY
        for i in range(S):
            top, low = max(top, table[r * S + i]), min(low, table[r * S + i])
        total += min(top - low, 1000.0)
        seen += 1
    return total / seen / M_LN2


def delayed_lanes_sums(Layout layout,                    # IN
                       Lines lines,                      # IN
                       const double[::1] weights,        # IN, one an edge
                       double smallest,                  # IN, of those that are positive
                       const double[::1] start,          # IN
                       const double[:, ::1] log_table,   # IN
                       const int32_t[::1] rows,          # IN or None: row t is step t
                       const int64_t[::1] offsets,       # IN
                       const int64_t[::1] order,         # IN, the sequences, longest first
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
    if smallest < 1e-10 or mean_spread(&log_table[0, 0], n_rows, S) > APART:
        return False
    if not make_compact(job.g, job.core, &weights[0], memory, &job.c, &job.compact):
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
    n_threads = threads_for(n_groups(job.n))
    job.works = <Work *> memory.room(n_threads * sizeof(Work))
    for i in range(n_threads):
        new_work(&job, memory, longest, job.works + i)
    with nogil:
        share(sum_piece, &job, n_groups(job.n))
    return True
