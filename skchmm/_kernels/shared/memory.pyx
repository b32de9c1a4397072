"""Memory for a call of a kernel."""
from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset


cdef class Memory:
    """What a call asks for, given back when the call ends, however it ends."""

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n):
            free(self.held[i])
        free(self.held)

    cdef void *room(self, int64_t n_bytes) except NULL:
        """So many bytes, or one where there are none to point at."""
        cdef void *grown
        if self.n == self.most:
            grown = realloc(self.held, (2 * self.most + 16) * sizeof(void *))
            if grown == NULL:
                raise MemoryError
            self.held = <void **> grown
            self.most = 2 * self.most + 16
        self.held[self.n] = malloc(max(n_bytes, 1))
        if self.held[self.n] == NULL:
            raise MemoryError
        self.n += 1
        return self.held[self.n - 1]

    cdef double *table(self, int64_t n_rows, int64_t width) except NULL:
        """Rows that may be read 8 elements beyond either end, where there are zeros.

        They begin on a cache line: a vector that lies across two costs twice.
        """
        cdef int64_t n = n_rows * width
        cdef char *memory = <char *> self.room((n + 24) * sizeof(double))
        cdef double *rows = <double *> (memory + 128 - (<uintptr_t> memory) % 64)
        memset(rows - 8, 0, 8 * sizeof(double))
        memset(rows + n, 0, 8 * sizeof(double))
        return rows

    cdef double *rows(self, int64_t n_rows, int64_t width) except NULL:
        """The same with zeros everywhere."""
        cdef double *rows = self.table(n_rows, width)
        memset(rows, 0, n_rows * width * sizeof(double))
        return rows
