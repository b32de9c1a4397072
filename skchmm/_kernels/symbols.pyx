"""Codes of symbols that are consecutive whole numbers."""
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from .threads cimport Pieces, share, split, take_piece, threads_for

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
    Pieces pieces
    int32_t *codes
    bint outside                 # some value was


cdef void number(const Whole *values, Job *job, int64_t begin, int64_t end) noexcept nogil:
    """Codes begin..end-1."""
    cdef int64_t t, stride = job.stride, last = job.n_symbols - 1
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
        job.outside = True


cdef void number_pieces(const Whole *values, Job *job, int64_t thread) noexcept nogil:
    cdef int64_t k = take_piece(&job.pieces, thread)
    while k >= 0:
        number(values, job, k * PIECE, min((k + 1) * PIECE, job.n))
        k = take_piece(&job.pieces, thread)


cdef void number_short(void *job, int64_t thread) noexcept nogil:
    number_pieces(<const int32_t *> (<Job *> job).values, <Job *> job, thread)


cdef void number_long(void *job, int64_t thread) noexcept nogil:
    number_pieces(<const int64_t *> (<Job *> job).values, <Job *> job, thread)


def code_run(const Whole[:] column,    # IN
             int64_t first,
             int64_t n_symbols):
    """Number the symbols first, first + 1, ... from 0; None where there is another one."""
    cdef int64_t n = column.shape[0], n_pieces = (n + PIECE - 1) // PIECE
    cdef int64_t n_threads = threads_for(n_pieces)
    cdef Job job
    codes = np.empty(n, dtype=np.int32)
    if n == 0:
        return codes
    cdef int32_t[::1] out = codes
    job.values, job.stride = <const char *> &column[0], column.strides[0]
    job.first, job.n_symbols, job.n = first, n_symbols, n
    job.codes, job.outside = &out[0], False
    split(&job.pieces, n_pieces, n_threads)
    with nogil:
        share(number_short if Whole is int32_t else number_long, &job, n_threads)
    return None if job.outside else codes
