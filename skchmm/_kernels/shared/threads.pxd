from libc.stdint cimport int64_t

ctypedef void (*Piece)(void *work, int64_t number, int64_t thread) noexcept nogil

cdef int64_t threads_for(int64_t n_pieces) noexcept nogil
cdef int share(Piece piece, void *work, int64_t n_pieces) except -1 nogil
