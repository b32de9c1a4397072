"""Forward-backward over lines of one delay, one for each of up to 8 states: minimum durations.

A tail has no edge but the one from itself, and only tails lead to heads. With R_t the running
products of emissions and of the transitions within lines, and

    u_t = alpha_t(tail) / R_t,   g_t = alpha_t(head) / R_t,   z_t = beta_t(tail) R_t

the recursions of sums.pyx have no emissions and no products but R itself:

    g_t     = (u_{t-1} R_{t-1}) W / R_{t-1}          W: weights over the transition within the line
    u_t     = keep u_{t-1} + g_{t-d}                 keep: that of a tail over the same, often 1
    z_{t-1} = keep z_t + R_{t-1} (W (z_{t+d} / R_{t-1}))

with z_t = R_{T-1} for t >= T, where a path ends inside a line. A tail's posterior is u_t z_t, that
of entering a line g_t z_{t+d}. scaled_steps.h says how exponents keep all of it within range.
"""
from libc.math cimport INFINITY, M_LN2, log
from libc.stdint cimport int32_t, int64_t

from ..shared.interrupt cimport stopped
from ..shared.memory cimport Memory
from .lines cimport Core
from .model cimport BATCH, NOTHING, Model
from .spread cimport mean_spread


cdef extern from "delay/scaled_steps.h" nogil:
    ctypedef struct StepGroup:
        int64_t begin
        bint live
        double run[8]
        double run_e[8]
        double tail_e[8]
        double enter_e[8]
    ctypedef struct BackGroup:
        pass
    ctypedef struct Scaled:
        int64_t S
        int64_t T
        int64_t delay
        int64_t most
        double step[8]
        double keep[8]
        double final[8]
        double final_inside[8]
        double *tails
        double *enter
        int64_t mask
        double *after
        StepGroup *groups
        int64_t n_groups
        int64_t group_mask
        int64_t most_groups
        int64_t from_ "from"
        double x[8]
        double e[8]
        double run[8]
        double run_e[8]
        BackGroup *back_groups
        double norm_x
        double norm_e
        const double *factors
        const double *inverses
    int plain_convert(int64_t n, int64_t n_states, const double *rows, double *out, double *total)
    void scaled_open(Scaled *, const Core *, int64_t S, const double *x, const double *e,
                     const double *line_x, const double *line_e)
    void scaled_factors(const Scaled *, int64_t n, const double *emit, double *factors,
                        double *inverses)
    bint scaled_ahead(Scaled *, int64_t t, int64_t n, const double *emit, const int32_t *rows)
    void scaled_mass(const Scaled *, double *x, double *e)
    bint scaled_back(Scaled *, int64_t first, int64_t last, const double *emit, const int32_t *rows)
    void scaled_window(const Scaled *, int64_t begin, int64_t end, const double *tails,
                       double *enter, const double *rest, int64_t stride, int64_t live,
                       double *gamma)


cdef enum:
    KEPT_STEPS = 1 << 19         # of longer sequences other kernels keep less
    GROUPS = 16                  # of the way back at a time
    APART = 16                   # powers of two: where emissions are further, groups do not pay
    ROOM = 128                   # rows of 32 numbers for groups of short sequences


cdef struct ScaledWork:
    bint fits                    # whether the recursions are those of the graph,
    bint usable                  # and emissions not too far apart
    Scaled f


cdef inline int64_t ring_of(int64_t n) noexcept nogil:
    """The least power of two that is no less."""
    cdef int64_t size = 1
    while size < n:
        size *= 2
    return size


cdef inline int open_scaled(ScaledWork *w, const Model *p, Memory memory, int64_t n_table,
                            int64_t longest, bint again) except -1:
    """What sequences need that are not longer than this; says whether they can be done so."""
    cdef const Core *c = p.core
    cdef Scaled *f = &w.f
    cdef int64_t S = p.g.n_states, k, kept = min(longest, c.longest + 2 * BATCH)
    cdef double *factors
    w.fits = p.fast and c.ends_alike and (not again or longest <= KEPT_STEPS)
    w.usable = False
    if not w.fits:
        return 0
    scaled_open(f, c, S, p.ahead.x, p.ahead.e, p.ahead.line_x, p.ahead.line_e)
    for k in range(8):
        f.final[k] = f.final_inside[k] = 0.0
    for k in range(S):
        f.final[k], f.final_inside[k] = p.g.final[c.nodes[k]], p.g.final[c.inside[c.begin[k]]]
        w.fits = w.fits and f.keep[k] > 0.0 and f.step[k] > 0.0
    w.usable = w.fits and p.plainness > 1 and mean_spread(p.table, n_table, S) <= APART
    if not w.usable:
        return 0
    f.factors = f.inverses = NULL
    if p.n_rows:
        factors = memory.table(2 * p.n_rows, 8)
        scaled_factors(f, p.n_rows, p.plain, factors, factors + 8 * p.n_rows)
        f.factors, f.inverses = factors, factors + 8 * p.n_rows
    f.most_groups = longest // 3 + 64
    if again:
        # The memory of other steps: more would go back to the system after every call.
        f.mask = f.group_mask = ring_of(longest + 128) - 1
        f.enter, f.tails, f.after = p.alpha, p.alpha + 8 * longest, p.entering
        f.groups = <StepGroup *> (p.alpha + 16 * longest)
        f.back_groups = <BackGroup *> (f.groups + f.most_groups)
        return 0
    f.mask = f.group_mask = ring_of(kept + 2) - 1
    f.enter, f.tails = memory.table(f.mask + 1, 8), NULL
    f.groups = <StepGroup *> memory.room((f.group_mask + 1) * sizeof(StepGroup))
    return 0


