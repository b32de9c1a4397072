"""Codes of symbols that are consecutive whole numbers."""
from libc.stdint cimport int32_t, int64_t, uint64_t

cimport numpy as cnp

from ..shared.threads cimport share

import numpy as np

cnp.import_array()

TAKEN = frozenset(map(np.dtype, (np.int32, np.int64)))  # types of columns

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


def code_run(cnp.ndarray column,       # IN, int32 or int64
             int64_t first,
             int64_t n_symbols):
    """Number the symbols first, first + 1, ... from 0; None where there is another one."""
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(column)
    cdef bint short = cnp.PyArray_ITEMSIZE(column) == sizeof(int32_t)
    cdef Job job
    if cnp.PyArray_NDIM(column) != 1 or column.dtype not in TAKEN:
        raise ValueError("code_run takes a 1-d array of int32 or int64.")
    codes = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT32, 0)
    if n == 0:
        return codes
    if not cnp.PyArray_ISALIGNED(column):
        column = column.copy()
    job.values, job.stride = cnp.PyArray_BYTES(column), cnp.PyArray_STRIDE(column, 0)
    job.first, job.n_symbols, job.n = first, n_symbols, n
    job.codes, job.outside = <int32_t *> cnp.PyArray_DATA(codes), False
    with nogil:
        share(number_short if short else number_long, &job, (n + PIECE - 1) // PIECE)
    return None if job.outside else codes
