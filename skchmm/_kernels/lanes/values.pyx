"""Tables of the values of Viterbi, of 8 sequences at a time: one per lane.

    value_t(m) = max_{n -> m} (value_{t-1}(n) + log_w(n -> m)) + log_b(y_t, state(m))

The same additions and comparisons in the same order as one sequence at a time. O(edges) vector
operations per step of all 8.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from ..shared.interrupt cimport new_watch, stopped
from ..shared.layout cimport Graph, epoch_of, step_work
from ..shared.memory cimport Memory
from ..simd.instructions cimport instructions_in_use
from .edges cimport LANES, Group, Side, active_at, first_logs, make_edges, rows_of, side_of


cdef extern from "lanes/value_steps.h" nogil:
    const int *instructions
    void lanes_fill(int64_t n, int64_t n_states, const double *table, const int64_t *at,
                    double *out)
    void lanes_put(int64_t n, const double *numbers, int active, double **out, double **end)
    int lanes_value_run(int look, const Side *, const double *weights, int64_t n,
                        int64_t n_states, const double *emit, double *rows)

instructions = instructions_in_use()

cdef enum:
    BATCH = 32                   # steps whose emissions are laid out at once


cdef int open_values(Values *v, Memory memory, const Graph *g, const double *log_weights,
                     const double *log_start, const double *log_table, const int32_t *rows,
                     int64_t longest) except -1:
    """For sequences of up to `longest` steps, of a graph with edges."""
    cdef int64_t l
    v.g, v.log_start, v.log_table, v.rows = g, log_start, log_table, rows
    make_edges(g, memory, log_weights, True, &v.edges)
    for l in range(LANES):
        v.tables[l] = memory.table(longest, g.n_nodes)
    v.kept = memory.rows((1 + BATCH) * g.n_nodes + LANES, LANES)
    v.emit = memory.table(BATCH, g.n_states * LANES)
    v.at = <int64_t *> memory.room(BATCH * LANES * sizeof(int64_t))
    v.watch = new_watch(LANES * step_work(g))
    return 0


cdef int fill_values(Values *v, const Group *group) noexcept nogil:
    """Fill the tables of a group.

    The lanes in which two edges into a node may have been as good; where every state has one node,
    none. They mean nothing, as the tables, if the call is to end.
    """
    cdef const Graph *g = v.g
    cdef int64_t T = group.length[0], S = g.n_states, N = g.n_nodes * LANES
    cdef int64_t t = 0, n, begin = 0, end, e = 0, l
    cdef int active, tied = 0
    cdef double *out[8]
    cdef double *ends[8]
    cdef Side side
    for l in range(LANES):
        out[l] = v.tables[l]
        ends[l] = out[l] + group.length[l] * g.n_nodes
    while begin < T:
        n = min(T - begin, BATCH)
        rows_of(group, v.rows, begin, n, v.at)
        lanes_fill(n, S, v.log_table, v.at, v.emit)
        if begin == 0:
            first_logs(g, v.log_start, v.emit, v.kept)
            lanes_put(g.n_nodes, v.kept, group.n, out, ends)
            t = 1
        while t < begin + n:
            active = active_at(group, t)
            end = min(begin + n, group.length[active - 1])
            e = epoch_of(&g.epochs, t, e)
            if e + 1 < g.epochs.n:
                end = min(end, g.epochs.first[e + 1])
            side = side_of(g, &v.edges, e)
            tied |= lanes_value_run(g.several, &side, v.edges.base, end - t, S,
                                    v.emit + (t - begin) * S * LANES, v.kept) & ((1 << active) - 1)
            lanes_put((end - t) * g.n_nodes, v.kept + N, active, out, ends)
            memcpy(v.kept, v.kept + (end - t) * N, N * sizeof(double))
            t = end
        begin += n
        if stopped(&v.watch, n):
            break
    return tied
