"""The paths of an augmented graph from the best on, one at a time.

The table of Viterbi values makes the best completion of any suffix known. All paths but the
best one leave it somewhere, seen from the end: such a *deviation* (t, n) keeps steps t.. of a
path, has node n at step t - 1 and is best before that. The deviations of the paths found so
far cover all others without overlap, so the best of them all is the next path:

    log_prob(deviation) = log_prob(path) + gain_t(n) - gain_t(path_{t-1}),
    gain_t(n) = value_{t-1}(n) + log_w(n -> path_t)

Only the best deviation of each path is queued; when it is taken, the next one is looked for
again. So a further path costs O(T degree) and keeps T nodes. Equally good paths come in the
order of their states compared from the end, as in the traceback of Viterbi. Where a state has
several nodes and there are ties, nodes are ranked on the way by the states that lead to them, and
the node before each is noted; otherwise it is the first of the best. Two paths that part at nodes
of one state are compared further back.
"""
import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from ..lanes.edges cimport LANES, Group, read_group
from ..lanes.values cimport Values, fill_values, open_values
from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, edges_into, epoch_of, frame, step_work
from ..shared.memory cimport Memory
from .log_rows cimport best_source, first_row, max_row
from .sources cimport Ranks, choose_sources, max_row_and_ties, open_ranks


cdef struct Deviation:
    double log_prob
    int64_t t          # node `node` at step t - 1, the path's own nodes from t on
    int32_t node


cdef struct Path:
    double log_prob
    int64_t t          # where it deviates from its parent
    int64_t parent     # -1 for the virtual path from which the last nodes deviate
    int64_t depth
    int32_t *nodes     # of steps 0..t-1
    Deviation next     # the best one that was not taken yet


cdef struct Walk:
    int64_t p          # a path, and a deviation from it
    Deviation taken
    int32_t node       # the last one that was asked for


