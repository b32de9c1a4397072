"""Marginals given the observations so far, of many sequences.

    alpha_t(m) = b(y_t, state(m)) sum_{n -> m} alpha_{t-1}(n) w(n -> m)
    P(x_t = i | y_0..y_t, a completion is feasible) is proportional to the sum of alpha_t(m) over
    the nodes m of state i from which a path can still be completed

As logarithms, O(edges) per step; see log_rows.pxd.
"""
from libc.math cimport INFINITY, NAN, exp
from libc.stdint cimport int32_t, int64_t, uint8_t

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, epoch_of, step_work
from ..shared.memory cimport Memory
from . cimport log_rows


def causal_marginals(Layout layout,                   # IN
                     const double[::1] log_weights,   # IN, one an edge
                     const double[::1] log_start,     # IN
                     const double[:, ::1] table,      # IN, frames
                     const int32_t[::1] index,        # IN or None, row of the table of a step
                     const int64_t[::1] offsets,      # IN
                     int64_t begin, int64_t end,      # IN, sequences
                     const uint8_t[:, ::1] live,      # IN, by step; the last row holds on
                     double[:, ::1] out):             # OUT (n_steps, S), NaN once no path is left
    """Fill the rows of sequences begin..end-1."""
    cdef const Graph *g = &layout.graph
    cdef int64_t N = g.n_nodes, S = g.n_states, s, t, m, i, row, e, last = live.shape[0] - 1
    cdef const double *weights = &log_weights[0] if log_weights.shape[0] else NULL
    cdef const double *log_b
    cdef double *now
    cdef double *before
    cdef double top, total
    cdef Watch watch = new_watch(8 * step_work(g))
    cdef Memory memory = Memory()
    if N == 0 or begin == end:
        out[offsets[begin]:offsets[end], :] = NAN
        return
    now, before = memory.rows(1, N), memory.rows(1, N)
    with nogil:
        for s in range(begin, end):
            e = 0
            for t in range(offsets[s + 1] - offsets[s]):
                row = offsets[s] + t
                log_b = &table[row if index is None else index[row], 0]
                if t == 0:
                    log_rows.first_row(g, &log_start[0], log_b, now)
                elif weights == NULL:
                    for m in range(N):
                        now[m] = -INFINITY
                else:
                    e = epoch_of(&g.epochs, t, e)
                    log_rows.sum_row(g, weights, e, before, log_b, now)
                log_rows.shift(now, N)
                top = -INFINITY
                for m in range(N):
                    if live[min(t, last), m]:
                        top = max(top, now[m])
                for i in range(S):
                    out[row, i] = 0.0 if top > -INFINITY else NAN
                if top > -INFINITY:
                    total = 0.0
                    for m in range(N):
                        if live[min(t, last), m]:
                            out[row, g.node_states[m]] += exp(now[m] - top)
                    for i in range(S):
                        total += out[row, i]
                    for i in range(S):
                        out[row, i] /= total
                now, before = before, now
                if stopped(&watch, 1):
                    check()
