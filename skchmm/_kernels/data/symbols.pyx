"""Codes of symbols that are consecutive whole numbers, or letters; their cells in context."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

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
    int64_t n_symbols            # or rows of the table
    const int32_t *table
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


cdef void look_up(void *shared, int64_t k, int64_t thread) noexcept nogil:
    """The codes of a piece of letters."""
    cdef Job *job = <Job *> shared
    cdef int64_t t, begin = k * PIECE, end = min(begin + PIECE, job.n), n = job.n_symbols
    cdef int32_t code, outside = 0
    cdef uint32_t point
    for t in range(begin, end):
        point = (<const uint32_t *> (job.values + t * job.stride))[0]
        code = job.table[point] if point < n else -1
        outside |= code
        job.codes[t] = code
    if outside < 0:
        ATOMIC_SWAP(&job.outside, True)


cdef cnp.ndarray open_job(cnp.ndarray column, Job *job):
    """Read the column, aligned; room for the codes."""
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(column)
    codes = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT32, 0)
    job.values, job.stride = cnp.PyArray_BYTES(column), cnp.PyArray_STRIDE(column, 0)
    job.codes, job.outside, job.n = <int32_t *> cnp.PyArray_DATA(codes), False, n
    return codes


def code_letters(cnp.ndarray column,       # IN, strings of one character
                 const int32_t[::1] table):  # IN, the code of each code point, or -1
    """Number letters; None where there is one without a code."""
    cdef Job job
    if cnp.PyArray_NDIM(column) != 1 or column.dtype != "U1":
        raise ValueError("code_letters takes a 1-d array of strings of one character.")
    if not cnp.PyArray_ISALIGNED(column):
        column = column.copy()
    codes = open_job(column, &job)
    job.table, job.n_symbols = &table[0] if table.shape[0] else NULL, table.shape[0]
    with nogil:
        share(look_up, &job, (job.n + PIECE - 1) // PIECE)
    return None if job.outside else codes


def code_run(cnp.ndarray column,       # IN, int32 or int64
             int64_t first,
             int64_t n_symbols):
    """Number the symbols first, first + 1, ... from 0; None where there is another one."""
    cdef bint short = cnp.PyArray_ITEMSIZE(column) == sizeof(int32_t)
    cdef Job job
    if cnp.PyArray_NDIM(column) != 1 or column.dtype not in TAKEN:
        raise ValueError("code_run takes a 1-d array of int32 or int64.")
    if not cnp.PyArray_ISALIGNED(column):
        column = column.copy()
    codes = open_job(column, &job)
    job.first, job.n_symbols = first, n_symbols
    with nogil:
        share(number_short if short else number_long, &job, (job.n + PIECE - 1) // PIECE)
    return None if job.outside else codes


def cells_in_context(const int32_t[::1] codes,     # IN, -1: missing
                     const int64_t[::1] offsets,   # IN
                     int64_t n_symbols, int64_t order,
                     int64_t last):                # IN, the number of missing symbols
    """Number of the (context, symbol) pair of each step; missing symbols get the last one."""
    cdef int64_t s, t, back, context, radix, base = n_symbols + 1
    cdef bint known
    cdef bint right = offsets.shape[0] > 0 and offsets[0] == 0
    for s in range(offsets.shape[0] - 1):
        right = right and offsets[s] <= offsets[s + 1]
    if not (right and offsets[offsets.shape[0] - 1] == codes.shape[0]):
        raise ValueError(f"offsets must rise from 0 to {codes.shape[0]}, the number of rows.")
    found = np.empty(codes.shape[0], dtype=np.int32)
    cdef int32_t[::1] cells = found
    with nogil:
        for s in range(offsets.shape[0] - 1):
            for t in range(offsets[s], offsets[s + 1]):
                context, radix, known = 0, 1, True
                for back in range(1, order + 1):
                    known = known and t - back >= offsets[s] and codes[t - back] >= 0
                    context += radix * (codes[t - back] if known else n_symbols)
                    radix *= base
                cells[t] = <int32_t> (context * n_symbols + codes[t] if codes[t] >= 0 else last)
    return found
