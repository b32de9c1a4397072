"""Sums over steps that the M-steps of emissions need.

They are added up in pieces, which are the same whatever the number of threads.
"""
from libc.stdint cimport int32_t, int64_t

cimport numpy as cnp

from ..shared.interrupt cimport Watch, new_watch, stopped
from ..shared.threads cimport share
from ..simd.instructions cimport instructions_in_use

import numpy as np

cnp.import_array()


cdef extern from "data/moment_steps.h" nogil:
    const int *instructions
    void moment_rows(int64_t n, int64_t d, int64_t S, const double *X, const double *shift,
                     const double *weights, double *sums)
    void product_rows(int64_t n, int64_t d, int64_t S, const double *X, const double *shift,
                      const double *weights, double *sums)

instructions = instructions_in_use()

cdef enum:
    MOST_PIECES = 32
    LEAST_ROWS = 4096            # of a piece
    RUN = 4096                   # rows after which to look whether the call is to end
    GAP = 8                      # a cache line, which no two threads write to


cdef struct Job:
    void (*add)(const Job *, int64_t begin, int64_t n, double *sums) noexcept nogil
    const double *X              # (n, d)
    int64_t d
    const double *shift
    const int32_t *index
    const double *weights        # (n, k)
    int64_t k
    int64_t n
    int64_t n_pieces
    int64_t apart                # from the sums of a piece to those of the next
    double *sums


cdef void add_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef int64_t begin = job.n * number // job.n_pieces
    cdef int64_t end = job.n * (number + 1) // job.n_pieces
    cdef Watch watch = new_watch(job.k * job.d * job.d)
    while begin < end and not stopped(&watch, RUN):
        job.add(job, begin, min(RUN, end - begin), job.sums + number * job.apart)
        begin += RUN


