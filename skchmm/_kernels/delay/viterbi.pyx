"""The best path through a graph with delay lines, whose cost does not depend on their delays.

    value_t(m) = max(max_{n -> m} (value_{t-1}(n) + log_w(n -> m)),
                     max_{lines into m} come_t(line)) + log_b(y_t, state(m))
    come_t(l)  = value_{t-d}(head) + d log_w + log_b(y_{t-d+1}) + ... + log_b(y_{t-1})

with d the delay of a line, and all scores of its one state. The sums come from prefix sums, so a
ring of the last d values of its head is all that a line needs. Scores are whole numbers: grid.pxd.

On the way ahead it is noted for every tail whether an edge or a line was better; if both are as
good, both are followed back (see shared/ties.pxd for which path is taken). O(edges + lines) a step.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Graph, Layout, frame, longest_sequence
from ..shared.memory cimport Memory
from ..simd.instructions cimport instructions_in_use
from .grid cimport Grid, Span, choose_grid, span_of, whole
from .lines cimport Core, Lines
from .trace cimport Notes, Trail, end_in, open_trail, trace


cdef extern from "delay/max_steps.h" nogil:
    const int *instructions

    ctypedef struct Delay:
        const Core *core
        const double *weights
        const double *step
        const double *passage
        bint impossible
        double *ring
        int64_t mask
        double *sums
        double *last
        double *arrived
        double *arrive
    void delay_round(int64_t n_rows, int64_t n, const double *rows, double level, double scale,
                     int64_t stride, double *out)
    void delay_run(Delay *, int64_t t, int64_t n, const double *table, const int32_t *rows,
                   int64_t stride, double *values, uint8_t *notes)
    double delay_shift(Delay *, int64_t begin, int64_t end, double top)
    int64_t delay_end(const Delay *, int64_t i, int64_t k, int64_t n, int64_t t, double top,
                      double *values)

instructions = instructions_in_use()

cdef enum:
    BATCH = 64                   # steps whose log-likelihoods are rounded at once

cdef int64_t KEPT = 1 << 26      # bytes of values; where there are more, chunks are filled again
cdef int64_t REBASE = 256        # steps after which values are shifted to 0, at least
cdef double FAR = 2251799813685248.0  # 2^51: values that are further apart would not be exact


cdef struct Model:
    const Graph *g
    const Core *core
    const double *log_weights    # by edge of the graph
    const double *log_start
    const double *table
    const int32_t *rows          # NULL: row t is step t
    int64_t n_rows               # of the table, if they are few; 0: they are rounded batch by batch
    double largest               # of the finite scores but the log-likelihoods; without its sign
    Grid grid
    int64_t stride               # of rounded rows
    double *rounded              # rows of the table, or of a batch
    double *entries              # weights by entry of the blocks
    const double *log_entries
    double *step
    double *passage
    Delay delay
    double *values               # (chunk + 1, width): the row before a chunk, then its rows
    uint8_t *notes               # (chunk, n_notes)
    int64_t n_notes
    int64_t width
    int64_t chunk
    int64_t ring                 # rows of the ring
    int64_t state                # numbers that a recursion needs to go on from a step
    double *kept                 # (chunks, state)
    int64_t rebase
    Watch *watch


cdef void round_weights(Model *p) noexcept nogil:
    """Everything but the log-likelihoods, as the grid says."""
    cdef int64_t k, n = 8 * p.core.blocks.start[p.core.blocks.n_blocks]
    cdef double scale = p.grid.scale
    for k in range(n):
        p.entries[k] = whole(scale * p.log_entries[k])
    for k in range(p.core.n_lines):
        p.step[k] = whole(scale * p.log_weights[p.core.through[k]])
        p.passage[k] = p.core.delay[k] * p.step[k]


cdef inline void round_rows(const Model *p, int64_t first, int64_t n,
                            double *out) noexcept nogil:
    """The log-likelihoods of rows of the table."""
    cdef int64_t m, by_place = 0 if p.core.by_state else p.core.n_places
    cdef double *end = out + n * p.stride
    delay_round(n, p.g.n_states, p.table + first * p.g.n_states, p.grid.level, p.grid.scale,
                p.stride, out + by_place)
    while by_place and out < end:
        for m in range(by_place):
            out[m] = out[by_place + p.core.states[m]]
        out += p.stride


cdef inline const double *rounded_at(const Model *p, int64_t step) noexcept nogil:
    if p.n_rows:
        return p.rounded + p.rows[step] * p.stride
    round_rows(p, frame(p.rows, step), 1, p.rounded)
    return p.rounded


cdef void first_row(Model *p, int64_t origin) noexcept nogil:
    """The values of step 0 become the row before the first chunk."""
    cdef const Core *c = p.core
    cdef const double *emit = rounded_at(p, origin)
    cdef int64_t i, k, m, L = 8 * c.n_heads
    cdef double value
    for m in range(p.width):
        p.values[m] = -INFINITY
    for k in range(L):
        p.delay.ring[k], p.delay.sums[k], p.delay.last[k] = -INFINITY, 0.0, -1.0
    for i in range(p.g.n_states):
        if p.g.start_nodes[i] < 0:
            continue
        m = c.place[p.g.start_nodes[i]]
        value = whole(p.grid.scale * p.log_start[i]) + emit[c.emit[m // 8] + m % 8]
        if m < p.width:
            p.values[m] = value
        else:
            p.delay.ring[m - p.width] = value + p.passage[m - p.width]


cdef bint shift(Model *p, int64_t t, double *row) noexcept nogil:
    """Before step t, bring values to about 0; whether all are near enough to be exact."""
    cdef int64_t L = 8 * p.core.n_heads, k, m
    cdef const double *ring = p.delay.ring + ((t - 1) & p.delay.mask) * L
    cdef double top = -INFINITY, low = 0.0
    for m in range(p.width):
        top = max(top, row[m])
    for k in range(p.core.n_lines):
        top = max(top, ring[k] + p.delay.sums[k] - p.passage[k])
    if top == -INFINITY:
        top = 0.0
    for m in range(p.width):
        row[m] -= top
        low = min(low, row[m] if row[m] > -INFINITY else 0.0)
    return low > -FAR and delay_shift(&p.delay, max(0, t - p.core.longest), t, top) > -FAR


cdef bint fill(Model *p, int64_t origin, int64_t begin, int64_t end) noexcept nogil:
    """Steps begin..end-1, where `begin` > 0, from the row before them; False: look elsewhere."""
    cdef int64_t t = begin, n, i
    cdef double *row
    while t < end:
        row = p.values + (t - begin) * p.width
        if t % p.rebase == 0 and not shift(p, t, row):
            return False
        n = min(end, (t // p.rebase + 1) * p.rebase) - t
        if p.n_rows:
            delay_run(&p.delay, t, n, p.rounded, p.rows + origin + t, p.stride, row,
                      p.notes + (t - begin) * p.n_notes)
        else:
            n = min(n, BATCH)
            if p.rows == NULL:
                round_rows(p, origin + t, n, p.rounded)
            else:
                for i in range(n):
                    round_rows(p, p.rows[origin + t + i], 1, p.rounded + i * p.stride)
            delay_run(&p.delay, t, n, p.rounded, NULL, p.stride, row,
                      p.notes + (t - begin) * p.n_notes)
        t += n
        if stopped(p.watch, n):
            return False
    return True


cdef void keep(const Model *p, double *out) noexcept nogil:
    """What the recursion needs to go on; the row before a chunk lies in `values`."""
    cdef int64_t L = 8 * p.core.n_heads
    memcpy(out, p.values, p.width * sizeof(double))
    memcpy(out + p.width, p.delay.sums, L * sizeof(double))
    memcpy(out + p.width + L, p.delay.last, L * sizeof(double))
    memcpy(out + p.width + 2 * L, p.delay.ring, p.ring * L * sizeof(double))


cdef void restore(const Model *p, const double *kept) noexcept nogil:
    cdef int64_t L = 8 * p.core.n_heads
    memcpy(p.values, kept, p.width * sizeof(double))
    memcpy(p.delay.sums, kept + p.width, L * sizeof(double))
    memcpy(p.delay.last, kept + p.width + L, L * sizeof(double))
    memcpy(p.delay.ring, kept + p.width + 2 * L, p.ring * L * sizeof(double))


cdef double best_end(const Model *p, int64_t T, const double *row, Trail *trail) noexcept nogil:
    """Where the best paths end: all of the first state among them; what the end itself scores.

    Minus infinity where there is none.
    """
    cdef const Core *c = p.core
    cdef int64_t m, l, k, i
    cdef double scale = p.grid.scale, value, final, found = -INFINITY
    cdef double values[8]
    trail.top = -INFINITY
    for m in range(p.width):
        if c.nodes[m] >= 0:
            final = p.g.log_final[c.nodes[m]]
            value = row[m] + whole(scale * final)
            if end_in(trail, value, c.states[m], <int32_t> m, -1):
                found = final
    for i in range(c.n_heads):
        k = 0
        while True:
            k = delay_end(&p.delay, i, k, min(c.longest, T), T - 1, trail.top, values)
            if k == min(c.longest, T):
                break
            for l in range(8 * i, min(8 * i + 8, c.n_lines)):
                if k < c.delay[l] and T - 1 - k >= p.delay.last[l]:
                    final = p.g.log_final[c.inside[c.begin[l] + k]]
                    value = values[l - 8 * i] + whole(scale * final)
                    if end_in(trail, value, c.states[p.width + l], <int32_t> l, <int32_t> k):
                        found = final
            k += 1
    return found


cdef bint decode(Model *p, int64_t origin, int64_t T, Trail *trail, const int64_t *labels,
                 const double *log_transmat, int64_t *path, double *log_prob) noexcept nogil:
    """One sequence; False: it is left to another kernel."""
    cdef int64_t c, t, begin, end, n = max(T - 1 + p.chunk - 1, 0) // p.chunk, S = p.g.n_states
    cdef int64_t i, j
    cdef double value, final
    cdef Notes notes
    cdef const double *row
    first_row(p, origin)
    for c in range(n):
        begin, end = 1 + c * p.chunk, min(T, 1 + (c + 1) * p.chunk)
        if c > 0:
            memcpy(p.values, p.values + p.chunk * p.width, p.width * sizeof(double))
        if n > 1:
            keep(p, p.kept + c * p.state)
        if not fill(p, origin, begin, end):
            return False
    row = p.values if T == 1 else p.values + (T - 1 - (n - 1) * p.chunk) * p.width
    trail.n = 0
    final = best_end(p, T, row, trail)
    log_prob[0] = -INFINITY
    if trail.n == 0:
        return True
    trail.t = T - 1
    trail.path = path
    path[T - 1] = trail.state
    for c in range(n - 1, -1, -1):
        begin, end = 1 + c * p.chunk, min(T, 1 + (c + 1) * p.chunk)
        if trail.t < begin:
            continue
        if c < n - 1:
            restore(p, p.kept + c * p.state)
            if not fill(p, origin, begin, end):
                return False
        notes.begin, notes.values, notes.width = begin, p.values, p.width
        notes.notes, notes.n_notes, notes.lane = p.notes, p.n_notes, -1
        trace(p.core, p.grid.scale, p.log_weights, &notes, trail)
    # Added up as the other kernels do it, so that the score is the same.
    i = path[0]
    value = p.log_start[i] + p.table[frame(p.rows, origin) * S + i]
    path[0] = labels[i]
    for t in range(1, T):
        j = path[t]
        value = (value + log_transmat[i * S + j]) + p.table[frame(p.rows, origin + t) * S + j]
        path[t] = labels[j]
        i = j
    log_prob[0] = value + final
    return True


cdef Span span_of_rows(const Model *p, int64_t origin, int64_t n) noexcept nogil:
    cdef int64_t t, S = p.g.n_states
    cdef Span span = span_of(p.table, 0), row
    for t in range(n):
        row = span_of(p.table + p.rows[origin + t] * S, S)
        span.top, span.low = max(span.top, row.top), min(span.low, row.low)
        span.total += row.total
        span.n += row.n
    span.impossible = span.n < n * S
    return span


cdef bint prepare(Model *p, const int64_t[::1] offsets, int64_t s) noexcept nogil:
    """Round what sequence s needs; for tables of few rows, all sequences (-1) at once."""
    cdef int64_t S = p.g.n_states, longest, origin = 0, n = p.n_rows
    cdef double before = p.grid.scale
    cdef Span span
    if s < 0:
        longest = longest_sequence(offsets, 0, offsets.shape[0] - 1)
    else:
        origin, longest = offsets[s], offsets[s + 1] - offsets[s]
        n = longest
    p.rebase = max(REBASE, 2 * min(p.core.longest, longest))
    if s >= 0 and p.rows != NULL:
        span = span_of_rows(p, origin, n)
    else:
        span = span_of(p.table + origin * S, n * S)
    if not choose_grid(&span, s >= 0, p.largest, p.rebase + 2 * min(p.core.longest, longest) + 8,
                       &p.grid):
        return False
    p.delay.impossible = p.grid.impossible
    if p.grid.scale != before:
        round_weights(p)
    round_rows(p, 0, p.n_rows, p.rounded)
    return True


def delayed_viterbi(Layout layout,                     # IN
                    Lines lines,                       # IN
                    const double[::1] log_weights,     # IN, one an edge
                    const double[::1] log_entries,     # IN, the same by entry of the core's blocks
                    const double[::1] log_start,       # IN
                    const double[:, ::1] log_transmat,  # IN
                    double largest,                    # IN, of what is finite in these, and of ends
                    const double[:, ::1] log_table,    # IN
                    const int32_t[::1] rows,           # IN or None: row t of log_table is step t
                    const int64_t[::1] offsets,        # IN
                    const int64_t[::1] labels,         # IN, what to write for each state
                    int64_t[::1] path,                 # OUT, labels
                    double[::1] log_prob,              # OUT, -inf where no path is feasible
                    uint8_t[::1] left):                # OUT, 1: scores are too far apart for it
    """Decode sequences; what stands in `path` for infeasible ones means nothing."""
    cdef Model p
    cdef Trail trail
    cdef const Core *core = &lines.core
    cdef int64_t s, n = log_prob.shape[0], longest = longest_sequence(offsets, 0, n), L
    cdef Watch watch = new_watch(8 * core.blocks.start[core.blocks.n_blocks] + core.n_places)
    cdef Memory memory = Memory()
    cdef bint few = rows is not None and 4 * log_table.shape[0] <= offsets[n], fine
    p.grid.scale = 0.0
    p.g, p.core, p.watch = &layout.graph, core, &watch
    p.log_weights, p.log_start = &log_weights[0], &log_start[0]
    p.log_entries = &log_entries[0] if log_entries.shape[0] else NULL
    p.table, p.rows = &log_table[0, 0], NULL if rows is None else &rows[0]
    p.n_rows = log_table.shape[0] if few else 0
    p.stride = 8 * ((p.g.n_states + 7) // 8 + 1) + (0 if core.by_state else core.n_places)
    p.largest = largest
    p.rounded = memory.rows(p.n_rows if few else BATCH, p.stride)
    p.entries = memory.table(log_entries.shape[0], 1)
    L = 8 * core.n_heads
    p.step, p.passage = memory.rows(1, L), memory.rows(1, L)
    p.width = 8 * core.n_plain
    p.n_notes = 2 * core.n_heads if core.aligned else 2 * (core.n_places // 8) + core.n_heads
    p.ring = 1
    while p.ring <= min(core.longest, longest):
        p.ring *= 2
    p.chunk = longest
    if longest * p.width * <int64_t> sizeof(double) > KEPT:
        p.chunk = min(longest, max(KEPT // (p.width * <int64_t> sizeof(double)), 4 * p.ring))
    p.state = p.width + (2 + p.ring) * L
    p.kept = memory.table(longest // p.chunk + 1 if p.chunk < longest else 0, p.state)
    p.values = memory.table(p.chunk + 1, p.width)
    p.notes = <uint8_t *> memory.room(p.chunk * p.n_notes)
    p.delay.core, p.delay.weights = core, p.entries
    p.delay.step, p.delay.passage = p.step, p.passage
    p.delay.ring, p.delay.mask = memory.table(p.ring, L), p.ring - 1
    p.delay.sums, p.delay.last = memory.rows(1, L), memory.rows(1, L)
    p.delay.arrived, p.delay.arrive = memory.rows(1, L), memory.rows(1, core.n_places)
    open_trail(&trail, memory, core, longest)
    with nogil:
        for s in range(core.n_places):
            p.delay.arrive[s] = -INFINITY
        fine = not few or prepare(&p, offsets, -1)
        for s in range(n):
            left[s] = not (fine and (few or prepare(&p, offsets, s)) and decode(
                &p, offsets[s], offsets[s + 1] - offsets[s], &trail, &labels[0],
                &log_transmat[0, 0], &path[offsets[s]], &log_prob[s]))
            if stopped(&watch, 1):
                break
        check()
