"""How far emissions are apart: whether exponents can stay as they are for many steps."""
from libc.math cimport INFINITY, M_LN2
from libc.stdint cimport int64_t


cdef inline double mean_spread(const double *table, int64_t n, int64_t S) noexcept nogil:
    """How many powers of two the emissions of a row are apart, from some of n rows."""
    cdef int64_t r = 0, i, step = max(n // 256, 1), seen = 0
    cdef double top, low, total = 0.0
    while r < n:
        top, low = -INFINITY, INFINITY
        for i in range(S):
            top, low = max(top, table[r * S + i]), min(low, table[r * S + i])
        total += min(top - low, 1000.0)
        seen += 1
        r += step
    return total / seen / M_LN2
