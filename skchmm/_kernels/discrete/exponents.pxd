"""Exponents of nodes in forward_backward.pyx, for rows whose nodes drift apart.

    alpha(m) = row(m) 2^exponent(m),   an edge carries w 2^(exponent(n) - exponent(m)),

and beta(m) 2^exponent(m) is the row on the way back, so that the product of the two rows is what it
was. They are 0 until a sum gets low; then each becomes that of the number at its node, or a little
less than at a node before it, whichever is larger: so that what comes from there cannot overflow.
Nodes that nothing has reached have one as well, if something can within a few steps, and when those
are over all are made anew. What changes is noted, and taken back on the way back.
"""
from libc.math cimport frexp, ldexp
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.layout cimport Blocks, Graph, blocks_of
from ..shared.memory cimport Memory


cdef extern from "discrete/weigh_steps.h" nogil:
    const int *instructions
    void weigh_blocks(const Blocks *, const double *weights, const double *exponents, int back,
                      double *out)
    bint raise_blocks(const Blocks *, const double *weights, const double *row, bint on,
                      double *exponents)
    double UNKNOWN
    int64_t STEPS_AHEAD, NEVER


cdef struct Exponents:
    bint uneven                  # otherwise all are 0, and the weights as they were
    int64_t until                # the step that needs new ones at the latest
    double *values               # by node
    double *fresh
    double *ahead                # weights by entry
    double *back
    double *kept                 # (chunks, stride), before each chunk
    uint8_t *kept_uneven
    int64_t *kept_until
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
    x.kept_until = <int64_t *> memory.room(n_chunks * sizeof(int64_t))
    x.most = chunk
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
    x.kept_until[c] = x.until


cdef inline void take_kept(Exponents *x, int64_t stride, int64_t c) noexcept nogil:
    if c > 0:
        memcpy(x.values, x.kept + c * stride, stride * sizeof(double))
        x.uneven = x.kept_uneven[c]
        x.until = x.kept_until[c]
    else:
        memset(x.values, 0, stride * sizeof(double))
        x.uneven = False
        x.until = NEVER


cdef inline bint spread_out(const Graph *g, const double *weights, const double *row,
                            double *sizes) noexcept nogil:
    """Raise the size of each node to what those of the nodes before it ask for; whether more nodes
    can be reached."""
    cdef int64_t e, ahead = 0
    cdef bint raised = True, more = False
    cdef Blocks b
    while raised:
        raised = False
        for e in range(g.epochs.n):
            b = blocks_of(&g.ahead, e)
            raised |= raise_blocks(&b, weights, row, ahead < STEPS_AHEAD, sizes)
        ahead += 1
        if ahead == STEPS_AHEAD:
            more = raised
    return more


cdef inline bint rebalance(Exponents *x, const Graph *g, const double *weights, int64_t t,
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
    x.until = t + STEPS_AHEAD if spread_out(g, weights, row, x.fresh) else NEVER
    for m in range(g.n_nodes):
        if x.fresh[m] > 0.5 * UNKNOWN:
            lowest = min(lowest, x.fresh[m])
    total[0] = 0.0
    for m in range(g.n_nodes):
        if x.fresh[m] < 0.5 * UNKNOWN:  # nothing leads to it until then
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
