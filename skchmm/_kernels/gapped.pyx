"""Forward-backward over irregular gaps, with what EM needs from between the observations.

    alpha_t = (alpha_{t-1} E(gap_t)) b(y_t),    beta_{t-1} = E(gap_t) (b(y_t) beta_t)

E(gap) is never built for a gap of its own. Two kinds of it:

path      E(gap) = exp(Q gap) on the nodes of a graph, as some dense factors (for what is long or
          comes often) times a rest, applied to a vector by uniformisation:
          v exp(Q s) = sum_k Poisson(k; q s) v P^k,   P = I + Q / q.      O(edges) a term.
observed  E(gap)[n, m] = M(gap)[i, j] along the edges n -> m of a graph, i and j their states.

All terms are positive, so nothing cancels, and a sum that is cut gives a lower bound. Forward,
that is what is computed. Backward, what is left out is made up for: at node n it is at most the
tail of the Poisson weights times the largest beta that can be reached from n. So the two passes
give a lower and an upper bound of the likelihood; where these differ, the sequence is reported to
be redone with longer sums, or in log space. What lies between them bounds the error of the
marginals and counts as well. Without a backward pass, the forward pass is believed if the last
term was negligible at every node and reached them all.
"""
from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from .layout cimport Graph, Layout, epoch_of, frame, longest_sequence

import numpy as np

cdef int FINE = 0, REDO = 1
cdef double DENORMAL = 1e-300
cdef double TINY = 1e-270        # products of what is smaller may be lost
cdef double LEAST = 1e-285       # bound of what a dense factor has lost
cdef double CLOSE = 1e-9         # how far apart the logarithms of the bounds may be


cdef struct Operator:
    bint observed
    const double *matrices       # path: (factors, N, N); observed: (gaps, S, S)
    const int32_t *base_edges    # observed: i * S + j of each edge
    const double *weights        # path: of the edges in P
    const double *diagonal       # path: of P
    const double *log_scales     # path: of the factors
    const int64_t *indptr        # path: the factors of each gap
    const int32_t *factors
    const double *rest           # path: q s of what is left of each gap; observed: 1 if lossy
    const int64_t *terms         # path: how many terms that takes
    const double *tails          # path: what the others come to at most
    const int32_t *order         # path: nodes, those that lead nowhere first
    const int32_t *component     # path: nodes with the same number reach each other
    int64_t n_components


cdef class Steps:
    """What happens between observations, for each distinct gap."""
    cdef Layout layout
    cdef Operator op
    cdef object held
    cdef int64_t most_factors, most_terms

    def __init__(self, Layout layout, base_edges=None, matrices=None, weights=None,
                 diagonal=None, log_scales=None, indptr=None, factors=None, rest=None,
                 order=None, component=None, floor=1e-30):
        self.layout = layout
        self.op.observed = weights is None
        terms, tails = np.zeros(1, np.int64), np.zeros(1)
        if not self.op.observed:
            terms = np.array([n_terms(lam, floor) for lam in rest], dtype=np.int64)
            tails = np.where(np.asarray(rest) > 0, floor * np.exp(-np.asarray(rest)), 0.0)

        def hold(array, dtype):
            array = np.ascontiguousarray(array, dtype=dtype).ravel()
            return array if array.size else np.zeros(1, dtype=dtype)

        none = np.zeros(1)
        cdef const double[::1] m = hold(matrices, np.float64)
        cdef const int32_t[::1] e = hold(none if base_edges is None else base_edges, np.int32)
        cdef const double[::1] w = hold(none if weights is None else weights, np.float64)
        cdef const double[::1] d = hold(none if diagonal is None else diagonal, np.float64)
        cdef const double[::1] l = hold(none if log_scales is None else log_scales, np.float64)
        cdef const int64_t[::1] p = hold(none if indptr is None else indptr, np.int64)
        cdef const int32_t[::1] f = hold(none if factors is None else factors, np.int32)
        cdef const double[::1] r = hold(none if rest is None else rest, np.float64)
        cdef const int64_t[::1] t = hold(terms, np.int64)
        cdef const double[::1] u = hold(tails, np.float64)
        cdef const int32_t[::1] o = hold(none if order is None else order, np.int32)
        cdef const int32_t[::1] c = hold(none if component is None else component, np.int32)
        self.op.matrices, self.op.base_edges, self.op.weights = &m[0], &e[0], &w[0]
        self.op.diagonal, self.op.log_scales, self.op.indptr = &d[0], &l[0], &p[0]
        self.op.factors, self.op.rest, self.op.terms = &f[0], &r[0], &t[0]
        self.op.tails, self.op.order, self.op.component = &u[0], &o[0], &c[0]
        self.op.n_components = 0
        if component is not None:
            self.op.n_components = int(np.max(component, initial=-1)) + 1
        self.held = (m, e, w, d, l, p, f, r, t, u, o, c)
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


