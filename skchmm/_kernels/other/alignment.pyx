"""The cheapest edit of a path that an automaton accepts."""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t

import numpy as np

from ..shared.interrupt cimport Watch, check, new_watch, stopped

# How a node was reached; what a move is called by the Python code too.
cdef enum:
    KEEP = 0
    SUBSTITUTE = 1
    DELETE = 2
    INSERT = 3

    COPIES = 1000       # states that could be looked at while numpy copies a layer, or searches it


cdef struct Layer:
    # Of each automaton state, the cheapest way to it that has read so many labels of the path.
    double *cost
    int32_t *source     # the automaton state before
    int32_t *label      # what is written, -1 for nothing
    uint8_t *move
    int32_t *active     # states that are reached, in the order in which they were
    Py_ssize_t n_active


cdef inline bint _reach(
    Layer *layer, int32_t q, double cost, int32_t source, int32_t label, uint8_t move
) noexcept nogil:
    """Whether this way is cheaper than what was known."""
    if not cost < layer.cost[q]:
        return False
    if layer.cost[q] == INFINITY:
        layer.active[layer.n_active] = q
        layer.n_active += 1
    layer.cost[q] = cost
    layer.source[q] = source
    layer.label[q] = label
    layer.move[q] = move
    return True


cdef void _insert(
    Layer *layer, const int32_t[:, ::1] table, double insert, double bound, int32_t *queue,
    uint8_t *queued
) noexcept nogil:
    """All that is reached from a layer by inserting labels: until no way gets cheaper."""
    cdef Py_ssize_t n = table.shape[0], head = 0, tail = 0, k
    cdef int32_t q, a, there
    cdef double cost
    for k in range(layer.n_active):
        queue[tail] = layer.active[k]
        queued[layer.active[k]] = True
        tail += 1
    tail = tail % n if tail < n else 0
    cdef Py_ssize_t waiting = layer.n_active
    while waiting > 0:
        q = queue[head]
        head = head + 1 if head + 1 < n else 0
        waiting -= 1
        queued[q] = False
        cost = layer.cost[q] + insert
        if cost > bound:
            continue
        for a in range(table.shape[1]):
            there = table[q, a]
            if there >= 0 and _reach(layer, there, cost, q, a, INSERT) and not queued[there]:
                queue[tail] = there
                queued[there] = True
                tail = tail + 1 if tail + 1 < n else 0
                waiting += 1


cdef void _read(
    Layer *layer, Layer *after, const int32_t[:, ::1] table, int32_t x, double substitute,
    double delete, double bound
) noexcept nogil:
    """What follows when the label x (-1: none of the automaton) is kept, replaced or deleted."""
    cdef Py_ssize_t k
    cdef int32_t q, a
    cdef double cost
    for k in range(layer.n_active):
        q = layer.active[k]
        cost = layer.cost[q]
        if x >= 0 and table[q, x] >= 0:
            _reach(after, table[q, x], cost, q, x, KEEP)
        if cost + substitute <= bound:
            for a in range(table.shape[1]):
                if a != x and table[q, a] >= 0:
                    _reach(after, table[q, a], cost + substitute, q, a, SUBSTITUTE)
        if cost + delete <= bound:
            _reach(after, q, cost + delete, q, -1, DELETE)


cdef class _Room:
    """A layer's memory."""
    cdef object arrays
    cdef Layer layer

    def __init__(self, Py_ssize_t n):
        cost, active = np.full(n, np.inf), np.zeros(n, dtype=np.int32)
        source, label = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
        move = np.zeros(n, dtype=np.uint8)
        self.arrays = cost, source, label, move, active
        cdef double[::1] costs = cost
        cdef int32_t[::1] sources = source, labels = label, actives = active
        cdef uint8_t[::1] moves = move
        self.layer.cost, self.layer.source = &costs[0], &sources[0]
        self.layer.label, self.layer.move, self.layer.active = &labels[0], &moves[0], &actives[0]
        self.layer.n_active = 0

    def kept(self):
        """How the active states were reached: (states, source, label, move)."""
        _, source, label, move, active = self.arrays
        states = active[: self.layer.n_active].copy()
        return states, source[states], label[states], move[states]

    cdef void clear(self) noexcept:
        cdef Py_ssize_t k
        for k in range(self.layer.n_active):
            self.layer.cost[self.layer.active[k]] = INFINITY
        self.layer.n_active = 0


def align_path(
    const int32_t[:, ::1] table,   # IN, (n, S), -1 is dead; every entry below n
    const uint8_t[::1] accept,     # IN, (n,)
    int32_t start,                 # IN
    const int32_t[::1] labels,     # IN, of the path; -1 for one that the automaton does not know
    double insert,
    double delete,
    double substitute,
    double bound,
):
    """The cheapest way that costs no more than `bound`, or None.

    With c_t(q) the least cost to have read t labels and to be in q,

        c_{t+1}(r) = min over q, a with table[q, a] = r of
                     c_t(q) + (0 if a = x_t else substitute),  c_t(r) + delete,
                     c_{t+1}(q) + insert

    over the states that stay within the bound: O(S) for each.

    Returns
    -------
    cost : float
    moves : list of (kind, label), in order
    """
    cdef Py_ssize_t T = labels.shape[0], t, k
    cdef int32_t q, best = -1
    cdef double cost = INFINITY
    cdef Watch watch = new_watch(4 * table.shape[1])
    cdef _Room here = _Room(table.shape[0]), after = _Room(table.shape[0])
    cdef int32_t[::1] queue = np.zeros(table.shape[0], dtype=np.int32)
    cdef uint8_t[::1] queued = np.zeros(table.shape[0], dtype=np.uint8)
    layers = []
    _reach(&here.layer, start, 0.0, -1, -1, KEEP)
    for t in range(T + 1):
        with nogil:
            if insert <= bound:
                _insert(&here.layer, table, insert, bound, &queue[0], &queued[0])
        if here.layer.n_active == 0:
            return None
        layers.append(here.kept())
        if stopped(&watch, here.layer.n_active + COPIES):
            check()
        if t < T:
            with nogil:
                _read(&here.layer, &after.layer, table, labels[t], substitute, delete, bound)
            here.clear()
            here, after = after, here
    for k in range(here.layer.n_active):
        q = here.layer.active[k]
        if accept[q] and here.layer.cost[q] < cost:
            cost, best = here.layer.cost[q], q
    if best < 0:
        return None
    moves, t, q = [], T, best
    while not (t == 0 and q == start):
        states, source, label, move = layers[t]
        place = int(np.flatnonzero(states == q)[0])
        moves.append((int(move[place]), int(label[place])))
        q = source[place]
        if moves[len(moves) - 1][0] != INSERT:
            t -= 1
        if stopped(&watch, COPIES):
            check()
    return cost, moves[::-1]