cdef inline int rows_at(const Model *p, int64_t step, int64_t n, double *out,
                        double *total) noexcept nogil:
    """The emissions of some steps; what plain_convert says of them."""
    cdef int64_t S = p.g.n_states, i
    cdef int least = 2
    if p.rows == NULL:
        return plain_convert(n, S, p.table + step * S, out, total)
    for i in range(n):
        least = min(least, plain_convert(1, S, p.table + p.rows[step + i] * S, out + i * S, total))
    return least


cdef inline double sum_of_tops(const Model *p, int64_t step, int64_t n) noexcept nogil:
    """Of n steps; four sums do not wait for each other."""
    cdef double sums[4]
    cdef int64_t i
    sums[0] = sums[1] = sums[2] = sums[3] = 0.0
    for i in range(n):
        sums[i & 3] += p.tops[p.rows[step + i]]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef inline void first_row_of(const Scaled *f, const Model *p, double *tails,
                              double *enter) noexcept nogil:
    """Before any emission: u_0 and g_0 are what paths begin with, over the transition."""
    cdef int64_t i, m, k
    for k in range(8):
        tails[k] = enter[k] = 0.0
    for i in range(p.g.n_states):
        if p.g.start_nodes[i] >= 0:
            m = p.core.place[p.g.start_nodes[i]]
            if m < 8:
                tails[m] = p.start[i] / f.step[m]
            else:
                enter[m - 8] = p.start[i] / f.step[m - 8]


cdef inline void first_step(ScaledWork *w, const Model *p) noexcept nogil:
    cdef Scaled *f = &w.f
    cdef int64_t k
    first_row_of(f, p, f.x, f.enter)
    for k in range(8):
        f.e[k] = f.run_e[k] = 0.0
        f.run[k] = 1.0
        f.groups[0].run[k], f.groups[0].run_e[k] = 1.0, 0.0
        f.groups[0].tail_e[k] = f.groups[0].enter_e[k] = 0.0
    f.groups[0].begin, f.groups[0].live = 0, True
    f.n_groups, f.from_ = 1, -1
    if f.tails != NULL:
        for k in range(8):
            f.tails[k] = f.x[k]


cdef inline bint norm_by(Scaled *f, double total, double x, double e,
                         double *log_z) noexcept nogil:
    """The likelihood, and what posteriors are to be multiplied by; False where there is no path."""
    log_z[0] = -INFINITY
    if not x > 0.0:
        return False
    log_z[0] = total + e * M_LN2 + log(x)
    f.norm_x, f.norm_e = 1.0 / x, -e
    return True


cdef inline bint scaled_sequence(ScaledWork *w, const Model *p, int64_t origin, int64_t T,
                                 double *gamma, double *log_z) noexcept nogil:
    """Likelihood and, if asked for, posteriors; False: emissions are too small."""
    cdef Scaled *f = &w.f
    cdef const int32_t *rows = p.rows + origin if p.n_rows else NULL
    cdef int64_t S = p.g.n_states, t = 0, n, i
    cdef double total = 0.0, x = 0.0, e = NOTHING
    cdef double *emit
    f.T = T
    first_step(w, p)
    while t < T:
        # The first step is a group of its own, all of whose product comes after it.
        n = 1 if t == 0 else min(T - t, BATCH)
        emit = gamma + t * S if gamma != NULL else p.plain
        if p.n_rows:
            total += sum_of_tops(p, origin + t, n)
        elif rows_at(p, origin + t, n, emit, &total) < 2:
            return False
        if t == 0:
            for i in range(S):
                f.run[i] = f.step[i] * emit[i] if not p.n_rows else f.factors[8 * rows[0] + i]
        else:
            if not scaled_ahead(f, t, n, emit, rows + t if p.n_rows else NULL):
                return False
        t += n
        if stopped(p.watch, n):
            return True
    scaled_mass(f, &x, &e)
    if not norm_by(f, total, x, e, log_z) or gamma == NULL:
        return True
    i = f.n_groups - 1
    while i >= 0:
        n = max(i - GROUPS + 1, 0)
        if not scaled_back(f, n, i, gamma, rows):
            return False
        if stopped(p.watch, GROUPS * BATCH):
            return True
        i = n - 1
    scaled_window(f, 0, T, f.tails, f.enter, NULL, 8, 0, gamma)
    return True
