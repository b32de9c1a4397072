"""Threads inside a kernel: they share the pieces of its work, each taking one after the other."""
from libc.stdint cimport int64_t

import os


cdef extern from "threads.h" nogil:
    int MOST_THREADS
    int64_t allowed
    int new_pool()
    void rouse(int64_t)
    void in_threads(Task, void *, int64_t)


cdef int64_t most = 1


cdef int64_t threads_for(int64_t n_pieces) noexcept nogil:
    """How many threads to share so many pieces of work among."""
    return max(min(allowed, n_pieces), 1)


cdef void share(Task task, void *work, int64_t n_threads) noexcept nogil:
    """Call task(work, thread) in this thread, 0, and in up to n_threads - 1 others."""
    in_threads(task, work, n_threads)


cdef class Allowed:
    """Within it, kernels that this thread calls may share their work among so many threads."""
    cdef int64_t n_threads
    cdef readonly int64_t before

    def __init__(self, int64_t n_threads):
        self.n_threads = min(n_threads, most)

    def __enter__(self):
        global allowed
        self.before, allowed = allowed, self.n_threads
        rouse(self.n_threads)
        return self

    def __exit__(self, *error):
        global allowed
        allowed = self.before


def use_at_most(int64_t n_threads):
    """For tests; otherwise, there are as many as processors. Returns what it was."""
    global most
    before, most = most, min(n_threads, MOST_THREADS)
    return before


def _start():
    if new_pool() < 0:
        raise MemoryError


use_at_most(os.cpu_count() or 1)
_start()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start)
