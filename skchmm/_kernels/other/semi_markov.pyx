"""Semi-Markov chains on an augmented graph: segments of one state with explicit durations.

A segment enters a node m of state i at step s and stays for d steps; what the controller
remembers moves with every step, along a walk that only depends on m and s. With B the sum of
log b(y, i) over the segment, p_i the durations and P_i(d) = sum_{k >= d} p_i(k) their survival,

    end_t(n)   = sum_{n -> m, to another state} a(n, m) enter_{t+1}(m)
    enter_s(m) = sum_{d < T - s} p_i(d) B end_{s+d-1}(walk_d(m))
                 + P_i(T - s) B [walk ends where a path may end]

what may still follow, by logarithms, from the last step to the first; the last segment is cut by
the end of the sequence, so that all that is known is that it lasted at least so long. With max for
the sums, this is Viterbi. B is never computed: `open` holds end_t(n) + B for every t that a
segment from s can reach, and each step adds its emission to them. O(T (nodes D + edges)).

Posteriors need no second pass of logarithms. Given the data, the segments are a Markov chain
forwards: P(enter m at s | Y) spreads over d in proportion to the terms of enter_s(m). Shares are
relative to their own sum, not to what was found backwards: of huge scores, sums in another order
are another number.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport epoch_of, frame, longest_sequence
from ..shared.memory cimport Memory
from .semi_layout cimport Segments, SemiLayout

cdef double NEGLIGIBLE = -45.0   # log of what adds nothing to a sum around 1
cdef double RARE = 1e-60         # segments less likely than this to exist are passed over
cdef double LOG_RARE = -138.0


cdef struct Work:
    double *enter                    # (T, N)
    double *end                      # (N, T)
    double *open                     # (N, T); afterwards the masses of segments that end
    double *tail                     # (S,): sums of log b from s to the last step
    double *spell                    # (D,): sums of log b from s on, of one state
    double *mass                     # (N,)
    double *paid                     # (D,): what a segment has paid for soft rules, by its length
    double *lasting                  # (D,): log durations less that
    double *share                    # (D,) or one an edge of a node: of what may follow
    int32_t *run_node              # a walk, as runs on one node
    int64_t *run_end
    Watch watch


cdef inline int64_t walk(const Segments *g, Work *w, int64_t m, int64_t s, int64_t stop,
                         int64_t e) noexcept nogil:
    """Follow a segment that enters m at s up to `stop`; the number of runs on one node."""
    cdef int64_t t = s, n = 0, node = m
    while True:
        w.run_node[n] = <int32_t> node
        t += 1
        while t < stop:
            e = epoch_of(&g.epochs, t, e)
            if g.stay[e * g.N + node] != node:
                break
            t = stop if e + 1 == g.epochs.n else min(stop, g.epochs.first[e + 1])
        w.run_end[n] = t
        n += 1
        if t >= stop:
            return n
        node = g.stay[e * g.N + node]
        if node < 0:
            return n


cdef void pay(const Segments *g, Work *w, int64_t s, int64_t n_runs, int64_t e) noexcept nogil:
    """What the segment of the walk pays for soft rules, by its length."""
    cdef int64_t k, t = s
    cdef double cost = 0.0
    for k in range(n_runs):
        while t < w.run_end[k]:
            if t > s:
                e = epoch_of(&g.epochs, t, e)
                # The step into a run leaves the run before it.
                cost += g.stay_costs[e * g.N + w.run_node[
                    k - 1 if k > 0 and t == w.run_end[k - 1] else k]]
            w.paid[t - s] = cost
            t += 1


cdef inline double best_sum(const double *a, const double *b, int64_t n) noexcept nogil:
    """max_k a[k] + b[k]; in eight parts that do not wait for each other."""
    cdef double x0 = -INFINITY, x1 = x0, x2 = x0, x3 = x0, x4 = x0, x5 = x0, x6 = x0, x7 = x0
    cdef int64_t k = 0
    while k + 8 <= n:
        x0 = a[k] + b[k] if a[k] + b[k] > x0 else x0
        x1 = a[k + 1] + b[k + 1] if a[k + 1] + b[k + 1] > x1 else x1
        x2 = a[k + 2] + b[k + 2] if a[k + 2] + b[k + 2] > x2 else x2
        x3 = a[k + 3] + b[k + 3] if a[k + 3] + b[k + 3] > x3 else x3
        x4 = a[k + 4] + b[k + 4] if a[k + 4] + b[k + 4] > x4 else x4
        x5 = a[k + 5] + b[k + 5] if a[k + 5] + b[k + 5] > x5 else x5
        x6 = a[k + 6] + b[k + 6] if a[k + 6] + b[k + 6] > x6 else x6
        x7 = a[k + 7] + b[k + 7] if a[k + 7] + b[k + 7] > x7 else x7
        k += 8
    while k < n:
        x0 = a[k] + b[k] if a[k] + b[k] > x0 else x0
        k += 1
    x0, x1, x2, x3 = max(x0, x4), max(x1, x5), max(x2, x6), max(x3, x7)
    return max(max(x0, x1), max(x2, x3))


cdef inline double sum_around(const double *a, const double *b, int64_t n,
                              double top) noexcept nogil:
    cdef int64_t k
    cdef double x, total = 0.0
    for k in range(n):
        x = a[k] + b[k] - top
        if x > NEGLIGIBLE:
            total += exp(x)
    return total


cdef inline double enter_value(const Segments *g, Work *w, int64_t T, int64_t s, int64_t m,
                               int64_t e, bint summed) noexcept nogil:
    cdef int64_t k, t, i = g.node_states[m], n = walk(g, w, m, s, min(T, s + g.D), e), node
    cdef const double *durations = g.log_durations + i * g.D
    cdef double top = -INFINITY, last = -INFINITY, total
    if g.stay_costs != NULL:
        pay(g, w, s, n, e)
        for t in range(w.run_end[n - 1] - s):
            w.lasting[t] = durations[t] - w.paid[t]
        durations = w.lasting
    t = s
    for k in range(n):
        node = w.run_node[k]
        top = max(top, best_sum(w.open + node * T + t, durations + (t - s),
                                min(w.run_end[k], T - 1) - t))
        t = w.run_end[k]
    if t == T:
        last = g.log_survival[i * g.D + T - 1 - s] + w.tail[i] + g.log_final[node]
        if g.stay_costs != NULL:
            last -= w.paid[T - 1 - s]
        top = max(top, last)
    if not summed or top == -INFINITY:
        return top
    t = s
    total = exp(last - top)
    for k in range(n):
        node = w.run_node[k]
        total += sum_around(w.open + node * T + t, durations + (t - s),
                            min(w.run_end[k], T - 1) - t, top)
        t = w.run_end[k]
    return top + log(total)


cdef inline double end_value(const Segments *g, const double *enter, int64_t e, int64_t n,
                             bint summed) noexcept nogil:
    cdef int64_t k
    cdef double top = -INFINITY, total = 0.0
    cdef const int32_t *start = g.indptr + e * (g.N + 1)
    for k in range(start[n], start[n + 1]):
        top = max(top, g.log_weights[k] + enter[g.targets[k]])
    if not summed or top == -INFINITY:
        return top
    for k in range(start[n], start[n + 1]):
        total += exp(g.log_weights[k] + enter[g.targets[k]] - top)
    return top + log(total)


cdef double backward(const Segments *g, Work *w, int64_t origin, int64_t T,
                     bint summed) noexcept nogil:
    """Fill `enter` and `end`; the logarithm of the whole (or of the best path)."""
    cdef int64_t s, t, n, i, e = 0, stop
    cdef const double *log_b
    cdef double x, top = -INFINITY, total = 0.0
    cdef double *row
    for i in range(g.S):
        w.tail[i] = 0.0
    for s in range(T - 1, -1, -1):
        log_b = g.log_table + frame(g.rows, origin + s) * g.S
        stop = min(s + g.D, T - 1)
        if s < T - 1:
            e = epoch_of(&g.epochs, s + 1, e)
            for n in range(g.N):
                x = end_value(g, w.enter + (s + 1) * g.N, e, n, summed)
                w.end[n * T + s] = x
                w.open[n * T + s] = x
        for i in range(g.S):
            w.tail[i] += log_b[i]
        for n in range(g.N):
            x = log_b[g.node_states[n]]
            row = w.open + n * T
            for t in range(s, stop):
                row[t] += x
        e = epoch_of(&g.epochs, s, e)
        for n in range(g.N):
            w.enter[s * g.N + n] = (enter_value(g, w, T, s, n, e, summed) if g.entry[n]
                                    else -INFINITY)
        if stopped(&w.watch, 1):
            return -INFINITY
    for i in range(g.S):
        if g.start_nodes[i] >= 0:
            top = max(top, g.log_start[i] + w.enter[g.start_nodes[i]])
    if not summed or top == -INFINITY:
        return top
    for i in range(g.S):
        if g.start_nodes[i] >= 0:
            total += exp(g.log_start[i] + w.enter[g.start_nodes[i]] - top)
    return top + log(total)


cdef inline void sum_spell(const Segments *g, Work *w, int64_t step, int64_t n,
                           int64_t i) noexcept nogil:
    cdef int64_t r
    cdef double total = 0.0
    for r in range(n):
        total += g.log_table[frame(g.rows, step + r) * g.S + i]
        w.spell[r] = total


cdef void trace(const Segments *g, Work *w, int64_t origin, int64_t T,
                int32_t *path) noexcept nogil:
    """Follow the best choices forwards: of equally good ones the lowest state, then the shortest
    segment."""
    cdef int64_t s = 0, m = -1, i, k, t, n, e = 0, node, last
    cdef double best = -INFINITY, x
    for i in range(g.S):
        if g.start_nodes[i] >= 0 and g.log_start[i] + w.enter[g.start_nodes[i]] > best:
            m = g.start_nodes[i]
            best = g.log_start[i] + w.enter[m]
    while m >= 0:
        i = g.node_states[m]
        e = epoch_of(&g.epochs, s, e)
        n = walk(g, w, m, s, min(T, s + g.D), e)
        sum_spell(g, w, origin + s, w.run_end[n - 1] - s, i)
        if g.stay_costs != NULL:
            pay(g, w, s, n, e)
        best = -INFINITY
        node = last = -1
        t = s
        for k in range(n):
            while t < w.run_end[k]:
                if t < T - 1:
                    x = g.log_durations[i * g.D + t - s] + w.end[w.run_node[k] * T + t]
                else:
                    x = g.log_survival[i * g.D + t - s] + g.log_final[w.run_node[k]]
                x += w.spell[t - s] - w.paid[t - s]
                if x > best:
                    best = x
                    last, node = t, w.run_node[k]
                t += 1
        if last < 0:
            return
        for t in range(s, last + 1):
            path[t] = <int32_t> i
        m = -1
        s = last + 1
        if s == T:
            return
        e = epoch_of(&g.epochs, s, e)
        best = -INFINITY
        for k in range(g.indptr[e * (g.N + 1) + node], g.indptr[e * (g.N + 1) + node + 1]):
            x = g.log_weights[k] + w.enter[s * g.N + g.targets[k]]
            if x > best:
                best = x
                m = g.targets[k]


cdef inline double exponentials(double *x, int64_t n, double top) noexcept nogil:
    """exp(x - top) in place of each x, of which `top` is the largest; and their sum."""
    cdef int64_t k
    cdef double total = 0.0
    for k in range(n):
        x[k] = exp(x[k] - top) if x[k] - top > LOG_RARE else 0.0
        total += x[k]
    return total


cdef void segment_masses(const Segments *g, Work *w, int64_t origin, int64_t T, int64_t s,
                         int64_t m, int64_t e, double weight, double *gamma, double *durations,
                         double *censored) noexcept nogil:
    """Spread P(enter m at s | Y) over the ends of the segment; `spell` holds its emissions."""
    cdef int64_t i = g.node_states[m], k, t = s, r, first
    cdef int64_t n = walk(g, w, m, s, min(T, s + g.D), e)
    cdef double x, p, unit, covering = 0.0, top = -INFINITY
    if g.stay_costs != NULL:
        pay(g, w, s, n, e)
    for k in range(n):
        while t < w.run_end[k]:
            r = i * g.D + t - s
            x = w.spell[t - s] - w.paid[t - s] + (
                g.log_durations[r] + w.end[w.run_node[k] * T + t] if t < T - 1
                else g.log_survival[r] + g.log_final[w.run_node[k]])
            w.share[t - s] = x
            top = max(top, x)
            t += 1
    unit = w.mass[m] / exponentials(w.share, t - s, top)
    for k in range(n - 1, -1, -1):
        first = s if k == 0 else w.run_end[k - 1]
        for t in range(w.run_end[k] - 1, first - 1, -1):
            r = i * g.D + t - s
            p = unit * w.share[t - s]
            if t < T - 1:
                w.open[w.run_node[k] * T + t] += p
                if durations != NULL:
                    durations[r] += weight * p
            elif censored != NULL:
                censored[r] += weight * p
            covering += p
            gamma[(origin + t) * g.S + i] += covering


cdef void first_masses(const Segments *g, Work *w) noexcept nogil:
    """P(enter m at the first step | Y)."""
    cdef int64_t i, m
    cdef double total, top = -INFINITY
    for i in range(g.S):
        m = g.start_nodes[i]
        w.share[i] = g.log_start[i] + w.enter[m] if m >= 0 else -INFINITY
        top = max(top, w.share[i])
    total = exponentials(w.share, g.S, top)
    for i in range(g.S):
        if g.start_nodes[i] >= 0:
            w.mass[g.start_nodes[i]] = w.share[i] / total


cdef void forward(const Segments *g, Work *w, int64_t origin, int64_t T, double weight,
                  double *gamma, double *transitions, double *durations,
                  double *censored) noexcept nogil:
    """Posterior masses of segments, from the first step to the last."""
    cdef int64_t s, m, n, i, k, e = 0, spelled, first, stop
    cdef double p, x, total, top
    cdef double *row
    memset(w.open, 0, g.N * T * sizeof(double))
    memset(gamma + origin * g.S, 0, T * g.S * sizeof(double))
    for s in range(T):
        if stopped(&w.watch, 1):
            return
        e = epoch_of(&g.epochs, s, e)
        memset(w.mass, 0, g.N * sizeof(double))
        if s == 0:
            first_masses(g, w)
        else:
            for n in range(g.N):
                x = w.open[n * T + s - 1]
                if x < RARE:
                    continue
                first, stop = g.indptr[e * (g.N + 1) + n], g.indptr[e * (g.N + 1) + n + 1]
                top = -INFINITY
                for k in range(first, stop):
                    w.share[k - first] = g.log_weights[k] + w.enter[s * g.N + g.targets[k]]
                    top = max(top, w.share[k - first])
                x /= exponentials(w.share, stop - first, top)
                for k in range(first, stop):
                    p = x * w.share[k - first]
                    w.mass[g.targets[k]] += p
                    if transitions != NULL:
                        transitions[g.base_edges[k]] += weight * p
        spelled = -1
        for m in range(g.N):
            if w.mass[m] < RARE:
                continue
            if g.node_states[m] != spelled:
                spelled = g.node_states[m]
                sum_spell(g, w, origin + s, min(T - s, g.D), spelled)
            segment_masses(g, w, origin, T, s, m, e, weight, gamma, durations, censored)
    for s in range(T):
        row = gamma + (origin + s) * g.S
        total = 0.0
        for i in range(g.S):
            total += row[i]
        for i in range(g.S):
            row[i] /= total


cdef int new_work(Work *w, const Segments *g, Memory memory, int64_t T) except -1:
    """For sequences of up to T steps."""
    w.enter = memory.table(T, g.N)
    w.end = memory.table(T, g.N)
    w.open = memory.table(T, g.N)
    w.tail = memory.table(1, g.S)
    w.spell = memory.table(1, g.D)
    w.mass = memory.table(1, g.N)
    w.lasting = memory.table(1, g.D)
    w.share = memory.table(1, max(g.D, g.N, g.S))  # edges of a node lead to different ones
    w.paid = memory.table(1, g.D)
    memset(w.paid, 0, g.D * sizeof(double))
    w.run_node = <int32_t *> memory.room(g.D * sizeof(int32_t))
    w.run_end = <int64_t *> memory.room(g.D * sizeof(int64_t))
    w.watch = new_watch(2 * g.N * g.D + g.indptr[g.N] - g.indptr[0])
    return 0


def segment_viterbi(SemiLayout layout,               # IN
                    const double[:, ::1] log_table,  # IN
                    const int32_t[::1] rows,         # IN or None: row t of log_table is step t
                    const int64_t[::1] offsets,      # IN
                    int64_t begin, int64_t end,      # IN, the sequences to decode
                    int32_t[::1] path,               # OUT, state indices
                    double[::1] log_prob):           # OUT, -inf where no path is feasible
    """Best segmentations; what stands in `path` for infeasible sequences means nothing."""
    cdef Segments g = layout.segments
    cdef Work w
    cdef Memory memory = Memory()
    cdef int64_t s, T
    if g.N == 0:
        for s in range(begin, end):
            log_prob[s] = -INFINITY
        return
    g.log_table, g.rows = &log_table[0, 0], NULL if rows is None else &rows[0]
    new_work(&w, &g, memory, longest_sequence(offsets, begin, end))
    with nogil:
        for s in range(begin, end):
            T = offsets[s + 1] - offsets[s]
            log_prob[s] = backward(&g, &w, offsets[s], T, False)
            if log_prob[s] > -INFINITY:
                trace(&g, &w, offsets[s], T, &path[offsets[s]])
            if stopped(&w.watch, 0):
                break
        check()


def segment_posteriors(SemiLayout layout,                 # IN
                       const double[:, ::1] log_table,    # IN
                       const int32_t[::1] rows,           # IN or None: row t is step t
                       const int64_t[::1] offsets,        # IN
                       const double[::1] seq_weights,     # IN or None, for the counts
                       int64_t begin, int64_t end,        # IN, the sequences
                       double[::1] log_z,                 # OUT, -inf where infeasible
                       double[:, ::1] gamma=None,         # OUT or None: log_z is all
                       double[:, ::1] transitions=None,   # INOUT or None, (S, S)
                       double[:, ::1] durations=None,     # INOUT or None, (S, D), complete ones
                       double[:, ::1] censored=None):     # INOUT or None, (S, D), of last segments
    """Likelihoods, marginals of the states, and expected counts of segments."""
    cdef Segments g = layout.segments
    cdef Work w
    cdef Memory memory = Memory()
    cdef int64_t s, T
    cdef bint counting = transitions is not None
    cdef double weight
    if g.N == 0:
        for s in range(begin, end):
            log_z[s] = -INFINITY
        return
    g.log_table, g.rows = &log_table[0, 0], NULL if rows is None else &rows[0]
    new_work(&w, &g, memory, longest_sequence(offsets, begin, end))
    with nogil:
        for s in range(begin, end):
            T = offsets[s + 1] - offsets[s]
            if stopped(&w.watch, 0):
                break
            log_z[s] = backward(&g, &w, offsets[s], T, True)
            if gamma is None or log_z[s] == -INFINITY:
                continue
            weight = 1.0 if seq_weights is None else seq_weights[s]
            forward(&g, &w, offsets[s], T, weight, &gamma[0, 0],
                    &transitions[0, 0] if counting else NULL,
                    &durations[0, 0] if counting else NULL,
                    &censored[0, 0] if counting else NULL)
        check()
