"""Graphs of up to 16 nodes in one row of vectors: where each node lies, weights, what leads where.

A graph that runs in one direction, as the parts of a gene or the stages of a protocol do, is a
*band*: in some order of its nodes every edge but one, at most, leads from a node to itself or to
the next one. Then a step is two or three vector operations, however many nodes there are.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..shared.layout cimport Graph

cdef enum:
    MOST = 16                    # nodes


cdef struct Places:
    int64_t n                    # nodes
    int64_t width                # 8 or 16
    bint in_order                # places are nodes are states
    bint band
    int64_t source               # of the edge beside the band, by place, or -1
    int64_t target
    int32_t place[MOST]          # of each node
    int32_t state[MOST]          # of each place


cdef inline bint lines_up(const Graph *g, int64_t left_out, int32_t *successor) noexcept nogil:
    """Whether all edges but one lead to a node itself or are single ways from one to another.

    successor[n]: where the way from n leads, or -1. Ways must not run in circles.
    """
    cdef int64_t m, n, k, steps
    cdef bint entered
    for n in range(g.n_nodes):
        successor[n] = -1
    for m in range(g.n_nodes):
        entered = False
        for k in range(g.indptr[m], g.indptr[m + 1]):
            n = g.sources[k]
            if n == m or k == left_out:
                continue
            if entered or successor[n] >= 0:
                return False
            entered = True
            successor[n] = <int32_t> m
    for n in range(g.n_nodes):
        m, steps = n, 0
        while successor[m] >= 0:
            m = successor[m]
            steps += 1
            if steps > g.n_nodes:
                return False
    return True


cdef inline bint find_band(const Graph *g, Places *p) noexcept nogil:
    """An order in which the graph is a band, if there is one."""
    cdef int64_t m, n, k, left_out = -1, n_edges = g.indptr[g.n_nodes] - g.indptr[0]
    cdef int32_t successor[MOST]
    cdef bint first[MOST]
    # Where nodes are states, a few of them, to put marginals in order takes longer than it saves.
    if n_edges > 2 * g.n_nodes or g.n_nodes < (7 if g.plain else 4):
        return False
    if not lines_up(g, -1, successor):
        left_out = g.indptr[0]
        while not lines_up(g, left_out, successor):
            left_out += 1
            if left_out == g.indptr[g.n_nodes]:
                return False
    for n in range(g.n_nodes):
        first[n] = True
    for n in range(g.n_nodes):
        if successor[n] >= 0:
            first[successor[n]] = False
    k = 0
    for n in range(g.n_nodes):
        if first[n]:
            m = n
            while m >= 0:
                p.place[m] = <int32_t> k
                k += 1
                m = successor[m]
    p.source = p.target = -1
    if left_out >= 0:
        m = 0
        while g.indptr[m + 1] <= left_out:
            m += 1
        p.source, p.target = p.place[g.sources[left_out]], p.place[m]
    return True


cdef inline void find_places(const Graph *g, Places *p) noexcept nogil:
    cdef int64_t n
    memset(p, 0, sizeof(Places))
    p.n, p.width = g.n_nodes, 8 if g.n_nodes <= 8 else 16
    p.band = find_band(g, p)
    p.in_order = g.plain
    for n in range(g.n_nodes):
        if not p.band:
            p.place[n] = <int32_t> n
        p.in_order = p.in_order and p.place[n] == n
    for n in range(g.n_nodes):
        p.state[p.place[n]] = g.node_states[n]


cdef inline int64_t term_of(const Places *p, int64_t source, int64_t target,
                            int64_t step) noexcept nogil:
    """The term of the sums that an edge between places is; step is -1 for the reversed ones."""
    if not p.band:
        return source
    return 0 if source == target else 1 if target - source == step else 2


cdef inline void find_reach(const Places *p, const double *weights, double unknown,
                            double *reach) noexcept nogil:
    """reach(k, m) = 0 where a path leads from place k to place m, otherwise unknown."""
    cdef int64_t k, m, n
    for k in range(p.width * p.width):
        reach[k] = unknown
    for k in range(p.n):
        for m in range(p.n):
            if k == m or weights[k * p.width + m] > 0.0:
                reach[k * p.width + m] = 0.0
    for n in range(p.n):
        for k in range(p.n):
            if reach[k * p.width + n] == 0.0:
                for m in range(p.n):
                    if reach[n * p.width + m] == 0.0:
                        reach[k * p.width + m] = 0.0
