"""The rows of a recursion."""
from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .memory cimport Memory


cdef struct Table:
    # One row per step. Where there would be too many, only those of one *chunk* of steps are kept,
    # and the row before each chunk: from the last chunk to the first, it is filled again from that.
    double *rows                 # (chunk, width)
    double *kept                 # (chunks, width)
    int64_t chunk
    int64_t width
    int64_t kept_width           # 0 where no chunk is gone back to


cdef inline int open_table(Table *table, Memory memory, int64_t longest, int64_t width,
                           int64_t budget, bint again, int64_t work=1) except -1:
    """Rows for `longest` steps: all, or about sqrt(longest), or what the cache holds.

    `budget` is in bytes; `again` says whether chunks are gone back to. A table of so many times the
    budget is rather kept than filled twice, if a number of it is so much `work`.
    """
    cdef int64_t row = max(width, 1) * <int64_t> sizeof(double)
    table.chunk, table.width = longest, width
    table.kept_width = width if again else 0
    if not again:
        table.chunk = min(longest, 64)
    elif longest * row > budget * work:
        table.chunk = min(longest, max(<int64_t> sqrt(<double> longest) + 1, budget // 4 // row))
    table.rows = memory.table(table.chunk, width)
    table.kept = memory.rows(longest // table.chunk + 1 if again else 1, width)
    return 0


cdef inline double *row_at(const Table *table, int64_t t) noexcept nogil:
    """The row of step t, which lies in the chunk that is there."""
    return table.rows + (t % table.chunk) * table.width


cdef inline double *row_before(const Table *table, int64_t t) noexcept nogil:
    """The row of step t - 1, for a step t > 0 in the chunk that is there."""
    if t % table.chunk:
        return table.rows + (t % table.chunk - 1) * table.width
    return table.kept + (t // table.chunk - 1) * table.kept_width


cdef inline void keep_row(const Table *table, int64_t begin) noexcept nogil:
    """Before the chunk that begins at a step is filled for the first time."""
    if begin > 0:
        memcpy(row_before(table, begin), table.rows + (table.chunk - 1) * table.width,
               table.width * sizeof(double))


cdef inline int64_t n_chunks(const Table *table, int64_t n_steps) noexcept nogil:
    return (n_steps + table.chunk - 1) // table.chunk


cdef inline int64_t chunk_end(const Table *table, int64_t begin, int64_t n_steps) noexcept nogil:
    """Where the chunk that begins at a step ends."""
    return min(n_steps, begin + table.chunk)
