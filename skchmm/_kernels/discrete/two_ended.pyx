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
room for are left in *sections*: first both ends walk to the middle and keep a row per section, then
each section is swept from both of its ends, from the middle on.

What is accepted in the end can be e^-1000 of a row. So every node has an exponent, and an edge the
weight w 2^(exponent of its source - that of its target). Exponents change when a row has drifted
(`rebalance` in two_ended_steps.h), which is noted where rows are left. Sums must stay as large as
in forward_backward.pyx, which is checked once in a few steps only. A sequence where they do not, or
that has a lossy row, is left to that kernel.
"""
from libc.math cimport INFINITY, M_LN2, NAN, frexp, ldexp, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, longest_of
from ..shared.memory cimport Memory
from ..shared.scaling cimport log_lossy
from ..simd.instructions cimport instructions_in_use
from .small_graph cimport MOST, Places, find_places, find_reach, term_of


cdef extern from "discrete/two_ended_steps.h" nogil:
    const int *instructions

    ctypedef struct Shape:
        int64_t n_nodes
        int64_t width
        int64_t n_terms
        bint band

    ctypedef struct Change:
        int64_t at
        double exponents[16]

    ctypedef struct End:
        const double *weights
        double *scaled
        const double *reach
        int64_t jump
        const double *table
        int64_t stride
        const int32_t *rows
        double *left
        int64_t left_stride
        double *out
        int64_t out_stride
        int64_t n_out
        int64_t step
        int64_t at
        double row[16]
        double exponents[16]
        double theirs[16]
        double least[16]
        double floor
        double most
        double total
        Change *changes
        int64_t n_changes
        int64_t room
        double counts[256]

    enum:
        BATCH
        LOOK
    double UNKNOWN, FLOOR
    int WALK, LEAVE, FINISH, COUNT
    bint SOUND(double total)
    void weigh(const Shape *shape, End *end)
    void sweep_run(int64_t n, const Shape *shape, int mode, End *ahead, End *back)
    bint convert(int64_t n, int64_t n_states, const double *rows, double log_lossy, double *out,
                 double *tops)

instructions = instructions_in_use()

cdef enum:
    SECTION_BYTES = 1 << 18      # of the rows of a section

cdef double TINY = 1e-200       # as in forward_backward.pyx

cdef int32_t IN_TURN[BATCH]
cdef int32_t number
for number in range(BATCH):
    IN_TURN[number] = number


cdef struct Kept:
    # An end, before a section.
    double row[16]
    double exponents[16]


cdef struct Sweep:
    int64_t S
    Places places
    Shape shape
    int32_t *first               # of each state, the first place, or -1
    int64_t n_others             # places that are not the first of their state
    int32_t others[16]
    const double *log_table
    const int32_t *rows          # NULL: row t is step t
    double log_lossy
    const double *start          # by place
    const double *final
    const double *weights        # (width, width), by source and target
    double *table                # all of log_table converted, by place, or NULL: batch by batch
    double *tops
    double *gathered             # (BATCH, S)
    double *converted[2]         # (BATCH, S)
    double *emissions            # (2, BATCH, width)
    double *marginals            # (2, BATCH, width)
    double *gamma                # NULL: likelihoods alone
    double *left                 # rows of a section, or NULL: they are left in gamma
    int64_t left_first           # the step of the first of them
    int64_t section              # steps
    Kept *kept
    double joined[256]           # counts of transitions between sections, by place
    End ahead
    End back
    End idle


def handles(Layout layout):
    """Whether two_ended() is for this graph, and the processor has vectors."""
    cdef const Graph *g = &layout.graph
    return g.epochs.n == 1 and 0 < g.n_nodes <= MOST and instructions[0] > 0


# --------------------------------------------------------------------- steps
cdef bint place(Sweep *w, End *end, int64_t n, double *total) noexcept nogil:
    """Make the next n steps of an end ready, and add what their emissions were divided by.

    False if there is a lossy row among them.
    """
    cdef int64_t i, k, first, side = 0 if end.step > 0 else 1, width = w.places.width
    cdef double top = 0.0, second = 0.0
    cdef double tops[BATCH]
    cdef double *buffer = w.converted[side]
    cdef const double *log_rows
    if end.step == 0:
        return True
    if w.gamma != NULL:
        end.left, end.left_stride = w.gamma + end.at * w.S, w.S
        end.out, end.out_stride, end.n_out = end.left, w.S, w.S
        if w.left != NULL:
            end.left, end.left_stride = w.left + (end.at - w.left_first) * width, width
        if not w.places.in_order:
            end.out = w.marginals + (side * BATCH + (0 if end.step > 0 else n - 1)) * width
            end.out_stride = end.n_out = width
    if w.table != NULL:
        end.table, end.stride, end.rows = w.table, width, w.rows + end.at
        for i in range(0, n - 1, 2):
            top += w.tops[end.rows[i * end.step]]
            second += w.tops[end.rows[(i + 1) * end.step]]
        if n % 2:
            top += w.tops[end.rows[(n - 1) * end.step]]
        total[0] += top + second
        return True  # lossy rows are NaN
    first = end.at if end.step > 0 else end.at - (n - 1)
    end.table, end.stride, end.rows = buffer, w.S, IN_TURN + (0 if end.step > 0 else n - 1)
    log_rows = w.log_table + first * w.S
    if w.rows != NULL:
        log_rows = w.gathered
        for i in range(n):
            memcpy(w.gathered + i * w.S, w.log_table + w.rows[first + i] * w.S,
                   w.S * sizeof(double))
    if convert(n, w.S, log_rows, w.log_lossy, buffer, tops):
        memset(buffer, 0, BATCH * w.S * sizeof(double))
        return False
    if not w.places.in_order:
        end.table, end.stride = w.emissions + side * BATCH * width, width
        for i in range(n):
            for k in range(w.places.n):
                (<double *> end.table)[i * width + k] = buffer[i * w.S + w.places.state[k]]
    for i in range(n):
        top += tops[i]
    total[0] += top
    return True


cdef void add_up(const Sweep *w, const End *end, int64_t n) noexcept nogil:
    """The marginals of the last n steps of an end, by state."""
    cdef int64_t _step, k
    cdef const int32_t *first = w.first
    cdef double *gamma = w.gamma + end.at * w.S
    cdef const double *row = end.out
    if end.step == 0:
        return
    for _step in range(n):
        for k in range(w.S):
            gamma[k] = row[first[k]] if first[k] >= 0 else 0.0
        for k in range(w.n_others):
            gamma[w.places.state[w.others[k]]] += row[w.others[k]]
        gamma += end.step * w.S
        row += end.step * end.out_stride


cdef bint sound(const End *end) noexcept nogil:
    """Whether nothing can have been lost so far."""
    cdef int64_t k
    cdef double least = INFINITY
    for k in range(MOST):
        least = min(least, end.least[k])
    return end.step == 0 or least >= end.floor and SOUND(end.total) and end.most <= 1.0 / TINY


cdef int64_t within_change(End *end, End *other, int64_t n) noexcept nogil:
    """How many of the next n steps of an end have rows of the other with the same exponents."""
    cdef const Change *last
    if end.step == 0:
        return n
    while end.step * (end.at - other.changes[other.n_changes - 1].at) > 0:
        other.n_changes -= 1
    last = other.changes + other.n_changes - 1
    memcpy(end.theirs, last.exponents, sizeof(end.theirs))
    return min(n, end.step * (last.at - end.at) + 1)


cdef bint advance(Sweep *w, End *ahead, End *back, int64_t n, int mode,
                  double *total) noexcept nogil:
    """n steps of both; False if they cannot be relied on."""
    cdef int64_t m
    while n > 0:
        m = min(n, BATCH)
        if mode >= FINISH:
            m = within_change(ahead, &w.back, within_change(back, &w.ahead, m))
        if not (place(w, ahead, m, total) and place(w, back, m, total)):
            return False
        sweep_run(m, &w.shape, mode, ahead, back)
        if mode >= FINISH and not w.places.in_order:
            add_up(w, ahead, m)
            add_up(w, back, m)
        ahead.at += m * ahead.step
        back.at += m * back.step
        if not (sound(ahead) and sound(back)):
            return False
        n -= m
    return True


cdef bint advance_far(Sweep *w, Watch *watch, int64_t n, int mode, double *total) noexcept nogil:
    """The same, with a look now and then whether the call is to end."""
    cdef int64_t m
    while n > 0:
        m = min(n, 1024 * BATCH)
        if not advance(w, &w.ahead, &w.back, m, mode, total) or stopped(watch, m):
            return False
        n -= m
    return True


cdef void begin_leaving(End *end) noexcept nogil:
    """From here on changes are noted."""
    end.changes[0].at = end.at
    memcpy(end.changes[0].exponents, end.exponents, sizeof(end.exponents))
    end.n_changes = 1


cdef bint begin_at(Sweep *w, End *end, int64_t at, const double *sums,
                   double *total) noexcept nogil:
    """The first row of an end."""
    cdef int64_t k
    cdef const double *emission
    end.at, end.floor, end.most, end.total = at, FLOOR, 0.0, 0.0
    memset(end.exponents, 0, sizeof(end.exponents))
    memset(end.row, 0, sizeof(end.row))
    weigh(&w.shape, end)
    begin_leaving(end)
    if not place(w, end, 1, total):
        return False
    emission = end.table + end.rows[0] * end.stride
    for k in range(w.places.n):
        end.row[k] = sums[k] * emission[k]
        end.total += end.row[k]
        end.least[k] = sums[k] if sums[k] > 0.0 else INFINITY
        if w.gamma != NULL:
            end.left[k] = end.row[k]
    end.at += end.step
    return sound(end)


# ---------------------------------------------------------------------- ends
cdef double join(const Sweep *w, const double *ahead_row, const double *ahead_exponents,
                 const double *back_row, const double *back_exponents,
                 double *counts) noexcept nogil:
    """log Z, from rows of neighbouring steps; counts of that transition, by place."""
    cdef int64_t n, m, width = w.places.width
    cdef int power = 0
    cdef double top = UNKNOWN, total = 0.0, size
    cdef double terms[256]
    cdef double sizes[256]
    for n in range(width):
        for m in range(width):
            # the product of two alone may be no double
            terms[n * width + m] = frexp(ahead_row[n] * w.weights[n * width + m], &power)
            sizes[n * width + m] = power + ahead_exponents[n]
            terms[n * width + m] *= frexp(back_row[m], &power)
            sizes[n * width + m] += power + back_exponents[m]
            if terms[n * width + m] > 0.0:
                top = max(top, sizes[n * width + m])
    for n in range(width * width):
        size = max(sizes[n] - top, -1000.0)
        terms[n] = ldexp(terms[n], <int> size) if terms[n] > 0.0 else 0.0
        total += terms[n]
    if counts != NULL:
        for n in range(width * width):
            counts[n] += terms[n] / total
    return top * M_LN2 + log(total)


cdef bint one_step(Sweep *w, int64_t at, double *log_z) noexcept nogil:
    """A sequence of one step."""
    cdef int64_t k
    cdef double top = 0.0, mass = 0.0
    if not begin_at(w, &w.ahead, at, w.start, &top):
        return False
    for k in range(MOST):
        w.ahead.row[k] *= w.final[k]
        mass += w.ahead.row[k]
    if not mass >= TINY:
        return False
    if w.gamma != NULL:
        memset(w.gamma + at * w.S, 0, w.S * sizeof(double))
        for k in range(w.places.n):
            w.gamma[at * w.S + w.places.state[k]] += w.ahead.row[k] / mass
    log_z[0] = top + log(mass)
    return True


cdef bint begin_both(Sweep *w, int64_t origin, int64_t T, double *total) noexcept nogil:
    return (begin_at(w, &w.ahead, origin, w.start, total)
            and begin_at(w, &w.back, origin + T - 1, w.final, total))


cdef bint approach(Sweep *w, Watch *watch, int64_t n_ahead, int64_t n_back, int mode,
                   double *total) noexcept nogil:
    """So many steps of each; the numbers differ by a few at most."""
    cdef int64_t both = min(n_ahead, n_back), _step
    if not advance_far(w, watch, both, mode, total):
        return False
    for _step in range(n_ahead - both):
        if not advance(w, &w.ahead, &w.idle, 1, mode, total):
            return False
    for _step in range(n_back - both):
        if not advance(w, &w.idle, &w.back, 1, mode, total):
            return False
    return True


cdef bint finish(Sweep *w, Watch *watch, int64_t n, bint counting) noexcept nogil:
    """n steps, past each other, after they have met in the middle of them."""
    cdef int mode = COUNT if counting else FINISH
    cdef double ignored = 0.0
    cdef double counts[256]
    memcpy(counts, w.back.counts, sizeof(counts))
    if not advance(w, &w.ahead, &w.back, counting, mode, &ignored):
        return False
    memcpy(w.back.counts, counts, sizeof(counts))  # both have counted the step where they met
    return approach(w, watch, n - n // 2 - counting, n // 2 - counting, mode, &ignored)


cdef double log_meeting(const Sweep *w) noexcept nogil:
    return join(w, w.ahead.row, w.ahead.exponents, w.back.row, w.back.exponents, NULL)


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
        return T == 1 and one_step(w, origin, log_z)
    if w.gamma != NULL and w.left != NULL and T > w.section:
        return sweep_sections(w, watch, origin, T, counting, log_z)
    if not (begin_both(w, origin, T, &total)
            and approach(w, watch, T // 2 - 1, T - T // 2 - 1, mode, &total)):
        return False
    log_z[0] = total + log_meeting(w)
    if not log_z[0] > -INFINITY:
        return False
    return w.gamma == NULL or finish(w, watch, T, counting)


# ------------------------------------------------------------------ sections
cdef void keep(const End *end, Kept *kept) noexcept nogil:
    memcpy(kept.row, end.row, sizeof(kept.row))
    memcpy(kept.exponents, end.exponents, sizeof(kept.exponents))


cdef void go_back_to(const Sweep *w, const Kept *kept, int64_t at, End *end) noexcept nogil:
    """An end as it was before a step."""
    end.at = at
    memcpy(end.row, kept.row, sizeof(kept.row))
    memcpy(end.exponents, kept.exponents, sizeof(kept.exponents))
    weigh(&w.shape, end)


cdef inline int64_t border(const Sweep *w, int64_t half, int64_t j) noexcept nogil:
    """Steps from the beginning, or the end, to section j of a half."""
    return j * half // (half // w.section + 1)


cdef bint walk_to_middle(Sweep *w, Watch *watch, int64_t origin, int64_t T, double *total,
                         Kept *middle) noexcept nogil:
    """Keep the ends before each section, and where they meet."""
    cdef int64_t half = T // 2, n = half // w.section + 1, j, done = 1
    if not begin_both(w, origin, T, total):
        return False
    for j in range(1, n):
        if not approach(w, watch, border(w, half, j) - done, border(w, half, j) - done, WALK,
                        total):
            return False
        done = border(w, half, j)
        keep(&w.ahead, w.kept + 2 * j)
        keep(&w.back, w.kept + 2 * j + 1)
    if not approach(w, watch, half - done, T - half - done, WALK, total):
        return False
    keep(&w.ahead, middle)
    return True


cdef bint sweep_section(Sweep *w, Watch *watch, int64_t n, bint ahead_begun, bint back_begun,
                        bint counting) noexcept nogil:
    """n steps whose ends are ready; those that have begun have left their first row."""
    cdef double ignored = 0.0
    if not ahead_begun:
        begin_leaving(&w.ahead)
    if not back_begun:
        begin_leaving(&w.back)
    return (approach(w, watch, n // 2 - ahead_begun, n - n // 2 - back_begun, LEAVE, &ignored)
            and finish(w, watch, n, counting))


cdef bint sweep_sections(Sweep *w, Watch *watch, int64_t origin, int64_t T, bint counting,
                         double *log_z) noexcept nogil:
    cdef int64_t half = T // 2, n = half // w.section + 1, j, first, size
    cdef double total = 0.0, ignored = 0.0
    cdef double *gamma = w.gamma
    cdef Kept middle, beside
    w.gamma = NULL  # no row is left on the way to the middle
    if not walk_to_middle(w, watch, origin, T, &total, &middle):
        w.gamma = gamma
        return False
    w.gamma = gamma
    log_z[0] = total + log_meeting(w)
    if not log_z[0] > -INFINITY:
        return False
    for j in range(n - 1, -1, -1):  # from the middle to the beginning
        first, size = origin + border(w, half, j), border(w, half, j + 1) - border(w, half, j)
        w.left_first = first
        keep(&w.back, &beside)
        if j > 0:
            go_back_to(w, w.kept + 2 * j, first, &w.ahead)
        elif not begin_at(w, &w.ahead, first, w.start, &ignored):
            return False
        if not sweep_section(w, watch, size, j == 0, False, counting):
            return False
        if counting:
            join(w, w.ahead.row, w.ahead.exponents, beside.row, beside.exponents, w.joined)
    go_back_to(w, &middle, origin + half, &w.ahead)
    for j in range(n - 1, -1, -1):  # from the middle to the end
        size = (border(w, half, j + 1) if j + 1 < n else T - half) - border(w, half, j)
        first = origin + T - border(w, half, j) - size
        w.left_first = first
        keep(&w.ahead, &beside)
        if j > 0:
            go_back_to(w, w.kept + 2 * j + 1, first + size - 1, &w.back)
        elif not begin_at(w, &w.back, first + size - 1, w.final, &ignored):
            return False
        if not sweep_section(w, watch, size, False, j == 0, counting):
            return False
        if counting and j + 1 < n:
            join(w, beside.row, beside.exponents, w.back.row, w.back.exponents, w.joined)
    return True


# ---------------------------------------------------------------------- call
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
                  Sweep *w) except *:
    """Weights, starts and ends by place; whether no row can overflow."""
    cdef int64_t width, m, k, i, source, target
    cdef bint bounded = True
    cdef double *dense
    cdef double *terms
    cdef double *ends
    find_places(g, &w.places)
    width = w.places.width
    w.shape.n_nodes, w.shape.width, w.shape.band = g.n_nodes, width, w.places.band
    w.shape.n_terms = g.n_nodes if not w.places.band else 2 if w.places.source < 0 else 3
    dense = memory.rows(2 * width, width)  # and transposed
    terms = memory.rows(4 * MOST, width)  # of both ends, as they are and scaled
    ends = memory.rows(2, MOST)
    w.weights, w.start, w.final = dense, ends, ends + MOST
    w.ahead.weights, w.ahead.scaled = terms, terms + MOST * width
    w.back.weights, w.back.scaled = terms + 2 * MOST * width, terms + 3 * MOST * width
    w.ahead.jump, w.back.jump = max(w.places.source, 0), max(w.places.target, 0)
    for m in range(g.n_nodes):
        target = w.places.place[m]
        ends[MOST + target] = g.final[m]
        for k in range(g.indptr[m], g.indptr[m + 1]):
            source = w.places.place[g.sources[k]]
            bounded = bounded and edge_weights[k] <= 2.0
            dense[source * width + target] = edge_weights[k]
            dense[(width + target) * width + source] = edge_weights[k]
            terms[term_of(&w.places, source, target, 1) * width + target] = edge_weights[k]
            terms[(2 * MOST + term_of(&w.places, target, source, -1)) * width
                  + source] = edge_weights[k]
    for i in range(g.n_states):
        if g.start_nodes[i] >= 0:
            ends[w.places.place[g.start_nodes[i]]] = start[i]
    w.first = <int32_t *> memory.room(g.n_states * sizeof(int32_t))
    for i in range(g.n_states):
        w.first[i] = -1
    for k in range(g.n_nodes):
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
    cdef Memory memory = Memory()
    memset(&w, 0, sizeof(Sweep))
    w.S = S
    w.log_table = &log_table[0, 0]
    w.rows = NULL if rows is None else &rows[0]
    w.log_lossy = log_lossy(smallest)
    w.gamma = NULL if gamma is None else &gamma[0, 0]
    bounded = lay_out(g, memory, &edge_weights[0] if edge_weights.shape[0] else NULL, &start[0], &w)
    width = w.places.width
    w.gathered = memory.rows(BATCH, S)
    w.converted[0] = memory.rows(BATCH, S)  # beside a row there are only numbers
    w.converted[1] = memory.rows(BATCH, S)
    w.emissions = memory.rows(4 * BATCH, width)
    w.marginals = w.emissions + 2 * BATCH * width
    w.ahead.step, w.back.step = 1, -1
    w.idle.weights = w.idle.table = w.idle.scaled = memory.rows(MOST, MOST)
    w.idle.rows, w.idle.out, w.idle.left, w.idle.n_out = IN_TURN, w.idle.row, w.idle.row, MOST
    for k in range(MOST):
        w.ahead.least[k] = w.back.least[k] = INFINITY
    longest = longest_of(offsets, chosen)
    w.ahead.room = w.back.room = longest // LOOK + longest // BATCH + 64
    w.ahead.changes = <Change *> memory.room(w.ahead.room * sizeof(Change))
    w.back.changes = <Change *> memory.room(w.back.room * sizeof(Change))
    if gamma is not None and g.n_nodes > S:
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
            for k in range(g.n_nodes):
                row[k] = w.gathered[w.places.state[k]]
    with nogil:
        for c in range(chosen.shape[0]):
            s = chosen[c]
            left[s] = not (bounded and sweep(&w, &watch, offsets[s], offsets[s + 1] - offsets[s],
                                             counting, &log_z[s]))
            if counting and not left[s]:
                add_counts(g, &w, 1.0 if seq_weights is None else seq_weights[s], counts)
            if stopped(&watch, 1):
                break
        check()
