"""Rows of numbers, each once: the joint states that a product has met."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset


cdef struct Pool:
    int32_t *rows      # (capacity, width) component states of each product state
    int64_t n
    int64_t capacity
    int width
    int64_t *slots     # open addressing, -1 = free
    int64_t n_slots


cdef inline int open_pool(Pool *pool, int width) except -1:
    """An empty pool; `close_pool` frees it, also where this fails."""
    pool.n, pool.capacity, pool.width, pool.n_slots = 0, 64, width, 256
    pool.rows = <int32_t *> malloc(64 * max(width, 1) * sizeof(int32_t))
    pool.slots = <int64_t *> malloc(256 * sizeof(int64_t))
    if pool.rows == NULL or pool.slots == NULL:
        raise MemoryError
    memset(pool.slots, 0xFF, 256 * sizeof(int64_t))
    return 0


cdef inline void close_pool(Pool *pool) noexcept:
    free(pool.rows)
    free(pool.slots)
    pool.rows, pool.slots = NULL, NULL


cdef inline uint64_t hash_row(const int32_t *row, int width) noexcept nogil:
    cdef uint64_t h = 1469598103934665603ULL
    cdef int k
    for k in range(width):
        h = (h ^ <uint64_t> row[k]) * 1099511628211ULL
        h ^= h >> 29
    return h


cdef inline int grow(Pool *pool) except -1 nogil:
    cdef int64_t i, at
    cdef int64_t *slots
    cdef int32_t *rows
    if pool.n == pool.capacity:
        rows = <int32_t *> realloc(pool.rows, 2 * pool.capacity * pool.width * sizeof(int32_t))
        if rows == NULL:
            with gil:
                raise MemoryError
        pool.rows = rows
        pool.capacity *= 2
    if 2 * pool.n >= pool.n_slots:
        slots = <int64_t *> malloc(2 * pool.n_slots * sizeof(int64_t))
        if slots == NULL:
            with gil:
                raise MemoryError
        free(pool.slots)
        pool.slots = slots
        pool.n_slots *= 2
        memset(slots, 0xFF, pool.n_slots * sizeof(int64_t))
        for i in range(pool.n):
            at = hash_row(pool.rows + i * pool.width, pool.width) & (pool.n_slots - 1)
            while slots[at] >= 0:
                at = (at + 1) & (pool.n_slots - 1)
            slots[at] = i
    return 0


cdef inline int64_t intern(Pool *pool, const int32_t *row) except -1 nogil:
    """The number of a row; new rows are appended."""
    cdef int64_t at = hash_row(row, pool.width) & (pool.n_slots - 1)
    cdef size_t size = pool.width * sizeof(int32_t)
    while pool.slots[at] >= 0:
        if memcmp(pool.rows + pool.slots[at] * pool.width, row, size) == 0:
            return pool.slots[at]
        at = (at + 1) & (pool.n_slots - 1)
    pool.slots[at] = pool.n
    memcpy(pool.rows + pool.n * pool.width, row, size)
    pool.n += 1
    grow(pool)
    return pool.n - 1
