"""k-means: seeds by k-means++ and Lloyd's iterations, on rows of finite numbers."""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.memory cimport Memory

import numpy as np


cdef inline double distance(const double *x, const double *y, int64_t d) noexcept nogil:
    cdef double total = 0.0, gap
    cdef int64_t j
    for j in range(d):
        gap = x[j] - y[j]
        total += gap * gap
    return total


def seed(const double[:, ::1] X,        # IN (n, d), n > 0
         const double[::1] draws,       # IN, from [0, 1): one, then `trials` for each further seed
         int64_t trials,                # IN
         double[:, ::1] centres):       # OUT (k, d)
    """Seeds by k-means++, each the best of some trials; the sum of squared distances to them."""
    cdef int64_t n = X.shape[0], d = X.shape[1], k = centres.shape[0], i = 0, c, t, j, best
    cdef double potential = 0.0, total, aim, least
    cdef Watch watch = new_watch(trials * d)
    cdef double *closest
    cdef double *tried
    cdef double *kept
    cdef Memory memory = Memory()
    closest, tried, kept = memory.rows(1, n), memory.rows(1, n), memory.rows(1, n)
    with nogil:
        best = min(<int64_t> (draws[0] * n), n - 1)
        centres[0, :] = X[best, :]
        for j in range(n):
            closest[j] = distance(&X[j, 0], &X[best, 0], d)
            potential += closest[j]
        for c in range(1, k):
            least = INFINITY
            for t in range(trials):
                aim, total = draws[1 + (c - 1) * trials + t] * potential, 0.0
                for i in range(n):
                    total += closest[i]
                    if total >= aim:
                        break
                i, total = min(i, n - 1), 0.0
                for j in range(n):
                    tried[j] = min(closest[j], distance(&X[j, 0], &X[i, 0], d))
                    total += tried[j]
                if total < least:
                    least, best = total, i
                    tried, kept = kept, tried
            closest, kept = kept, closest
            potential = least
            centres[c, :] = X[best, :]
            if stopped(&watch, n):
                break
        check()
    return potential


def lloyd(const double[:, ::1] X,       # IN (n, d), n > 0
          double[:, ::1] centres,       # INOUT (k, d)
          int64_t max_iter, double tol,  # IN
          int32_t[::1] labels):         # OUT (n,), the nearest centre of each row
    """Lloyd's iterations; the sum of squared distances, or -1 where a centre is left without rows.

    Ends where no row changes its centre, or all centres together move by no more than `tol`.
    """
    cdef int64_t n = X.shape[0], d = X.shape[1], k = centres.shape[0], i, c, j, r
    cdef int32_t nearest
    cdef double least, gap, moved, inertia = 0.0
    cdef bint same, empty = False
    cdef Watch watch = new_watch(k * d)
    sums_, counts_ = np.empty((k, d)), np.empty(k)
    cdef double[:, ::1] sums = sums_
    cdef double[::1] counts = counts_
    with nogil:
        labels[:] = -1
        for r in range(max_iter + 1):
            same, inertia = True, 0.0
            sums[:, :] = 0.0
            counts[:] = 0.0
            for i in range(n):
                nearest, least = 0, INFINITY
                for c in range(k):
                    gap = distance(&X[i, 0], &centres[c, 0], d)
                    if gap < least:
                        least, nearest = gap, <int32_t> c
                same = same and labels[i] == nearest
                labels[i] = nearest
                inertia += least
                counts[nearest] += 1.0
                for j in range(d):
                    sums[nearest, j] += X[i, j]
            # With the last centres only the labels are looked for.
            if same or r == max_iter:
                break
            moved = 0.0
            for c in range(k):
                if counts[c] == 0.0:
                    empty = True
                    break
                for j in range(d):
                    gap = sums[c, j] / counts[c]
                    moved += (gap - centres[c, j]) * (gap - centres[c, j])
                    centres[c, j] = gap
            if moved <= tol:
                max_iter = r + 1
            if empty or stopped(&watch, n):
                break
        check()
    return -1.0 if empty else inertia


def best_centres(const double[:, ::1] X,       # IN (n, d), n > 0
                 const double[:, ::1] draws,   # IN, a row as `seed` takes it for each start
                 int64_t k, int64_t trials,    # IN
                 int64_t max_iter, double tol):  # IN
    """The centres of the best of several starts; None where one is left without rows."""
    cdef int64_t s
    cdef double inertia, least = INFINITY
    best, known = None, None
    for s in range(draws.shape[0]):
        centres, labels = np.empty((k, X.shape[1])), np.empty(X.shape[0], dtype=np.int32)
        seed(X, draws[s], trials, centres)
        inertia = lloyd(X, centres, max_iter, tol, labels)
        if inertia < 0.0:
            return None
        # One clustering may be found several times; the first order of its centres stays.
        if inertia < least and (known is None or len(np.unique(known * k + labels)) > k):
            least, best, known = inertia, centres, labels
    return best
