"""Log-likelihoods as probabilities that doubles can hold."""
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t

from .interrupt cimport Watch, check, new_watch, stopped

import numpy as np

cdef int64_t RUN = 1 << 16       # rows after which to look whether the call is to end


def scale_rows(const double[:, ::1] log_table, double smallest=1.0):
    """Rows divided by their maximum, as probabilities: (table, row_max, row_lossy).

    `smallest` is the smallest weight that they will be multiplied by.
    """
    cdef int64_t R = log_table.shape[0], S = log_table.shape[1], r, i
    cdef double top, lossy = log_lossy(smallest)
    cdef Watch watch = new_watch(S)
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
            if stopped(&watch, 1):
                check()
    for r in range(0, R, RUN):
        PyErr_CheckSignals()
        np.exp(table_[r:r + RUN], out=table_[r:r + RUN])
    return table_, row_max_, row_lossy_
