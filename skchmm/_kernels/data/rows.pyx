"""Rows of many arrays, one after the other, and back."""
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

cimport numpy as cnp

from ..shared.memory cimport Memory
from ..shared.threads cimport share

from .kept import Kept

import numpy as np

cnp.import_array()

tables = Kept()


cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArray_Descr:
        pass
    cnp.ndarray PyArray_NewFromDescr(PyTypeObject *, PyArray_Descr *, int, cnp.npy_intp *,
                                     cnp.npy_intp *, void *, int, PyObject *)


cdef enum:
    PIECE = 16                   # arrays

cdef int64_t MOST_STEPS = 1 << 40  # so that no sum overflows


cdef struct Job:
    int64_t n                    # arrays
    const char **arrays
    char *out
    const int64_t *offsets
    int64_t row_bytes


cdef void copy_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef int64_t k
    for k in range(number * PIECE, min((number + 1) * PIECE, job.n)):
        memcpy(job.out + job.offsets[k] * job.row_bytes, job.arrays[k],
               (job.offsets[k + 1] - job.offsets[k]) * job.row_bytes)


def ends_of(list lengths):
    """Offsets of sequences of these lengths; None unless all are positive numbers of type int."""
    cdef int64_t n = PyList_GET_SIZE(lengths), k, length
    cdef int overflow
    offsets = np.empty(n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = offsets
    ends[0] = 0
    for k in range(n):
        item = <object> PyList_GET_ITEM(lengths, k)
        if not PyLong_CheckExact(item):
            return None
        length = PyLong_AsLongLongAndOverflow(item, &overflow)
        if overflow or not 0 < length <= MOST_STEPS:
            return None
        ends[k + 1] = ends[k] + length
        if ends[k + 1] > MOST_STEPS:
            return None
    return offsets


def join(list arrays):           # IN, at least one, all of them ndarrays
    """The rows of arrays and their offsets; None where that takes more than copying."""
    cdef int64_t n = PyList_GET_SIZE(arrays), k
    cdef cnp.ndarray array, first = arrays[0], joined
    cdef int ndim = cnp.PyArray_NDIM(first)
    cdef Job job
    cdef Memory memory = Memory()
    dtype = first.dtype
    if (not 1 <= ndim <= 2 or dtype.hasobject or dtype.kind == "V" or not dtype.isnative
            or dtype.itemsize == 0):  # a new array of strings without letters would have one
        return None
    offsets = np.empty(n + 1, dtype=np.int64)
    cdef int64_t[::1] ends = offsets
    job.arrays = <const char **> memory.room(n * sizeof(char *))
    ends[0] = 0
    for k in range(n):
        array = <cnp.ndarray> PyList_GET_ITEM(arrays, k)
        if (cnp.PyArray_NDIM(array) != ndim or not cnp.PyArray_IS_C_CONTIGUOUS(array)
                or cnp.PyArray_DIM(array, 0) == 0
                or ndim == 2 and cnp.PyArray_DIM(array, 1) != cnp.PyArray_DIM(first, 1)
                or array.descr is not first.descr and array.descr != dtype):
            return None
        job.arrays[k] = <const char *> cnp.PyArray_DATA(array)
        ends[k + 1] = ends[k] + cnp.PyArray_DIM(array, 0)
    shape = (ends[n], *arrays[0].shape[1:])
    if dtype == np.float64:
        joined = tables.room(np.prod(shape)).reshape(shape)
    else:
        joined = np.empty(shape, dtype)
    job.n, job.out, job.offsets = n, <char *> cnp.PyArray_DATA(joined), &ends[0]
    job.row_bytes = cnp.PyArray_NBYTES(joined) // ends[n]
    with nogil:
        share(copy_piece, &job, (n + PIECE - 1) // PIECE)
    return joined, offsets


def cut(cnp.ndarray values,            # IN, of 1 or 2 dimensions, contiguous
        const int64_t[::1] offsets):   # IN
    """A list with the rows of each sequence, as views."""
    cdef int64_t k, n = offsets.shape[0] - 1
    cdef int ndim = cnp.PyArray_NDIM(values), flags = cnp.PyArray_FLAGS(values)
    cdef cnp.npy_intp row_bytes = cnp.PyArray_STRIDE(values, 0)
    cdef cnp.npy_intp[2] shape
    cdef cnp.ndarray view
    cdef cnp.dtype dtype = values.descr
    views = []
    shape[1] = cnp.PyArray_DIM(values, 1) if ndim == 2 else 1
    for k in range(n):
        shape[0] = offsets[k + 1] - offsets[k]
        Py_INCREF(dtype)  # the view takes a reference of it, and below of the array
        view = PyArray_NewFromDescr(
            <PyTypeObject *> cnp.ndarray, <PyArray_Descr *> dtype, ndim, shape, NULL,
            cnp.PyArray_BYTES(values) + offsets[k] * row_bytes, flags, NULL)
        Py_INCREF(values)
        cnp.PyArray_SetBaseObject(view, values)
        views.append(view)
    return views
