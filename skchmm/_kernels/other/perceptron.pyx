"""Training of a linear-chain averaged perceptron, one pass over the sequences at a time.

A path scores start(x_0) + sum_t transition(x_{t-1}, x_t) + sum_t sum_f value(t, f) feature(f, x_t).
Each sequence is decoded with the weights of the moment; where the best path differs from the
true one, the true path's features gain and the best path's lose. The weights after every
sequence are averaged lazily: what is added after c sequences of n is missing from c of the n
weight vectors, so the mean is weights - late / n with late the sum of c times what was added.
O(T S^2 + features S) per sequence.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport longest_sequence
from ..shared.memory cimport Memory


cdef void decode(int64_t S, int64_t T, const double *start, const double *trans,
                 const double *scores, double *values, int32_t *path,
                 Watch *watch) noexcept nogil:
    """The best path; of equally good ones that with the lowest states, from the last step on."""
    cdef int64_t t, i, j, best
    cdef double x
    cdef double *now
    cdef const double *before
    for j in range(S):
        values[j] = start[j] + scores[j]
    for t in range(1, T):
        before = values + (t - 1) * S
        now = values + t * S
        for j in range(S):
            now[j] = -INFINITY
        for i in range(S):
            for j in range(S):
                x = before[i] + trans[i * S + j]
                now[j] = x if x > now[j] else now[j]
        for j in range(S):
            now[j] += scores[t * S + j]
        if stopped(watch, 1):
            return
    best = 0
    for j in range(1, S):
        if values[(T - 1) * S + j] > values[(T - 1) * S + best]:
            best = j
    path[T - 1] = <int32_t> best
    for t in range(T - 1, 0, -1):
        before = values + (t - 1) * S
        j = best
        best = 0
        for i in range(1, S):
            if before[i] + trans[i * S + j] > before[best] + trans[best * S + j]:
                best = i
        path[t - 1] = <int32_t> best


cdef inline void add(double *weight, double *late, double amount, double n_before) noexcept nogil:
    weight[0] += amount
    late[0] += n_before * amount


def train_pass(const int64_t[::1] indptr,       # IN, features of each step: CSR
               const int32_t[::1] indices,      # IN
               const double[::1] values,        # IN
               const int64_t[::1] offsets,      # IN
               const int32_t[::1] labels,       # IN
               const double[::1] seq_weights,   # IN, how much an update of a sequence adds
               const int64_t[::1] order,        # IN, of the sequences
               double n_before,                 # IN, sequences seen before this pass
               double[::1] start,               # INOUT, (S,) weights
               double[:, ::1] trans,            # INOUT, (S, S)
               double[:, ::1] feature,          # INOUT, (F, S), F at least 1
               double[::1] late_start,          # INOUT, for the averages
               double[:, ::1] late_trans,       # INOUT
               double[:, ::1] late_feature):    # INOUT
    """One pass; how many steps were labelled wrongly on the way."""
    cdef int64_t S = start.shape[0], k, s, t, T, origin, p, j, wrong = 0
    cdef int64_t longest = longest_sequence(offsets, 0, offsets.shape[0] - 1)
    cdef double amount, v
    cdef const double *row
    cdef const int32_t *truth
    cdef bint differs
    cdef Watch watch = new_watch(S * S)
    cdef Memory memory = Memory()
    cdef double *scores = memory.table(longest, S)
    cdef double *table = memory.table(longest, S)
    cdef int32_t *path = <int32_t *> memory.room(longest * sizeof(int32_t))
    with nogil:
        for k in range(order.shape[0]):
            s = order[k]
            origin = offsets[s]
            T = offsets[s + 1] - origin
            truth = &labels[origin]
            for t in range(T):
                for j in range(S):
                    scores[t * S + j] = 0.0
                for p in range(indptr[origin + t], indptr[origin + t + 1]):
                    row = &feature[indices[p], 0]
                    v = values[p]
                    for j in range(S):
                        scores[t * S + j] += v * row[j]
            decode(S, T, &start[0], &trans[0, 0], scores, table, path, &watch)
            if stopped(&watch, 1):
                check()
            amount = seq_weights[s]
            differs = False
            for t in range(T):
                if path[t] == truth[t]:
                    continue
                differs = True
                wrong += 1
                for p in range(indptr[origin + t], indptr[origin + t + 1]):
                    v = amount * values[p]
                    add(&feature[indices[p], truth[t]], &late_feature[indices[p], truth[t]],
                        v, n_before)
                    add(&feature[indices[p], path[t]], &late_feature[indices[p], path[t]],
                        -v, n_before)
            if differs:
                if path[0] != truth[0]:
                    add(&start[truth[0]], &late_start[truth[0]], amount, n_before)
                    add(&start[path[0]], &late_start[path[0]], -amount, n_before)
                for t in range(1, T):
                    if path[t] != truth[t] or path[t - 1] != truth[t - 1]:
                        add(&trans[truth[t - 1], truth[t]],
                            &late_trans[truth[t - 1], truth[t]], amount, n_before)
                        add(&trans[path[t - 1], path[t]],
                            &late_trans[path[t - 1], path[t]], -amount, n_before)
            n_before += 1.0
    return wrong
