"""Forward-backward over minimum durations whose emissions are far apart.

The recursions of delay/scaled.pxd, with an exponent for every number in every step: a poor state's
products shrink so fast that exponents which stay as they are would not last for many steps.
"""
from libc.math cimport frexp
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..shared.interrupt cimport stopped
from ..shared.memory cimport Memory
from .model cimport NOTHING, Model
from .scaled cimport Scaled, ScaledWork, first_row_of, norm_by, rows_at, sum_of_tops


cdef extern from "delay/apart_steps.h" nogil:
    const int64_t MOST_STEPS
    const int64_t WIDE_ROW

    ctypedef struct Apart:
        const Scaled *c
        double *rows
        int64_t mask
        double *after_x
        double *after_e
        int64_t after_mask
        double *runs
        int64_t live
        double x[8]
        double e[8]
        double run[8]
        double run_e[8]
        int64_t block
        double rest[8]
    void apart_ahead(Apart *, int64_t batch, int64_t t, int64_t n, const double *emit,
                     const int32_t *rows)
    void apart_mass(const Apart *, double *x, double *e)
    void apart_back(Apart *, int64_t batch, int64_t t, int64_t n, const double *emit,
                    const int32_t *rows)
    void scaled_window(const Scaled *, int64_t begin, int64_t end, const double *tails,
                       double *enter, const double *rest, int64_t stride, int64_t live,
                       double *gamma)


cdef inline int open_apart(Apart *a, const ScaledWork *w, const Model *p, Memory memory,
                           int64_t longest, bint again) except -1:
    """What sequences need that are not longer than this, if they can be done so."""
    if not w.fits:
        return 0
    a.c = &w.f
    a.rows, a.mask = p.alpha, -1
    if not again:
        a.rows, a.mask = memory.table(p.ring, WIDE_ROW), p.ring - 1
    a.after_x, a.after_e, a.after_mask = p.back.ring_x, p.back.ring_e, p.back.mask
    a.runs = memory.table(longest // w.f.most + 2, 16)
    return 0


cdef inline void first_batch(Apart *a, const Model *p, const double *emit) noexcept nogil:
    """Step 0, all of whose product comes after it."""
    cdef int64_t k
    cdef int power
    cdef double factor
    first_row_of(a.c, p, a.rows, a.rows + 8)
    for k in range(8):
        a.rows[16 + k] = 0.0 if a.rows[k] > 0.0 else NOTHING
        a.rows[24 + k] = 0.0 if a.rows[8 + k] > 0.0 else NOTHING
        a.x[k], a.e[k] = a.rows[k], a.rows[16 + k]
        a.runs[k], a.runs[8 + k] = 1.0, 0.0
        factor = a.c.step[k] * emit[k] if k < a.c.S else 1.0
        a.run[k] = 2.0 * frexp(factor, &power)
        a.run_e[k] = power - 1
    a.live = 1


cdef inline bint apart_sequence(Apart *a, ScaledWork *w, const Model *p, int64_t origin, int64_t T,
                                double *gamma, double *log_z) noexcept nogil:
    """Likelihood and, if asked for, posteriors; False: emissions are too small."""
    cdef Scaled *f = &w.f
    cdef const int32_t *rows = p.rows + origin if p.n_rows else NULL
    cdef int64_t S = p.g.n_states, t = 0, n, batch = 0, begin, end = T
    cdef double total = 0.0, x = 0.0, e = NOTHING
    cdef double *emit = p.plain
    f.T = T
    while t < T:
        n = 1 if t == 0 else min(T - t, f.most)
        if p.n_rows:
            total += sum_of_tops(p, origin + t, n)
        else:
            emit = p.plain if gamma == NULL else gamma + t * S
            if rows_at(p, origin + t, n, emit, &total) < 1:
                return False
        if t == 0:
            first_batch(a, p, emit + rows[0] * S if p.n_rows else emit)
        else:
            apart_ahead(a, batch, t, n, emit, rows + t if p.n_rows else NULL)
        t += n
        batch += 1
        if stopped(p.watch, n):
            return True
    apart_mass(a, &x, &e)
    if not norm_by(f, total, x, e, log_z) or gamma == NULL:
        return True
    a.block = (T - 1) // f.delay * f.delay
    memset(a.rest, 0, sizeof(a.rest))
    while batch > 0:
        batch -= 1
        n = t
        t = 1 + (batch - 1) * f.most if batch > 0 else 0
        n -= t
        apart_back(a, batch, t, n, p.plain if p.n_rows else gamma + t * S,
                   rows + t if p.n_rows else NULL)
        # Of the blocks that are done, while they are at hand: each needs the one before it.
        begin = (t + f.delay - 1) // f.delay * f.delay + f.delay if t > 0 else 0
        if begin < end:
            scaled_window(f, begin, end, a.rows, a.rows + 8, a.rows + 24, WIDE_ROW, a.live, gamma)
            end = begin
        if stopped(p.watch, n):
            return True
    return True
