cdef const int *instructions_in_use() noexcept nogil
