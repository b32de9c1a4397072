"""Groups of steps with the same exponents, for sums of 8 sequences at once; see lanes_sums.pyx."""
from libc.math cimport frexp, ldexp
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

from ..lanes.edges cimport LANES, Group, active_at
from .lane_core cimport LaneCore
from .lane_work cimport Job, Work


cdef extern from "delay/lanes_sum_steps.h" nogil:
    const double NOTHING
    const double FAR
    const int64_t MOST

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
    int delay_lanes_apart(int64_t n, const double *a, const double *b, double limit, int either)
    void delay_lanes_sizes(int64_t n, const double *a, double sign, const double *b, double *out)
    void delay_lanes_larger(int64_t n, const double *a, const double *b, double *out)
    void delay_lanes_rescale(int64_t n, const double *before, const double *after, double *x)
    void delay_lanes_factors(int64_t n, const double *a, const double *b, double sign,
                             const double *shift, const double *norm, double *out)
    int64_t delay_lanes_ahead(const LaneCore *, const double *weights, const double *scale,
                              int64_t begin, int64_t t, int64_t n, int64_t inside,
                              int64_t n_states, const double *emit, double *alpha, double *ring,
                              int64_t mask,
                              double *run, double decay, double *products)
    int64_t delay_lanes_back(const LaneCore *, const double *weights, const double *scale,
                             const double *factors, const double *ending, int64_t begin,
                             int64_t t, int64_t n, int64_t inside, int64_t n_states,
                             double *emit, const double *alpha, double *entering, double *y,
                             double *v,
                             double *ring, int64_t mask, double *run, double decay,
                             double *products)
    void delay_lanes_inside(int64_t begin, int64_t end, const double *ring, int64_t mask,
                            int64_t width, const double *size, double *x, double *e)
    void delay_lanes_window(int64_t T, int64_t delay, int64_t width, double *entering,
                            int64_t stride, double *out)
    void delay_lanes_write(int64_t T, int64_t n_states, const int8_t *active, const double *rows,
                           double **gamma)


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


cdef inline void begin_products(const Job *job, Work *w) noexcept nogil:
    cdef int64_t i
    for i in range(job.g.n_states * LANES):
        w.products[i] = 1.0


cdef inline void set_nothing(double *e, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n * LANES):
        e[i] = NOTHING


cdef inline bint choose(const Job *job, Work *w, const int32_t *first, const int32_t *others,
                        int lanes) noexcept nogil:
    """Exponents for a group, from those of now and what is reached; whether it is a single step."""
    cdef int64_t P = job.c.n_plain, size = P * LANES * sizeof(double), _
    cdef bint single
    memcpy(w.closed, w.reached, size)
    for _ in range(P):
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


cdef inline void come_ahead(const LaneCore *c, Work *w, int64_t l, int64_t t) noexcept nogil:
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


cdef inline int64_t begin_ahead(const Job *job, const Group *group, Work *w, int64_t g,
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


cdef inline int64_t come_back(const LaneCore *c, const Group *group, Work *w, int64_t l,
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


cdef inline void wake(const Job *job, const Group *group, Work *w, int64_t t) noexcept nogil:
    """Sequences whose last step is t."""
    cdef int64_t lane, m, l
    for lane in range(group.n):
        if group.length[lane] == t + 1:
            for m in range(job.c.n_plain):
                w.y[m * LANES + lane] = job.g.final[job.core.nodes[m]]
                w.e[m * LANES + lane] = 0.0
            for l in range(job.c.n_lines):
                w.run[l * LANES + lane], w.run_e[l * LANES + lane] = 1.0, 0.0


cdef inline int64_t begin_back(const Job *job, const Group *group, Work *w, int64_t g, int64_t t,
                               bint *single) noexcept nogil:
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
