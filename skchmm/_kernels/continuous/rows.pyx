"""Max-plus over gaps that are nearly all different: of exp(Q gap), only the rows that are needed.

    value_t(m) = max_n (value_{t-1}(n) + log exp(Q gap_t)[n, m]) + log_b(y_t, state(m))

A row is sum_k Poisson(k; q gap) (P^k)[n, :] over what node n can reach, P = I + Q / q. All gaps
share the powers, and a row is computed for some steps at once, while its powers are at hand. What
is long is made of rungs of a ladder of doublings besides, by which rows are multiplied.

Entries of which too little is computed are taken for a bound from above, and so are values that
are no more than LEAST of the largest. A best path that meets no bound is the best one whatever they
stand for.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, frame, hold
from ..shared.memory cimport Memory
from ..simd.instructions cimport instructions_in_use

import numpy as np


cdef extern from "continuous/row_steps.h" nogil:
    const int *instructions
    void row_power(int64_t n_blocks, const int32_t *block, double weight, const double *row,
                   double *out)
    void row_series(int64_t n_blocks, int64_t width, const double *powers, int64_t n_groups,
                    const double *weights, const int64_t *terms, double *out, int64_t stride)
    void row_products(int64_t n_places, int64_t stride, const int32_t *node_at,
                      const int64_t *begin, const int32_t *block, const double *matrix,
                      const double *rows, double *out)
    void row_best(int64_t n_blocks, const int32_t *block, const double *row, const double *able,
                  double weak, double p, double number, double *best, double *source)

instructions = instructions_in_use()

cdef enum:
    GROUP = 4            # steps whose rows are summed up together
    GROUPS = 4
    WINDOW = 16          # GROUPS of them: steps for which a row is computed at once

cdef double LEAST = 1e-190       # of the largest value; times a small entry, it is a number still


cdef struct Shape:
    int64_t n_nodes
    int64_t stride               # n_nodes rounded up to whole blocks
    const int32_t *place         # of each node in a row
    const int32_t *node_at       # the node at each place
    const int64_t *begin         # the blocks of each node's row
    const int32_t *block         # the places of each, by eights
    const double *able           # (blocks, 8): 1 where the node can be reached, otherwise 0


cdef class Rows:
    """Powers of P by rows, and the rungs of a ladder."""

    cdef Shape shape
    cdef list held
    cdef readonly int64_t n_blocks, n_terms
    cdef double[:, :, ::1] powers      # (blocks, terms, 8)
    cdef double[:, :, ::1] rungs       # (rungs, blocks, 8)

    def __init__(self, place, begin, block, able, kernel, int64_t n_terms, rungs):
        """`kernel` is P as a sparse matrix, `rungs` are dense ones."""
        cdef Shape *s = &self.shape
        cdef list held
        s.n_nodes = len(place)
        s.stride = (s.n_nodes + 7) // 8 * 8
        node_at = np.zeros(s.stride, dtype=np.int32)
        node_at[place] = np.arange(s.n_nodes)
        self.held = held = []
        s.place = <const int32_t *> hold(held, place, np.int32)
        s.node_at = <const int32_t *> hold(held, node_at, np.int32)
        s.begin = <const int64_t *> hold(held, begin, np.int64)
        s.block = <const int32_t *> hold(held, block, np.int32)
        s.able = <const double *> hold(held, able, np.float64)
        self.n_blocks, self.n_terms = len(block), n_terms
        self.powers = np.empty((self.n_blocks, n_terms, 8))
        self._fill(np.asarray(kernel.indptr, dtype=np.int64),
                   np.asarray(kernel.indices, dtype=np.int32), kernel.data)
        self.rungs = np.zeros((len(rungs), self.n_blocks, 8))
        rows = np.repeat(np.arange(s.n_nodes), np.diff(begin))
        for rung, matrix in enumerate(rungs):
            wide = np.zeros((s.n_nodes, s.stride))
            wide[:, place] = matrix
            wide = wide.reshape(s.n_nodes, -1, 8)
            np.asarray(self.rungs)[rung] = wide[rows, block]

    def _fill(self, const int64_t[::1] indptr, const int32_t[::1] targets,
              const double[::1] weights):
        """P^k from P^(k - 1): each row is a sum of those that one event leads to."""
        cdef const Shape *s = &self.shape
        cdef int64_t k, n, b, e, N = s.n_nodes, stride = s.stride
        cdef Memory memory = Memory()
        cdef double *here = memory.rows(N, stride)
        cdef double *after = memory.rows(N, stride)
        cdef double *swap
        cdef double[:, :, ::1] powers = self.powers
        cdef Watch watch = new_watch(targets.shape[0] * stride // 8)
        with nogil:
            for n in range(N):
                here[n * stride + s.place[n]] = 1.0
            for k in range(self.n_terms):
                for n in range(N):
                    for b in range(s.begin[n], s.begin[n + 1]):
                        memcpy(&powers[b, k, 0], here + n * stride + 8 * s.block[b],
                               8 * sizeof(double))
                if stopped(&watch, 1):
                    check()
                memset(after, 0, N * stride * sizeof(double))
                for n in range(N):
                    for e in range(indptr[n], indptr[n + 1]):
                        b = s.begin[targets[e]]
                        row_power(s.begin[targets[e] + 1] - b, s.block + b, weights[e],
                                  here + targets[e] * stride, after + n * stride)
                swap = here
                here = after
                after = swap


cdef struct Work:
    double *p
    double *best                 # by place
    double *source
    int32_t *kept
    int64_t *filled              # by node, the window for which its row is there
    double *rows                 # (WINDOW, blocks, 8)
    double *weights              # (GROUPS, terms, GROUP)
    double *left                 # (GROUP, stride)
    double *right


cdef void poisson(const double[::1] rest, const int64_t[::1] terms, const int32_t *gaps,
                  int64_t n, int64_t width, double *weights, int64_t *slot,
                  int64_t *most) noexcept nogil:
    """The weights of n steps, and how many terms each group takes.

    Steps of about as many terms share a group: step i has slot[i].
    """
    cdef int64_t i, k, g
    cdef double w
    cdef int64_t sorted[WINDOW]
    for i in range(n):
        k = i
        while k > 0 and terms[gaps[sorted[k - 1]]] > terms[gaps[i]]:
            sorted[k] = sorted[k - 1]
            k -= 1
        sorted[k] = i
    memset(weights, 0, WINDOW * width * sizeof(double))
    for g in range(GROUPS):
        most[g] = 0
    for k in range(n):
        i, g = sorted[k], k // GROUP
        slot[i] = k
        most[g] = terms[gaps[i]]
    for i in range(n):
        w = exp(-rest[gaps[i]])
        for k in range(terms[gaps[i]]):
            weights[(slot[i] // GROUP * width + k) * GROUP + slot[i] % GROUP] = w
            w *= rest[gaps[i]] / (k + 1)


cdef void lengthen(const Shape *s, Work *w, double *rows, int64_t n_kept,
                   const double *rung) noexcept nogil:
    """Multiply the rows of the kept nodes by a rung, in place."""
    cdef int64_t group, first, i, n, b, here
    for group in range((n_kept + GROUP - 1) // GROUP):
        first = group * GROUP
        here = min(<int64_t> GROUP, n_kept - first)
        memset(w.left, 0, GROUP * s.stride * sizeof(double))
        memset(w.right, 0, GROUP * s.stride * sizeof(double))
        for i in range(here):
            n = w.kept[first + i]
            for b in range(s.begin[n], s.begin[n + 1]):
                memcpy(w.left + i * s.stride + 8 * s.block[b], rows + 8 * b, 8 * sizeof(double))
        row_products(s.stride, s.stride, s.node_at, s.begin, s.block, rung, w.left, w.right)
        for i in range(here):
            n = w.kept[first + i]
            for b in range(s.begin[n], s.begin[n + 1]):
                memcpy(rows + 8 * b, w.right + i * s.stride + 8 * s.block[b], 8 * sizeof(double))


def best_rows(Layout layout,                       # IN
              Rows rows,                           # IN
              const double[::1] rest,              # IN, for each gap: q t of what is no rung,
              const int64_t[::1] terms,            # IN, the terms that it takes,
              const int64_t[::1] indptr,           # IN, the places of its rungs
              const int32_t[::1] factors,          # IN
              const double[::1] log_scales,        # IN, what its rungs were divided by,
              const double[::1] weak,              # IN, and up to where entries are bounds
              const double[::1] lengths,           # IN
              const int32_t[::1] gaps,             # IN, the gap before each step
              const double[:, ::1] log_table,      # IN
              const int32_t[::1] row_of,           # IN or None
              int64_t origin, int64_t T,           # IN, the sequence
              double[::1] value,                   # INOUT, of the first step, then of the last
              int32_t[:, ::1] came_from):          # OUT, row t - 1 for step t; -1 - node: a bound
    """Viterbi of one sequence."""
    cdef const Graph *g = &layout.graph
    cdef const Shape *s = &rows.shape
    cdef int64_t N = g.n_nodes, width = rows.n_terms, stride = 8 * rows.n_blocks
    cdef int64_t t, n, m, i, f, b, n_kept, gap, window = -1, start = 0
    cdef int64_t most[GROUPS]
    cdef int64_t slot[WINDOW]
    cdef double top, x
    cdef double *here
    cdef const double *log_b
    cdef const int32_t *frames = NULL if row_of is None else &row_of[0]
    cdef Work w
    cdef Memory memory = Memory()
    cdef Watch watch = new_watch(stride)
    w.p = memory.rows(1, s.stride)
    w.best = memory.rows(1, s.stride)
    w.source = memory.rows(1, s.stride)
    w.kept = <int32_t *> memory.room(s.stride * sizeof(int32_t))
    w.filled = <int64_t *> memory.room(s.stride * sizeof(int64_t))
    w.rows = memory.table(WINDOW, stride)
    w.weights = memory.rows(WINDOW, width)
    w.left = memory.rows(GROUP, s.stride)
    w.right = memory.rows(GROUP, s.stride)
    with nogil:
        for n in range(N):
            w.filled[n] = -1
        for t in range(1, T):
            if stopped(&watch, 1):
                check()
            if window < 0 or t - start == WINDOW:
                window, start = t, t
                poisson(rest, terms, &gaps[origin + t], min(<int64_t> WINDOW, T - t), width,
                        w.weights, slot, most)
            gap = gaps[origin + t]
            log_b = &log_table[frame(frames, origin + t), 0]
            top = -INFINITY
            for n in range(N):
                top = max(top, value[n])
            if top == -INFINITY:
                break
            n_kept = 0
            for n in range(N):
                w.p[n] = max(exp(value[n] - top), LEAST) if value[n] > -INFINITY else 0.0
                w.best[s.place[n]] = w.source[s.place[n]] = 0.0
                if lengths[gap] == 0.0:
                    w.best[s.place[n]], w.source[s.place[n]] = w.p[n], n
                elif w.p[n] > 0.0:
                    w.kept[n_kept] = <int32_t> n
                    n_kept += 1
            here = w.rows + slot[t - start] * stride
            for i in range(n_kept):
                n = w.kept[i]
                b = s.begin[n]
                if w.filled[n] != window:
                    w.filled[n] = window
                    row_series(s.begin[n + 1] - b, width, &rows.powers[b, 0, 0], GROUPS,
                               w.weights, most, w.rows + 8 * b, stride)
            for f in range(indptr[gap], indptr[gap + 1]):
                lengthen(s, &w, here, n_kept, &rows.rungs[factors[f], 0, 0])
            for i in range(n_kept):
                n = w.kept[i]
                b = s.begin[n]
                row_best(s.begin[n + 1] - b, s.block + b, here + 8 * b, s.able + 8 * b, weak[gap],
                         w.p[n], <double> n, w.best, w.source)
            for m in range(N):
                x = w.best[s.place[m]]
                n = <int64_t> w.source[s.place[m]]
                value[m] = (top + log(x) + log_scales[gap] + log_b[g.node_states[m]] if x > 0.0
                            else -INFINITY)
                if w.p[n] <= LEAST or (x <= weak[gap] * w.p[n] and lengths[gap] > 0.0):
                    n = -1 - n
                came_from[t - 1, m] = <int32_t> n
