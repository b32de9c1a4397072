"""Graphs of up to 16 nodes in one row of vectors: where each node lies, weights, what leads where.

A graph that runs in one direction, as the parts of a gene or the stages of a protocol do, is a
*band*: every node has at most one edge to another one and one from another one, but for one edge
more. Then a step is two or three vector operations, however many nodes there are.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..shared.layout cimport Graph
from .places cimport MOST, Places
from .short_lines cimport find_lines


cdef inline bint lines_up(const Graph *g, int64_t left_out, int32_t *successor,
                          bint *circle) noexcept nogil:
    """Whether all edges but one lead to a node itself or are single ways from one to another.

    successor[n]: where the way from n leads, or -1. Says whether ways run in circles.
    """
    cdef int64_t m, n, k, steps
    cdef bint entered
    circle[0] = False
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
        while successor[m] >= 0 and not circle[0]:
            m = successor[m]
            steps += 1
            circle[0] = steps > g.n_nodes
    return True


cdef inline void put_in_order(const Graph *g, const int32_t *successor, Places *p) noexcept nogil:
    """Every node beside the one that it leads to: two vectors are shifted, not shuffled."""
    cdef int64_t m, n, k = 0
    cdef bint first[MOST]
    for n in range(g.n_nodes):
        first[n] = True
    for n in range(g.n_nodes):
        if successor[n] >= 0:
            first[successor[n]] = False
    for n in range(g.n_nodes):
        if first[n]:
            m = n
            while m >= 0:
                p.place[m] = <int32_t> k
                k += 1
                m = successor[m]


cdef inline bint find_band(const Graph *g, Places *p) noexcept nogil:
    """Whether the graph is a band, and which places lead where."""
    cdef int64_t m, n, left_out = -1, n_edges = g.indptr[g.n_nodes] - g.indptr[0]
    cdef int32_t successor[MOST]
    cdef bint circle = False
    if n_edges > 2 * g.n_nodes + 1 or g.n_nodes < 4:
        return False
    if not lines_up(g, -1, successor, &circle) or (circle and g.n_nodes > 8):
        left_out = g.indptr[0]
        while not lines_up(g, left_out, successor, &circle) or (circle and g.n_nodes > 8):
            left_out += 1
            if left_out == g.indptr[g.n_nodes]:
                return False
    if g.n_nodes > 8:
        put_in_order(g, successor, p)
    else:
        for n in range(g.n_nodes):
            if successor[n] >= 0:
                p.after[n], p.before[successor[n]] = successor[n], <int32_t> n
    if left_out >= 0:
        m = 0
        while g.indptr[m + 1] <= left_out:
            m += 1
        p.source, p.target = p.place[g.sources[left_out]], p.place[m]
    return True


cdef inline void find_places(const Graph *g, bint lined, Places *p) noexcept nogil:
    """With lines only if asked for."""
    cdef int64_t n
    memset(p, 0, sizeof(Places))
    p.source = p.target = -1
    if lined and find_lines(g, p):
        p.width, p.band, p.in_order = 8, True, True
        for n in range(p.n):
            p.state[n] = <int32_t> n
        return
    memset(p, 0, sizeof(Places))
    p.source = p.target = -1
    p.n, p.width, p.depth = g.n_nodes, 8 if g.n_nodes <= 8 else 16, 1
    for n in range(g.n_nodes):
        p.place[n], p.length[n] = <int32_t> n, 1
    p.band = find_band(g, p)
    p.in_order = g.plain
    for n in range(g.n_nodes):
        p.in_order = p.in_order and p.place[n] == n
        p.state[p.place[n]] = g.node_states[n]


cdef inline int64_t term_of(const Places *p, int64_t source, int64_t target,
                            int64_t step) noexcept nogil:
    """The term of the sums that an edge between places is; step is -1 for the reversed ones."""
    cdef int64_t beside = target - step
    if not p.band:
        return source
    if p.width == 8:
        beside = p.before[target] if step > 0 else p.after[target]
    return 0 if source == target else 1 if source == beside else 2


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