cdef struct Frames:
    const double *start
    const double *table
    const double *row_max
    const uint8_t *row_lossy
    const int32_t *rows


cdef struct Work:
    double *alpha                # (T, N)
    double *beta
    double *left                 # (factors + 1, N): alpha after each factor
    double *right                # (factors + 2, N): beta before each factor
    double *x
    double *y
    double *a                    # (terms + 1, N)
    double *b
    double *poisson              # (terms + 2)
    double *reach                # one a component
    bint lossy                   # whether something was left out that may matter
    double log_first             # of the first row of alpha


cdef struct Counts:
    double *edges                # path: sum_k a_k(n) c_k(m), to be times the weight of the edge
    double *stays                # path: the same for n = m
    double *outer                # path: (factors, N, N); observed: (gaps, S, S)


cdef inline double norm(double *v, int64_t n, bint back, bint *lossy) noexcept nogil:
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


cdef inline void jump(const Graph *g, const Operator *o, bint ahead, const double *v,
                      double *out) noexcept nogil:
    """out = v P, or P v."""
    cdef int64_t m, k
    cdef double u
    for m in range(g.n_nodes):
        out[m] = o.diagonal[m] * v[m]
    if ahead:
        for m in range(g.n_nodes):
            u = out[m]
            for k in range(g.indptr[m], g.indptr[m + 1]):
                u += v[g.sources[k]] * o.weights[k]
            out[m] = u
    else:
        for m in range(g.n_nodes):
            u = v[m]
            for k in range(g.indptr[m], g.indptr[m + 1]):
                out[g.sources[k]] += o.weights[k] * u


