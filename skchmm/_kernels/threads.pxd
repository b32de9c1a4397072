from libc.stdint cimport int64_t

ctypedef void (*Task)(void *work, int64_t thread) noexcept nogil

cdef extern from "pieces.h" nogil:
    ctypedef struct Pieces:
        pass

    void split(Pieces *, int64_t n_pieces, int64_t n_threads)
    int64_t take_piece(Pieces *, int64_t thread)

cdef int64_t threads_for(int64_t n_pieces) noexcept nogil
cdef void share(Task task, void *work, int64_t n_threads) noexcept nogil
