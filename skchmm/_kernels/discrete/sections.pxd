"""A sweep in sections, for rows that the output has no room for; see two_ended.pyx.

First both ends walk to the middle and keep a row per section, then each section is swept from both
of its ends, from the middle on.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..shared.interrupt cimport Watch
from .ends cimport LEAVE, WALK, End, Kept, Sweep, begin_at, begin_leaving, weigh
from .meeting cimport approach, begin_both, finish, join, log_meeting


cdef inline void keep(const End *end, Kept *kept) noexcept nogil:
    memcpy(kept.row, end.row, sizeof(kept.row))
    memcpy(kept.exponents, end.exponents, sizeof(kept.exponents))


cdef inline void go_back_to(const Sweep *w, const Kept *kept, int64_t at, End *end) noexcept nogil:
    """An end as it was before a step."""
    end.at = at
    memcpy(end.row, kept.row, sizeof(kept.row))
    memcpy(end.exponents, kept.exponents, sizeof(kept.exponents))
    weigh(&w.shape, end)


cdef inline int64_t border(const Sweep *w, int64_t half, int64_t j) noexcept nogil:
    """Steps from the beginning, or the end, to section j of a half."""
    return j * half // (half // w.section + 1)


cdef inline bint walk_to_middle(Sweep *w, Watch *watch, int64_t origin, int64_t T, double *total,
                                Kept *middle) noexcept nogil:
    """Keep the ends before each section, and where they meet."""
    cdef int64_t half = T // 2, n = half // w.section + 1, j, done = 1
    if not begin_both(w, origin, T, total):
        return False
    for j in range(1, n):
        if not approach(w, watch, border(w, half, j) - done, border(w, half, j) - done, WALK,
                        total):
            return False
        done = border(w, half, j)
        keep(&w.ahead, w.kept + 2 * j)
        keep(&w.back, w.kept + 2 * j + 1)
    if not approach(w, watch, half - done, T - half - done, WALK, total):
        return False
    keep(&w.ahead, middle)
    return True


cdef inline bint sweep_section(Sweep *w, Watch *watch, int64_t n, bint ahead_begun, bint back_begun,
                               bint counting) noexcept nogil:
    """n steps whose ends are ready; those that have begun have left their first row."""
    cdef double ignored = 0.0
    if not ahead_begun:
        begin_leaving(&w.ahead)
    if not back_begun:
        begin_leaving(&w.back)
    return (approach(w, watch, n // 2 - ahead_begun, n - n // 2 - back_begun, LEAVE, &ignored)
            and finish(w, watch, n, counting))


cdef inline bint sweep_sections(Sweep *w, Watch *watch, int64_t origin, int64_t T, bint counting,
                                double *log_z) noexcept nogil:
    cdef int64_t half = T // 2, n = half // w.section + 1, j, first, size
    cdef double total = 0.0, ignored = 0.0
    cdef double *gamma = w.gamma
    cdef Kept middle, beside
    w.gamma = NULL  # no row is left on the way to the middle
    if not walk_to_middle(w, watch, origin, T, &total, &middle):
        w.gamma = gamma
        return False
    w.gamma = gamma
    log_z[0] = total + log_meeting(w)
    if not log_z[0] > -INFINITY:
        return False
    for j in range(n - 1, -1, -1):  # from the middle to the beginning
        first, size = origin + border(w, half, j), border(w, half, j + 1) - border(w, half, j)
        w.left_first = first
        keep(&w.back, &beside)
        if j > 0:
            go_back_to(w, w.kept + 2 * j, first, &w.ahead)
        elif not begin_at(w, &w.ahead, first, w.start, &ignored):
            return False
        if not sweep_section(w, watch, size, j == 0, False, counting):
            return False
        if counting:
            join(w, w.ahead.row, w.ahead.exponents, beside.row, beside.exponents, w.joined)
    go_back_to(w, &middle, origin + half, &w.ahead)
    for j in range(n - 1, -1, -1):  # from the middle to the end
        size = (border(w, half, j + 1) if j + 1 < n else T - half) - border(w, half, j)
        first = origin + T - border(w, half, j) - size
        w.left_first = first
        keep(&w.ahead, &beside)
        if j > 0:
            go_back_to(w, w.kept + 2 * j + 1, first + size - 1, &w.back)
        elif not begin_at(w, &w.back, first + size - 1, w.final, &ignored):
            return False
        if not sweep_section(w, watch, size, False, j == 0, counting):
            return False
        if counting and j + 1 < n:
            join(w, beside.row, beside.exponents, w.back.row, w.back.exponents, w.joined)
    return True
