"""Log-densities of Gaussians."""
from libc.stdint cimport int64_t

from ..shared.threads cimport share
from ..simd.instructions cimport instructions_in_use

from .kept import Kept

import numpy as np


cdef extern from "data/normal_steps.h" nogil:
    const int *instructions
    void normal_rows(int64_t n, int64_t d, int64_t S, const double *X, const double *means,
                     const double *scales, const double *norms, double *out)
    void full_normal_rows(int64_t n, int64_t d, int64_t S, const double *X, const double *means,
                          const double *whiten, const double *norms, double *out)

instructions = instructions_in_use()

MAX_FULL_COLUMNS = 16

cdef enum:
    PIECE = 2048  # rows


cdef struct Job:
    bint full
    int64_t n
    int64_t d
    int64_t S
    const double *X
    const double *means
    const double *scales         # or `whiten` where covariances are full
    const double *norms
    double *out


cdef void score_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef int64_t t = number * PIECE
    if job.full:
        full_normal_rows(min(PIECE, job.n - t), job.d, job.S, job.X + t * job.d, job.means,
                         job.scales, job.norms, job.out + t * job.S)
    else:
        normal_rows(min(PIECE, job.n - t), job.d, job.S, job.X + t * job.d, job.means, job.scales,
                    job.norms, job.out + t * job.S)


tables = Kept()


cdef scores(Job *job, const double[:, ::1] X, int64_t S):
    """The log-densities of X, (n, S)."""
    job.n, job.d, job.S = X.shape[0], X.shape[1], S
    if job.n == 0 or job.d == 0 or S == 0:
        return np.zeros((job.n, S))
    table = tables.room(job.n * S).reshape(job.n, S)
    cdef double[:, ::1] out = table
    job.X, job.out = &X[0, 0], &out[0, 0]
    with nogil:
        share(score_piece, job, (job.n + PIECE - 1) // PIECE)
    return table


def diagonal_log_densities(const double[:, ::1] X,       # IN, NaN: missing
                           means, variances):            # IN, (S, d)
    """log N(x_t; means, variances) of every row and Gaussian, (n, S); O(n S d)."""
    cdef int64_t S = means.shape[0]
    cdef Job job
    padded = np.zeros((3, X.shape[1], (S + 7) // 8 * 8))
    padded[0, :, :S] = -means.T
    padded[1, :, :S] = 1.0 / np.sqrt(variances.T)
    padded[2, :, :S] = np.log(2 * np.pi * variances.T)
    cdef const double[:, :, ::1] table = padded
    job.full = False
    job.means, job.scales, job.norms = &table[0, 0, 0], &table[1, 0, 0], &table[2, 0, 0]
    return scores(&job, X, S)


def full_log_densities(const double[:, ::1] X,       # IN, at most MAX_FULL_COLUMNS, none missing
                       means,                        # IN, (S, d)
                       whiten,                       # IN, (S, d, d), lower triangles
                       norms):                       # IN, (S,), log |2 pi covariance|
    """log N(x_t) of every row and Gaussian, (n, S), where whiten (x - mean) is standard normal."""
    cdef int64_t d = X.shape[1], S = means.shape[0]
    cdef Job job
    padded = np.zeros((d + d * (d + 1) // 2 + 1, (S + 7) // 8 * 8))
    padded[:d, :S] = -means.T
    i, j = np.tril_indices(d)
    padded[d:-1, :S] = whiten[:, i, j].T
    padded[-1, :S] = norms
    cdef const double[:, ::1] table = padded
    job.full = True
    job.means, job.scales, job.norms = &table[0, 0], &table[d, 0], &table[table.shape[0] - 1, 0]
    return scores(&job, X, S)
