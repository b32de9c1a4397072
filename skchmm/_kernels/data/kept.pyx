"""Room for large tables that a call throws away, kept for the next call.

What is freed at the end of a call goes back to the system where it is the last of the heap, as the
tables of a call are; then the next call waits until the system has cleared every page of it again,
which can take longer than the call itself.
"""
from libc.stdint cimport int64_t

import numpy as np


cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object)

# Numbers: fewer come from memory that is there, and more would be too much to hold on to.
cdef int64_t LEAST = 1 << 14, MOST = 1 << 21


cdef class Kept:
    """One array, handed out to one user at a time."""
    cdef list spare

    def __init__(self):
        self.spare = []

    def room(self, int64_t n):
        """An array of n doubles of any value, which nobody else holds."""
        if not LEAST <= n <= MOST:
            return np.empty(n)
        try:
            whole = self.spare.pop()  # so no other thread has it until it is back
        except IndexError:
            whole = None
        # One reference is here; views that are still in use have others.
        if whole is None or whole.size < n or Py_REFCNT(whole) > 1:
            whole = np.empty(n)
        part = whole[:n]
        self.spare.append(whole)
        return part
