"""The two ends of a sweep meet, and go on past each other; see two_ended.pyx."""
from libc.math cimport INFINITY, M_LN2, exp, frexp, ldexp, log, log1p
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..shared.interrupt cimport Watch, stopped
from .ends cimport BATCH, COUNT, FINISH, UNKNOWN, End, Sweep, advance, begin_at


cdef inline double join(const Sweep *w, const double *ahead_row, const double *ahead_exponents,
                        const double *back_row, const double *back_exponents,
                        double *counts) noexcept nogil:
    """log Z, from rows of neighbouring steps; counts of that transition, by place."""
    cdef int64_t n, m, width = w.places.width
    cdef int power = 0
    cdef double top = UNKNOWN, total = 0.0, size
    cdef double terms[256]
    cdef double sizes[256]
    for n in range(width):
        for m in range(width):
            # the product of two alone may be no double
            terms[n * width + m] = frexp(ahead_row[n] * w.weights[n * width + m], &power)
            sizes[n * width + m] = power + ahead_exponents[n]
            terms[n * width + m] *= frexp(back_row[m], &power)
            sizes[n * width + m] += power + back_exponents[m]
            if terms[n * width + m] > 0.0:
                top = max(top, sizes[n * width + m])
    for n in range(width * width):
        size = max(sizes[n] - top, -1000.0)
        terms[n] = ldexp(terms[n], <int> size) if terms[n] > 0.0 else 0.0
        total += terms[n]
    if counts != NULL:
        for n in range(width * width):
            counts[n] += terms[n] / total
    return top * M_LN2 + log(total)


cdef inline bint advance_far(Sweep *w, Watch *watch, int64_t n, int mode,
                             double *total) noexcept nogil:
    """n steps of both ends, with a look now and then whether the call is to end."""
    cdef int64_t m
    while n > 0:
        m = min(n, 1024 * BATCH)
        if not advance(w, &w.ahead, &w.back, m, mode, total) or stopped(watch, m):
            return False
        n -= m
    return True


cdef inline bint begin_both(Sweep *w, int64_t origin, int64_t T, double *total) noexcept nogil:
    return (begin_at(w, &w.ahead, origin, w.start, total)
            and begin_at(w, &w.back, origin + T - 1, w.final, total))


cdef inline bint approach(Sweep *w, Watch *watch, int64_t n_ahead, int64_t n_back, int mode,
                          double *total) noexcept nogil:
    """So many steps of each; the numbers differ by a few at most."""
    cdef int64_t both = min(n_ahead, n_back), _step
    if not advance_far(w, watch, both, mode, total):
        return False
    for _step in range(n_ahead - both):
        if not advance(w, &w.ahead, &w.idle, 1, mode, total):
            return False
    for _step in range(n_back - both):
        if not advance(w, &w.idle, &w.back, 1, mode, total):
            return False
    return True


cdef inline double at_row(const End *end, int64_t row, int64_t k) noexcept nogil:
    return end.row[k] if row == 0 else end.below[8 * (row - 1) + k]


cdef inline double open_window(const Sweep *w, End *end, const End *other) noexcept nogil:
    """What entered lines before the ends met, and is there at the next step; its logarithm."""
    cdef int64_t k, d, length
    cdef double total = 0.0
    end.top = UNKNOWN
    for k in range(w.places.n):
        if w.places.length[k] > 1:
            end.top = max(end.top, end.exponents[k] + other.exponents[k])
    for k in range(w.places.n):
        length = w.places.length[k]
        for d in range(1, length):
            end.past[8 * (d - 1) + k] = ldexp(
                at_row(end, d - 1, k) * at_row(other, length - 1 - d, k),
                <int> max(end.exponents[k] + other.exponents[k] - end.top, -2000.0))
            total += end.past[8 * (d - 1) + k]
    return end.top * M_LN2 + log(total)


cdef inline bint finish(Sweep *w, Watch *watch, int64_t n, bint counting) noexcept nogil:
    """n steps, past each other, after they have met in the middle of them."""
    cdef int mode = COUNT if counting else FINISH
    cdef double ignored = 0.0
    cdef double counts[256]
    memcpy(counts, w.back.counts, sizeof(counts))
    if not advance(w, &w.ahead, &w.back, counting, mode, &ignored):
        return False
    memcpy(w.back.counts, counts, sizeof(counts))  # both have counted the step where they met
    open_window(w, &w.ahead, &w.back)
    open_window(w, &w.back, &w.ahead)
    return approach(w, watch, n - n // 2 - counting, n // 2 - counting, mode, &ignored)


cdef inline double log_meeting(Sweep *w) noexcept nogil:
    cdef int64_t k
    cdef double ahead[16]
    cdef double back[16]
    cdef double one, two
    for k in range(16):
        ahead[k] = at_row(&w.ahead, w.places.length[k] - 1, k) if k < w.places.n else 0.0
        back[k] = at_row(&w.back, w.places.length[k] - 1, k) if k < w.places.n else 0.0
    one = join(w, ahead, w.ahead.exponents, back, w.back.exponents, NULL)
    if w.places.depth == 1:
        return one
    two = open_window(w, &w.ahead, &w.back)
    one, two = max(one, two), min(one, two)
    return one + log1p(exp(two - one)) if one > -INFINITY else one