cdef class BestPaths:
    """Paths of steps origin..origin+T-1 of the data, best first."""

    cdef Layout layout
    cdef object held
    cdef const double *log_weights
    cdef const double *log_start
    cdef const double *log_table
    cdef const int32_t *rows
    cdef double *values            # (T, n_nodes)
    cdef double *own               # room for them; NULL where they are always given
    cdef int32_t *came             # (T, n_nodes) the node before each, if it is `noted`
    cdef bint noted                # else it is the first of the best
    cdef Path *paths
    cdef int64_t *heap             # paths that have a deviation left
    cdef int64_t T, n_paths, n_heap, room, n_steps
    cdef int64_t last_parent       # of the last path, while it was not looked where to go on; or -1
    cdef Deviation last_taken
    cdef Memory memory
    cdef Ranks ranks

    def __cinit__(self):
        self.own = NULL
        self.came = NULL
        self.paths = NULL
        self.heap = NULL

    def __init__(self, Layout layout,                   # IN
                 const double[::1] log_weights,         # IN, one an edge
                 const double[::1] log_start,           # IN
                 const double[:, ::1] log_table,        # IN
                 const int32_t[::1] rows,               # IN or None: row t of log_table is step t
                 int64_t n_steps,                       # IN, of the longest sequence
                 bint given=False):                     # IN, values are
        self.layout = layout
        self.held = log_weights, log_start, log_table, rows  # keeps the pointers alive
        if layout.graph.n_nodes == 0:
            return
        self.log_weights = &log_weights[0] if log_weights.shape[0] else NULL
        self.log_start, self.log_table = &log_start[0], &log_table[0, 0]
        self.rows = &rows[0] if rows is not None else NULL
        self.n_steps = n_steps
        self.make_room()
        if not given:
            self.own = <double *> malloc(n_steps * layout.graph.n_nodes * sizeof(double))
            if self.own == NULL:
                raise MemoryError
        self.memory = Memory()
        open_ranks(&self.ranks, self.memory, &layout.graph)

    def __dealloc__(self):
        self.forget()
        free(self.own)
        free(self.came)
        free(self.paths)
        free(self.heap)

    cdef void forget(self) noexcept nogil:
        cdef int64_t p
        for p in range(self.n_paths):
            free(self.paths[p].nodes)
        self.n_paths = self.n_heap = 0

    def begin(self, int64_t origin, int64_t T):
        """From now on, the paths of the sequence of steps origin..origin+T-1."""
        with nogil:
            self.begin_at(origin, T)

    cdef int begin_at(self, int64_t origin, int64_t T) except -1 nogil:
        cdef bint tied
        if T > self.n_steps and self.layout.graph.n_nodes > 0:
            raise ValueError("A sequence is longer than the longest.")
        tied = self.layout.graph.n_nodes > 0 and self.fill(origin, T)
        check()
        return self.begin_with(self.own, T, tied)

    cdef int begin_with(self, double *values, int64_t T, bint tied) except -1 nogil:
        """From now on, the paths of a sequence with these values, in which there may be ties."""
        self.forget()
        self.last_parent = -1
        if self.layout.graph.n_nodes == 0:
            return 0
        self.values, self.T, self.noted = values, T, tied
        if tied:
            self.break_ties()
            check()
        # The virtual path: every accepting last node is a deviation from it at T.
        self.paths[0].log_prob = 0.0
        self.paths[0].t = T + 1
        self.paths[0].parent = -1
        self.paths[0].depth = 0
        self.paths[0].nodes = NULL
        self.n_paths = 1
        self.look(0, NULL)
        return 0

    cdef bint fill(self, int64_t origin, int64_t T) noexcept nogil:
        """The values of viterbi.pyx, all rows kept; whether nodes of one state tie."""
        cdef const Graph *g = &self.layout.graph
        cdef int64_t t, e = 0
        cdef double *row = self.own
        cdef const double *log_b
        cdef bint tied = False
        cdef Watch watch = new_watch(step_work(g))
        first_row(g, self.log_start, self.log_table + frame(self.rows, origin) * g.n_states, row)
        for t in range(1, T):
            e = epoch_of(&g.epochs, t, e)
            log_b = self.log_table + frame(self.rows, origin + t) * g.n_states
            if g.several and not tied:
                tied = max_row_and_ties(g, self.log_weights, e, row, log_b, row + g.n_nodes)
            else:
                max_row(g, self.log_weights, e, row, log_b, row + g.n_nodes)
            row += g.n_nodes
            if stopped(&watch, 1):
                break
        return tied

    cdef int break_ties(self) except -1 nogil:
        """Note the node before each."""
        cdef const Graph *g = &self.layout.graph
        cdef int64_t t, m, e = 0
        cdef Watch watch = new_watch(step_work(g))
        if self.came == NULL:
            self.came = <int32_t *> malloc(self.n_steps * g.n_nodes * sizeof(int32_t))
            if self.came == NULL:
                raise MemoryError
        for m in range(g.n_nodes):
            self.ranks.of_node[m] = <int32_t> m
        for t in range(1, self.T):
            e = epoch_of(&g.epochs, t, e)
            choose_sources(g, self.log_weights, e, self.values + (t - 1) * g.n_nodes,
                           &self.ranks, self.came + t * g.n_nodes)
            if stopped(&watch, 1):
                break
        return 0

    cdef int make_room(self) except -1 nogil:
        cdef void *grown
        cdef int64_t room = 2 * self.room + 16
        if self.n_paths < self.room:
            return 0
        grown = realloc(self.paths, room * sizeof(Path))
        if grown == NULL:
            raise MemoryError
        self.paths = <Path *> grown
        grown = realloc(self.heap, room * sizeof(int64_t))
        if grown == NULL:
            raise MemoryError
        self.heap = <int64_t *> grown
        self.room = room
        return 0

    def next_into(self, int32_t[::1] path):  # OUT, state indices
        """Write the next path and return its log probability, -inf when there are no more."""
        if path.shape[0] < self.T:
            raise ValueError("The path is longer than that.")
        cdef double log_prob
        with nogil:
            log_prob = self.next(&path[0])
        return log_prob

    cdef double next(self, int32_t *path) except? -1.0 nogil:
        cdef int64_t p, q, parent, t, u
        cdef int32_t *nodes
        cdef Deviation taken
        cdef const Graph *g = &self.layout.graph
        if self.last_parent >= 0:
            self.look(self.last_parent, &self.last_taken)
            self.look(self.n_paths - 1, NULL)
            self.last_parent = -1
        if self.n_heap == 0:
            return -INFINITY
        self.make_room()
        parent = self.heap[0]
        taken = self.paths[parent].next
        nodes = <int32_t *> malloc(taken.t * sizeof(int32_t))
        if nodes == NULL:
            raise MemoryError
        p = self.n_paths
        self.n_paths += 1
        self.paths[p].log_prob = taken.log_prob
        self.paths[p].t = taken.t
        self.paths[p].parent = parent
        self.paths[p].depth = self.paths[parent].depth + 1
        self.paths[p].nodes = nodes
        self.trace(taken, self.paths[parent].nodes, nodes)
        self.remove_first()
        self.last_parent, self.last_taken = parent, taken
        t, q = 0, p
        while q > 0:
            for u in range(t, self.paths[q].t):
                path[u] = g.node_states[self.paths[q].nodes[u]]
            t, q = self.paths[q].t, self.paths[q].parent
        return taken.log_prob

    cdef void trace(self, Deviation taken, const int32_t *other, int32_t *nodes) noexcept nogil:
        """The best way to the node that the deviation takes; `other` is its parent's, or NULL."""
        cdef int64_t u, e = self.layout.graph.epochs.n - 1
        nodes[taken.t - 1] = taken.node
        for u in range(taken.t - 1, 0, -1):
            nodes[u - 1] = self.node_before(u, nodes[u], &e)
            if other != NULL and nodes[u - 1] == other[u - 1]:  # where both are, both go on
                memcpy(nodes, other, u * sizeof(int32_t))
                return

    cdef inline int32_t node_before(self, int64_t t, int32_t node, int64_t *e) noexcept nogil:
        """The best node at step t - 1 on the way to one at step t, in or before epoch e."""
        cdef const Graph *g = &self.layout.graph
        if self.noted:
            return self.came[t * g.n_nodes + node]
        e[0] = epoch_of(&g.epochs, t, e[0])
        return best_source(g, self.log_weights, e[0], node, self.values + (t - 1) * g.n_nodes)

    cdef inline int32_t node_at(self, Walk *walk, int64_t u) noexcept nogil:
        """The node at step u of a path with a deviation; asked for from the end on."""
        cdef int64_t p = walk.p, e = 0
        if u >= walk.taken.t:
            while u >= self.paths[p].t:
                p = self.paths[p].parent
            walk.node = self.paths[p].nodes[u]
        elif u == walk.taken.t - 1:
            walk.node = walk.taken.node
        else:
            walk.node = self.node_before(u + 1, walk.node, &e)
        return walk.node

    cdef bint precedes(self, Walk a, Walk b, int64_t u) noexcept nogil:
        """Whether the states of the first path are lower, compared from step u backwards."""
        cdef const int32_t *states = self.layout.graph.node_states
        cdef int32_t x, y
        while u >= 0:
            x, y = self.node_at(&a, u), self.node_at(&b, u)
            if states[x] != states[y]:
                return states[x] < states[y]
            if x == y and u < min(a.taken.t, b.taken.t):
                return False  # and so they go on
            u -= 1
        return False

    cdef void look(self, int64_t p, const Deviation *last) noexcept nogil:
        """Queue the best deviation of path p that comes after `last`."""
        cdef const Graph *g = &self.layout.graph
        cdef int64_t N = g.n_nodes, u, k, e = g.epochs.n - 1
        cdef const int32_t *start
        cdef const double *before
        cdef double chosen = 0.0
        cdef int32_t m
        cdef Deviation best, candidate
        best.log_prob, best.t, best.node = -INFINITY, 0, 0
        if p == 0:
            candidate.t = self.T
            before = self.values + (self.T - 1) * N
            for m in range(N):
                candidate.log_prob, candidate.node = before[m] + g.log_final[m], m
                if g.accept[m]:
                    self.improve(p, &candidate, last, &best)
        else:
            for u in range(self.paths[p].t - 1, 0, -1):
                e = epoch_of(&g.epochs, u, e)
                start = edges_into(g, e)
                before = self.values + (u - 1) * N
                m = self.paths[p].nodes[u]
                if start[m + 1] - start[m] < 2:
                    continue
                candidate.t = u
                for k in range(start[m], start[m + 1]):
                    if g.sources[k] == self.paths[p].nodes[u - 1]:
                        chosen = before[g.sources[k]] + self.log_weights[k]
                for k in range(start[m], start[m + 1]):
                    if g.sources[k] != self.paths[p].nodes[u - 1]:
                        candidate.node = g.sources[k]
                        candidate.log_prob = self.paths[p].log_prob + (
                            before[g.sources[k]] + self.log_weights[k] - chosen)
                        self.improve(p, &candidate, last, &best)
        if best.log_prob > -INFINITY:
            self.paths[p].next = best
            self.insert(p)

    cdef inline void improve(self, int64_t p, const Deviation *candidate, const Deviation *last,
                             Deviation *best) noexcept nogil:
        if candidate.log_prob < best.log_prob or candidate.log_prob == -INFINITY:
            return
        if candidate.log_prob == best.log_prob and not self.earlier(p, candidate, best):
            return
        if last != NULL:
            if candidate.log_prob > last.log_prob:
                return
            if candidate.log_prob == last.log_prob and not self.earlier(p, last, candidate):
                return
        best[0] = candidate[0]

    cdef inline bint earlier(self, int64_t p, const Deviation *a,
                             const Deviation *b) noexcept nogil:
        """Whether a comes before b from the end, two deviations of path p."""
        cdef int order = self.compare(p, a, b)
        return order < 0 or order == 0 and self.precedes(
            [p, a[0], -1], [p, b[0], -1], max(a.t, b.t) - 1)

    cdef inline int compare(self, int64_t p, const Deviation *a,
                            const Deviation *b) noexcept nogil:
        """-1 or 1 by the states where two deviations of path p part; 0 where these are equal."""
        cdef const int32_t *states = self.layout.graph.node_states
        cdef const int32_t *own = self.paths[p].nodes
        cdef int32_t x = states[a.node if a.t >= b.t else own[b.t - 1]]
        cdef int32_t y = states[b.node if b.t >= a.t else own[a.t - 1]]
        return (x > y) - (x < y)

    cdef bint before(self, int64_t p, int64_t q) noexcept nogil:
        """Whether the next deviation of path p is better than that of path q."""
        cdef Deviation a = self.paths[p].next, b = self.paths[q].next
        cdef Walk first = [p, a, -1], second = [q, b, -1]
        cdef int order
        if a.log_prob != b.log_prob:
            return a.log_prob > b.log_prob
        # Where both leave the path that they have in common.
        while p != q:
            if self.paths[p].depth >= self.paths[q].depth:
                a.t, a.node = self.paths[p].t, self.paths[p].nodes[self.paths[p].t - 1]
                p = self.paths[p].parent
            else:
                b.t, b.node = self.paths[q].t, self.paths[q].nodes[self.paths[q].t - 1]
                q = self.paths[q].parent
        order = self.compare(p, &a, &b)
        return order < 0 or order == 0 and self.precedes(first, second, max(a.t, b.t) - 1)

    cdef void insert(self, int64_t p) noexcept nogil:
        cdef int64_t i = self.n_heap, up
        self.n_heap += 1
        while i > 0:
            up = (i - 1) // 2
            if not self.before(p, self.heap[up]):
                break
            self.heap[i] = self.heap[up]
            i = up
        self.heap[i] = p

    cdef void remove_first(self) noexcept nogil:
        cdef int64_t i = 0, child, last
        self.n_heap -= 1
        last = self.heap[self.n_heap]
        while 2 * i + 1 < self.n_heap:
            child = 2 * i + 1
            if child + 1 < self.n_heap and self.before(self.heap[child + 1], self.heap[child]):
                child += 1
            if not self.before(self.heap[child], last):
                break
            self.heap[i] = self.heap[child]
            i = child
        self.heap[i] = last


