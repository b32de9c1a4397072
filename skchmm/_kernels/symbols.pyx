"""Codes of symbols that are consecutive whole numbers."""
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

ctypedef fused Whole:
    int32_t
    int64_t


def code_run(const Whole[:] column,    # IN
             int64_t first,
             int64_t n_symbols):
    """Number the symbols first, first + 1, ... from 0; None where there is another one."""
    cdef int64_t t, n = column.shape[0]
    cdef bint dense = column.strides[0] == sizeof(Whole)
    cdef uint64_t code, outside = 0
    codes = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] out = codes
    cdef const Whole *values = &column[0] if n else NULL
    # A code or what is left to the last one has its top bit set just where it is out of range, and
    # that takes no comparison, which vectors of any age would lack.
    with nogil:
        if dense:
            for t in range(n):
                code = <uint64_t> <int64_t> values[t] - <uint64_t> first
                outside |= code | (<uint64_t> (n_symbols - 1) - code)
                out[t] = <int32_t> code
        else:
            for t in range(n):
                code = <uint64_t> <int64_t> column[t] - <uint64_t> first
                outside |= code | (<uint64_t> (n_symbols - 1) - code)
                out[t] = <int32_t> code
    return None if outside >> 63 else codes
