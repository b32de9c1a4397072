"""Counts over labelled sequences: per-label F1 and the greedy matching of segments."""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport abs, qsort

from ..shared.interrupt cimport Watch, check, new_watch, stopped

import numpy as np


def macro_f1(
    const int32_t[::1] y_true,    # IN, label numbers, all sequences one after the other
    const int32_t[::1] y_pred,    # IN
    const int64_t[::1] offsets,   # IN
    int32_t n_labels,
):
    """Mean F1 of the labels present in truth or prediction, one value per sequence, O(n)."""
    cdef Py_ssize_t n_sequences = offsets.shape[0] - 1, s, t, k, n_present
    cdef int32_t label, side
    cdef double total
    cdef int64_t[::1] hits = np.zeros(n_labels, dtype=np.int64)
    cdef int64_t[::1] sizes = np.zeros(n_labels, dtype=np.int64)  # steps in truth + in prediction
    cdef int32_t[::1] present = np.empty(n_labels, dtype=np.int32)
    cdef Watch watch = new_watch(4)
    out = np.empty(n_sequences)
    cdef double[::1] scores = out
    with nogil:
        for s in range(n_sequences):
            n_present = 0
            for t in range(offsets[s], offsets[s + 1]):
                for side in range(2):
                    label = y_true[t] if side == 0 else y_pred[t]
                    if sizes[label] == 0:
                        present[n_present] = label
                        n_present += 1
                    sizes[label] += 1
                if y_true[t] == y_pred[t]:
                    hits[y_true[t]] += 1
            total = 0
            for k in range(n_present):
                label = present[k]
                total += 2.0 * hits[label] / sizes[label]
                hits[label] = sizes[label] = 0
            scores[s] = total / n_present
            if stopped(&watch, offsets[s + 1] - offsets[s]):
                check()
    return out


def match_segments(
    const int32_t[::1] y_true,      # IN, label numbers, all sequences one after the other
    const int32_t[::1] y_pred,      # IN
    const int64_t[::1] offsets,     # IN
    const int64_t[::1] tolerances,  # IN, one per sequence, in steps
    int32_t n_labels,
):
    """Matched, true and predicted segments of each sequence, int64 (n_sequences, 3)."""
    cdef Py_ssize_t n_sequences = offsets.shape[0] - 1, s, i
    cdef Py_ssize_t n_true, n_pred, most_true = 0, most_pred = 0
    cdef int32_t label
    cdef Watch watch = new_watch(64)
    out = np.zeros((n_sequences, 3), dtype=np.int64)
    cdef int64_t[:, ::1] counts = out
    with nogil:
        for s in range(n_sequences):
            counts[s, 1] = _count_runs(y_true, offsets[s], offsets[s + 1])
            counts[s, 2] = _count_runs(y_pred, offsets[s], offsets[s + 1])
            most_true = max(most_true, counts[s, 1])
            most_pred = max(most_pred, counts[s, 2])

    # Segments of one sequence, and for each label the chain of its segments in order of time.
    cdef int32_t[:, ::1] true_runs = np.empty((3, most_true), dtype=np.int32)
    cdef int32_t[:, ::1] pred_runs = np.empty((3, most_pred), dtype=np.int32)
    cdef int32_t[::1] true_next = np.empty(most_true, dtype=np.int32)
    cdef int32_t[::1] pred_next = np.empty(most_pred, dtype=np.int32)
    cdef int32_t[::1] true_head = np.full(n_labels, -1, dtype=np.int32)
    cdef int32_t[::1] pred_head = np.full(n_labels, -1, dtype=np.int32)
    # What _match works on, for one label of one sequence.
    cdef int32_t[:, ::1] for_true = np.empty((7, most_true), dtype=np.int32)
    cdef int32_t[:, ::1] for_pred = np.empty((4, most_pred + 1), dtype=np.int32)
    cdef int64_t[::1] inside = np.empty(most_true + most_pred, dtype=np.int64)
    cdef int64_t[::1] heap = np.empty(most_true, dtype=np.int64)
    cdef Work w
    w.a, w.b = &for_true[0, 0], &for_true[1, 0]
    w.low, w.high = &for_true[2, 0], &for_true[3, 0]
    w.inside_start, w.inside_stop = &for_true[4, 0], &for_true[5, 0]
    w.best = &for_true[6, 0]
    w.c, w.d = &for_pred[0, 0], &for_pred[1, 0]
    w.left, w.right = &for_pred[2, 0], &for_pred[3, 0]
    w.inside, w.heap = &inside[0], &heap[0]

    with nogil:
        for s in range(n_sequences):
            n_true, n_pred = counts[s, 1], counts[s, 2]
            _runs(y_true, offsets[s], offsets[s + 1], true_runs)
            _runs(y_pred, offsets[s], offsets[s + 1], pred_runs)
            _chain(true_runs, n_true, true_head, true_next)
            _chain(pred_runs, n_pred, pred_head, pred_next)
            for i in range(n_true):
                label = true_runs[2, i]
                if true_head[label] < 0:
                    continue  # done with the first segment of this label
                w.n = _gather(true_runs, true_head[label], true_next, w.a, w.b)
                w.m = _gather(pred_runs, pred_head[label], pred_next, w.c, w.d)
                true_head[label] = -1
                if w.m > 0:
                    counts[s, 0] += _match(&w, tolerances[s])
                    if stopped(&watch, w.n + w.m):
                        check()
            for i in range(n_pred):
                pred_head[pred_runs[2, i]] = -1
    return out


