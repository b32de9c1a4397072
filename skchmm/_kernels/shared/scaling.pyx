"""Log-likelihoods as probabilities that doubles can hold."""
from libc.stdint cimport int64_t, uint8_t

cimport numpy as cnp

from ..simd.instructions cimport instructions_in_use
from .interrupt cimport Watch, check, new_watch, stopped

cnp.import_array()


cdef extern from "shared/scale_steps.h" nogil:
    const int *instructions
    void scale_run(int64_t n, int64_t n_states, const double *rows, double log_lossy, double *out,
                   double *tops, uint8_t *lossy)

instructions = instructions_in_use()

cdef int64_t RUN_BYTES = 1 << 14  # of rows that are gone over several times


def scale_rows(const double[:, ::1] log_table, double smallest=1.0, out=None):
    """Rows divided by their maximum, as probabilities: (table, row_max, row_lossy).

    `smallest` is the smallest weight that they will be multiplied by; `out` is room for the table.
    """
    cdef cnp.npy_intp[2] shape
    cdef int64_t R = log_table.shape[0], S = log_table.shape[1], r = 0, n
    cdef double lossy = log_lossy(smallest)
    cdef Watch watch = new_watch(S)
    cdef double[:, ::1] room
    cdef double *table
    cdef double *row_max
    cdef uint8_t *row_lossy
    shape[0], shape[1] = R, S
    if out is None:
        out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_DOUBLE, 0)
        table = <double *> cnp.PyArray_DATA(out)
    else:
        room = out
        table = &room[0, 0]
    row_max_ = cnp.PyArray_EMPTY(1, shape, cnp.NPY_DOUBLE, 0)
    row_lossy_ = cnp.PyArray_ZEROS(1, shape, cnp.NPY_UINT8, 0)
    row_max = <double *> cnp.PyArray_DATA(row_max_)
    row_lossy = <uint8_t *> cnp.PyArray_DATA(row_lossy_)
    with nogil:
        while r < R:
            n = min(R - r, RUN_BYTES // (8 * S) + 1)
            scale_run(n, S, &log_table[r, 0], lossy, table + r * S, row_max + r, row_lossy + r)
            r += n
            if stopped(&watch, n):
                break
        check()
    return out, row_max_, row_lossy_
