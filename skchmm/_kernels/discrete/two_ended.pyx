"""Forward-backward from both ends at once, for graphs of up to 16 nodes.

With a few nodes a step waits for the one before it most of the time. The two recursions of
forward_backward.pyx do not wait for each other, and are the same one with reversed edges if the
second one carries its emission, v_t = b(y_t) beta_t:

    alpha_t = b(y_t) (alpha_{t-1} W),   v_t = b(y_t) (W v_{t+1}),   Z = (alpha_{t-1} W) v_t

So they run side by side, towards each other and past each other. Until they meet, they leave their
rows, in the output if nodes are states; from there on each finds the rows of the other, and turns
them into posteriors:

    gamma_t = (alpha_{t-1} W) v_t / Z = alpha_t (W v_{t+1}) / Z
    xi_t(n -> m) = alpha_{t-1}(n) w v_t(m) / Z

O(edges of a dense graph) per step, less for a band (small_graph.pxd). Rows that the output has no
room for are left in *sections* (sections.pxd). Of a line (short_lines.pxd) each end leaves its last
node alone, which is the first one of the other: what enters it there stays for as many steps as it
has nodes.

What is accepted in the end can be e^-1000 of a row. So every node has an exponent, and an edge the
weight w 2^(exponent of its source - that of its target). Exponents change when a row has drifted
(`rebalance` in two_ended_steps.h), which is noted where rows are left. Sums must stay as large as
in forward_backward.pyx, which is checked once in a few steps only. A sequence where they do not, or
that has a lossy row, is left to that kernel.
"""
from libc.math cimport INFINITY, NAN, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..shared.faint cimport faint_back, faint_off
from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, longest_of
from ..shared.memory cimport Memory
from ..shared.scaling cimport log_lossy
from ..simd.instructions cimport instructions_in_use
from .ends cimport (
    BATCH, BELOW, FLOOR, LEAVE, LOOK, UNKNOWN, WALK, Change, Kept, Sweep, begin_at, convert,
)
from .meeting cimport approach, begin_both, finish, log_meeting
from .places cimport MOST
from .sections cimport sweep_sections
from .small_graph cimport find_places, find_reach, term_of


cdef extern from "discrete/two_ended_steps.h" nogil:
    const int *instructions

instructions = instructions_in_use()

cdef enum:
    SECTION_BYTES = 1 << 18      # of the rows of a section


def handles(Layout layout):
    """Whether two_ended() is for this graph, and the processor has vectors."""
    cdef const Graph *g = &layout.graph
    return g.epochs.n == 1 and 0 < g.n_nodes <= MOST and instructions[0] > 0


cdef bint one_step(Sweep *w, int64_t at, double *log_z) noexcept nogil:
    """A sequence of one step."""
    cdef int64_t k
    cdef double top = 0.0, mass = 0.0
    if not begin_at(w, &w.ahead, at, w.start, &top):
        return False
    for k in range(MOST):
        w.ahead.row[k] *= w.final[k]
        mass += w.ahead.row[k]
    if not mass >= FLOOR:
        return False
    if w.gamma != NULL:
        memset(w.gamma + at * w.S, 0, w.S * sizeof(double))
        for k in range(w.places.n):
            w.gamma[at * w.S + w.places.state[k]] += w.ahead.row[k] / mass
    log_z[0] = top + log(mass)
    return True


