from libc.stdint cimport int32_t, int64_t, uint8_t

from .layout cimport Graph, Side


cdef enum:
    LANES = 8


cdef struct Group:
    int n                        # sequences; where fewer than 8, the first fills the other lanes
    int64_t sequence[8]          # longest first
    int64_t origin[8]
    int64_t length[8]


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
    """Rows of the emission table for steps first..first+n-1; beyond its end a lane repeats itself."""
    cdef int64_t t, l, step
    for t in range(n):
        for l in range(LANES):
            step = group.origin[l] + min(first + t, group.length[l] - 1)
            at[t * LANES + l] = step if rows == NULL else rows[step]


cdef inline void find_alike(const Graph *g, const int32_t *start, const int32_t *other,
                            uint8_t *alike) noexcept nogil:
    """4 where a node and the next 3 have the same others (sources, or targets), else 1."""
    cdef int64_t e, m, j, k, degree, next_
    cdef bint same
    for e in range(g.n_epochs):
        next_ = 0
        for m in range(g.n_nodes):
            alike[m] = 1
            if m < next_ or m + 4 > g.n_nodes:
                continue
            degree = start[m + 1] - start[m]
            same = True
            for j in range(1, 4):
                same = same and start[m + j + 1] - start[m + j] == degree
            if same:
                for k in range(start[m], start[m + 1]):
                    for j in range(1, 4):
                        same = same and other[k] == other[k + j * degree]
            if same:
                alike[m] = 4
                next_ = m + 4
        start += g.n_nodes + 1
        alike += g.n_nodes


cdef inline Side side_of(const Graph *g, int64_t e, const int32_t *start, const int32_t *other,
                         const uint8_t *alike) noexcept nogil:
    """The edges of an epoch."""
    cdef Side side
    side.n_nodes, side.states = g.n_nodes, g.node_states
    side.start, side.other = start + e * (g.n_nodes + 1), other
    side.alike = alike + e * g.n_nodes
    return side
