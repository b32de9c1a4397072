"""Lines: nodes of one state that a path passes one after the other, as ``START{3}`` makes them.

A line takes one place in a row, and the rows below it (ends.h). So where states with several nodes
are lines, places are states. Only its last node leads elsewhere, and none leads to itself.
"""
from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport Graph
from .places cimport MOST, MOST_DEPTH, Places


cdef inline bint find_heads(const Graph *g, int32_t *head) noexcept nogil:
    """The first node of each state's line, or its only one; False if some nodes are no line.

    Paths begin in first nodes alone. An edge within a line leads to a node with no other.
    """
    cdef int64_t m, k, n_inside
    for m in range(g.n_states):
        head[m] = -1
    for m in range(g.n_nodes):
        n_inside = 0
        for k in range(g.indptr[m], g.indptr[m + 1]):
            n_inside += g.sources[k] != m and g.node_states[g.sources[k]] == g.node_states[m]
        if n_inside == 0:
            if head[g.node_states[m]] >= 0:
                return False
            head[g.node_states[m]] = <int32_t> m
        elif g.indptr[m + 1] - g.indptr[m] > 1:
            return False
    for m in range(g.n_states):
        if g.start_nodes[m] >= 0 and g.start_nodes[m] != head[m]:
            return False
    return True


cdef inline bint find_lines(const Graph *g, Places *p) noexcept nogil:
    """Whether states with several nodes are lines, with one place per state; finds them if so."""
    cdef int64_t i, m, n, k
    cdef int32_t head[8]
    cdef int32_t successor[MOST]
    cdef int32_t n_out[MOST]
    if g.n_states > 8 or g.n_nodes < 4 or g.n_nodes <= g.n_states or not find_heads(g, head):
        return False
    for n in range(g.n_nodes):
        successor[n], n_out[n] = -1, 0
    for m in range(g.n_nodes):
        for k in range(g.indptr[m], g.indptr[m + 1]):
            n = g.sources[k]
            n_out[n] += n != m
            if n != m and g.node_states[n] == g.node_states[m]:
                successor[n] = <int32_t> m
    p.n, p.depth = g.n_states, 1
    for i in range(g.n_states):
        p.length[i] = 0
        n = head[i]
        while n >= 0:
            p.place[n], p.row[n] = <int32_t> i, p.length[i]
            p.length[i] += 1
            # only the last node leads elsewhere, and ends
            if successor[n] >= 0 and (n_out[n] > 1 or g.final[n] > 0.0):
                return False
            n = successor[n]
        if p.length[i] > MOST_DEPTH:
            return False
        p.depth = max(p.depth, p.length[i])
        p.length[i] = max(p.length[i], 1)
    return join_lines(g, n_out, p)


cdef inline bint join_lines(const Graph *g, const int32_t *n_out, Places *p) noexcept nogil:
    """Whether each place has one way in and one way out, and lines have no edge to themselves."""
    cdef int64_t m, n, k, n_ways
    for m in range(g.n_nodes):
        n_ways = 0
        if n_out[m] > 1:
            return False
        for k in range(g.indptr[m], g.indptr[m + 1]):
            n = g.sources[k]
            if p.place[n] != p.place[m]:
                p.before[p.place[m]], p.after[p.place[n]] = p.place[n], p.place[m]
                n_ways += 1
            elif n == m and p.length[p.place[m]] > 1:
                return False
        if n_ways > 1:
            return False
    return True
