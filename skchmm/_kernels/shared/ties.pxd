"""Ties between nodes of one state.

Of equally good paths the one with the lowest last label is taken, and so on backwards. Of nodes of
different states that is the first one. Nodes of one state have pasts with different labels: those
that are as good are kept, as a set, until the labels before them decide. O(degree) per node of it.

Sources of one state have the same weight into a node, so they are tied where their own values are
equal: what is added to both could only hide a difference.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t

from .layout cimport Graph, Siblings, Ties, edges_into
from .memory cimport Memory


cdef struct Tied:
    int32_t *nodes               # of one state
    int64_t n
    int32_t *found               # those of the step before
    int64_t n_found
    int64_t *marks               # of each node, the step in which it was found
    int64_t step


cdef inline int open_tied(Tied *tied, Memory memory, int64_t n_nodes) except -1:
    cdef int64_t m
    tied.nodes = <int32_t *> memory.room(n_nodes * sizeof(int32_t))
    tied.found = <int32_t *> memory.room(n_nodes * sizeof(int32_t))
    tied.marks = <int64_t *> memory.room(n_nodes * sizeof(int64_t))
    tied.step = tied.n = tied.n_found = 0
    for m in range(n_nodes):
        tied.marks[m] = 0
    return 0


cdef inline int open_ties(Ties *ties, Memory memory, int64_t n_pairs, int64_t n_steps) except -1:
    """Room for what is noticed on the way ahead."""
    ties.any = <uint8_t *> memory.room(n_steps if n_pairs else 0)
    ties.pairs = <uint8_t *> memory.room(n_steps * n_pairs)
    return 0


cdef inline void set_one(Tied *tied, int32_t node) noexcept nogil:
    tied.nodes[0], tied.n = node, 1


cdef inline int64_t best_ends(const Graph *g, const double *values, int64_t apart, int64_t end,
                              int32_t *nodes) noexcept nogil:
    """The first of the best ends and those of its state that are as good; how many."""
    cdef int64_t m = end + 1, n = 1
    nodes[0] = <int32_t> end
    while m < g.n_nodes and g.node_states[m] == g.node_states[end]:
        if g.accept[m] and (values[m * apart] + g.log_final[m]
                            == values[end * apart] + g.log_final[end]):
            nodes[n] = <int32_t> m
            n += 1
        m += 1
    return n


cdef inline void add_source(const Graph *g, Tied *tied, int32_t source) noexcept nogil:
    """One more source; only those of the lowest state are kept."""
    if tied.n_found > 0 and g.node_states[source] < g.node_states[tied.found[0]]:
        tied.n_found = 0
    if (tied.marks[source] != tied.step
            and (tied.n_found == 0 or g.node_states[source] == g.node_states[tied.found[0]])):
        tied.marks[source] = tied.step
        tied.found[tied.n_found] = source
        tied.n_found += 1


cdef inline void go_back(Tied *tied) noexcept nogil:
    """What was found becomes the set."""
    cdef int32_t *nodes = tied.nodes
    tied.nodes, tied.n = tied.found, tied.n_found
    tied.found = nodes


cdef inline bint as_good(const Graph *g, const double *weights, const double *before, int64_t k,
                         int64_t best) noexcept nogil:
    """Whether edge k is as good as a best one, from a node of the same state."""
    cdef double value = before[g.sources[k]], largest = before[g.sources[best]]
    if weights[k] == weights[best]:
        return value == largest
    return value + weights[k] == largest + weights[best]  # continuous time has weights by node


cdef inline bint has_tie(const Graph *g, const double *weights, const double *before, int64_t best,
                         int64_t end) noexcept nogil:
    """Whether one of the edges after a best one, up to `end`, ties with it."""
    cdef int64_t k = best + 1
    while k < end and g.node_states[g.sources[k]] == g.node_states[g.sources[best]]:
        if as_good(g, weights, before, k, best):
            return True
        k += 1
    return False


cdef inline int64_t first_best(const Graph *g, const double *weights, const double *before,
                               int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t k, best = begin
    cdef double top = -INFINITY, value
    for k in range(begin, end):
        value = before[g.sources[k]] + weights[k]
        if value > top:
            top, best = value, k
    return best


cdef inline void step_back(const Graph *g, const double *weights, int64_t e,
                           const double *before, Tied *tied) noexcept nogil:
    """From the nodes of a step to the best ones before them, by their values."""
    cdef const int32_t *start
    cdef int64_t i, k, best
    tied.step += 1
    tied.n_found = 0
    for i in range(tied.n):
        start = edges_into(g, e) + tied.nodes[i]
        best = first_best(g, weights, before, start[0], start[1])
        add_source(g, tied, g.sources[best])
        k = best + 1
        while k < start[1] and g.node_states[g.sources[k]] == g.node_states[g.sources[best]]:
            if as_good(g, weights, before, k, best):
                add_source(g, tied, g.sources[k])
            k += 1
    go_back(tied)


cdef inline bint equals_sibling(const Siblings *s, const double *values,
                                int64_t node) noexcept nogil:
    cdef int64_t i, p
    for i in range(s.first[node], s.first[node + 1]):
        p = s.of_node[i]
        if values[s.pairs[2 * p]] == values[s.pairs[2 * p + 1]]:
            return True
    return False


cdef inline bint in_tie(const Siblings *s, const uint8_t *pairs, int64_t lane,
                        int32_t node) noexcept nogil:
    """Whether a sibling of a node was noticed to be as good."""
    cdef int64_t i
    for i in range(s.first[node], s.first[node + 1]):
        if pairs[s.of_node[i]] >> lane & 1:
            return True
    return False


cdef inline bint leads_to(const Graph *g, int64_t e, int32_t source,
                          int32_t node) noexcept nogil:
    cdef int64_t k
    for k in range(edges_into(g, e)[node], edges_into(g, e)[node + 1]):
        if g.sources[k] == source:
            return True
    return False


cdef inline void step_back_noted(const Graph *g, int64_t e, const uint8_t *choices, int64_t apart,
                                 bint any, const uint8_t *pairs, int64_t lane,
                                 Tied *tied) noexcept nogil:
    """The same by what was noted: choices, `apart` from each other, and ties of the row before."""
    cdef const Siblings *s = &g.siblings
    cdef int64_t i, j, p
    cdef int32_t source, other
    tied.step += 1
    tied.n_found = 0
    for i in range(tied.n):
        source = choices[tied.nodes[i] * apart]
        add_source(g, tied, source)
        if any:
            for j in range(s.first[source], s.first[source + 1]):
                p = s.of_node[j]
                other = s.pairs[2 * p] + s.pairs[2 * p + 1] - source
                if pairs[p] >> lane & 1 and leads_to(g, e, other, tied.nodes[i]):
                    add_source(g, tied, other)
    go_back(tied)
