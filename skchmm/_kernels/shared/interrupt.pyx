"""Ctrl-C in the middle of a kernel.

A kernel asks `stopped` every few steps, and if so returns with its tables half filled. What it
calls last is `check`, which then raises: nobody sees the tables. Python handles signals in its main
thread alone, so that is where they are looked for, ten times a second; threads that work for the
same call share its flag.
"""
from cpython.exc cimport PyErr_Occurred
from libc.stdint cimport int64_t

import os
import threading


cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept  # what it raised stays set


cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()


cdef extern from "shared/interrupt.h" nogil:
    long own_flag
    long *shared_flag
    long *flag_here()
    int64_t tenths()
    long ATOMIC_LOAD(long *)
    long ATOMIC_SWAP(long *, long)


cdef int64_t WORK = 1 << 19      # between two looks at the clock: about a millisecond
cdef unsigned long main_thread = 0
cdef int64_t last_look = 0       # of the main thread


cdef long *flag_of_call() noexcept nogil:
    return flag_here()


cdef void use_flag(long *flag) noexcept nogil:
    """For what this thread does next; NULL: its own."""
    global shared_flag
    shared_flag = flag


cdef Watch new_watch(int64_t step) noexcept nogil:
    cdef Watch watch
    watch.left, watch.step = WORK, step
    return watch


cdef bint look(Watch *watch) noexcept nogil:
    global last_look
    cdef int64_t now
    cdef long *flag = flag_here()
    if ATOMIC_LOAD(flag):
        return True
    watch.left = WORK
    if PyThread_get_thread_ident() != main_thread:
        return False
    now = tenths()
    if now == last_look:
        return False
    last_look = now
    if handled() == 0:
        return False
    ATOMIC_SWAP(flag, 1)
    watch.left = -1
    return True


cdef int handled() noexcept with gil:
    """Let Python handle signals; not 0 where a handler raised, and what it raised is set."""
    return PyErr_CheckSignals()


cdef int check() except -1 nogil:
    """Raise if the call was stopped."""
    if ATOMIC_LOAD(flag_here()):
        with gil:
            return fail()
    return 0


cdef int fail() except -1:
    if shared_flag == NULL:
        ATOMIC_SWAP(&own_flag, 0)
    if PyErr_Occurred():
        return -1
    raise KeyboardInterrupt


cdef class Together:
    """Threads that work for one call: what they do within it ends when one says `stop`."""
    cdef long flag

    def run(self, work):
        """Call work() in this thread."""
        cdef long *before = shared_flag
        use_flag(&self.flag)
        try:
            return work()
        finally:
            use_flag(before)

    def stop(self):
        ATOMIC_SWAP(&self.flag, 1)


def _start():
    global main_thread
    main_thread = threading.main_thread().ident


_start()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start)