cdef added(Job *job, int64_t n, int64_t size, int64_t least):
    """The sums over n rows, of which a piece has at least so many."""
    cdef int64_t n_pieces = max(min(n // least, MOST_PIECES), 1), piece, i
    sums = np.zeros((n_pieces, size + GAP))
    cdef double[:, ::1] out = sums
    if n == 0 or size == 0:
        return sums[0, :size]
    job.n, job.n_pieces, job.apart, job.sums = n, n_pieces, size + GAP, &out[0, 0]
    with nogil:
        share(add_piece, job, n_pieces)
        for piece in range(1, n_pieces):
            for i in range(size):
                out[0, i] += out[piece, i]
    return sums[0, :size]


cdef void add_by_index(const Job *job, int64_t begin, int64_t n, double *sums) noexcept nogil:
    cdef int64_t t, i, k = job.k
    cdef double *row
    for t in range(begin, begin + n):
        row = sums + job.index[t] * k
        for i in range(k):
            row[i] += job.weights[t * k + i]


cdef void add_diagonal(const Job *job, int64_t begin, int64_t n, double *sums) noexcept nogil:
    moment_rows(n, job.d, job.k, job.X + begin * job.d, job.shift,
                job.weights + begin * job.k, sums)


cdef void add_outer(const Job *job, int64_t begin, int64_t n, double *sums) noexcept nogil:
    product_rows(n, job.d, job.k, job.X + begin * job.d, job.shift,
                 job.weights + begin * job.k, sums)


def sum_rows(const int32_t[::1] index,         # IN
             const double[:, ::1] values,      # IN
             int64_t n_groups):
    """Sum the rows of `values` with the same index, (n_groups, k)."""
    cdef Job job
    cdef int64_t n = index.shape[0], k = values.shape[1], t
    cdef int32_t low = 0, high = -1
    with nogil:
        for t in range(n):
            low, high = min(low, index[t]), max(high, index[t])
    if low < 0 or high >= n_groups or values.shape[0] != n:
        raise ValueError(
            f"The rows were encoded for other tables: they hold numbers from {low} to {high}, but "
            f"there are {n_groups}, from 0 on."
        )
    if n and k:
        job.index, job.weights = &index[0], &values[0, 0]
    job.add, job.k, job.d = add_by_index, k, 1
    sums = added(&job, n, n_groups * k, max(LEAST_ROWS, 4 * n_groups))
    return sums.reshape(n_groups, k)


cdef moments(Job *job, const double[:, ::1] X, const double[:, ::1] weights,
             const double[:, ::1] shift, int64_t n_sums):
    """(n_sums, k rounded up to 8); the rest is junk."""
    cdef int64_t n = X.shape[0], width = (weights.shape[1] + 7) // 8 * 8
    job.d, job.k = X.shape[1], weights.shape[1]
    if n and job.d and job.k:
        job.X, job.weights, job.shift = &X[0, 0], &weights[0, 0], &shift[0, 0]
    return added(job, n if job.d else 0, n_sums * width, LEAST_ROWS).reshape(n_sums, width)


def diagonal_moments(const double[:, ::1] X,          # IN, NaN: missing
                     const double[:, ::1] weights,    # IN, (n, k)
                     shift):                          # IN, (d,), or (k, d): for each weight
    """Weights, and weighted sums of X - shift and its square, over what is observed, (k, d)."""
    cdef Job job
    cdef int64_t d = X.shape[1], k = weights.shape[1]
    job.add = add_diagonal
    padded = np.zeros((d, (k + 7) // 8 * 8))
    padded[:, :k] = np.broadcast_to(shift, (k, d)).T
    out = moments(&job, X, weights, padded, 3 * d).reshape(3, d, (k + 7) // 8 * 8)
    return tuple(out[i, :, :k].T.copy() for i in range(3))


def outer_moments(const double[:, ::1] X,          # IN, at most 16 columns, none missing
                  const double[:, ::1] weights,    # IN, (n, k)
                  const double[::1] shift):        # IN, (d,)
    """Weights (k,), and weighted sums of X - shift (k, d) and of its products (k, d, d)."""
    cdef Job job
    cdef int64_t d = X.shape[1], k = weights.shape[1]
    job.add = add_outer
    out = moments(&job, X, weights, np.asarray(shift)[None], (1 + d) * (1 + d))
    out = out.reshape(1 + d, 1 + d, (k + 7) // 8 * 8)
    i, j = np.tril_indices(1 + d)
    out[j, i] = out[i, j]
    out = np.ascontiguousarray(np.moveaxis(out[:, :, :k], 2, 0))
    return out[:, 0, 0], out[:, 0, 1:], out[:, 1:, 1:]


cdef double sum_of(const double *values, int64_t n) noexcept nogil:
    """The sum as numpy rounds it: by halves, of which each is added up as eight sums."""
    cdef double[8] sums
    cdef double total = 0.0
    cdef int64_t i, k, half = n // 2 - n // 2 % 8
    if n > 128:
        return sum_of(values, half) + sum_of(values + half, n - half)
    if n >= 8:
        for k in range(8):
            sums[k] = values[k]
        for i in range(8, n - 7, 8):
            for k in range(8):
                sums[k] += values[i + k]
        total = (((sums[0] + sums[1]) + (sums[2] + sums[3]))
                 + ((sums[4] + sums[5]) + (sums[6] + sums[7])))
    for i in range(n // 8 * 8, n):
        total += values[i]
    return total


def shares(cnp.ndarray counts,         # IN, float64, contiguous
           double least):
    """Counts divided by the sums over the last axis; None where a sum is not above `least`.

    Of a few numbers, what numpy does before and after takes twenty times as long.
    """
    cdef int ndim = cnp.PyArray_NDIM(counts)
    cdef int64_t k, width
    cdef double total
    cdef double *row
    cdef double *end
    if (ndim == 0 or cnp.PyArray_TYPE(counts) != cnp.NPY_DOUBLE
            or not cnp.PyArray_ISCARRAY_RO(counts)):
        raise ValueError("shares takes a contiguous array of float64.")
    width = cnp.PyArray_DIM(counts, ndim - 1)
    found = cnp.PyArray_NewCopy(counts, cnp.NPY_CORDER)
    row = <double *> cnp.PyArray_DATA(found)
    end = row + cnp.PyArray_SIZE(counts)
    while row < end:
        total = sum_of(row, width)
        if not total > least:  # NaN too
            return None
        for k in range(width):
            row[k] /= total
        row += width
    return found if width > 0 else None
