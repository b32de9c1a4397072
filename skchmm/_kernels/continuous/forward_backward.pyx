"""Forward-backward over irregular gaps, with what EM needs from between the observations.

    alpha_t = (alpha_{t-1} E(gap_t)) b(y_t),    beta_{t-1} = E(gap_t) (b(y_t) beta_t)

with E of steps.pyx, which bounds the first from below and the second from above. So the two passes
give a lower and an upper bound of the likelihood; where these differ, the sequence is reported to
be redone with longer sums, or in log space. What lies between them bounds the error of the
marginals and counts as well. Without a backward pass, the forward pass is believed if the last
term was negligible at every node and reached them all.

A step costs what E(gap) times a vector costs, and counts O(terms^2 nodes + terms edges) more.
"""
from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, edges_into, epoch_of, frame, longest_of, step_work
from ..shared.memory cimport Memory
from .steps cimport (
    Operator, Steps, Work, ahead_of, back_from, enter, is_entry, jump, norm, uniformised,
)

import numpy as np

cdef int FINE = 0, REDO = 1
cdef double TINY = 1e-270        # a smaller mass may have lost something
cdef double LEAST = 1e-285       # bound of what an emission has lost
cdef double CLOSE = 1e-9         # how far apart the logarithms of the bounds may be


cdef struct Frames:
    const double *start
    const double *table
    const double *row_max
    const uint8_t *row_lossy
    const int32_t *rows
    Watch *watch


cdef struct Counts:
    double *edges                # path: sum_k a_k(n) c_k(m), to be times the weight of the edge
    double *stays                # path: the same for n = m
    double *outer                # path: (factors, N, N); observed: (gaps, S, S)


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


cdef void count_entry(const Graph *g, const Operator *o, int64_t gap, const double *a,
                      const double *beta, double weight, Work *w, Counts *c) noexcept nogil:
    """Adds the jumps with which a gap ends; edges are to be times their weight, rate / q."""
    cdef int64_t m, k
    cdef double mass = 0.0
    cdef double *before = w.entry + g.n_nodes
    cdef bint lossy = False
    uniformised(g, o, gap, True, a, before, w.x, w.y, &lossy)
    for m in range(g.n_nodes):
        for k in range(g.indptr[m], g.indptr[m + 1]):
            mass += before[g.sources[k]] * o.entries[k] * beta[m]
    if mass <= 0.0:
        return
    weight *= o.rate / mass
    for m in range(g.n_nodes):
        for k in range(g.indptr[m], g.indptr[m + 1]):
            if o.entries[k] > 0.0:
                c.edges[k] += before[g.sources[k]] * beta[m] * weight


