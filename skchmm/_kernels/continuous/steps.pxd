from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..shared.layout cimport Graph, Layout


cdef struct Operator:
    bint observed
    const double *matrices       # path: (factors, N, N); observed: (gaps, width)
    int64_t width                # observed: entries of the matrices of a gap, one for each cost
    const int32_t *base_edges    # observed: where the weight of each edge is among them
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
    const uint8_t *enters        # whether each gap ends with an entry
    # rates of the edges that are entries, 0 for others, or NULL; observed: -1 for an entry that
    # takes more than one jump
    const double *entries
    double rate                  # path: q


cdef class Steps:
    cdef Layout layout
    cdef Operator op
    cdef list held
    cdef int64_t most_factors, most_terms


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
    double *entry                # (2, N): what an entry makes of alpha or beta
    bint lossy                   # whether something was left out that may matter
    double log_first             # of the first row of alpha


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


cdef inline bint is_entry(const Operator *o, int64_t gap) noexcept nogil:
    return o.entries != NULL and o.enters[gap]


cdef inline void enter(const Graph *g, const Operator *o, bint ahead, const double *v,
                       double *out) noexcept nogil:
    """out = v R, or R v, where R has the rates of the entries."""
    cdef int64_t m, k
    memset(out, 0, g.n_nodes * sizeof(double))
    for m in range(g.n_nodes):
        for k in range(g.indptr[m], g.indptr[m + 1]):
            if o.entries[k] > 0.0:
                if ahead:
                    out[m] += v[g.sources[k]] * o.entries[k]
                else:
                    out[g.sources[k]] += o.entries[k] * v[m]


cdef double norm(double *v, int64_t n, bint back, bint *lossy) noexcept nogil
cdef void uniformised(const Graph *g, const Operator *o, int64_t gap, bint ahead,
                      const double *v, double *out, double *x, double *y,
                      bint *lossy) noexcept nogil
cdef double ahead_of(const Graph *g, const Operator *o, int64_t gap, int64_t e, const double *v,
                     double *out, Work *w) noexcept nogil
cdef double back_from(const Graph *g, const Operator *o, int64_t gap, int64_t e, const double *v,
                      double *out, Work *w) noexcept nogil
