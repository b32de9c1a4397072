"""Between two observations: vectors times E(gap), which is never built for a gap of its own.

path      E(gap) = exp(Q gap) on the nodes of a graph, as some dense factors (for what is long or
          comes often) times a rest, applied to a vector by uniformisation:
          v exp(Q s) = sum_k Poisson(k; q s) v P^k,   P = I + Q / q.      O(edges) a term.
observed  E(gap)[n, m] = M(gap)[i, j] along the edges n -> m of a graph, i and j their states.

All terms are positive, so nothing cancels, and a sum that is cut gives a lower bound. Forward,
that is what is computed. Backward, what is left out is made up for: at node n it is at most the
tail of the Poisson weights times the largest v that can be reached from n.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.layout cimport Graph, Layout, edges_into, hold

import numpy as np

cdef double DENORMAL = 1e-300
cdef double TINY = 1e-270        # products of what is smaller may be lost
cdef double LEAST = 1e-285       # bound of what a dense factor has lost


cdef class Steps:
    """What happens between observations, for each distinct gap."""

    def __init__(self, Layout layout, base_edges=None, matrices=None, weights=None,
                 diagonal=None, log_scales=None, indptr=None, factors=None, rest=None,
                 order=None, component=None, floor=1e-30, width=0, enters=None, entries=None,
                 rate=1.0):
        cdef Operator *o = &self.op
        cdef list held
        self.layout = layout
        o.observed = weights is None
        o.width = width
        o.rate = rate
        terms, tails = np.zeros(1, np.int64), np.zeros(1)
        if not o.observed:
            terms = np.array([n_terms(lam, floor) for lam in rest], dtype=np.int64)
            tails = np.where(np.asarray(rest) > 0, floor * np.exp(-np.asarray(rest)), 0.0)

        self.held = held = []
        o.matrices = <const double *> hold(held, matrices, np.float64)
        o.base_edges = <const int32_t *> hold(held, base_edges, np.int32)
        o.weights = <const double *> hold(held, weights, np.float64)
        o.diagonal = <const double *> hold(held, diagonal, np.float64)
        o.log_scales = <const double *> hold(held, log_scales, np.float64)
        o.indptr = <const int64_t *> hold(held, indptr, np.int64)
        o.factors = <const int32_t *> hold(held, factors, np.int32)
        o.rest = <const double *> hold(held, rest, np.float64)
        o.terms = <const int64_t *> hold(held, terms, np.int64)
        o.tails = <const double *> hold(held, tails, np.float64)
        o.order = <const int32_t *> hold(held, order, np.int32)
        o.component = <const int32_t *> hold(held, component, np.int32)
        o.enters = <const uint8_t *> hold(held, enters, np.uint8)
        o.entries = <const double *> hold(held, entries, np.float64)
        o.n_components = 0
        if component is not None:
            o.n_components = int(np.max(component, initial=-1)) + 1
        self.most_factors = 0 if indptr is None else int(np.diff(indptr).max(initial=0))
        self.most_terms = int(terms.max(initial=0))


def n_terms(double lam, double floor):
    """The last k of sum_k Poisson(k; lam) v P^k that is needed.

    At least exp(-lam) of v stays, and what comes after term k is at most w_k r / (1 - r) of v,
    r = lam / (k + 1).
    """
    cdef double log_w = 0.0, r, least = log(floor)
    cdef int64_t k = 0
    if lam <= 0.0:
        return 0
    while True:
        r = lam / (k + 1)
        if r < 0.9 and log_w + log(r / (1.0 - r)) <= least:
            return k
        k += 1
        log_w += log(lam / k)


cdef double norm(double *v, int64_t n, bint back, bint *lossy) noexcept nogil:
    """Divide by the sum, or backward by the maximum, and return it; backward rounds up."""
    cdef double total = 0.0
    cdef int64_t m
    for m in range(n):
        if back:
            total = max(total, v[m])
        else:
            total += v[m]
    if total > 0.0:
        for m in range(n):
            v[m] /= total
            if 0.0 < v[m] < DENORMAL:
                v[m] = DENORMAL if back else 0.0
                lossy[0] = True
    return total


cdef inline void lift(const Graph *g, const Operator *o, const double *v, double tail,
                      double *out, double *reach) noexcept nogil:
    """Add the tail times the largest v that each node can reach."""
    cdef int64_t c, k, m, i
    cdef double x
    if tail <= 0.0:
        return
    memset(reach, 0, o.n_components * sizeof(double))
    for m in range(g.n_nodes):
        reach[o.component[m]] = max(reach[o.component[m]], v[m])
    for i in range(g.n_nodes):
        m = o.order[i]
        x = reach[o.component[m]]
        for k in range(g.indptr[m], g.indptr[m + 1]):
            c = o.component[g.sources[k]]
            reach[c] = max(reach[c], x)
    for m in range(g.n_nodes):
        out[m] += tail * reach[o.component[m]]


cdef inline void note_small(const double *v, int64_t n, bint *lossy) noexcept nogil:
    """An entry of a factor that underflowed shows as a zero."""
    cdef int64_t m
    for m in range(n):
        if v[m] < TINY:
            lossy[0] = True


cdef void uniformised(const Graph *g, const Operator *o, int64_t gap, bint ahead,
                      const double *v, double *out, double *x, double *y,
                      bint *lossy) noexcept nogil:
    cdef int64_t N = g.n_nodes, m, k
    cdef double lam = o.rest[gap], w = exp(-lam)
    cdef double *swap
    for m in range(N):
        out[m] = w * v[m]
    if o.terms[gap] == 0:
        return
    memcpy(x, v, N * sizeof(double))
    for k in range(1, o.terms[gap] + 1):
        jump(g, o, ahead, x, y)
        w *= lam / k
        for m in range(N):
            out[m] += w * y[m]
        swap = x
        x = y
        y = swap
    for m in range(N):
        if w * x[m] > 1e-18 * out[m]:
            lossy[0] = True
        for k in range(g.indptr[m], g.indptr[m + 1]):
            if ((x[g.sources[k]] > 0.0 and x[m] == 0.0) if ahead
                    else (x[m] > 0.0 and x[g.sources[k]] == 0.0)) and o.weights[k] > 0.0:
                lossy[0] = True


cdef double ahead_of(const Graph *g, const Operator *o, int64_t gap, int64_t e, const double *v,
                     double *out, Work *w) noexcept nogil:
    """out proportional to v E(gap), sum 1; the logarithm of the factor. Keeps w.left."""
    cdef int64_t N = g.n_nodes, m, n, k, f
    cdef double u, total = 0.0
    cdef const double *matrix
    cdef const int32_t *start
    cdef double *here = w.left
    if o.observed:
        start = edges_into(g, e)
        matrix = o.matrices + gap * o.width
        w.lossy = w.lossy or o.rest[gap] > 0.0
        for m in range(N):
            u = 0.0
            for k in range(start[m], start[m + 1]):
                u += v[g.sources[k]] * matrix[o.base_edges[k]]
            out[m] = u
        u = norm(out, N, False, &w.lossy)
        return log(u) if u > 0.0 else -INFINITY
    memcpy(here, v, N * sizeof(double))
    for f in range(o.indptr[gap], o.indptr[gap + 1]):
        matrix = o.matrices + o.factors[f] * N * N
        memset(here + N, 0, N * sizeof(double))
        for n in range(N):
            u = here[n]
            if u > 0.0:
                for m in range(N):
                    here[N + m] += u * matrix[n * N + m]
        here += N
        u = norm(here, N, False, &w.lossy)
        if u == 0.0:
            return -INFINITY
        note_small(here, N, &w.lossy)
        total += log(u) + o.log_scales[o.factors[f]]
    uniformised(g, o, gap, True, here, out, w.x, w.y, &w.lossy)
    if is_entry(o, gap):
        enter(g, o, True, out, w.entry)
        memcpy(out, w.entry, N * sizeof(double))
    u = norm(out, N, False, &w.lossy)
    return total + log(u) if u > 0.0 else -INFINITY


cdef double back_from(const Graph *g, const Operator *o, int64_t gap, int64_t e, const double *v,
                      double *out, Work *w) noexcept nogil:
    """out proportional to E(gap) v, maximum 1, from above; log factor. Keeps w.right."""
    cdef int64_t N = g.n_nodes, m, n, k, f, last
    cdef double u, x, total = 0.0
    cdef const double *matrix
    cdef const int32_t *start
    cdef double *here
    if o.observed:
        start = edges_into(g, e)
        matrix = o.matrices + gap * o.width
        memset(out, 0, N * sizeof(double))
        for m in range(N):
            u = v[m]
            if u > 0.0:
                for k in range(start[m], start[m + 1]):
                    x = matrix[o.base_edges[k]]
                    out[g.sources[k]] += (max(x, LEAST) if o.rest[gap] > 0.0 else x) * u
        u = norm(out, N, True, &w.lossy)
        return log(u) if u > 0.0 else -INFINITY
    last = o.indptr[gap + 1] - o.indptr[gap]
    here = w.right + last * N
    if is_entry(o, gap):
        enter(g, o, False, v, w.entry)
        v = w.entry
    uniformised(g, o, gap, False, v, here, w.x, w.y, &w.lossy)
    lift(g, o, v, o.tails[gap], here, w.reach)
    u = norm(here, N, True, &w.lossy)
    if u == 0.0:
        return -INFINITY
    total += log(u)
    for f in range(o.indptr[gap + 1] - 1, o.indptr[gap] - 1, -1):
        matrix = o.matrices + o.factors[f] * N * N
        for n in range(N):
            u = 0.0
            for m in range(N):
                u += matrix[n * N + m] * here[m]
            here[n - N] = u
        lift(g, o, here, LEAST, here - N, w.reach)
        here -= N
        u = norm(here, N, True, &w.lossy)
        if u == 0.0:
            return -INFINITY
        total += log(u) + o.log_scales[o.factors[f]]
    memcpy(out, here, N * sizeof(double))
    return total
