"""Whether numbers are finite."""
from libc.stdint cimport int64_t

from ..shared.threads cimport share

cdef extern from "shared/atomics.h" nogil:
    long ATOMIC_LOAD(long *)
    long ATOMIC_SWAP(long *, long)

cdef enum:
    PIECE = 1 << 14


cdef struct Job:
    const double *values
    int64_t n
    long strange                 # some value is not finite; any thread may say so


cdef bint some_strange(const double *values, int64_t n) noexcept nogil:
    # Zero times a number is zero, if it is finite, else NaN, and that stays in a sum. Eight sums,
    # since one addition would wait for the other.
    cdef double[8] sums
    cdef double total = 0.0
    cdef int64_t i, k
    for k in range(8):
        sums[k] = 0.0
    for i in range(0, n - 7, 8):
        for k in range(8):
            sums[k] += values[i + k] * 0.0
    for i in range(n // 8 * 8, n):
        total += values[i] * 0.0
    for k in range(8):
        total += sums[k]
    return total != 0.0


cdef void look(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef int64_t k = number * PIECE
    if not ATOMIC_LOAD(&job.strange) and some_strange(job.values + k, min(PIECE, job.n - k)):
        ATOMIC_SWAP(&job.strange, True)


def all_finite(const double[:, ::1] X):
    """Whether no element is infinite or NaN."""
    cdef Job job
    cdef int64_t n = X.shape[0] * X.shape[1]
    if n == 0:
        return True
    job.values, job.n, job.strange = &X[0, 0], n, False
    with nogil:
        share(look, &job, (n + PIECE - 1) // PIECE)
    return not job.strange
