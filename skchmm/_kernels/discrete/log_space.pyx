"""Forward-backward in log space: slower, for sequences that scaled probabilities cannot hold.

The recursions of forward_backward.pyx with the rows of log_rows.pxd, each shifted to maximum 0 and
the shifts summed apart. O(edges) exponentials per step; the same chunks bound the memory.
"""
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..shared.faint cimport faint_back, faint_off
from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport (
    Graph, Layout, edges_into, epoch_of, frame, longest_of, step_work,
)
from ..shared.memory cimport Memory
from ..shared.tables cimport (
    Table, chunk_end, keep_row, n_chunks, open_table, row_at, row_before,
)
from .log_rows cimport back_row, first_row, shift, sum_row


cdef struct Model:
    const double *log_weights
    const double *log_start
    const double *log_table
    const int32_t *rows
    Watch *watch


cdef int64_t LOG_TIMES = 16      # as long as an edge takes elsewhere
cdef double FAR = -1e6           # a logarithm of a sum that is added to less loses digits


cdef struct Mass:
    double top                   # the largest term, as a logarithm
    double total                 # the sum of all, divided by it


cdef struct Work:
    Table alpha
    double *beta
    double *beta_before
    double *top
    double *counts


cdef void fill(const Graph *g, const Model *p, int64_t origin, int64_t T, int64_t begin,
               const Table *alpha, double *total) noexcept nogil:
    """The chunk that begins at a step; shifts are added to the total, -inf if nothing is left."""
    cdef int64_t t, e = 0
    cdef const double *log_b
    for t in range(begin, chunk_end(alpha, begin, T)):
        log_b = p.log_table + frame(p.rows, origin + t) * g.n_states
        if t == 0:
            first_row(g, p.log_start, log_b, row_at(alpha, t))
        else:
            e = epoch_of(&g.epochs, t, e)
            sum_row(g, p.log_weights, e, row_before(alpha, t), log_b, row_at(alpha, t))
        total[0] += shift(row_at(alpha, t), g.n_nodes)
        if stopped(p.watch, 1):
            total[0] = -INFINITY
            return


cdef double forward(const Graph *g, const Model *p, int64_t origin, int64_t T,
                    const Table *alpha) noexcept nogil:
    """log Z; leaves the last chunk."""
    cdef int64_t c, m
    cdef double total = 0.0, top = -INFINITY, rest = 0.0
    cdef const double *row = row_at(alpha, T - 1)
    for c in range(n_chunks(alpha, T)):
        keep_row(alpha, c * alpha.chunk)
        fill(g, p, origin, T, c * alpha.chunk, alpha, &total)
        if total == -INFINITY:
            return total
    for m in range(g.n_nodes):
        top = max(top, row[m] + g.log_final[m])
    if top == -INFINITY:
        return top
    total += top
    for m in range(g.n_nodes):
        if g.accept[m]:
            rest += exp(row[m] + g.log_final[m] - top)
    return total + log(rest)


cdef void back_step(const Graph *g, const Model *p, int64_t e, int64_t step, const double *alpha,
                    Work *w, double *counts) noexcept nogil:
    """From beta of a step to that of the step before, whose alpha is given."""
    cdef int64_t N = g.n_nodes, m, k
    cdef double v, norm
    cdef Mass mass
    cdef double *swap
    cdef const int32_t *start = edges_into(g, e)
    cdef const double *log_b = p.log_table + frame(p.rows, step) * g.n_states
    for m in range(N):
        w.beta[m] += log_b[g.node_states[m]]
    back_row(g, p.log_weights, e, w.beta, w.top, w.beta_before)
    if counts != NULL:
        mass = mass_of(N, alpha, w.beta_before)
        if mass.top < FAR:
            count_from_afar(g, p, start, alpha, w.beta, counts)
        norm = mass.top + log(mass.total)
        for m in range(N):
            v = w.beta[m] - norm if mass.top >= FAR else -INFINITY
            if v > -INFINITY:
                for k in range(start[m], start[m + 1]):
                    counts[k] += exp(alpha[g.sources[k]] + p.log_weights[k] + v)
    shift(w.beta_before, N)
    swap = w.beta
    w.beta = w.beta_before
    w.beta_before = swap


cdef inline Mass mass_of(int64_t N, const double *alpha, const double *beta) noexcept nogil:
    cdef int64_t m
    cdef Mass mass
    mass.top, mass.total = -INFINITY, 0.0
    for m in range(N):
        mass.top = max(mass.top, alpha[m] + beta[m])
    for m in range(N):
        mass.total += exp(alpha[m] + beta[m] - mass.top)
    return mass


