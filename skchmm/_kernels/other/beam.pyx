"""Beam search over label paths, with a controller that rejects steps.

A hypothesis is a pair (state, automaton state) with the best score of a path that led there:
of two paths that the future cannot tell apart, the worse one could never win. At each step

    candidate(j, q') = max over (i, q) with q' = follow(q, j) of score(i, q) + log_a(i, j)
    score(j, q')     = candidate(j, q') + log_b(y_t, j)

of which the `width` best are kept. Nothing looks ahead. O(width (S + log width)) per step.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Epochs, epoch_of, frame, longest_sequence
from ..shared.memory cimport Memory


cdef struct Hypothesis:
    double score
    int64_t key                  # state * n_automaton + automaton state
    int32_t parent               # its place in the beam of the step before


cdef inline bint better(const Hypothesis *a, const Hypothesis *b) noexcept nogil:
    return a.score > b.score or (a.score == b.score and a.key < b.key)


cdef int by_key(const void *a, const void *b) noexcept nogil:
    cdef int64_t x = (<const Hypothesis *> a).key, y = (<const Hypothesis *> b).key
    return (x > y) - (x < y)


cdef void select_best(Hypothesis *h, int64_t n, int64_t width) noexcept nogil:
    """Move the `width` best to the front (quickselect)."""
    cdef int64_t low = 0, high = n - 1, i, j
    cdef Hypothesis pivot, swap
    while low < high:
        pivot = h[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while better(&h[i], &pivot):
                i += 1
            while better(&pivot, &h[j]):
                j -= 1
            if i <= j:
                swap = h[i]
                h[i] = h[j]
                h[j] = swap
                i += 1
                j -= 1
        if width - 1 <= j:
            high = j
        elif width - 1 >= i:
            low = i
        else:
            return


cdef struct Beam:
    Hypothesis *now
    Hypothesis *found            # candidates
    int32_t *slot                # of each key among the candidates, -1 where it is none
    int32_t *states              # (T, width), of the kept hypotheses
    int32_t *parents             # (T, width)
    int64_t width


cdef inline int64_t keep(Beam *b, int64_t n_found, int64_t n_automaton, int64_t t,
                         const double *log_b) noexcept nogil:
    """Score the candidates of step t, keep the best, in the order of their keys; how many."""
    cdef int64_t k, n = 0
    for k in range(n_found):
        b.slot[b.found[k].key] = -1
        b.found[k].score += log_b[b.found[k].key // n_automaton]
        if b.found[k].score > -INFINITY:
            b.now[n] = b.found[k]
            n += 1
    if n > b.width:
        select_best(b.now, n, b.width)
        n = b.width
    qsort(b.now, n, sizeof(Hypothesis), &by_key)
    for k in range(n):
        b.states[t * b.width + k] = <int32_t> (b.now[k].key // n_automaton)
        b.parents[t * b.width + k] = b.now[k].parent
    return n


def beam_search(const int32_t[:, :, ::1] tables,   # IN, of the controller
                const int64_t[::1] epochs,         # IN
                const double[:, ::1] log_trans,    # IN
                const double[::1] log_start,       # IN
                const double[:, ::1] log_table,    # IN
                const int32_t[::1] rows,           # IN or None: row t of log_table is step t
                const int64_t[::1] offsets,        # IN
                int64_t begin, int64_t end,        # IN, the sequences to decode
                int64_t width,                     # IN
                int32_t[::1] path,                 # OUT, state indices
                double[::1] log_prob):             # OUT, -inf where every hypothesis died
    """Decode sequences begin..end-1; what stands in `path` for dead ones means nothing."""
    cdef int64_t n_automaton = tables.shape[1], S = tables.shape[2]
    cdef int64_t n_keys = n_automaton * S, longest = longest_sequence(offsets, begin, end)
    cdef int64_t s, t, T, k, j, e, q, n, n_found, key, origin, best
    cdef int32_t place
    cdef double score
    cdef const int32_t *row_of = NULL if rows is None else &rows[0]
    cdef Beam b
    cdef Epochs changes
    cdef Memory memory = Memory()
    cdef Watch watch
    changes.n, changes.first = tables.shape[0], &epochs[0]
    b.width = min(width, n_keys)
    watch = new_watch(b.width * (S + 16))
    # Candidates are pairs, each once, so there is always room for them.
    cdef int64_t most = min(n_keys, b.width * S)
    most = max(most, S)
    b.now = <Hypothesis *> memory.room(most * sizeof(Hypothesis))
    b.found = <Hypothesis *> memory.room(most * sizeof(Hypothesis))
    b.slot = <int32_t *> memory.room(n_keys * sizeof(int32_t))
    b.states = <int32_t *> memory.room(longest * b.width * sizeof(int32_t))
    b.parents = <int32_t *> memory.room(longest * b.width * sizeof(int32_t))
    with nogil:
        memset(b.slot, 255, n_keys * sizeof(int32_t))
        for s in range(begin, end):
            origin = offsets[s]
            T = offsets[s + 1] - origin
            n_found = e = 0
            for j in range(S):
                if tables[0, 0, j] >= 0 and log_start[j] > -INFINITY:
                    b.found[n_found].key = j * n_automaton + tables[0, 0, j]
                    b.found[n_found].score = log_start[j]
                    b.found[n_found].parent = -1
                    n_found += 1
            n = keep(&b, n_found, n_automaton, 0, &log_table[frame(row_of, origin), 0])
            for t in range(1, T):
                e = epoch_of(&changes, t, e)
                n_found = 0
                for k in range(n):
                    q = b.now[k].key % n_automaton
                    for j in range(S):
                        if tables[e, q, j] < 0:
                            continue
                        score = b.now[k].score + log_trans[b.now[k].key // n_automaton, j]
                        if score == -INFINITY:
                            continue
                        key = j * n_automaton + tables[e, q, j]
                        place = b.slot[key]
                        if place < 0:
                            place = b.slot[key] = <int32_t> n_found
                            n_found += 1
                        elif not score > b.found[place].score:
                            continue
                        b.found[place].key = key
                        b.found[place].score = score
                        b.found[place].parent = <int32_t> k
                n = keep(&b, n_found, n_automaton, t,
                         &log_table[frame(row_of, origin + t), 0])
                if stopped(&watch, 1):
                    check()
                if n == 0:
                    break
            log_prob[s] = -INFINITY
            best = -1
            for k in range(n):
                if b.now[k].score > log_prob[s]:
                    log_prob[s] = b.now[k].score
                    best = k
            if best < 0:
                continue
            for t in range(T - 1, -1, -1):
                path[origin + t] = b.states[t * b.width + best]
                best = b.parents[t * b.width + best]
