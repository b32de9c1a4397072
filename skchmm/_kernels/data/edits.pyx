"""Edit distances between rows of labels."""
from libc.stdint cimport int32_t, int64_t

import numpy as np


def edit_distances(
    const int32_t[::1] first,            # IN, all rows one after the other
    const int64_t[::1] first_offsets,    # IN, row i is first[first_offsets[i]:first_offsets[i + 1]]
    const int32_t[::1] second,           # IN
    const int64_t[::1] second_offsets,   # IN
):
    """Insertions, deletions and replacements that turn each row of one into that of the other.

    d(i, j) = min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (a_i != b_j)), O(n m) a pair.
    """
    cdef Py_ssize_t n_rows = first_offsets.shape[0] - 1, s, i, j, n, m, a, b
    cdef int64_t corner, above, best, longest = 0
    for s in range(n_rows):
        longest = max(longest, second_offsets[s + 1] - second_offsets[s])
    cdef int64_t[::1] row = np.empty(longest + 1, dtype=np.int64)
    out = np.empty(n_rows, dtype=np.int64)
    cdef int64_t[::1] distances = out
    with nogil:
        for s in range(n_rows):
            a, b = first_offsets[s], second_offsets[s]
            n, m = first_offsets[s + 1] - a, second_offsets[s + 1] - b
            for j in range(m + 1):
                row[j] = j
            for i in range(1, n + 1):
                corner = row[0]
                row[0] = i
                for j in range(1, m + 1):
                    above = row[j]
                    best = corner + (first[a + i - 1] != second[b + j - 1])
                    best = min(best, above + 1, row[j - 1] + 1)
                    corner = above
                    row[j] = best
            distances[s] = row[m]
    return out
