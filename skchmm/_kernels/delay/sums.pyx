"""Forward-backward on a graph with delay lines, whose cost does not depend on their delays.

    alpha_t(m)    = b(y_t, state(m)) (sum_{n -> m} alpha_{t-1}(n) w(n -> m) + sum_{lines to m} a_t)
    a_t(line)     = alpha_{t-d}(head) w^d b(y_{t-d+1}) ... b(y_{t-1})
    beta_t(head)  = w^d b(y_{t+1}) ... b(y_{t+d}) beta_{t+d}(tail)

with d the delay of a line, and transition and emissions of its one state. The products between are
quotients of running products: what these round away before a path enters is in both. A path that
enters a line is inside for d steps, so its posterior is the sum of those of entering in the last d
steps. What is left at the end, and what a long line of a poor state holds, may be e^-10000 of a
row: every number has an exponent of its own (sum_steps.h), and nothing is lost. O(edges + lines) a
step.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.faint cimport faint_back, faint_off
from ..shared.interrupt cimport Watch, check, new_watch, stopped
from ..shared.layout cimport Layout, longest_of
from ..shared.memory cimport Memory
from ..simd.instructions cimport instructions_in_use
from .apart cimport Apart, apart_sequence, open_apart
from .lines cimport Core, Lines
from .model cimport (
    BATCH, Model, Sums, begin_anew, begin_back, convert, delay_backward, delay_forward,
    delay_window, finish, first_row, lay_out, open_sums, plain_convert,
)
from .scaled cimport ROOM, ScaledWork, open_scaled, scaled_sequence
from .spread cimport mean_spread


cdef extern from "delay/apart_steps.h" nogil:
    const int *instructions

instructions = instructions_in_use()

cdef int64_t KEPT = 1 << 27      # bytes of alpha; where there are more, chunks are filled again


cdef bint fill(Model *p, int64_t origin, int64_t begin, int64_t end, double *total) noexcept nogil:
    """The rows of a chunk of steps; False: a step cannot be held."""
    cdef int64_t t = begin, n
    cdef double *out = p.alpha + p.width
    cdef const int32_t *rows
    while t < end:
        n = min(end - t, BATCH)
        total[0] += lay_out(p, origin + t, n)
        if p.flags & 2 or stopped(p.watch, n):
            return False
        p.ahead.impossible = p.back.impossible = p.flags & 1
        rows = p.rows + origin + t if p.n_rows else NULL
        if t == 0:
            first_row(p, origin, out)
            delay_forward(&p.ahead, 1, n - 1, p.emit_x if p.n_rows else p.emit_x + p.stride,
                          p.emit_e if p.n_rows else p.emit_e + p.stride,
                          rows + 1 if p.n_rows else NULL, p.stride, p.width, out + p.width)
        else:
            delay_forward(&p.ahead, t, n, p.emit_x, p.emit_e, rows, p.stride, p.width, out)
        t += n
        out += n * p.width
    return True


cdef void keep(const Model *p, double *out) noexcept nogil:
    """What the recursion needs to go on; the row before a chunk lies in `alpha`."""
    cdef int64_t L = 8 * p.core.n_heads
    cdef const Sums *s = &p.ahead
    memcpy(out, p.alpha, p.width * sizeof(double))
    memcpy(out + p.width, s.run_x, L * sizeof(double))
    memcpy(out + p.width + L, s.run_e, L * sizeof(double))
    memcpy(out + p.width + 2 * L, s.last, L * sizeof(double))
    memcpy(out + p.width + 3 * L, s.ring_x, p.ring * L * sizeof(double))
    memcpy(out + p.width + (3 + p.ring) * L, s.ring_e, p.ring * L * sizeof(double))


cdef void restore(const Model *p, const double *kept) noexcept nogil:
    cdef int64_t L = 8 * p.core.n_heads
    cdef const Sums *s = &p.ahead
    memcpy(p.alpha, kept, p.width * sizeof(double))
    memcpy(s.run_x, kept + p.width, L * sizeof(double))
    memcpy(s.run_e, kept + p.width + L, L * sizeof(double))
    memcpy(s.last, kept + p.width + 2 * L, L * sizeof(double))
    memcpy(s.ring_x, kept + p.width + 3 * L, p.ring * L * sizeof(double))
    memcpy(s.ring_e, kept + p.width + (3 + p.ring) * L, p.ring * L * sizeof(double))


cdef bint forward(Model *p, int64_t origin, int64_t T, bint again, double *log_z) noexcept nogil:
    """Leaves the last chunk of alpha, and in `behind` what gammas are to be multiplied by."""
    cdef const Core *c = p.core
    cdef int64_t i, begin, end = 0, n = (T + p.chunk - 1) // p.chunk
    cdef double total = 0.0
    begin_anew(c, &p.ahead)
    for i in range(n):
        begin, end = i * p.chunk, min(T, (i + 1) * p.chunk)
        if i > 0:
            memcpy(p.alpha, p.alpha + p.chunk * p.width, p.width * sizeof(double))
        if again and n > 1:
            keep(p, p.kept + i * p.state)
        if not fill(p, origin, begin, end, &total):
            return False
    finish(p, T, p.alpha + (T - (n - 1) * p.chunk) * p.width, total, log_z)
    return True


cdef bint backward(Model *p, int64_t origin, int64_t T, double *gamma) noexcept nogil:
    cdef const Core *c = p.core
    cdef int64_t i, t, begin, end, n, m, L = 8 * c.n_heads
    cdef int64_t S = p.g.n_states, chunks = (T + p.chunk - 1) // p.chunk
    cdef double ignored = 0.0
    begin_back(p, T)
    for i in range(chunks - 1, -1, -1):
        begin, end = i * p.chunk, min(T, (i + 1) * p.chunk)
        if i < chunks - 1:
            if i == 0:
                begin_anew(c, &p.ahead)
            else:
                restore(p, p.kept + i * p.state)
            if not fill(p, origin, begin, end, &ignored):
                return False
        t = end - 1
        while t >= begin:
            n = min(t - begin + 1, BATCH)
            lay_out(p, origin + t - n + 1, n)
            m = 0 if p.n_rows else (n - 1) * p.stride
            delay_backward(&p.back, &p.behind, t, n, p.emit_x + m, p.emit_e + m,
                           p.rows + origin + t if p.n_rows else NULL, p.stride, p.width,
                           p.alpha + (t - begin + 1) * p.width, gamma + t * S,
                           p.entering + t * L)
            t -= n
            if stopped(p.watch, n):
                return False
    return True


cdef void count_lines(const Model *p, int64_t T, double weight, double *inside) noexcept nogil:
    """The edge after node k of a line is taken by what entered it k + 1 steps before the end."""
    cdef const Core *c = p.core
    cdef int64_t l, t, k
    cdef double total
    for l in range(c.n_lines):
        total = 0.0
        for t in range(T - 1):
            total += p.entering[t * 8 * c.n_heads + l]
            k = T - 2 - t
            if k < c.delay[l]:
                inside[c.begin[l] + k] += weight * total


def delayed_sums(Layout layout,                    # IN
                 Lines lines,                      # IN
                 const double[:, ::1] ahead,       # IN, x and e of weights by entry of the blocks
                 const double[:, ::1] back,        # IN, the same of the reversed edges
                 const double[:, ::1] within,      # IN, the same of the lines, filled up to blocks
                 const double[::1] start,          # IN
                 double smallest,                  # IN, of the positive weights
                 const double[:, ::1] log_table,   # IN
                 const int32_t[::1] rows,          # IN or None: row t of log_table is step t
                 const int64_t[::1] offsets,       # IN
                 const double[::1] seq_weights,    # IN or None, for the counts
                 const int64_t[::1] chosen,        # IN, the sequences
                 double[::1] log_z,                # OUT, -inf where infeasible
                 uint8_t[::1] left,                # OUT, 1: nothing said, emissions are too small
                 double[:, ::1] gamma=None,        # OUT or None: the forward pass is all
                 double[::1] counts=None,          # INOUT or None, by entry of the blocks
                 double[::1] inside=None):         # INOUT or None, by node inside lines: edges on
    """Likelihoods, marginals of the states, and expected counts of the edges."""
    cdef Model p
    cdef const Core *core = &lines.core
    cdef int64_t i, k, s, T, longest = longest_of(offsets, chosen), N = core.n_places, n_steps = 0
    cdef int64_t S = layout.graph.n_states, n_entries = ahead.shape[1]
    cdef bint few, again = gamma is not None
    cdef double weight, ignored = 0.0
    cdef int64_t L, back_ring, n_entering
    cdef double *marginals
    cdef double *rings
    cdef ScaledWork scaled
    cdef Apart apart
    cdef Watch watch = new_watch(4 * (8 * core.blocks.start[core.blocks.n_blocks] + N))
    cdef unsigned faint
    cdef Memory memory = Memory()
    p.g, p.core, p.watch, p.start = &layout.graph, core, &watch, &start[0]
    p.table, p.rows = &log_table[0, 0], NULL if rows is None else &rows[0]
    for i in range(chosen.shape[0]):
        n_steps += offsets[chosen[i] + 1] - offsets[chosen[i]]
    few = rows is not None and 4 * log_table.shape[0] <= n_steps
    p.n_rows = log_table.shape[0] if few else 0
    p.stride = 8 * ((S + 7) // 8 + 1) + (0 if core.by_state else N)
    p.emit_x = memory.rows(p.n_rows if few else BATCH, p.stride)
    p.emit_e = memory.rows(p.n_rows if few else BATCH, p.stride)
    for k in range((p.n_rows if few else BATCH) * p.stride):
        p.emit_x[k] = 1.0  # lanes without a state divide by it
    p.tops = memory.rows(p.n_rows if few else BATCH, 1)
    p.width = 2 * N
    p.ring = 1
    while p.ring <= min(core.longest, longest):
        p.ring *= 2
    p.chunk = min(longest, 1024)
    if again:
        p.chunk = longest + 1
        if longest * p.width * <int64_t> sizeof(double) > KEPT:
            p.chunk = max(KEPT // (p.width * <int64_t> sizeof(double)), 4 * p.ring)
            p.chunk = min(longest, p.chunk)
    p.state = p.width + (3 + 2 * p.ring) * 8 * core.n_heads
    p.kept = memory.table(longest // p.chunk + 1 if again and p.chunk < longest else 0, p.state)
    # In one piece: memory of many large ones goes back to the system when they are freed, and comes
    # anew page by page in the next call.
    L = 8 * core.n_heads
    back_ring = p.ring if again else 1
    n_entering = longest + 2 if again else 0
    p.alpha = memory.table((p.chunk + 1 + ROOM) * p.width
                           + (n_entering + 2 * p.ring + 2 * back_ring) * L, 1)
    memset(p.alpha, 0, p.width * sizeof(double))
    rings = p.alpha + (p.chunk + 1 + ROOM) * p.width
    open_sums(&p.ahead, memory, core, p.ring, rings)
    open_sums(&p.back, memory, core, back_ring, rings + 2 * p.ring * L)
    p.entering = rings + (2 * p.ring + 2 * back_ring + 1) * L  # a row before it is written to
    p.ahead.x, p.ahead.e = &ahead[0, 0], &ahead[1, 0]
    p.back.x, p.back.e = &back[0, 0], &back[1, 0]
    p.ahead.line_x = p.back.line_x = &within[0, 0]
    p.ahead.line_e = p.back.line_e = &within[1, 0]
    p.behind.final, p.behind.v, p.behind.beta = p.g.final, memory.rows(2, N), memory.rows(2, N)
    p.behind.x, p.behind.e, p.behind.n_states = p.ahead.x, p.ahead.e, S
    p.behind.direct = lines.direct
    p.behind.counts = NULL
    if counts is not None:
        p.behind.counts = memory.rows(n_entries, 1)
    p.fast = lines.uniform and smallest >= 1e-10 and counts is None
    p.plain = memory.rows(p.n_rows if few else BATCH, S)
    p.plainness = 2
    if few:
        p.plainness = plain_convert(p.n_rows, S, p.table, p.plain, &ignored)
        p.fast = p.fast and p.plainness > 0
    open_scaled(&scaled, &p, memory, log_table.shape[0], longest, again)
    open_apart(&apart, &scaled, &p, memory, longest, again)
    with nogil:
        faint = faint_off()
        p.flags = 0
        if few:
            convert(&p, 0, p.n_rows, 0)
        for i in range(chosen.shape[0]):
            s = chosen[i]
            T = offsets[s + 1] - offsets[s]
            if not few:
                p.flags = 0
            marginals = &gamma[offsets[s], 0] if again else NULL
            if (scaled.usable and scaled_sequence(&scaled, &p, offsets[s], T, marginals,
                                                  &log_z[s])
                    or scaled.fits and apart_sequence(&apart, &scaled, &p, offsets[s], T, marginals,
                                                      &log_z[s])):
                left[s] = 0
                if stopped(&watch, 1):
                    break
                continue
            left[s] = not forward(&p, offsets[s], T, again, &log_z[s])
            if stopped(&watch, 1):
                break
            if not again or left[s] or log_z[s] == -INFINITY:
                continue
            if p.behind.counts != NULL:
                memset(p.behind.counts, 0, n_entries * sizeof(double))
            left[s] = not backward(&p, offsets[s], T, marginals)
            if left[s]:
                continue
            if p.behind.counts != NULL:
                weight = 1.0 if seq_weights is None else seq_weights[s]
                for k in range(n_entries):
                    counts[k] += weight * p.behind.counts[k]
                count_lines(&p, T, weight, &inside[0])
            delay_window(core, p.behind.direct, T, S, p.entering, marginals)
        faint_back(faint)
        check()


def powers_apart(const double[:, ::1] log_table):
    """How many powers of two the emissions of a step are apart, on average."""
    return mean_spread(&log_table[0, 0], log_table.shape[0], log_table.shape[1])
