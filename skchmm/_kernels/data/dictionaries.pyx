"""Features of steps that are given as dictionaries."""
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t

import numpy as np


def encode(list rows, dict vocabulary, bint learn):
    """Numbers and values of the features of each row, CSR: (indptr, indices, values).

    A string v under a key k is the feature "k=v" with the value 1, a number under k is the feature
    k. `vocabulary` maps features to numbers: with `learn` it grows, without others are left out.
    None where rows hold anything else than such dictionaries with strings as keys.
    """
    cdef int64_t n = 0, room = 4 * len(rows) + 16, r
    cdef double value
    cdef dict known = {}  # (key, string) -> number: so a name is put together once only
    cdef object number, v
    indptr_ = np.empty(len(rows) + 1, dtype=np.int64)
    indices_, values_ = np.empty(room, dtype=np.int32), np.empty(room)
    cdef int64_t[::1] indptr = indptr_
    cdef int32_t[::1] indices = indices_
    cdef double[::1] values = values_
    indptr[0] = 0
    for r in range(len(rows)):
        if type(rows[r]) is not dict:
            return None
        for k, v in (<dict> rows[r]).items():
            if type(k) is not str:
                return None
            if type(v) is str:
                number, value = known.get((k, v)), 1.0
                if number is None:
                    name = f"{k}={v}"
                    number = known[k, v] = _number(name, vocabulary, learn)
            elif type(v) is float or type(v) is int or type(v) is bool:
                number, value = _number(k, vocabulary, learn), v
                if not isfinite(value):
                    raise ValueError("A feature is NaN or infinite; leave out what is not known.")
            else:
                return None
            if number < 0:
                continue
            if n == room:
                room *= 2
                indices_, values_ = np.resize(indices_, room), np.resize(values_, room)
                indices, values = indices_, values_
            indices[n] = number
            values[n] = value
            n += 1
        indptr[r + 1] = n
    return indptr_, indices_[:n], values_[:n]


cdef object _number(str name, dict vocabulary, bint learn):
    number = vocabulary.get(name)
    if number is not None:
        return number
    if not learn:
        return -1
    number = vocabulary[name] = len(vocabulary)
    return number
