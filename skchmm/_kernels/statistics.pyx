"""Sums over steps that the M-steps of emissions need."""
from libc.stdint cimport int32_t, int64_t

from .layout cimport steps

import numpy as np


def sum_rows(const int32_t[::1] index,         # IN
             const double[:, ::1] values,      # IN
             int64_t n_groups):
    """Sum the rows of `values` with the same index, (n_groups, k)."""
    cdef int64_t t, i, k = values.shape[1]
    out = np.zeros((n_groups, k))
    cdef double[:, ::1] sums = out
    with nogil:
        for t in range(index.shape[0]):
            for i in range(k):
                sums[index[t], i] += values[t, i]
    return out


def diagonal_moments(const double[:, ::1] X,          # IN, NaN: missing
                     const double[:, ::1] weights,    # IN, (n, k)
                     const double[::1] shift):        # IN, (d,)
    """Weights, and weighted sums of X - shift and its square, over what is observed, (k, d)."""
    cdef int64_t n = X.shape[0], d = X.shape[1], k = weights.shape[1]
    out = np.zeros((3, d, (k + 7) // 8 * 8))
    cdef double[:, :, ::1] sums = out
    if n and d and k:
        with nogil:
            steps().moment_rows(n, d, k, &X[0, 0], &shift[0], &weights[0, 0], &sums[0, 0, 0])
    return tuple(out[i, :, :k].T.copy() for i in range(3))


def outer_moments(const double[:, ::1] X,          # IN, at most 16 columns, none missing
                  const double[:, ::1] weights,    # IN, (n, k)
                  const double[::1] shift):        # IN, (d,)
    """Weights (k,), and weighted sums of X - shift (k, d) and of its products (k, d, d)."""
    cdef int64_t n = X.shape[0], d = X.shape[1], k = weights.shape[1]
    out = np.zeros((1 + d, 1 + d, (k + 7) // 8 * 8))
    cdef double[:, :, ::1] sums = out
    if n and d and k:
        with nogil:
            steps().product_rows(n, d, k, &X[0, 0], &shift[0], &weights[0, 0], &sums[0, 0, 0])
    i, j = np.tril_indices(1 + d)
    out[j, i] = out[i, j]
    out = np.ascontiguousarray(np.moveaxis(out[:, :, :k], 2, 0))
    return out[:, 0, 0], out[:, 0, 1:], out[:, 1:, 1:]
