from libc.stdint cimport int64_t


cdef struct Watch:
    int64_t left                 # work until the next look
    int64_t step                 # the work of a step: about so many edges, or nanoseconds


cdef long *flag_of_call() noexcept nogil
cdef void use_flag(long *flag) noexcept nogil
cdef Watch new_watch(int64_t step) noexcept nogil
cdef bint look(Watch *watch) noexcept nogil
cdef int check() except -1 nogil


cdef inline bint stopped(Watch *watch, int64_t n_steps) noexcept nogil:
    """Whether the call is to end, after so many more steps."""
    watch.left -= n_steps * watch.step
    return watch.left < 0 and look(watch)
