"""Whether numbers are finite, and whether they are those of before."""
from libc.stdint cimport int64_t
from libc.string cimport memcmp

cimport numpy as cnp

from ..shared.threads cimport share

cnp.import_array()

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


def same_bits(cnp.ndarray kept,    # IN
              given):
    """Whether what is given is an array with the type, the shape and the bits of one that was kept.

    Of a few numbers, to compare them takes numpy twenty times as long.
    """
    cdef cnp.ndarray other
    cdef int k
    if not cnp.PyArray_CheckExact(given):
        return False
    other = given
    if other.descr is not kept.descr and other.descr != kept.descr:
        return False
    if cnp.PyArray_NDIM(other) != cnp.PyArray_NDIM(kept):
        return False
    for k in range(cnp.PyArray_NDIM(kept)):
        if cnp.PyArray_DIM(other, k) != cnp.PyArray_DIM(kept, k):
            return False
    if cnp.PyArray_IS_C_CONTIGUOUS(kept) and cnp.PyArray_IS_C_CONTIGUOUS(other):
        return memcmp(cnp.PyArray_DATA(kept), cnp.PyArray_DATA(other),
                      cnp.PyArray_NBYTES(kept)) == 0
    return kept.tobytes() == other.tobytes()
