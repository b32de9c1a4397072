"""Tables of automata: products, closures, partition refinement, reading paths.

A table is int32 (n, S); entry -1 means that the path dies. Tables of several
epochs are stacked as (E, n, S). Automaton state 0 is the initial one.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Epochs, epoch_of
from ..shared.memory cimport Memory
from .pool cimport Pool, close_pool, intern, open_pool

import numpy as np


def product(list tables, bint every, int64_t limit):
    """Reachable product of automata, O(reachable * E * S * components).

    Parameters
    ----------
    tables : list of int32 arrays (E, n_k, S)
    every : bool
        True: a path dies when one component dies (intersection).
        False: when all have died (union); a dead component is numbered n_k.
    limit : int
        Stop as soon as there are more product states than this.

    Returns
    -------
    rows : int32 (n, components) or None when the limit was passed
    table : int32 (E, n, S) or None
    """
    cdef int m = len(tables), E = tables[0].shape[0], S = tables[0].shape[2]
    flat = np.concatenate([np.ascontiguousarray(t, dtype=np.int32).ravel() for t in tables])
    sizes_ = np.array([t.shape[1] for t in tables], dtype=np.int64)
    base_ = np.concatenate([[0], np.cumsum(sizes_ * E * S)]).astype(np.int64)
    cdef const int32_t[::1] data = flat
    cdef const int64_t[::1] sizes = sizes_, base = base_
    cdef Pool pool
    cdef Watch watch = new_watch(4 * S * m)
    cdef int32_t *row = <int32_t *> malloc(m * sizeof(int32_t))
    cdef int32_t *follow = NULL
    cdef int32_t *grown
    cdef int64_t q, capacity = 0
    cdef int e, a, k, alive
    cdef int32_t here, there
    pool.rows, pool.slots = NULL, NULL
    out = []
    try:
        if row == NULL:
            raise MemoryError
        open_pool(&pool, m)
        memset(row, 0, m * sizeof(int32_t))
        intern(&pool, row)
        for e in range(E):
            q = 0
            with nogil:
                while q < pool.n and pool.n <= limit:
                    if (q + 1) * S > capacity:
                        capacity = 2 * (q + 1) * S
                        grown = <int32_t *> realloc(follow, capacity * sizeof(int32_t))
                        if grown == NULL:
                            with gil:
                                raise MemoryError
                        follow = grown
                    for a in range(S):
                        alive = 0
                        for k in range(m):
                            here = pool.rows[q * m + k]
                            there = -1
                            if here < sizes[k]:
                                there = data[base[k] + (e * sizes[k] + here) * S + a]
                            if there >= 0:
                                alive += 1
                            elif every:
                                break
                            else:
                                there = <int32_t> sizes[k]
                            row[k] = there
                        if alive == m or (alive and not every):
                            follow[q * S + a] = <int32_t> intern(&pool, row)
                        else:
                            follow[q * S + a] = -1
                    q += 1
                    if stopped(&watch, 1):
                        check()
            if pool.n > limit:
                return None, None
            part = np.empty((pool.n, S), dtype=np.int32)
            copy_out(part, follow)
            out.append(part)
        rows = np.empty((pool.n, m), dtype=np.int32)
        copy_out(rows, pool.rows)
        table = np.full((E, pool.n, S), -1, dtype=np.int32)
        for e in range(E):
            table[e, : out[e].shape[0]] = out[e]
        return rows, table
    finally:
        free(row)
        free(follow)
        close_pool(&pool)


cdef copy_out(int32_t[:, ::1] target, const int32_t *source):
    if target.shape[0] and target.shape[1]:
        memcpy(&target[0, 0], source, target.shape[0] * target.shape[1] * sizeof(int32_t))


def forward_closure(const int32_t[:, ::1] table, uint8_t[::1] reached):
    """Mark, in place, all that can be reached from what is marked."""
    cdef int64_t n = table.shape[0], top = 0, q
    cdef int a
    cdef int32_t there
    cdef int64_t[::1] stack = np.flatnonzero(reached).astype(np.int64).copy()
    stack_ = np.empty(n, dtype=np.int64)
    stack_[: stack.shape[0]] = stack
    top = stack.shape[0]
    stack = stack_
    with nogil:
        while top:
            top -= 1
            q = stack[top]
            for a in range(table.shape[1]):
                there = table[q, a]
                if there >= 0 and not reached[there]:
                    reached[there] = 1
                    stack[top] = there
                    top += 1


def backward_closure(const int32_t[:, ::1] table, uint8_t[::1] reached):
    """Mark, in place, all from which something marked can be reached."""
    flat = np.asarray(table).ravel()
    live = np.flatnonzero(flat >= 0)
    order = np.argsort(flat[live], kind="stable")
    cdef int64_t[::1] sources = live[order] // max(table.shape[1], 1)
    cdef int64_t[::1] start = np.searchsorted(
        flat[live][order], np.arange(table.shape[0] + 1)).astype(np.int64)
    cdef int64_t top, q, k
    stack_ = np.empty(table.shape[0], dtype=np.int64)
    marked = np.flatnonzero(reached)
    stack_[: len(marked)] = marked
    cdef int64_t[::1] stack = stack_
    top = len(marked)
    with nogil:
        while top:
            top -= 1
            q = stack[top]
            for k in range(start[q], start[q + 1]):
                if not reached[sources[k]]:
                    reached[sources[k]] = 1
                    stack[top] = sources[k]
                    top += 1


def breadth_first(const int32_t[:, :, ::1] tables):
    """Automaton states in the order in which a breadth-first walk from 0 meets them."""
    cdef int64_t E = tables.shape[0], n = tables.shape[1], S = tables.shape[2]
    cdef int64_t done = 0, found = 1, e, a, q
    cdef int32_t there
    order_ = np.zeros(n, dtype=np.int64)
    seen_ = np.zeros(n, dtype=np.uint8)
    cdef int64_t[::1] order = order_
    cdef uint8_t[::1] seen = seen_
    if n == 0:
        return order_
    seen[0] = 1
    with nogil:
        while done < found:
            q = order[done]
            done += 1
            for e in range(E):
                for a in range(S):
                    there = tables[e, q, a]
                    if there >= 0 and not seen[there]:
                        seen[there] = 1
                        order[found] = there
                        found += 1
    return order_[:found]


cdef struct Partition:
    int64_t n_sets
    int64_t *elements
    int64_t *place
    int64_t *set_of
    int64_t *first
    int64_t *past
    int64_t *marked
    int64_t *touched
    int64_t n_touched


cdef int open_partition(Partition *p, Memory memory, const int64_t[::1] keys) except -1:
    """Sets of equal key; keys are 0, 1, ..., every one of them in use."""
    cdef int64_t n = keys.shape[0], i, s, size = 7 * (n + 1) * sizeof(int64_t)
    p.elements = <int64_t *> memory.room(size)
    memset(p.elements, 0, size)
    p.place = p.elements + n + 1
    p.set_of = p.place + n + 1
    p.first = p.set_of + n + 1
    p.past = p.first + n + 1
    p.marked = p.past + n + 1
    p.touched = p.marked + n + 1
    p.n_sets = p.n_touched = 0
    cdef const int64_t[::1] order = np.argsort(keys, kind="stable")
    for i in range(n):
        s = keys[order[i]]
        if i == 0 or s != keys[order[i - 1]]:
            p.first[s] = i
            p.n_sets = s + 1
        p.elements[i] = order[i]
        p.place[order[i]] = i
        p.set_of[order[i]] = s
        p.past[s] = i + 1
    return 0


cdef inline void mark(Partition *p, int64_t element) noexcept nogil:
    cdef int64_t s = p.set_of[element], i = p.place[element], j = p.first[s] + p.marked[s]
    if i < j:
        return
    p.elements[i] = p.elements[j]
    p.place[p.elements[i]] = i
    p.elements[j] = element
    p.place[element] = j
    if p.marked[s] == 0:
        p.touched[p.n_touched] = s
        p.n_touched += 1
    p.marked[s] += 1


cdef inline void split(Partition *p) noexcept nogil:
    """Cut every set that holds marked and unmarked elements; the smaller part is new."""
    cdef int64_t s, j, i, new
    while p.n_touched:
        p.n_touched -= 1
        s = p.touched[p.n_touched]
        j = p.first[s] + p.marked[s]
        if j == p.past[s]:
            p.marked[s] = 0
            continue
        new = p.n_sets
        if p.marked[s] <= p.past[s] - j:
            p.first[new] = p.first[s]
            p.past[new] = p.first[s] = j
        else:
            p.past[new] = p.past[s]
            p.first[new] = p.past[s] = j
        for i in range(p.first[new], p.past[new]):
            p.set_of[p.elements[i]] = new
        p.marked[s] = p.marked[new] = 0
        p.n_sets += 1


def refine(const int64_t[::1] keys, const int64_t[::1] tails, const int64_t[::1] labels,
           const int64_t[::1] heads):
    """Coarsest partition finer than `keys` that all transitions respect, O(m log n).

    Valmari and Lehtinen's form of Hopcroft's algorithm: it takes partial
    transition functions. `tails[k] --labels[k]--> heads[k]`, one head for each
    tail and label; `keys` and `labels` are numbered 0, 1, ... without gaps.
    """
    cdef int64_t n = keys.shape[0], b = 1, c = 0, i, k
    cdef Partition classes, cords
    cdef Watch watch = new_watch(4)
    cdef Memory memory = Memory()
    cdef const int64_t[::1] into = np.argsort(heads, kind="stable")
    cdef const int64_t[::1] start = np.searchsorted(
        np.asarray(heads)[np.asarray(into)], np.arange(n + 1)).astype(np.int64)
    open_partition(&classes, memory, keys)
    open_partition(&cords, memory, labels)
    with nogil:
        while c < cords.n_sets:
            for i in range(cords.first[c], cords.past[c]):
                mark(&classes, tails[cords.elements[i]])
            split(&classes)
            if stopped(&watch, cords.past[c] - cords.first[c]):
                check()
            c += 1
            while b < classes.n_sets:
                for i in range(classes.first[b], classes.past[b]):
                    for k in range(start[classes.elements[i]], start[classes.elements[i] + 1]):
                        mark(&cords, into[k])
                split(&cords)
                if stopped(&watch, classes.past[b] - classes.first[b]):
                    check()
                b += 1
    out = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] out_ = out
    for i in range(n):
        out_[i] = classes.set_of[i]
    return out


def read_paths(const int32_t[:, :, ::1] tables, const int64_t[::1] epochs,
               const int32_t[::1] labels, const int64_t[::1] offsets):
    """The automaton state after each path, -1 where it died."""
    cdef int64_t n = offsets.shape[0] - 1, s, t, length
    cdef int64_t e
    cdef int32_t q
    cdef Epochs changes
    cdef Watch watch = new_watch(4)
    changes.n, changes.first = epochs.shape[0], &epochs[0]
    out = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] last = out
    with nogil:
        for s in range(n):
            q = 0
            e = 0
            length = offsets[s + 1] - offsets[s]
            for t in range(length):
                e = epoch_of(&changes, t, e)
                q = tables[e, q, labels[offsets[s] + t]]
                if q < 0:
                    break
            last[s] = q
            if stopped(&watch, length):
                check()
    return out


def count_breaks(const int32_t[:, :, ::1] tables, const int64_t[:, :, ::1] steps,
                 const int64_t[::1] ends, const uint8_t[::1] accept, const int64_t[::1] epochs,
                 const int32_t[::1] labels, const int64_t[::1] offsets, int64_t n_rules):
    """How often each path breaks each soft rule (n_paths, n_rules); -1 where it is not accepted.

    Bit k of a step, or of an end, says that it breaks rule k.
    """
    cdef int64_t n = offsets.shape[0] - 1, s, t, k, e, broken
    cdef int32_t q, a
    cdef Epochs changes
    changes.n, changes.first = epochs.shape[0], &epochs[0]
    out = np.zeros((n, n_rules), dtype=np.int64)
    cdef int64_t[:, ::1] counts = out
    with nogil:
        for s in range(n):
            q, e = 0, 0
            for t in range(offsets[s + 1] - offsets[s]):
                e = epoch_of(&changes, t, e)
                a = labels[offsets[s] + t]
                broken = steps[e, q, a]
                q = tables[e, q, a]
                if q < 0:
                    break
                for k in range(n_rules if broken else 0):
                    counts[s, k] += broken >> k & 1
            for k in range(n_rules):
                if q < 0 or not accept[q] or offsets[s + 1] == offsets[s]:
                    counts[s, k] = -1
                else:
                    counts[s, k] += ends[q] >> k & 1
    return out
