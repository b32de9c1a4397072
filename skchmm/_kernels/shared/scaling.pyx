"""Log-likelihoods as probabilities that doubles can hold."""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t

import numpy as np


def scale_rows(const double[:, ::1] log_table, double smallest=1.0):
    """Rows divided by their maximum, as probabilities: (table, row_max, row_lossy).

    `smallest` is the smallest weight that they will be multiplied by.
    """
    cdef int64_t R = log_table.shape[0], S = log_table.shape[1], r, i
    cdef double top, lossy = log_lossy(smallest)
    table_ = np.empty((R, S))
    row_max_ = np.empty(R)
    row_lossy_ = np.zeros(R, dtype=np.uint8)
    cdef double[:, ::1] table = table_
    cdef double[::1] row_max = row_max_
    cdef uint8_t[::1] row_lossy = row_lossy_
    with nogil:
        for r in range(R):
            top = log_table[r, 0]
            for i in range(1, S):
                top = max(top, log_table[r, i])
            row_max[r] = top
            if top == -INFINITY:
                top = 0.0
            for i in range(S):
                table[r, i] = log_table[r, i] - top
                if -INFINITY < table[r, i] < lossy:
                    row_lossy[r] = 1
    np.exp(table_, out=table_)
    return table_, row_max_, row_lossy_