cdef void count(const Graph *g, const Operator *o, int64_t gap, int64_t e, const double *alpha,
                const double *beta, double weight, Work *w, Counts *c) noexcept nogil:
    """Adds what happens between alpha and beta, whose w.left and w.right are there."""
    cdef int64_t N = g.n_nodes, m, n, k, f
    cdef double mass = 0.0, u
    cdef const int32_t *start
    cdef const double *matrix
    cdef double *left = w.left
    cdef double *right = w.right
    cdef double *outer
    if o.observed:
        start = edges_into(g, e)
        matrix = o.matrices + gap * o.width
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
                    c.outer[gap * o.width + o.base_edges[k]] += (
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
    if is_entry(o, gap):
        enter(g, o, False, beta, w.entry)
        count_rest(g, o, gap, left, w.entry, weight, w, c)
        count_entry(g, o, gap, left, beta, weight, w, c)
        return
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
            e = epoch_of(&g.epochs, t, e)
            c = ahead_of(g, o, gaps[origin + t], e, row - N, row, w)
            if c == -INFINITY:
                return REDO
            total += c
        if observe(g, f, origin + t, False, row, &total, &w.lossy):
            return REDO
        total += f.row_max[frame(f.rows, origin + t)]
        if t == 0:
            w.log_first = total
        if stopped(f.watch, 1):
            return REDO
    c = 0.0
    for m in range(N):
        c += g.final[m] * row[m]
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
        w.beta[m] = g.final[m]
    for t in range(T - 1, -1, -1):
        mass = 0.0
        for m in range(N):
            mass += alpha[m] * w.beta[m]
        if mass < TINY or stopped(f.watch, 1):
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
        e = epoch_of(&g.epochs, t, e)
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
    cdef int64_t longest = longest_of(offsets, chosen)
    cdef bint counting = outer is not None
    cdef int status
    cdef double weight
    cdef Watch watch = new_watch(K * step_work(g) + L * N * N)
    cdef Memory memory = Memory()
    cdef const int32_t *gap_of = &gaps[0]
    if N == 0:
        for c in range(chosen.shape[0]):
            log_z[chosen[c]] = -INFINITY
            redo[chosen[c]] = 1
        return
    f.start, f.table, f.row_max = &start[0], &table[0, 0], &row_max[0]
    f.row_lossy = &row_lossy[0]
    f.rows, f.watch = NULL if rows is None else &rows[0], &watch
    counts.edges = NULL if edges is None or edges.shape[0] == 0 else &edges[0]
    counts.stays = NULL if stays is None else &stays[0]
    counts.outer = &outer[0, 0, 0] if counting and outer.shape[0] else NULL
    w.alpha = memory.table(longest, N)
    w.left = memory.rows(L, N)
    w.right = memory.rows(L, N)
    w.a = memory.rows(K, N)
    w.b = memory.rows(K, N)
    w.beta = memory.rows(1, N)
    w.x = memory.rows(1, N)
    w.y = memory.rows(2, N)
    w.reach = memory.rows(1, N)
    w.entry = memory.rows(2, N)
    w.poisson = memory.rows(1, K)
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
            if stopped(&watch, 1):
                break
        check()


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
    cdef bint observed = steps.op.observed, grown, alive, same
    cdef const int32_t *ptr
    cdef Watch watch = new_watch(step_work(g))
    cdef uint8_t[::1] here = np.zeros(N + 1, dtype=np.uint8)
    cdef uint8_t[::1] there = np.zeros(N + 1, dtype=np.uint8)
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0 and start[i] > 0.0:
            here[g.start_nodes[i]] = 1
    for t in range(T):
        if t > 0:
            e = epoch_of(&g.epochs, t, e)
            ptr = edges_into(g, e)
            if observed:
                there[:] = 0
                for m in range(N):
                    for k in range(ptr[m], ptr[m + 1]):
                        if not here[g.sources[k]]:
                            continue
                        same = g.node_states[g.sources[k]] == g.node_states[m]
                        if is_entry(&steps.op, gaps[origin + t]):
                            if steps.op.entries[k] > 0.0 or (
                                    steps.op.entries[k] < 0.0
                                    and gap_lengths[gaps[origin + t]] > 0.0):
                                there[m] = 1
                        elif gap_lengths[gaps[origin + t]] > 0.0 or same:
                            there[m] = 1
                here[:] = there
            else:
                grown = gap_lengths[gaps[origin + t]] > 0.0
                while grown:
                    grown = False
                    for m in range(N):
                        if not here[m]:
                            for k in range(ptr[m], ptr[m + 1]):
                                if here[g.sources[k]] and steps.op.weights[k] > 0.0:
                                    here[m] = 1
                                    grown = True
                                    break
                if is_entry(&steps.op, gaps[origin + t]):
                    there[:] = 0
                    for m in range(N):
                        for k in range(ptr[m], ptr[m + 1]):
                            if here[g.sources[k]] and steps.op.entries[k] > 0.0:
                                there[m] = 1
                    here[:] = there
        alive = False
        for m in range(N):
            if here[m] and log_table[frame(NULL if rows is None else &rows[0], origin + t),
                                     g.node_states[m]] == -INFINITY:
                here[m] = 0
            alive = alive or here[m]
        if stopped(&watch, 1):
            check()
        if not alive:
            return t
    for m in range(N):
        if here[m] and g.accept[m]:
            return T + 1
    return T
