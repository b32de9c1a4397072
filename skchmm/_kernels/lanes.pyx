"""For 8 sequences at a time: the edges of a graph, in runs of nodes with equally many."""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from .layout cimport Graph, Run, free_rows, new_rows


cdef int make_edges(const Graph *g, const double *weights, bint by_target,
                    Edges *edges) except -1:
    cdef int64_t N = g.n_nodes, E = g.indptr[g.n_epochs * (N + 1) - 1], e, m, k, first, n_runs = 0
    cdef int32_t *start = NULL   # edges of each node, by target or by source
    cdef int32_t *numbers = NULL
    cdef int32_t *ends = NULL
    memset(edges, 0, sizeof(Edges))
    edges.n = E
    edges.first_run = <int32_t *> calloc(g.n_epochs + 1, sizeof(int32_t))
    edges.runs = <Run *> malloc(g.n_epochs * N * sizeof(Run))
    edges.node = <int32_t *> malloc(g.n_epochs * N * sizeof(int32_t))
    edges.state = <int32_t *> malloc(g.n_epochs * N * sizeof(int32_t))
    edges.source = <int32_t *> malloc((E + 1) * sizeof(int32_t))
    edges.target = <int32_t *> malloc((E + 1) * sizeof(int32_t))
    edges.number = <int32_t *> malloc((E + 1) * sizeof(int32_t))
    edges.base = new_rows(1, E)
    edges.weights = new_rows(E, 8)
    start = <int32_t *> malloc((N + 2) * sizeof(int32_t))
    numbers = <int32_t *> malloc((E + 1) * sizeof(int32_t))
    ends = <int32_t *> malloc((E + 1) * sizeof(int32_t))
    try:
        if (edges.first_run == NULL or edges.runs == NULL or edges.node == NULL
                or edges.state == NULL or edges.source == NULL or edges.target == NULL
                or edges.number == NULL or start == NULL or numbers == NULL or ends == NULL):
            raise MemoryError
        for e in range(g.n_epochs):
            first = g.indptr[e * (N + 1)]
            # Sorted by the node they belong to; of each node, in the order of the others.
            memset(start, 0, (N + 2) * sizeof(int32_t))
            for m in range(N):
                for k in range(g.indptr[e * (N + 1) + m], g.indptr[e * (N + 1) + m + 1]):
                    ends[k] = <int32_t> m
                    start[(m if by_target else g.sources[k]) + 2] += 1
            for m in range(N):
                start[m + 2] += start[m + 1]
            for k in range(first, g.indptr[e * (N + 1) + N]):
                m = ends[k] if by_target else g.sources[k]
                numbers[first + start[m + 1]] = <int32_t> k
                start[m + 1] += 1
            n_runs += lay_runs(g, by_target, start, numbers + first, ends, first,
                               edges.node + e * N, edges.state + e * N, edges.runs + n_runs,
                               edges)
            edges.first_run[e + 1] = <int32_t> n_runs
        for k in range(E):
            edges.base[k] = weights[edges.number[k]]
    finally:
        free(start)
        free(numbers)
        free(ends)
    return 0


cdef int64_t lay_runs(const Graph *g, bint by_target, const int32_t *start,
                      const int32_t *numbers, const int32_t *ends, int64_t first, int32_t *node,
                      int32_t *state, Run *runs, Edges *edges) noexcept nogil:
    """Nodes by degree, those that are alike in fours apart; the number of runs."""
    cdef int64_t N = g.n_nodes, n_runs = 0, n = 0, degree, four, m, j, k, widest = 0
    cdef int64_t edge = first
    for m in range(N):
        widest = max(widest, start[m + 1] - start[m])
    for degree in range(widest + 1):
        for four in range(1, -1, -1):
            runs[n_runs].degree, runs[n_runs].alike = <int32_t> degree, 4 if four else 1
            runs[n_runs].begin, runs[n_runs].edge = <int32_t> n, <int32_t> edge
            m = 0
            while m < N:
                j = 1
                if start[m + 1] - start[m] == degree:
                    if degree > 0 and alike(g, by_target, start, numbers, ends, m):
                        j = 4
                    if (j == 4) == four:
                        for k in range(m, m + j):
                            node[n] = <int32_t> (8 * k)
                            state[n] = 8 * g.node_states[k]
                            n += 1
                        for k in range(start[m], start[m + j]):
                            edges.number[edge] = numbers[k]
                            edges.source[edge] = 8 * g.sources[numbers[k]]
                            edges.target[edge] = 8 * ends[numbers[k]]
                            edge += 1
                m += j
            runs[n_runs].end = <int32_t> n
            if n > runs[n_runs].begin:
                n_runs += 1
    return n_runs


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


cdef void free_edges(Edges *edges) noexcept:
    free(edges.first_run)
    free(edges.runs)
    free(edges.node)
    free(edges.state)
    free(edges.source)
    free(edges.target)
    free(edges.number)
    free_rows(edges.base)
    free_rows(edges.weights)
