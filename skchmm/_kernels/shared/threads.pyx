"""Threads inside a kernel: they share the pieces of its work, each taking one after the other."""
from libc.stdint cimport int64_t

from .interrupt cimport Watch, check, flag_of_call, new_watch, stopped, use_flag

import os


cdef extern from "shared/threads.h" nogil:
    int MOST_THREADS
    int64_t allowed
    ctypedef struct Pieces:
        pass
    ctypedef void (*Task)(void *work, int64_t thread) noexcept nogil

    void split(Pieces *, int64_t n_pieces, int64_t n_threads)
    int64_t take_piece(Pieces *, int64_t thread)
    int new_pool()
    void rouse(int64_t)
    void in_threads(Task, void *, int64_t)


cdef int64_t most = 1


cdef int64_t threads_for(int64_t n_pieces) noexcept nogil:
    """How many threads to share so many pieces of work among."""
    return max(min(allowed, n_pieces), 1)


cdef struct Shared:
    Piece piece
    void *work
    long *flag                   # whether the call is to end
    Pieces pieces


cdef void take_all(void *shared, int64_t thread) noexcept nogil:
    cdef Shared *s = <Shared *> shared
    cdef int64_t number = take_piece(&s.pieces, thread)
    cdef Watch watch = new_watch(1 << 15)
    if thread > 0:
        use_flag(s.flag)
    while number >= 0 and not stopped(&watch, 1):
        s.piece(s.work, number, thread)
        number = take_piece(&s.pieces, thread)
    if thread > 0:
        use_flag(NULL)


cdef int share(Piece piece, void *work, int64_t n_pieces) except -1 nogil:
    """Call piece(work, number, thread) for each number below n_pieces.

    In this thread, 0, and in up to threads_for(n_pieces) - 1 others. Raises if the call is stopped.
    """
    cdef Shared shared
    cdef int64_t n_threads = threads_for(n_pieces)
    shared.piece, shared.work, shared.flag = piece, work, flag_of_call()
    split(&shared.pieces, n_pieces, n_threads)
    in_threads(take_all, &shared, n_threads)
    return check()


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
