"""Emissions of steps, one per node."""
from libc.stdint cimport int32_t, int64_t

from .layout cimport Graph, frame


cdef enum:
    BATCH = 64                   # steps whose emissions are laid out at once


cdef struct Emit:
    const double *table          # (rows, n_states), or (rows, stride) where already by node
    const int32_t *rows          # NULL: row t is step t
    bint by_node
    double *buffer               # (BATCH, stride): rows of one batch, by node
    int64_t batch                # which one that is


cdef inline const double *emit_row(const Graph *g, Emit *emit, int64_t step,
                                   int64_t end) noexcept nogil:
    """Emissions of a step, one per node; steps from `end` on are never asked for."""
    cdef int64_t t, m, first
    cdef const double *row
    cdef double *out = emit.buffer
    if emit.by_node:
        return emit.table + frame(emit.rows, step) * g.stride
    if step // BATCH != emit.batch:
        emit.batch = step // BATCH
        first = emit.batch * BATCH
        for t in range(first, min(first + BATCH, end)):
            row = emit.table + frame(emit.rows, t) * g.n_states
            for m in range(g.n_nodes):
                out[m] = row[g.node_states[m]]
            out += g.stride
    return emit.buffer + (step % BATCH) * g.stride


cdef inline int64_t run_length(const Graph *g, const Emit *emit, int64_t origin, int64_t t,
                               int64_t end, int64_t e) noexcept nogil:
    """Steps from t on, before `end`, that share an epoch and a batch of emissions."""
    if e + 1 < g.epochs.n:
        end = min(end, g.epochs.first[e + 1])
    if not emit.by_node:
        end = min(end, ((origin + t) // BATCH + 1) * BATCH - origin)
    return end - t
