"""Exponents of nodes in forward_backward.pyx, for rows whose nodes drift apart.

    alpha(m) = row(m) 2^exponent(m),   an edge carries w 2^(exponent(n) - exponent(m)),

and beta(m) 2^exponent(m) is the row on the way back, so that the product of the two rows is what it
was. They are 0 until a sum gets low; then each becomes that of the number at its node, or a little
less than at a node before it, whichever is larger: so that what comes from there cannot overflow.
What changes is noted, and taken back on the way back.
"""
from libc.math cimport frexp, ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.layout cimport Blocks, Graph, blocks_of, edges_into
from ..shared.memory cimport Memory


cdef extern from "discrete/weigh_steps.h" nogil:
    const int *instructions
    void weigh_blocks(const Blocks *, const double *weights, const double *exponents, int back,
                      double *out)
    double UNKNOWN, SLACK
    int64_t ROUNDS


cdef struct Exponents:
    bint uneven                  # otherwise all are 0, and the weights as they were
    double *values               # by node
    double *fresh
    double *ahead                # weights by entry
    double *back
    double *kept                 # (chunks, stride), before each chunk
    uint8_t *kept_uneven
    int64_t n                    # changes in the chunk that is there
    int64_t most
    int64_t *at                  # the step of each
    double *before               # (most, stride): exponents before it
    uint8_t *before_uneven


cdef inline int open_exponents(Exponents *x, const Graph *g, Memory memory, int64_t n_entries,
                               int64_t n_back_entries, int64_t n_chunks,
                               int64_t chunk) except -1:
    x.values = memory.rows(1, g.stride)
    x.fresh = memory.rows(1, g.stride)
    x.ahead = memory.table(1, n_entries)
    x.back = memory.table(1, n_back_entries)
    x.kept = memory.table(n_chunks, g.stride)
    x.kept_uneven = <uint8_t *> memory.room(n_chunks)
    x.most = max(chunk // 4, 8)
    x.at = <int64_t *> memory.room(x.most * sizeof(int64_t))
    x.before = memory.table(x.most, g.stride)
    x.before_uneven = <uint8_t *> memory.room(x.most)
    return 0


cdef inline void weigh(const Exponents *x, const Graph *g, const double *weights, bint back,
                       double *out) noexcept nogil:
    cdef int64_t e
    cdef Blocks b
    for e in range(g.epochs.n):
        b = blocks_of(&g.back if back else &g.ahead, e)
        weigh_blocks(&b, weights, x.values, back, out)


cdef inline void keep_exponents(const Exponents *x, int64_t stride, int64_t c) noexcept nogil:
    memcpy(x.kept + c * stride, x.values, stride * sizeof(double))
    x.kept_uneven[c] = x.uneven


cdef inline void take_kept(Exponents *x, int64_t stride, int64_t c) noexcept nogil:
    if c > 0:
        memcpy(x.values, x.kept + c * stride, stride * sizeof(double))
        x.uneven = x.kept_uneven[c]
    else:
        memset(x.values, 0, stride * sizeof(double))
        x.uneven = False


cdef inline void spread_out(const Graph *g, const double *edge_weights,
                            double *sizes) noexcept nogil:
    """Raise each size to SLACK below that of any node before it."""
    cdef int64_t e, m, k, _round
    cdef bint changed = True
    cdef const int32_t *start
    cdef double top
    for _round in range(ROUNDS):
        if not changed:
            return
        changed = False
        for e in range(g.epochs.n):
            start = edges_into(g, e)
            for m in range(g.n_nodes):
                top = sizes[m]
                for k in range(start[m], start[m + 1]):
                    if edge_weights[k] > 0.0:
                        top = max(top, sizes[g.sources[k]] - SLACK)
                if top > sizes[m]:
                    sizes[m] = top
                    changed = True


cdef inline bint rebalance(Exponents *x, const Graph *g, const double *edge_weights, int64_t t,
                           double *row, double *total) noexcept nogil:
    """New exponents for the row of step t; False if there have been too many changes."""
    cdef int64_t m
    cdef int power = 0
    cdef double lowest = -UNKNOWN, change
    if x.n == x.most:
        return False
    x.at[x.n] = t
    memcpy(x.before + x.n * g.stride, x.values, g.stride * sizeof(double))
    x.before_uneven[x.n] = x.uneven
    x.n += 1
    for m in range(g.n_nodes):
        x.fresh[m] = UNKNOWN
        if row[m] > 0.0:
            frexp(row[m], &power)
            x.fresh[m] = x.values[m] + power
    spread_out(g, edge_weights, x.fresh)
    for m in range(g.n_nodes):
        if x.fresh[m] > 0.5 * UNKNOWN:
            lowest = min(lowest, x.fresh[m])
    total[0] = 0.0
    for m in range(g.n_nodes):
        if x.fresh[m] < 0.5 * UNKNOWN:  # nothing leads to it for a while
            x.fresh[m] = lowest
        change = min(max(x.values[m] - x.fresh[m], -1000.0), 1000.0)
        row[m] = ldexp(row[m], <int> change)
        x.values[m] = x.fresh[m]
        total[0] += row[m]
    x.uneven = True
    return True


cdef inline void take_back(Exponents *x, const Graph *g, double *beta) noexcept nogil:
    """The last change, of a row on the way back as well."""
    cdef int64_t m
    cdef double change
    cdef const double *before
    x.n -= 1
    before = x.before + x.n * g.stride
    for m in range(g.n_nodes):
        change = min(max(before[m] - x.values[m], -1000.0), 1000.0)
        beta[m] = ldexp(beta[m], <int> change)
    memcpy(x.values, before, g.stride * sizeof(double))
    x.uneven = x.before_uneven[x.n]


cdef inline double accepted(const Exponents *x, const Graph *g, const double *row, double *beta,
                            double *mass) noexcept nogil:
    """beta of the last row and the product with it, but for the power of two that is returned."""
    cdef int64_t m
    cdef double top = UNKNOWN
    for m in range(g.n_nodes):
        if g.final[m] > 0.0 and row[m] > 0.0:
            top = max(top, x.values[m])
    mass[0] = 0.0
    memset(beta, 0, g.stride * sizeof(double))
    for m in range(g.n_nodes):
        if g.final[m] > 0.0 and (row[m] > 0.0 or not x.uneven):
            beta[m] = ldexp(g.final[m], <int> max(min(x.values[m] - top, 0.0), -1000.0))
            mass[0] += beta[m] * row[m]
    return top if mass[0] > 0.0 else 0.0