cdef Py_ssize_t _count_runs(
    const int32_t[::1] labels, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    cdef Py_ssize_t t, n = 1
    for t in range(start + 1, stop):
        n += labels[t] != labels[t - 1]
    return n


cdef void _runs(
    const int32_t[::1] labels, Py_ssize_t start, Py_ssize_t stop, int32_t[:, ::1] runs
) noexcept nogil:
    """First step, last step and label of each maximal run."""
    cdef Py_ssize_t t, k = 0
    runs[0, 0] = 0
    for t in range(start + 1, stop):
        if labels[t] != labels[t - 1]:
            runs[1, k] = <int32_t>(t - 1 - start)
            runs[2, k] = labels[t - 1]
            k += 1
            runs[0, k] = <int32_t>(t - start)
    runs[1, k] = <int32_t>(stop - 1 - start)
    runs[2, k] = labels[stop - 1]


cdef void _chain(
    int32_t[:, ::1] runs, Py_ssize_t n, int32_t[::1] head, int32_t[::1] next_run
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n - 1, -1, -1):
        next_run[k] = head[runs[2, k]]
        head[runs[2, k]] = <int32_t>k


cdef Py_ssize_t _gather(
    int32_t[:, ::1] runs, int32_t k, int32_t[::1] next_run, int32_t* first, int32_t* last
) noexcept nogil:
    cdef Py_ssize_t n = 0
    while k >= 0:
        first[n] = runs[0, k]
        last[n] = runs[1, k]
        n += 1
        k = next_run[k]
    return n


# Greedy matching of the true segments [a_i, b_i] and the predicted segments [c_j, d_j] of one
# label: take the allowed pair with the least (|a_i - c_j| + |b_i - d_j|, i, j), drop both, repeat.
#
# Segments of one label in one path are disjoint, so a, b, c, d all increase. Let p and q be the
# first j with c_j >= a_i and with d_j >= b_i. Left of both, the distance to i falls with j in both
# ends; right of both, it grows in both ends: of each side only the nearest free segment counts.
# In between, j lies inside i (each j inside one i at most) or contains i (one j at most): these,
# n + m over all i, are sorted once. So each i has its best free j in next to no time, and a heap
# with one entry an i, renewed when its j is gone by the time it comes up, gives the greedy order.
# Memory is O(n + m); time O((n + m) log(n + m)) but for the renewals, which are few.
cdef struct Work:
    Py_ssize_t n, m
    int32_t *a
    int32_t *b
    int32_t *c
    int32_t *d
    int32_t *low            # min(p, q) of each i
    int32_t *high           # max(p, q)
    int32_t *inside_start   # the rest of i's list in `inside`, best first
    int32_t *inside_stop
    int32_t *best           # the j in i's heap entry
    int32_t *left           # left[j]: free segments before j end at left[j] - 1 (disjoint sets)
    int32_t *right          # right[j]: the first free segment from j on (disjoint sets)
    int64_t *inside         # distance * m + j
    int64_t *heap           # distance * n + i


cdef int64_t _match(Work* w, int64_t tolerance) noexcept nogil:
    cdef Py_ssize_t i, j, size = 0, p = 0, q = 0
    cdef int32_t filled = 0
    cdef int64_t key, matched = 0
    for j in range(w.m + 1):
        w.left[j] = w.right[j] = <int32_t>j
    for i in range(w.n):
        while p < w.m and w.c[p] < w.a[i]:
            p += 1
        while q < w.m and w.d[q] < w.b[i]:
            q += 1
        w.low[i] = <int32_t>min(p, q)
        w.high[i] = <int32_t>max(p, q)
        w.inside_start[i] = filled
        for j in range(w.low[i], w.high[i]):
            if _near(w, i, j, tolerance):
                w.inside[filled] = _distance(w, i, j) * w.m + j
                filled += 1
        w.inside_stop[i] = filled
        if filled - w.inside_start[i] > 1:
            qsort(w.inside + w.inside_start[i], filled - w.inside_start[i], sizeof(int64_t), _order)
    for i in range(w.n):
        key = _renew(w, i, tolerance)
        if key >= 0:
            w.heap[size] = key
            size += 1
    for i in range(size // 2 - 1, -1, -1):
        _sink(w.heap, size, i)
    while size > 0:
        i = w.heap[0] % w.n
        j = w.best[i]
        key = -1
        if w.right[j] == j:
            matched += 1
            w.right[j] = <int32_t>(j + 1)
            w.left[j + 1] = <int32_t>j
        else:
            key = _renew(w, i, tolerance)
        if key < 0:
            size -= 1
            key = w.heap[size]
        w.heap[0] = key
        _sink(w.heap, size, 0)
    return matched


cdef int64_t _renew(Work* w, Py_ssize_t i, int64_t tolerance) noexcept nogil:
    """Find the best free j for i; the heap key of the pair, or -1 if there is none."""
    cdef int64_t distance, least = -1
    cdef Py_ssize_t j
    j = _root(w.left, w.low[i]) - 1
    if j >= 0 and _near(w, i, j, tolerance):
        least = _distance(w, i, j)
        w.best[i] = <int32_t>j
    while w.inside_start[i] < w.inside_stop[i]:
        j = w.inside[w.inside_start[i]] % w.m
        if w.right[j] == j:
            distance = _distance(w, i, j)
            if least < 0 or distance < least:
                least = distance
                w.best[i] = <int32_t>j
            break
        w.inside_start[i] += 1
    j = _root(w.right, w.high[i])
    if j < w.m and _near(w, i, j, tolerance):
        distance = _distance(w, i, j)
        if least < 0 or distance < least:
            least = distance
            w.best[i] = <int32_t>j
    return -1 if least < 0 else least * w.n + i


cdef inline bint _near(Work* w, Py_ssize_t i, Py_ssize_t j, int64_t tolerance) noexcept nogil:
    return abs(w.a[i] - w.c[j]) <= tolerance and abs(w.b[i] - w.d[j]) <= tolerance


cdef inline int64_t _distance(Work* w, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    return <int64_t>abs(w.a[i] - w.c[j]) + abs(w.b[i] - w.d[j])


cdef inline int32_t _root(int32_t* parent, int32_t j) noexcept nogil:
    while parent[j] != j:
        parent[j] = parent[parent[j]]
        j = parent[j]
    return j


cdef inline void _sink(int64_t* heap, Py_ssize_t size, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t child
    cdef int64_t key = heap[k]
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[k] = heap[child]
        k = child
    heap[k] = key


cdef int _order(const void* x, const void* y) noexcept nogil:
    cdef int64_t u = (<const int64_t*>x)[0], v = (<const int64_t*>y)[0]
    return (u > v) - (u < v)
