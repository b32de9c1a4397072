"""The core of a graph with delay lines for 8 sequences at a time; places without gaps."""
from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport Graph
from ..shared.memory cimport Memory
from .lines cimport Core


cdef extern from "delay/lanes_sum_steps.h" nogil:
    ctypedef struct LaneCore:
        int64_t n_plain
        int64_t n_lines
        const int32_t *first
        const int32_t *sources
        const int32_t *out
        const int32_t *targets
        const int32_t *arriving
        const int32_t *into
        const int32_t *tail
        const int64_t *delay
        const int32_t *states
        const double *step
        const double *final


cdef struct Compact:
    int32_t *place               # of nodes; -1: inside a line
    double *base                 # weights by edge, by target,
    double *base_out             # and by source
    int32_t *number              # of the latter in the graph


cdef inline bint make_compact(const Graph *g, const Core *core, const double *weights,
                              Memory memory, LaneCore *c, Compact *compact) except -1:
    """False where lines end in heads, or where ends inside of one are not worth the same."""
    cdef int64_t P = 0, L = core.n_lines, heads = 8 * core.n_plain, E, m, k, l, n
    cdef int32_t *first
    cdef int32_t *states
    cdef int32_t *out
    cdef int32_t *targets
    cdef double *step
    cdef double *final
    while P < heads and core.nodes[P] >= 0:
        P += 1
    step, final = memory.table(L, 1), memory.table(L, 1)
    if not core.ends_alike:
        return False
    for l in range(L):
        step[l] = weights[core.through[l]]
        final[l] = g.final[core.inside[core.begin[l]]]
        if core.tail[l] >= heads or step[l] <= 0.0:
            return False
    E = core.first[core.n_places]
    first = <int32_t *> memory.room((P + L + 1) * sizeof(int32_t))
    states = <int32_t *> memory.room((P + L) * sizeof(int32_t))
    out = <int32_t *> memory.room((P + 2) * sizeof(int32_t))
    targets = <int32_t *> memory.room((E + 1) * sizeof(int32_t))
    compact.number = <int32_t *> memory.room((E + 1) * sizeof(int32_t))
    compact.place = <int32_t *> memory.room(g.n_nodes * sizeof(int32_t))
    compact.base, compact.base_out = memory.table(E, 1), memory.table(E, 1)
    for m in range(g.n_nodes):
        k = core.place[m]
        compact.place[m] = <int32_t> (k if k < heads else P + k - heads)
    for m in range(P + L + 1):
        k = m if m < P else m - P + heads
        first[m] = core.first[k]
        if m < P + L:
            states[m] = core.states[k]
    for m in range(P + 2):
        out[m] = 0
    for k in range(E):
        compact.base[k] = weights[core.edges[k]]
        out[core.sources[k] + 2] += 1
    for m in range(P):
        out[m + 2] += out[m + 1]
    for m in range(P + L):
        for k in range(first[m], first[m + 1]):
            n = out[core.sources[k] + 1]
            out[core.sources[k] + 1] += 1
            targets[n] = <int32_t> m
            compact.base_out[n] = compact.base[k]
            compact.number[n] = core.edges[k]
    c.n_plain, c.n_lines, c.first, c.sources = P, L, first, core.sources
    c.out, c.targets, c.states, c.step, c.final = out, targets, states, step, final
    c.arriving, c.into, c.tail, c.delay = core.arriving, core.into, core.tail, core.delay
    return True


cdef inline double least_kept(const LaneCore *c, const Compact *compact,
                              double smallest) noexcept nogil:
    """The least that a place keeps in a step if all lead to themselves; or the least weight."""
    cdef int64_t m, k
    cdef double least = 1.0, kept
    for m in range(c.n_plain):
        kept = 0.0
        for k in range(c.first[m], c.first[m + 1]):
            if c.sources[k] == m:
                kept = compact.base[k]
        least = min(least, kept)
    return least if least > 0.0 else smallest
