"""Lossy rows in forward_backward.pyx, and what they may have lost."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..shared.interrupt cimport Watch
from ..shared.layout cimport Graph, edges_into, frame


cdef extern from "discrete/sum_steps.h" nogil:
    double TINY

cdef enum:
    FINE
    REDO
    INFEASIBLE


cdef struct Model:
    const double *edge_weights   # by edge
    const double *weights        # by entry of the blocks of targets
    const double *back_weights   # by entry of the blocks of sources
    const double *start
    const double *row_max
    const uint8_t *row_lossy
    const int32_t *rows
    Watch *watch


cdef inline bint any_lossy(const Model *p, int64_t first, int64_t n) noexcept nogil:
    cdef int64_t t
    for t in range(first, first + n):
        if p.row_lossy[frame(p.rows, t)]:
            return True
    return False


cdef inline void mark_possible(const Graph *g, const Model *p, int64_t e, const double *before,
                               bint first, uint8_t *possible) noexcept nogil:
    """What has a positive sum before the emission."""
    cdef int64_t m, k, i
    cdef const int32_t *start = edges_into(g, e)
    memset(possible, 0, g.n_nodes)
    if first:
        for i in range(g.n_states):
            if g.start_nodes[i] >= 0 and p.start[i] > 0.0:
                possible[g.start_nodes[i]] = 1
        return
    for m in range(g.n_nodes):
        for k in range(start[m], start[m + 1]):
            if before[g.sources[k]] > 0.0 and p.edge_weights[k] > 0.0:
                possible[m] = 1
                break


cdef inline int zeros_are_true(const Graph *g, const Model *p, int64_t e, const double *before,
                               const uint8_t *possible, double floor) noexcept nogil:
    """After a lossy row: whether every node that may be reached keeps a safe sum."""
    cdef int64_t m, k
    cdef bint reached
    cdef double u
    cdef const int32_t *start = edges_into(g, e)
    for m in range(g.n_nodes):
        u = 0.0
        reached = False
        for k in range(start[m], start[m + 1]):
            u += before[g.sources[k]] * p.edge_weights[k]
            reached = reached or (possible[g.sources[k]] and p.edge_weights[k] > 0.0)
        if reached and u < floor:
            return REDO
    return FINE


cdef inline int lost_behind(const Graph *g, const Model *p, int64_t e, const double *beta,
                            const double *beta_before) noexcept nogil:
    """After a lossy row: whether some sum that should be positive is too small."""
    cdef int64_t m, k
    cdef const int32_t *start = edges_into(g, e)
    for m in range(g.n_nodes):
        if beta[m] > 0.0:
            for k in range(start[m], start[m + 1]):
                if p.edge_weights[k] > 0.0 and beta_before[g.sources[k]] < TINY:
                    return REDO
    return FINE
