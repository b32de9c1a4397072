from libc.stdint cimport int64_t


cdef class Memory:
    cdef void **held
    cdef int64_t n, most
    cdef char *left              # of a piece that is shared
    cdef int64_t n_left
    cdef void part(self) noexcept
    cdef void *take(self, int64_t n_bytes) except NULL
    cdef void *room(self, int64_t n_bytes) except NULL
    cdef double *table(self, int64_t n_rows, int64_t width, const double *other=*) except NULL
    cdef double *rows(self, int64_t n_rows, int64_t width) except NULL
