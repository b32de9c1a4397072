"""Single steps of the forward recursion, and masses of completion, all as logarithms.

    alpha_t(m) = b(y_t, state(m)) sum_{n -> m} alpha_{t-1}(n) w(n -> m)
    mass_t(n)  = sum_{n -> m} w(n -> m) mass_{t+1}(m),   mass_{T-1} = final

O(edges) per step; see log_rows.pxd.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, epoch_of, step_work
from ..shared.memory cimport Memory
from . cimport log_rows


def first_step(Layout layout,                   # IN
               const double[::1] log_start,     # IN
               const double[::1] log_b,         # IN, of the states
               double[::1] out):                # OUT, one per node
    """log alpha_0."""
    if layout.graph.n_nodes:
        log_rows.first_row(&layout.graph, &log_start[0], &log_b[0], &out[0])


def step(Layout layout,                   # IN
         const double[::1] log_weights,   # IN, one an edge
         int64_t t,                       # IN
         const double[::1] before,        # IN, log alpha_{t-1}
         const double[::1] log_b,         # IN, of the states
         bint best,                       # IN, the maximum over paths instead of the sum
         double[::1] out):                # OUT
    """log alpha_t; not rescaled."""
    cdef const Graph *g = &layout.graph
    cdef int64_t e = epoch_of(&g.epochs, t, 0)
    if g.n_nodes == 0 or log_weights.shape[0] == 0:
        out[:] = -INFINITY
    elif best:
        log_rows.max_row(g, &log_weights[0], e, &before[0], &log_b[0], &out[0])
    else:
        log_rows.sum_row(g, &log_weights[0], e, &before[0], &log_b[0], &out[0])


def best_source(Layout layout,                   # IN
                const double[::1] log_weights,   # IN, one an edge
                int64_t t,                       # IN
                const double[::1] before,        # IN, values at t - 1
                int64_t m):                      # IN
    """The first of the best nodes at t - 1 on the way to node m at t."""
    return log_rows.best_source(&layout.graph, &log_weights[0] if log_weights.shape[0] else NULL,
                                epoch_of(&layout.graph.epochs, t, 0), m, &before[0])


def completions(Layout layout,                   # IN
                const double[::1] log_weights,   # IN, one an edge
                double[:, ::1] out):             # OUT (T, n_nodes)
    """log of E[exp(-cost of the rest); a path of T steps is accepted | its node at step t]."""
    cdef const Graph *g = &layout.graph
    cdef int64_t T = out.shape[0], t, m, e = g.epochs.n - 1
    cdef const double *weights = &log_weights[0] if log_weights.shape[0] else NULL
    cdef double *top
    cdef Watch watch = new_watch(8 * step_work(g))
    cdef Memory memory = Memory()
    if g.n_nodes == 0:
        return
    top = memory.rows(1, g.n_nodes)
    with nogil:
        for m in range(g.n_nodes):
            out[T - 1, m] = g.log_final[m]
        for t in range(T - 1, 0, -1):
            e = epoch_of(&g.epochs, t, e)
            log_rows.back_row(g, weights, e, &out[t, 0], top, &out[t - 1, 0])
            if stopped(&watch, 1):
                check()
