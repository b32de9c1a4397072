"""For 8 sequences at a time: the edges of a graph, in runs of nodes with equally many."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..shared.layout cimport Graph, edges_into
from ..shared.memory cimport Memory

cdef double NUMBER = 4503599627370496.0  # 2^52, as in simd/vector.h


cdef int make_edges(const Graph *g, Memory memory, const double *weights, bint by_target,
                    Edges *edges) except -1:
    cdef int64_t N = g.n_nodes, E = g.indptr[g.epochs.n * (N + 1) - 1], e, m, k, first, end = 0
    cdef int32_t *start          # edges of each node, by target or by source
    cdef int32_t *numbers
    cdef int32_t *ends
    cdef int32_t *first_edge     # of each node
    cdef uint8_t *seen           # states
    cdef const int32_t *into
    edges.n = E
    edges.nodes = <int32_t *> memory.room((g.epochs.n * (5 * N + 3) + E) * sizeof(int32_t))
    edges.first = <int64_t *> memory.room(g.epochs.n * sizeof(int64_t))
    edges.source = <int32_t *> memory.room((E + 1) * sizeof(int32_t))
    edges.target = <int32_t *> memory.room((E + 1) * sizeof(int32_t))
    edges.number = <int32_t *> memory.room((E + 1) * sizeof(int32_t))
    edges.base = memory.rows(1, E)
    edges.numbers = memory.rows(1, E)
    edges.weights = memory.rows(E, 8)
    start = <int32_t *> memory.room((N + 2) * sizeof(int32_t))
    numbers = <int32_t *> memory.room((E + 1) * sizeof(int32_t))
    ends = <int32_t *> memory.room((E + 1) * sizeof(int32_t))
    first_edge = <int32_t *> memory.room((N + 1) * sizeof(int32_t))
    seen = <uint8_t *> memory.room(g.n_states)
    edges.one_way = NULL
    if g.one_way:
        edges.one_way = <int32_t *> memory.room((6 * g.epochs.n * N + 2 * E + 1) * sizeof(int32_t))
    for e in range(g.epochs.n):
        into = edges_into(g, e)
        first = into[0]
        # Sorted by the node they belong to; of each node, in the order of the others.
        memset(start, 0, (N + 2) * sizeof(int32_t))
        for m in range(N):
            for k in range(into[m], into[m + 1]):
                ends[k] = <int32_t> m
                start[(m if by_target else g.sources[k]) + 2] += 1
        for m in range(N):
            start[m + 2] += start[m + 1]
        for k in range(first, into[N]):
            m = ends[k] if by_target else g.sources[k]
            numbers[first + start[m + 1]] = <int32_t> k
            start[m + 1] += 1
        edges.first[e] = end
        end += lay_nodes(g, by_target, start, numbers + first, ends, first, edges.nodes + end,
                         first_edge, edges)
        if g.one_way:
            memset(seen, 0, g.n_states)
            lay_one_way(g, by_target, start, first_edge, e, seen, edges)
    for k in range(E):
        edges.base[k] = weights[edges.number[k]]
        edges.numbers[k] = NUMBER + g.sources[edges.number[k]]
    return 0


cdef int64_t lay_nodes(const Graph *g, bint by_target, const int32_t *start,
                       const int32_t *numbers, const int32_t *ends, int64_t first, int32_t *nodes,
                       int32_t *first_edge, Edges *edges) noexcept nogil:
    """Lay out an epoch, as Side has it; the length of that."""
    cdef int64_t N = g.n_nodes, degree, four, m, j, k, widest = 0, edge = first, n = 0, run
    for m in range(N):
        widest = max(widest, start[m + 1] - start[m])
    for degree in range(widest + 1):
        for four in range(1, -1, -1):
            run = n
            nodes[run], nodes[run + 1], nodes[run + 2] = 4 if four else 1, <int32_t> degree, 0
            n += 3
            m = 0
            while m < N:
                j = 1
                if start[m + 1] - start[m] == degree:
                    if degree > 0 and alike(g, by_target, start, numbers, ends, m):
                        j = 4
                    if (j == 4) == four:
                        nodes[run + 2] += 1
                        nodes[n] = <int32_t> (8 * m)
                        for k in range(j):
                            nodes[n + 1 + k] = 8 * g.node_states[m + k]
                        n += 1 + j
                        for k in range(j):
                            first_edge[m + k] = <int32_t> (edge + k * degree)
                        for k in range(start[m], start[m + j]):
                            edges.number[edge] = numbers[k]
                            edges.source[edge] = 8 * g.sources[numbers[k]]
                            edges.target[edge] = 8 * ends[numbers[k]]
                            if k < start[m + 1]:
                                nodes[n] = (edges.source if by_target else edges.target)[edge]
                                n += 1
                            edge += 1
                m += j
            if nodes[run + 2] == 0:
                n = run
    nodes[n], nodes[n + 1], nodes[n + 2] = 1, 0, 0
    return n + 3


cdef void lay_one_way(const Graph *g, bint by_target, const int32_t *start,
                      const int32_t *first_edge, int64_t e, uint8_t *seen,
                      Edges *edges) noexcept nogil:
    """Lay out an epoch, as OneWay has it."""
    cdef const int32_t *order = g.order + e * g.n_nodes
    cdef const int32_t *others = edges.source if by_target else edges.target
    cdef int32_t *out = edges.one_way + 6 * e * g.n_nodes + 2 * edges_into(g, e)[0]
    cdef int32_t *head
    cdef int64_t i, k
    cdef int32_t m
    for i in range(g.n_nodes):
        m = order[i if by_target else g.n_nodes - 1 - i]
        head = out
        head[0], head[1], head[2], head[3], head[4] = 8 * m, 8 * g.node_states[m], -1, 0, 0
        head[5] = not seen[g.node_states[m]]
        seen[g.node_states[m]] = 1
        out += 6
        for k in range(first_edge[m], first_edge[m] + start[m + 1] - start[m]):
            if others[k] == 8 * m:
                head[2] = <int32_t> (8 * k)
                continue
            head[3] += 1
            head[4] += others[k] < 8 * m
            out[0], out[1] = <int32_t> (8 * k), others[k]
            out += 2


cdef bint alike(const Graph *g, bint by_target, const int32_t *start, const int32_t *numbers,
                const int32_t *ends, int64_t m) noexcept nogil:
    """Whether a node and the next 3 have the same others."""
    cdef int64_t degree = start[m + 1] - start[m], j, k
    cdef int32_t a, b
    if m + 4 > g.n_nodes:
        return False
    for j in range(1, 4):
        if start[m + j + 1] - start[m + j] != degree:
            return False
        for k in range(degree):
            a, b = numbers[start[m] + k], numbers[start[m + j] + k]
            if (g.sources[a] != g.sources[b]) if by_target else (ends[a] != ends[b]):
                return False
    return True