cdef class Found:
    """Paths of sequences, one after the other, and their log probabilities."""
    cdef readonly object paths, log_probs
    cdef int32_t[::1] room
    cdef double[::1] values
    cdef int64_t n_steps, n_paths

    def __init__(self, int64_t n_steps, int64_t n_paths):  # as a guess
        self.paths, self.log_probs = np.empty(n_steps, dtype=np.int32), np.empty(n_paths)
        self.room, self.values = self.paths, self.log_probs
        self.n_steps = self.n_paths = 0

    cdef int take(self, BestPaths each, int64_t k) except -1 nogil:
        """The next k paths, or as many as there are."""
        cdef double log_prob
        while k > 0:
            if self.n_steps + each.T > self.room.shape[0] or self.n_paths == self.values.shape[0]:
                with gil:
                    self.grow(each.T)
            log_prob = each.next(&self.room[self.n_steps])
            if log_prob == -INFINITY:
                return 0
            self.values[self.n_paths] = log_prob
            self.n_steps += each.T
            self.n_paths += 1
            k -= 1
        return 0

    cdef int grow(self, int64_t n) except -1:
        """Room for n steps, and for twice as much as there is."""
        self.paths = np.concatenate([self.paths, np.empty(self.n_steps + n, dtype=np.int32)])
        self.log_probs = np.concatenate([self.log_probs, np.empty(self.n_paths + 1)])
        self.room, self.values = self.paths, self.log_probs
        return 0


