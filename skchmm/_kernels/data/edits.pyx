"""Edit distances between rows of labels."""
from libc.stdint cimport int32_t, int64_t

import numpy as np

from ..shared.interrupt cimport Watch, check, new_watch, stopped

cdef int64_t FAR = 1 << 60  # more than any distance


def edit_distances(
    const int32_t[::1] first,            # IN, all rows one after the other
    const int64_t[::1] first_offsets,    # IN, row i is first[first_offsets[i]:first_offsets[i + 1]]
    const int32_t[::1] second,           # IN
    const int64_t[::1] second_offsets,   # IN
):
    """Insertions, deletions and replacements that turn each row of one into that of the other.

    O(n d) for rows of length n at distance d: a bound on d is doubled until it holds.
    """
    cdef Py_ssize_t n_rows = first_offsets.shape[0] - 1, s, a, b, n, m
    cdef int64_t longest = 0, bound, distance
    cdef Watch watch = new_watch(2)
    for s in range(n_rows):
        longest = max(longest, second_offsets[s + 1] - second_offsets[s])
    cdef int64_t[::1] room = np.empty(longest + 1, dtype=np.int64)
    out = np.empty(n_rows, dtype=np.int64)
    cdef int64_t[::1] distances = out
    with nogil:
        for s in range(n_rows):
            a, b = first_offsets[s], second_offsets[s]
            n, m = first_offsets[s + 1] - a, second_offsets[s + 1] - b
            bound = max(n - m, m - n, 4)
            while True:
                distance = _distance_within(first[a:a + n], second[b:b + m], bound, room, &watch)
                if distance <= bound or bound >= max(n, m):
                    break
                bound = 2 * bound
            distances[s] = distance
            if stopped(&watch, 1):
                break
        check()
    return out


cdef int64_t _distance_within(
    const int32_t[::1] first, const int32_t[::1] second, int64_t bound, int64_t[::1] row,
    Watch *watch
) noexcept nogil:
    """The distance of two rows if it is no more than the bound, else something larger.

    d(i, j) = min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (first_i != second_j)),
    where i and j differ by the bound at most: O(n bound).
    """
    cdef Py_ssize_t n = first.shape[0], m = second.shape[0], i, j, low
    cdef int64_t corner, above, best
    for j in range(m + 1):
        row[j] = j if j <= bound else FAR
    for i in range(1, n + 1):
        low = max(1, i - bound)
        corner = row[low - 1]
        row[low - 1] = i if low == 1 and i <= bound else FAR
        for j in range(low, min(m, i + bound) + 1):
            above = row[j]
            best = corner + (first[i - 1] != second[j - 1])
            best = min(best, above + 1, row[j - 1] + 1)
            corner = above
            row[j] = best
        if stopped(watch, min(m, 2 * bound) + 1):
            return 0
    return row[m]
