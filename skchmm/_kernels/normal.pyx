"""Log-densities of Gaussians."""
from libc.stdint cimport int64_t

from .layout cimport steps

import numpy as np

MAX_FULL_COLUMNS = 16


def diagonal_log_densities(const double[:, ::1] X,       # IN, NaN: missing
                           means, variances):            # IN, (S, d)
    """log N(x_t; means, variances) of every row and Gaussian, (n, S); O(n S d)."""
    cdef int64_t n = X.shape[0], d = X.shape[1], S = means.shape[0]
    cdef int64_t width = (S + 7) // 8 * 8
    padded = np.zeros((3, d, width))
    padded[0, :, :S] = -means.T
    padded[1, :, :S] = 1.0 / np.sqrt(variances.T)
    padded[2, :, :S] = np.log(2 * np.pi * variances.T)
    cdef const double[:, :, ::1] table = padded
    buffer = np.empty(n * S + 8)
    cdef double[::1] out = buffer
    if n and d:
        with nogil:
            steps().normal_rows(n, d, S, &X[0, 0], &table[0, 0, 0], &table[1, 0, 0],
                                &table[2, 0, 0], &out[0])
    else:
        buffer[:] = 0.0
    return buffer[: n * S].reshape(n, S)


def full_log_densities(const double[:, ::1] X,       # IN, at most MAX_FULL_COLUMNS, none missing
                       means,                        # IN, (S, d)
                       whiten,                       # IN, (S, d, d), lower triangles
                       norms):                       # IN, (S,), log |2 pi covariance|
    """log N(x_t) of every row and Gaussian, (n, S), where whiten (x - mean) is standard normal."""
    cdef int64_t n = X.shape[0], d = X.shape[1], S = means.shape[0]
    cdef int64_t width = (S + 7) // 8 * 8
    padded = np.zeros((d + d * (d + 1) // 2 + 1, width))
    padded[:d, :S] = -means.T
    i, j = np.tril_indices(d)
    padded[d:-1, :S] = whiten[:, i, j].T
    padded[-1, :S] = norms
    cdef const double[:, ::1] table = padded
    buffer = np.empty(n * S + 8)
    cdef double[::1] out = buffer
    if n and d:
        with nogil:
            steps().full_normal_rows(n, d, S, &X[0, 0], &table[0, 0], &table[d, 0],
                                     &table[table.shape[0] - 1, 0], &out[0])
    else:
        buffer[:] = 0.0
    return buffer[: n * S].reshape(n, S)
