"""Codes of symbols that are consecutive whole numbers."""
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from ..shared.threads cimport share

cdef extern from "shared/atomics.h" nogil:
    long ATOMIC_SWAP(long *, long)

cdef enum:
    PIECE = 1 << 14

ctypedef fused Whole:
    int32_t
    int64_t


cdef struct Job:
    const char *values
    int64_t stride               # in bytes
    int64_t first
    int64_t n_symbols
    int64_t n
    int32_t *codes
    long outside                 # some value was; any thread may say so


cdef void number(const Whole *values, Job *job, int64_t k) noexcept nogil:
    """The codes of a piece."""
    cdef int64_t t, begin = k * PIECE, end = min(begin + PIECE, job.n)
    cdef int64_t stride = job.stride, last = job.n_symbols - 1
    cdef int32_t *codes = job.codes
    cdef uint64_t code, outside = 0, first = <uint64_t> job.first
    # A code or what is left to the last one has its top bit set just where it is out of range, and
    # that takes no comparison, which vectors of any age would lack.
    if stride == sizeof(Whole):
        for t in range(begin, end):
            code = <uint64_t> <int64_t> values[t] - first
            outside |= code | (<uint64_t> last - code)
            codes[t] = <int32_t> code
    else:
        for t in range(begin, end):
            code = <uint64_t> <int64_t> (<const Whole *> (<const char *> values + t * stride))[0]
            code -= first
            outside |= code | (<uint64_t> last - code)
            codes[t] = <int32_t> code
    if outside >> 63:
        ATOMIC_SWAP(&job.outside, True)


cdef void number_short(void *job, int64_t k, int64_t thread) noexcept nogil:
    number(<const int32_t *> (<Job *> job).values, <Job *> job, k)


cdef void number_long(void *job, int64_t k, int64_t thread) noexcept nogil:
    number(<const int64_t *> (<Job *> job).values, <Job *> job, k)


def code_run(const Whole[:] column,    # IN
             int64_t first,
             int64_t n_symbols):
    """Number the symbols first, first + 1, ... from 0; None where there is another one."""
    cdef int64_t n = column.shape[0]
    cdef Job job
    codes = np.empty(n, dtype=np.int32)
    if n == 0:
        return codes
    cdef int32_t[::1] out = codes
    job.values, job.stride = <const char *> &column[0], column.strides[0]
    job.first, job.n_symbols, job.n = first, n_symbols, n
    job.codes, job.outside = &out[0], False
    with nogil:
        share(number_short if Whole is int32_t else number_long, &job, (n + PIECE - 1) // PIECE)
    return None if job.outside else codes
