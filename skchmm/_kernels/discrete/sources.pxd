"""The node before each on its best path, where a state has several nodes; O(edges) per row.

Of equally good nodes of one state the states before them decide. So nodes are ranked on the way,
by their state and those before.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport Graph, edges_into
from ..shared.memory cimport Memory
from ..shared.ties cimport as_good, has_tie


cdef struct Ranks:
    int32_t *of_node   # the place of each node of a step, by its state and those before
    int32_t *order     # work
    int32_t *count     # work


cdef inline int open_ranks(Ranks *ranks, Memory memory, const Graph *g) except -1:
    ranks.of_node = <int32_t *> memory.room(g.n_nodes * sizeof(int32_t))
    ranks.order = <int32_t *> memory.room(g.n_nodes * sizeof(int32_t))
    ranks.count = <int32_t *> memory.room(
        max(g.n_nodes + 1, g.n_states) * sizeof(int32_t))
    return 0


cdef inline bint max_row_and_ties(const Graph *g, const double *log_weights, int64_t e,
                                  const double *before, const double *log_b,
                                  double *out) noexcept nogil:
    """A row; whether the best node before one of its nodes ties with others of its state."""
    cdef int64_t m, k, best
    cdef double top, value
    cdef bint tied = False
    cdef const int32_t *start = edges_into(g, e)
    for m in range(g.n_nodes):
        top, best = -INFINITY, -1
        for k in range(start[m], start[m + 1]):
            value = before[g.sources[k]] + log_weights[k]
            if value > top:
                top, best = value, k
        out[m] = top + log_b[g.node_states[m]]
        if best >= 0 and not tied:
            tied = has_tie(g, log_weights, before, best, start[m + 1])
    return tied


cdef inline void choose_sources(const Graph *g, const double *log_weights, int64_t e,
                                const double *before, Ranks *ranks, int32_t *came) noexcept nogil:
    """The node before each, of equally good ones the first by rank; and the ranks of a step."""
    cdef int64_t N = g.n_nodes, m, k, best, n = 0
    cdef double top, value
    cdef const int32_t *start = edges_into(g, e)
    for m in range(N):
        top, best = -INFINITY, -1
        for k in range(start[m], start[m + 1]):
            value = before[g.sources[k]] + log_weights[k]
            if value > top:
                top, best = value, k
        came[m] = g.sources[best] if best >= 0 else 0
        k = best + 1
        while (0 < k < start[m + 1]
               and g.node_states[g.sources[k]] == g.node_states[g.sources[best]]):
            if (as_good(g, log_weights, before, k, best)
                    and ranks.of_node[g.sources[k]] < ranks.of_node[came[m]]):
                came[m] = g.sources[k]
            k += 1
    # Sorted by the rank of the node before; then by state, which nodes are already.
    for m in range(N + 1):
        ranks.count[m] = 0
    for m in range(N):
        ranks.count[ranks.of_node[came[m]] + 1] += 1
    for m in range(N):
        ranks.count[m + 1] += ranks.count[m]
    for m in range(N):
        k = ranks.of_node[came[m]]
        ranks.order[ranks.count[k]] = <int32_t> m
        ranks.count[k] += 1
    for m in range(N - 1, -1, -1):
        ranks.count[g.node_states[m]] = <int32_t> m
    for n in range(N):
        m = ranks.order[n]
        ranks.of_node[m] = ranks.count[g.node_states[m]]
        ranks.count[g.node_states[m]] += 1
