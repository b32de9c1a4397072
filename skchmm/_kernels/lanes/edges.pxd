from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport Graph, edges_into
from ..shared.memory cimport Memory


cdef extern from "lanes/side.h" nogil:
    ctypedef struct Side:
        int64_t n_nodes
        const int32_t *nodes
        int64_t edge
        const double *numbers
        const int32_t *states
    ctypedef struct OneWay:
        int64_t n_nodes
        const int32_t *nodes


cdef enum:
    LANES = 8


cdef struct Group:
    int n                        # sequences; where fewer than 8, the first fills the other lanes
    int64_t sequence[8]          # longest first
    int64_t origin[8]
    int64_t length[8]


cdef inline int64_t n_groups(int64_t n_sequences) noexcept nogil:
    return (n_sequences + LANES - 1) // LANES


cdef inline void read_group(const int64_t *order, int64_t n, const int64_t *offsets,
                            Group *group) noexcept nogil:
    cdef int64_t l, s
    group.n = <int> min(n, LANES)
    for l in range(LANES):
        s = order[l if l < group.n else 0]
        group.sequence[l] = s
        group.origin[l] = offsets[s]
        group.length[l] = offsets[s + 1] - offsets[s]


cdef inline int active_at(const Group *group, int64_t t) noexcept nogil:
    """Lanes, from the first on, whose sequence has a step t."""
    cdef int n = group.n
    while n > 0 and group.length[n - 1] <= t:
        n -= 1
    return n


cdef inline void rows_of(const Group *group, const int32_t *rows, int64_t first, int64_t n,
                         int64_t *at) noexcept nogil:
    """Rows of the emission table for steps first..first+n-1; past its end a lane repeats one."""
    cdef int64_t t, l, step, last
    for l in range(LANES):
        step = group.origin[l] + first
        last = min(n, max(group.length[l] - first, 0))
        for t in range(last):
            at[t * LANES + l] = step + t if rows == NULL else rows[step + t]
        step = group.origin[l] + group.length[l] - 1
        for t in range(last, n):
            at[t * LANES + l] = step if rows == NULL else rows[step]


cdef inline void first_logs(const Graph *g, const double *log_start, const double *emit,
                            double *out) noexcept nogil:
    """Row 0 of values, by logarithms."""
    cdef int64_t i, l, m
    for m in range(g.n_nodes * LANES):
        out[m] = -INFINITY
    for i in range(g.n_states):
        m = g.start_nodes[i]
        if m >= 0:
            for l in range(LANES):
                out[m * LANES + l] = log_start[i] + emit[i * LANES + l]


cdef struct Edges:
    int64_t n
    int32_t *nodes               # of all epochs; see Side
    int64_t *first               # where those of each epoch begin
    int32_t *source              # of the edges in that order,
    int32_t *target              # as places in a row: 8 times a number
    int32_t *number              # of the edge in the graph
    double *base                 # weights
    double *numbers              # see Side
    double *weights              # (n, 8): those of each lane
    int32_t *one_way             # of all epochs, see OneWay; NULL for other graphs


cdef int make_edges(const Graph *g, Memory memory, const double *weights, bint by_target,
                    Edges *edges) except -1


cdef inline Side side_of(const Graph *g, const Edges *edges, int64_t e) noexcept nogil:
    """The edges of an epoch."""
    cdef Side side
    side.n_nodes, side.states = g.n_nodes, g.node_states
    side.nodes = edges.nodes + edges.first[e]
    side.edge = edges_into(g, e)[0]
    side.numbers = edges.numbers
    return side


cdef inline OneWay one_way_of(const Graph *g, const Edges *edges, int64_t e) noexcept nogil:
    """The same of a one-way graph."""
    cdef OneWay way
    way.n_nodes = g.n_nodes
    way.nodes = edges.one_way + 6 * e * g.n_nodes + 2 * edges_into(g, e)[0]
    return way