cdef bint sweep(Sweep *w, Watch *watch, int64_t origin, int64_t T, bint counting,
                double *log_z) noexcept nogil:
    """One sequence; False if it is left to the general kernel."""
    cdef int mode = LEAVE if w.gamma != NULL else WALK
    cdef double total = 0.0
    memset(w.ahead.counts, 0, sizeof(w.ahead.counts))
    memset(w.back.counts, 0, sizeof(w.back.counts))
    memset(w.joined, 0, sizeof(w.joined))
    w.left_first = origin
    if T < 2:
        return T == 1 and w.shape.depth == 1 and one_step(w, origin, log_z)
    if w.gamma != NULL and w.left != NULL and T > w.section:
        return sweep_sections(w, watch, origin, T, counting, log_z)
    if not (begin_both(w, origin, T, &total)
            and approach(w, watch, T // 2 - 1, T - T // 2 - 1, mode, &total)):
        return False
    log_z[0] = total + log_meeting(w)
    if not log_z[0] > -INFINITY:
        return False
    return w.gamma == NULL or finish(w, watch, T, counting)


cdef void add_counts(const Graph *g, const Sweep *w, double weight,
                     double[::1] counts) noexcept nogil:
    cdef int64_t n, m, k, source, target, width = w.places.width
    for m in range(g.n_nodes):
        for k in range(g.indptr[m], g.indptr[m + 1]):
            n = g.sources[k]
            source, target = w.places.place[n], w.places.place[m]
            counts[k] += weight * (
                w.ahead.counts[term_of(&w.places, source, target, 1) * width + target]
                + w.back.counts[term_of(&w.places, target, source, -1) * width + source]
                + w.joined[source * width + target])


cdef bint lay_out(const Graph *g, Memory memory, const double *edge_weights, const double *start,
                  bint lined, Sweep *w) except *:
    """Weights, starts and ends by place; whether no row can overflow."""
    cdef int64_t width, m, k, i, source, target, row
    cdef bint bounded = True
    cdef double weight
    cdef double within[MOST]     # of each place, the product of the weights within its line
    cdef double *dense
    cdef double *terms
    cdef double *ends
    cdef double *lines
    find_places(g, lined, &w.places)
    width = w.places.width
    w.shape.n_places, w.shape.width, w.shape.band = w.places.n, width, w.places.band
    w.shape.n_terms = w.places.n if not w.places.band else 2 if w.places.source < 0 else 3
    w.shape.depth = w.places.depth
    lines = memory.rows(2, BELOW)
    w.shape.inside, w.shape.last = lines, lines + BELOW
    w.ahead.from_, w.back.from_, w.idle.from_ = w.places.before, w.places.after, w.places.after
    for k in range(w.places.n):
        for row in range(1, w.places.length[k]):
            memset(lines + 8 * (row - 1) + k, 0xFF, sizeof(double))
        if w.places.length[k] > 1:
            memset(lines + BELOW + 8 * (w.places.length[k] - 2) + k, 0xFF, sizeof(double))
    dense = memory.rows(2 * width, width)  # and transposed
    terms = memory.rows(4 * MOST, width)  # of both ends, as they are and scaled
    ends = memory.rows(2, MOST)
    w.weights, w.start, w.final = dense, ends, ends + MOST
    w.ahead.weights, w.ahead.scaled = terms, terms + MOST * width
    w.back.weights, w.back.scaled = terms + 2 * MOST * width, terms + 3 * MOST * width
    w.ahead.jump, w.back.jump = max(w.places.source, 0), max(w.places.target, 0)
    for k in range(w.places.n):
        within[k] = 1.0
    for m in range(g.n_nodes):
        target = w.places.place[m]
        if w.places.row[m] == w.places.length[target] - 1:
            ends[MOST + target] = g.final[m]
        for k in range(g.indptr[m], g.indptr[m + 1]):
            bounded = bounded and edge_weights[k] <= 2.0
            if w.places.row[m] > 0:
                within[target] *= edge_weights[k]
    for m in range(g.n_nodes):
        if w.places.row[m] > 0:
            continue
        target = w.places.place[m]
        for k in range(g.indptr[m], g.indptr[m + 1]):
            source, weight = w.places.place[g.sources[k]], edge_weights[k] * within[target]
            dense[source * width + target] = weight
            dense[(width + target) * width + source] = weight
            terms[term_of(&w.places, source, target, 1) * width + target] = weight
            terms[(2 * MOST + term_of(&w.places, target, source, -1)) * width + source] = weight
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0:
            target = w.places.place[g.start_nodes[i]]
            ends[target] = start[i] * within[target]
    w.first = <int32_t *> memory.room(g.n_states * sizeof(int32_t))
    for i in range(g.n_states):
        w.first[i] = -1
    for k in range(w.places.n):
        if w.first[w.places.state[k]] < 0:
            w.first[w.places.state[k]] = <int32_t> k
        else:
            w.others[w.n_others] = <int32_t> k
            w.n_others += 1
    w.ahead.reach = memory.rows(width, width)
    w.back.reach = memory.rows(width, width)
    find_reach(&w.places, dense, UNKNOWN, <double *> w.ahead.reach)
    find_reach(&w.places, dense + width * width, UNKNOWN, <double *> w.back.reach)
    return bounded


def two_ended(Layout layout,                     # IN, one that handles() says yes to
              const double[::1] edge_weights,    # IN, one an edge
              double smallest,                   # IN, of the positive ones
              const double[::1] start,           # IN
              const double[:, ::1] log_table,    # IN
              const int32_t[::1] rows,           # IN or None: row t of log_table is step t
              const int64_t[::1] offsets,        # IN
              const double[::1] seq_weights,     # IN or None, for the counts
              const int64_t[::1] chosen,         # IN, the sequences
              double[::1] log_z,                 # OUT
              uint8_t[::1] left,                 # OUT, 1: nothing said, for the general kernel
              double[:, ::1] gamma=None,         # OUT or None
              double[::1] counts=None):          # INOUT or None, by edge
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef const Graph *g = &layout.graph
    cdef Sweep w
    cdef int64_t R = log_table.shape[0], S = g.n_states, n_steps = 0, c, s, n, k, width, longest
    cdef bint counting = counts is not None, bounded
    cdef double *row
    cdef Watch watch = new_watch(MOST)
    cdef unsigned faint
    cdef Memory memory = Memory()
    memset(&w, 0, sizeof(Sweep))
    w.S = S
    w.log_table = &log_table[0, 0]
    w.rows = NULL if rows is None else &rows[0]
    w.log_lossy = log_lossy(smallest)
    w.gamma = NULL if gamma is None else &gamma[0, 0]
    bounded = lay_out(g, memory, &edge_weights[0] if edge_weights.shape[0] else NULL, &start[0],
                      gamma is not None and not counting, &w)
    width = w.places.width
    w.gathered = memory.rows(BATCH, S)
    w.converted[0] = memory.rows(BATCH, S)  # beside a row there are only numbers
    w.converted[1] = memory.rows(BATCH, S)
    w.emissions = memory.rows(4 * BATCH, width)
    w.marginals = w.emissions + 2 * BATCH * width
    w.ahead.step, w.back.step = 1, -1
    w.idle.weights = w.idle.table = w.idle.scaled = memory.rows(MOST, MOST)
    for k in range(BATCH):
        w.in_turn[k] = <int32_t> k
    w.idle.rows, w.idle.out, w.idle.left, w.idle.n_out = w.in_turn, w.idle.row, w.idle.row, MOST
    for k in range(MOST):
        w.ahead.least[k] = w.back.least[k] = INFINITY
    longest = longest_of(offsets, chosen)
    w.ahead.room = w.back.room = longest // LOOK + longest // BATCH + 64
    w.ahead.changes = <Change *> memory.room(w.ahead.room * sizeof(Change))
    w.back.changes = <Change *> memory.room(w.back.room * sizeof(Change))
    if gamma is not None and w.places.n > S:
        w.section = SECTION_BYTES // (8 * width)
        w.left = memory.rows(min(longest, 2 * w.section), width)
        w.kept = <Kept *> memory.room(2 * (longest // w.section + 2) * sizeof(Kept))
    for c in range(chosen.shape[0]):
        n_steps += offsets[chosen[c] + 1] - offsets[chosen[c]]
    if rows is not None and 4 * R <= n_steps:
        w.table = memory.rows(R, width)
        w.tops = memory.rows(R, 1)
        for n in range(R):
            row = w.table + n * width
            if convert(1, S, &log_table[n, 0], w.log_lossy, w.gathered, w.tops + n):
                for k in range(S):
                    w.gathered[k] = NAN
            for k in range(w.places.n):
                row[k] = w.gathered[w.places.state[k]]
    with nogil:
        faint = faint_off()
        for c in range(chosen.shape[0]):
            s = chosen[c]
            left[s] = not (bounded and sweep(&w, &watch, offsets[s], offsets[s + 1] - offsets[s],
                                             counting, &log_z[s]))
            if counting and not left[s]:
                add_counts(g, &w, 1.0 if seq_weights is None else seq_weights[s], counts)
            if stopped(&watch, 1):
                break
        faint_back(faint)
        check()