def best_paths(Layout layout,                   # IN
               const double[::1] log_weights,   # IN, one an edge
               const double[::1] log_start,     # IN
               const double[:, ::1] log_table,  # IN
               const int32_t[::1] rows,         # IN or None: row t of log_table is step t
               const int64_t[::1] offsets,      # IN
               const int64_t[::1] order,        # IN or None, for lanes: sequences, longest first
               int64_t k):                      # IN, how many of each sequence
    """Paths of all sequences, one after the other; their log probabilities; how many there are of
    each sequence. Sequences come in `order`, if there is one."""
    cdef int64_t n = offsets.shape[0] - 1, s, l, before, longest = 0
    cdef bint lanes = order is not None and layout.graph.n_nodes > 0 and log_weights.shape[0] > 0
    cdef int tied = 0
    cdef Watch watch = new_watch(step_work(&layout.graph))
    cdef Memory memory = Memory()
    cdef Group group
    cdef Values values
    for s in range(n):
        longest = max(longest, offsets[s + 1] - offsets[s])
    cdef BestPaths each = BestPaths(layout, log_weights, log_start, log_table, rows, longest, lanes)
    cdef Found found = Found(offsets[n] * min(k, 8), n * min(k, 8))
    numbers = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] number = numbers
    if lanes:
        open_values(&values, memory, &layout.graph, &log_weights[0], &log_start[0],
                    &log_table[0, 0], each.rows, longest)
    with nogil:
        for s in range(n):
            l, before = s % LANES, found.n_paths
            if lanes:
                if l == 0:
                    read_group(&order[s], n - s, &offsets[0], &group)
                    tied = fill_values(&values, &group)
                    check()
                each.begin_with(values.tables[l], group.length[l], tied >> l & 1)
            else:
                each.begin_at(offsets[s], offsets[s + 1] - offsets[s])
            found.take(each, k)
            number[s] = found.n_paths - before
            if stopped(&watch, (1 + number[s]) * each.T):
                check()
    return found.paths[:found.n_steps], found.log_probs[:found.n_paths], numbers