cdef void count_from_afar(const Graph *g, const Model *p, const int32_t *start,
                          const double *alpha, const double *after,
                          double *counts) noexcept nogil:
    """The counts of a step, which sum to 1 whatever has been rounded."""
    cdef int64_t m, k
    cdef double top = -INFINITY, total = 0.0
    for m in range(g.n_nodes):
        for k in range(start[m], start[m + 1]):
            top = max(top, alpha[g.sources[k]] + p.log_weights[k] + after[m])
    for m in range(g.n_nodes):
        for k in range(start[m], start[m + 1]):
            total += exp(alpha[g.sources[k]] + p.log_weights[k] + after[m] - top)
    for m in range(g.n_nodes):
        for k in range(start[m], start[m + 1]):
            counts[k] += exp(alpha[g.sources[k]] + p.log_weights[k] + after[m] - top) / total


cdef inline void put_gamma(const Graph *g, const double *alpha, const double *beta,
                           double *gamma) noexcept nogil:
    cdef int64_t m, i
    cdef Mass mass = mass_of(g.n_nodes, alpha, beta)
    cdef double norm = mass.top + log(mass.total)
    for i in range(g.n_states):
        gamma[i] = 0.0
    for m in range(g.n_nodes):
        if mass.top < FAR:
            gamma[g.node_states[m]] += exp(alpha[m] + beta[m] - mass.top) / mass.total
        else:
            gamma[g.node_states[m]] += exp(alpha[m] + beta[m] - norm)


cdef void backward(const Graph *g, const Model *p, int64_t origin, int64_t T, Work *w,
                   double *gamma, double *counts) noexcept nogil:
    cdef int64_t t, e = 0, c, begin, m, n = n_chunks(&w.alpha, T)
    cdef double ignored = 0.0
    for m in range(g.n_nodes):
        w.beta[m] = g.log_final[m]
    for c in range(n - 1, -1, -1):
        begin = c * w.alpha.chunk
        if c < n - 1:
            fill(g, p, origin, T, begin, &w.alpha, &ignored)
        for t in range(chunk_end(&w.alpha, begin, T) - 1, begin - 1, -1):
            if stopped(p.watch, 1):
                return
            put_gamma(g, row_at(&w.alpha, t), w.beta, gamma + (origin + t) * g.n_states)
            if t > 0:
                e = epoch_of(&g.epochs, t, e)
                back_step(g, p, e, origin + t, row_before(&w.alpha, t), w, counts)


def forward_backward_log(Layout layout,                   # IN
                         const double[::1] log_weights,   # IN, one an edge
                         const double[::1] log_start,     # IN
                         const double[:, ::1] log_table,  # IN
                         const int32_t[::1] rows,         # IN or None: row t is step t
                         const int64_t[::1] offsets,      # IN
                         const double[::1] seq_weights,   # IN or None, for the counts
                         const int64_t[::1] chosen,       # IN, the sequences
                         int64_t budget,                  # IN, bytes for the table of alpha
                         double[::1] log_z,               # OUT, -inf where infeasible
                         double[:, ::1] gamma=None,       # OUT or None: the forward pass is all
                         double[::1] counts=None):        # INOUT or None, one an edge
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef const Graph *g = &layout.graph
    cdef Model model
    cdef Work w
    cdef int64_t s, c, k, T, M = log_weights.shape[0]
    cdef bint counting = counts is not None
    cdef double weight
    cdef Watch watch = new_watch(LOG_TIMES * step_work(g))
    cdef unsigned faint
    cdef Memory memory = Memory()
    model.log_weights = &log_weights[0] if M else NULL
    model.log_start, model.log_table = &log_start[0], &log_table[0, 0]
    model.rows, model.watch = NULL if rows is None else &rows[0], &watch
    open_table(&w.alpha, memory, longest_of(offsets, chosen), g.n_nodes, budget,
               gamma is not None)
    w.beta = memory.rows(1, g.n_nodes)
    w.beta_before = memory.rows(1, g.n_nodes)
    w.top = memory.rows(1, g.n_nodes)
    w.counts = memory.rows(1, M)
    with nogil:
        faint = faint_off()
        for c in range(chosen.shape[0]):
            s = chosen[c]
            T = offsets[s + 1] - offsets[s]
            if stopped(&watch, 1):
                break
            log_z[s] = forward(g, &model, offsets[s], T, &w.alpha)
            if gamma is None or log_z[s] == -INFINITY:
                continue
            memset(w.counts, 0, M * sizeof(double))
            backward(g, &model, offsets[s], T, &w, &gamma[0, 0],
                     w.counts if counting else NULL)
            if counting:
                weight = 1.0 if seq_weights is None else seq_weights[s]
                for k in range(M):
                    counts[k] += weight * w.counts[k]
        faint_back(faint)
        check()
