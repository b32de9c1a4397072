"""Products of many small automata, joint states with the same future told apart as little as
possible on the way.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from .pool cimport Pool, close_pool, intern, open_pool

import numpy as np


cdef struct Part:
    const int32_t *table     # (n, S)
    const int32_t *stands    # (subsets of kinds, n) which state stands for it, -1 if none is left
    const uint64_t *gone     # (subsets of kinds, n, words) labels that cannot come any more
    const uint64_t *kinds    # (n_kinds, words) the labels of each kind
    int64_t n
    int n_kinds


cdef inline bint settle(const Part *parts, int m, int words, int32_t *row,
                        uint64_t *gone) noexcept nogil:
    """Replace every state by the one that stands for it; False if the path cannot be completed.

    `gone` are the labels that cannot come any more; those that turn out to be are added. What
    one part rules out for good may decide what others still have to remember, and those may then
    rule out more: until nothing changes.
    """
    cdef int k, c, w, without
    cdef int64_t at
    cdef uint64_t more
    cdef bint changed = True
    while changed:
        changed = False
        for k in range(m):
            without = 0
            for c in range(parts[k].n_kinds):
                more = 0
                for w in range(words):
                    more |= parts[k].kinds[c * words + w] & ~gone[w]
                without |= (more == 0) << c
            at = without * parts[k].n + row[k]
            row[k] = parts[k].stands[at]
            if row[k] < 0:
                return False
            for w in range(words):
                more = parts[k].gone[at * words + w] & ~gone[w]
                if more:
                    gone[w] |= more
                    changed = True
    return True


def narrowed_product(list tables, list stands, list gone, list kinds, int64_t limit):
    """Reachable product of automata without epochs, every one of which has to accept.

    Parameters
    ----------
    tables : list of int32 arrays (n_k, S)
    stands : list of int32 arrays (2**kinds_k, n_k)
    gone : list of uint64 arrays (2**kinds_k, n_k, words)
        See `skchmm.controller.narrowing`.
    kinds : list of uint64 arrays (kinds_k, words)
    limit : int
        Stop as soon as there are more joint states than this.

    Returns
    -------
    rows : int32 (n, components) or None when the limit was passed
        No row at all where nothing is accepted.
    table : int32 (n, S) or None
    """
    cdef int m = len(tables), S = tables[0].shape[1], words = gone[0].shape[2], k, a
    cdef int width = m + 2 * words
    cdef const int32_t[:, ::1] table, stand
    cdef const uint64_t[:, :, ::1] never
    cdef const uint64_t[:, ::1] kind
    cdef Pool pool
    cdef Watch watch = new_watch(8 * S * m)
    cdef Part *parts = <Part *> malloc(m * sizeof(Part))
    cdef int32_t *row = <int32_t *> malloc(width * sizeof(int32_t))
    cdef uint64_t *ruled_out = <uint64_t *> malloc(words * sizeof(uint64_t))
    cdef int32_t[:, ::1] out
    cdef int64_t q
    cdef bint alive
    pool.rows, pool.slots = NULL, NULL
    try:
        if parts == NULL or row == NULL or ruled_out == NULL:
            raise MemoryError
        # The labels that are gone belong to a joint state: what stands for a state allows them.
        open_pool(&pool, width)
        for k in range(m):
            table, stand, never, kind = tables[k], stands[k], gone[k], kinds[k]
            parts[k].table, parts[k].n = &table[0, 0], table.shape[0]
            parts[k].stands, parts[k].gone = &stand[0, 0], &never[0, 0, 0]
            parts[k].n_kinds = <int> kind.shape[0]
            parts[k].kinds = &kind[0, 0] if parts[k].n_kinds else NULL
        memset(row, 0, m * sizeof(int32_t))
        memset(ruled_out, 0, words * sizeof(uint64_t))
        if not settle(parts, m, words, row, ruled_out):
            return np.empty((0, m), dtype=np.int32), np.empty((0, S), dtype=np.int32)
        memcpy(row + m, ruled_out, words * sizeof(uint64_t))
        intern(&pool, row)
        found = np.empty((64, S), dtype=np.int32)
        out = found
        q = 0
        while q < pool.n and pool.n <= limit:
            if q == out.shape[0]:
                found = np.concatenate([found, np.empty_like(found)])
                out = found
            with nogil:
                while q < pool.n and pool.n <= limit and q < out.shape[0]:
                    for a in range(S):
                        out[q, a] = -1
                        memcpy(ruled_out, pool.rows + q * width + m, words * sizeof(uint64_t))
                        alive = not ruled_out[a >> 6] >> (a & 63) & 1
                        for k in range(m if alive else 0):
                            row[k] = parts[k].table[pool.rows[q * width + k] * S + a]
                            if row[k] < 0:
                                alive = False
                                break
                        if alive and settle(parts, m, words, row, ruled_out):
                            memcpy(row + m, ruled_out, words * sizeof(uint64_t))
                            out[q, a] = <int32_t> intern(&pool, row)
                    q += 1
                    if stopped(&watch, 1):
                        check()
        if pool.n > limit:
            return None, None
        rows = np.empty((pool.n, width), dtype=np.int32)
        out = rows
        memcpy(&out[0, 0], pool.rows, pool.n * width * sizeof(int32_t))
        return rows[:, :m], found[: pool.n].copy()
    finally:
        free(parts)
        free(row)
        free(ruled_out)
        close_pool(&pool)