cdef inline void uniformised(const Graph *g, const Operator *o, int64_t gap, bint ahead,
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
    cdef int64_t N = g.n_nodes, S = g.n_states, m, n, k, f
    cdef double u, total = 0.0
    cdef const double *matrix
    cdef const int32_t *start
    cdef double *here = w.left
    if o.observed:
        start = g.indptr + e * (N + 1)
        matrix = o.matrices + gap * S * S
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
    u = norm(out, N, False, &w.lossy)
    return total + log(u) if u > 0.0 else -INFINITY


cdef double back_from(const Graph *g, const Operator *o, int64_t gap, int64_t e, const double *v,
                      double *out, Work *w) noexcept nogil:
    """out proportional to E(gap) v, maximum 1, from above; log factor. Keeps w.right."""
    cdef int64_t N = g.n_nodes, S = g.n_states, m, n, k, f, last
    cdef double u, x, total = 0.0
    cdef const double *matrix
    cdef const int32_t *start
    cdef double *here
    if o.observed:
        start = g.indptr + e * (N + 1)
        matrix = o.matrices + gap * S * S
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


cdef void count_rest(const Graph *g, const Operator *o, int64_t gap, const double *a,
                     const double *b, double weight, Work *w, Counts *c) noexcept nogil:
    """sum_{k, l} Poisson(k + l + 1) a P^k (x) P^l b, on the edges and the diagonal."""
    cdef int64_t N = g.n_nodes, K = o.terms[gap], k, l, m, j
    cdef double lam = o.rest[gap], mass = 0.0, p
    cdef double *after = w.x
    if lam <= 0.0:
        return
    memcpy(w.a, a, N * sizeof(double))
    memcpy(w.b, b, N * sizeof(double))
    w.poisson[0] = exp(-lam)
    for k in range(1, K + 2):
        w.poisson[k] = w.poisson[k - 1] * lam / k
    for k in range(K):
        jump(g, o, True, w.a + k * N, w.a + (k + 1) * N)
        jump(g, o, False, w.b + k * N, w.b + (k + 1) * N)
    for k in range(K + 1):
        p = 0.0
        for m in range(N):
            p += a[m] * w.b[k * N + m]
        mass += w.poisson[k] * p
    if mass <= 0.0:
        return
    weight /= mass
    for k in range(K + 1):
        memset(after, 0, N * sizeof(double))
        for l in range(K + 1 - k):
            p = w.poisson[k + l + 1] * weight
            for m in range(N):
                after[m] += p * w.b[l * N + m]
        for m in range(N):
            p = after[m]
            c.stays[m] += w.a[k * N + m] * p
            for j in range(g.indptr[m], g.indptr[m + 1]):
                c.edges[j] += w.a[k * N + g.sources[j]] * p


cdef void count(const Graph *g, const Operator *o, int64_t gap, int64_t e, const double *alpha,
                const double *beta, double weight, Work *w, Counts *c) noexcept nogil:
    """Adds what happens between alpha and beta, whose w.left and w.right are there."""
    cdef int64_t N = g.n_nodes, S = g.n_states, m, n, k, f
    cdef double mass = 0.0, u
    cdef const int32_t *start
    cdef const double *matrix
    cdef double *left = w.left
    cdef double *right = w.right
    cdef double *outer
    if o.observed:
        start = g.indptr + e * (N + 1)
        matrix = o.matrices + gap * S * S
        for m in range(N):
            for k in range(start[m], start[m + 1]):
                mass += alpha[g.sources[k]] * matrix[o.base_edges[k]] * beta[m]
        if mass <= 0.0:
            return
        weight /= mass
        for m in range(N):
            u = beta[m] * weight
            if u > 0.0:
                for k in range(start[m], start[m + 1]):
                    c.outer[gap * S * S + o.base_edges[k]] += (
                        alpha[g.sources[k]] * matrix[o.base_edges[k]] * u)
        return
    for f in range(o.indptr[gap], o.indptr[gap + 1]):
        matrix = o.matrices + o.factors[f] * N * N
        outer = c.outer + o.factors[f] * N * N
        right += N
        mass = 0.0
        for n in range(N):
            u = 0.0
            for m in range(N):
                u += matrix[n * N + m] * right[m]
            mass += left[n] * u
        if mass > 0.0:
            for n in range(N):
                u = left[n] * weight / mass
                if u > 0.0:
                    for m in range(N):
                        outer[n * N + m] += u * right[m]
        left += N
    count_rest(g, o, gap, left, beta, weight, w, c)


cdef inline int observe(const Graph *g, const Frames *f, int64_t step, bint back, double *v,
                        double *log_total, bint *lossy) noexcept nogil:
    cdef int64_t m
    cdef const double *b = f.table + frame(f.rows, step) * g.n_states
    cdef double total, x
    cdef bint rounded = f.row_lossy[frame(f.rows, step)]
    for m in range(g.n_nodes):
        x = b[g.node_states[m]]
        v[m] *= max(x, LEAST) if rounded and back else x
    lossy[0] = lossy[0] or rounded
    total = norm(v, g.n_nodes, back, lossy)
    if total <= 0.0:
        return REDO
    log_total[0] += log(total)
    return FINE


cdef int forward(const Graph *g, const Operator *o, const Frames *f, const int32_t *gaps,
                 int64_t origin, int64_t T, Work *w, double *log_z) noexcept nogil:
    cdef int64_t N = g.n_nodes, t, m, i, e = 0
    cdef double total = 0.0, c
    cdef double *row = w.alpha
    w.lossy = False
    log_z[0] = -INFINITY
    memset(row, 0, N * sizeof(double))
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0:
            row[g.start_nodes[i]] = f.start[i]
    for t in range(T):
        if t > 0:
            row += N
            e = epoch_of(g, t, e)
            c = ahead_of(g, o, gaps[origin + t], e, row - N, row, w)
            if c == -INFINITY:
                return REDO
            total += c
        if observe(g, f, origin + t, False, row, &total, &w.lossy):
            return REDO
        total += f.row_max[frame(f.rows, origin + t)]
        if t == 0:
            w.log_first = total
    c = 0.0
    for m in range(N):
        if g.accept[m]:
            c += row[m]
    if c <= 0.0:
        return REDO
    log_z[0] = total + log(c)
    return FINE


cdef int backward(const Graph *g, const Operator *o, const Frames *f, const int32_t *gaps,
                  int64_t origin, int64_t T, double log_z, double weight, Work *w,
                  double *gamma, Counts *counts) noexcept nogil:
    cdef int64_t N = g.n_nodes, S = g.n_states, t, m, e = 0, gap
    cdef double mass, total = 0.0, c
    cdef double *alpha = w.alpha + (T - 1) * N
    cdef double *before = w.y + N
    for m in range(N):
        w.beta[m] = g.accept[m]
    for t in range(T - 1, -1, -1):
        mass = 0.0
        for m in range(N):
            mass += alpha[m] * w.beta[m]
        if mass < TINY:
            return REDO
        if gamma != NULL:
            memset(gamma + (origin + t) * S, 0, S * sizeof(double))
            for m in range(N):
                gamma[(origin + t) * S + g.node_states[m]] += alpha[m] * w.beta[m] / mass
        if t == 0:
            break
        if observe(g, f, origin + t, True, w.beta, &total, &w.lossy):
            return REDO
        total += f.row_max[frame(f.rows, origin + t)]
        alpha -= N
        e = epoch_of(g, t, e)
        gap = gaps[origin + t]
        if counts != NULL and not o.observed:
            memcpy(w.left, alpha, N * sizeof(double))
            if o.indptr[gap] < o.indptr[gap + 1]:
                ahead_of(g, o, gap, e, alpha, w.b, w)
        c = back_from(g, o, gap, e, w.beta, before, w)
        if c == -INFINITY:
            return REDO
        total += c
        if counts != NULL:
            count(g, o, gap, e, alpha, w.beta, weight, w, counts)
        memcpy(w.beta, before, N * sizeof(double))
    # the upper bound must be the lower one, up to rounding
    c = w.log_first + log(mass) + total - log_z
    return REDO if c > CLOSE + 1e-14 * (T + fabs(log_z)) else FINE


def forward_backward(Steps steps,                     # IN
                     const double[::1] start,         # IN
                     const double[:, ::1] table,      # IN, with row_max, row_lossy: scale_rows
                     const double[::1] row_max,       # IN
                     const uint8_t[::1] row_lossy,    # IN
                     const int32_t[::1] rows,         # IN or None: row t of table is step t
                     const int64_t[::1] offsets,      # IN
                     const int32_t[::1] gaps,         # IN, the number of the gap before each step
                     const double[::1] seq_weights,   # IN or None, for the counts
                     const int64_t[::1] chosen,       # IN, the sequences
                     double[::1] log_z,               # OUT
                     uint8_t[::1] redo,               # OUT, 1: not right, or infeasible
                     double[:, ::1] gamma=None,       # OUT or None
                     double[::1] edges=None,          # INOUT or None, path
                     double[::1] stays=None,          # INOUT or None, path
                     double[:, :, ::1] outer=None,    # INOUT or None: no counts
                     double[:, ::1] alphas=None):     # OUT or None, filtered masses of the nodes
    """Likelihoods, marginals of the states, and what is expected between observations."""
    cdef const Graph *g = &steps.layout.graph
    cdef Frames f
    cdef Work w
    cdef Counts counts
    cdef int64_t N = g.n_nodes, K = steps.most_terms + 2, L = steps.most_factors + 2, c, s, T
    cdef int64_t longest = 1
    cdef bint counting = outer is not None
    cdef int status
    cdef double weight
    cdef double *room
    cdef const int32_t *gap_of = &gaps[0]
    if N == 0:
        for c in range(chosen.shape[0]):
            log_z[chosen[c]] = -INFINITY
            redo[chosen[c]] = 1
        return
    f.start, f.table, f.row_max = &start[0], &table[0, 0], &row_max[0]
    f.row_lossy = &row_lossy[0]
    f.rows = NULL if rows is None else &rows[0]
    counts.edges = NULL if edges is None or edges.shape[0] == 0 else &edges[0]
    counts.stays = NULL if stays is None else &stays[0]
    counts.outer = &outer[0, 0, 0] if counting and outer.shape[0] else NULL
    for c in range(chosen.shape[0]):
        longest = max(longest, longest_sequence(offsets, chosen[c], chosen[c] + 1))
    w.alpha = <double *> malloc(longest * N * sizeof(double))
    room = <double *> calloc((2 * L + 2 * K + 5) * N + K, sizeof(double))
    try:
        if w.alpha == NULL or room == NULL:
            raise MemoryError
        w.left = room
        w.right = w.left + L * N
        w.a = w.right + L * N
        w.b = w.a + K * N
        w.beta = w.b + K * N
        w.x = w.beta + N
        w.y = w.x + N                # two rows
        w.reach = w.y + 2 * N
        w.poisson = w.reach + N
        with nogil:
            for c in range(chosen.shape[0]):
                s = chosen[c]
                T = offsets[s + 1] - offsets[s]
                status = forward(g, &steps.op, &f, gap_of, offsets[s], T, &w, &log_z[s])
                weight = 1.0 if seq_weights is None else seq_weights[s]
                if status == FINE and (w.lossy or gamma is not None or counting):
                    status = backward(g, &steps.op, &f, gap_of, offsets[s], T, log_z[s], weight,
                                      &w, NULL if gamma is None else &gamma[0, 0], NULL)
                if status == FINE and counting:  # again, now that it is known to be right
                    backward(g, &steps.op, &f, gap_of, offsets[s], T, log_z[s], weight, &w, NULL,
                             &counts)
                redo[s] = status == REDO
                if alphas is not None:
                    memcpy(&alphas[offsets[s], 0], w.alpha, T * N * sizeof(double))
    finally:
        free(w.alpha)
        free(room)


def feasible_steps(Steps steps,                       # IN
                   const double[::1] start,           # IN
                   const double[:, ::1] log_table,    # IN
                   const int32_t[::1] rows,           # IN or None
                   const double[::1] gap_lengths,     # IN, of each numbered gap
                   const int32_t[::1] gaps,           # IN
                   int64_t origin, int64_t T):        # IN
    """How many steps of a sequence have a live node; T + 1 if one of the last accepts.

    In any gap above zero every node that can be reached can be reached.
    """
    cdef const Graph *g = &steps.layout.graph
    cdef int64_t N = g.n_nodes, t, m, k, i, e = 0
    cdef bint observed = steps.op.observed, grown, alive
    cdef const int32_t *ptr
    cdef uint8_t[::1] here = np.zeros(N + 1, dtype=np.uint8)
    cdef uint8_t[::1] there = np.zeros(N + 1, dtype=np.uint8)
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0 and start[i] > 0.0:
            here[g.start_nodes[i]] = 1
    for t in range(T):
        if t > 0:
            e = epoch_of(g, t, e)
            ptr = g.indptr + e * (N + 1)
            if observed:
                there[:] = 0
                for m in range(N):
                    for k in range(ptr[m], ptr[m + 1]):
                        if here[g.sources[k]] and (
                                gap_lengths[gaps[origin + t]] > 0.0
                                or g.node_states[g.sources[k]] == g.node_states[m]):
                            there[m] = 1
                here[:] = there
            elif gap_lengths[gaps[origin + t]] > 0.0:
                grown = True
                while grown:
                    grown = False
                    for m in range(N):
                        if not here[m]:
                            for k in range(ptr[m], ptr[m + 1]):
                                if here[g.sources[k]] and steps.op.weights[k] > 0.0:
                                    here[m] = 1
                                    grown = True
                                    break
        alive = False
        for m in range(N):
            if here[m] and log_table[frame(NULL if rows is None else &rows[0], origin + t),
                                     g.node_states[m]] == -INFINITY:
                here[m] = 0
            alive = alive or here[m]
        if not alive:
            return t
    for m in range(N):
        if here[m] and g.accept[m]:
            return T + 1
    return T
