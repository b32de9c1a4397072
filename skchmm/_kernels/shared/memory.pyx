"""Memory for a call of a kernel."""
from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset


cdef extern from *:
    """
    /* A sanitizer sees what is written beyond a piece only if it has one of its own. */
    #ifdef __SANITIZE_ADDRESS__
    #define SMALL 0
    #else
    #define SMALL 8192
    #endif
    """
    int SMALL                    # bytes of what shares a piece

cdef enum:
    SHARED = 65536               # bytes of such a piece
    PAGE = 4096
    LINE = 64


cdef class Memory:
    """What a call asks for, given back when the call ends, however it ends."""

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n):
            free(self.held[i])
        free(self.held)

    cdef void *room(self, int64_t n_bytes) except NULL:
        """So many bytes, or one where there are none to point at.

        Small pieces lie side by side: a processor that compares the last 12 bits of addresses takes
        what is read of one for what was just written to another, where they are pages apart.
        """
        cdef void *piece
        n_bytes = (max(n_bytes, 1) + 15) // 16 * 16
        if n_bytes > SMALL:
            return self.take(n_bytes)
        if n_bytes > self.n_left:
            self.left = <char *> self.take(SHARED)
            self.n_left = SHARED
        piece = self.left
        self.left += n_bytes
        self.n_left -= n_bytes
        return piece

    cdef void part(self) noexcept:
        """What comes next is for another thread, and on other cache lines."""
        cdef int64_t n = min(self.n_left, LINE)
        self.left += n
        self.n_left -= n

    cdef void *take(self, int64_t n_bytes) except NULL:
        cdef void *grown
        if self.n == self.most:
            grown = realloc(self.held, (2 * self.most + 16) * sizeof(void *))
            if grown == NULL:
                raise MemoryError
            self.held = <void **> grown
            self.most = 2 * self.most + 16
        self.held[self.n] = malloc(n_bytes)
        if self.held[self.n] == NULL:
            raise MemoryError
        self.n += 1
        return self.held[self.n - 1]

    cdef double *table(self, int64_t n_rows, int64_t width,
                       const double *other=NULL) except NULL:
        """Rows that may be read 8 elements beyond either end, where there are zeros.

        They begin on a cache line: a vector that lies across two costs twice. With another table
        that is gone through at the same pace, half a page from where that one begins in its own.
        """
        cdef int64_t n = n_rows * width, spare = 0 if other == NULL else PAGE
        cdef char *memory = <char *> self.room((n + 24) * sizeof(double) + spare)
        memory += 128 - (<uintptr_t> memory) % 64
        if other != NULL:
            memory += (<uintptr_t> other + PAGE // 2 - <uintptr_t> memory) % PAGE
        cdef double *rows = <double *> memory
        memset(rows - 8, 0, 8 * sizeof(double))
        memset(rows + n, 0, 8 * sizeof(double))
        return rows

    cdef double *rows(self, int64_t n_rows, int64_t width) except NULL:
        """The same with zeros everywhere."""
        cdef double *rows = self.table(n_rows, width)
        memset(rows, 0, n_rows * width * sizeof(double))
        return rows
