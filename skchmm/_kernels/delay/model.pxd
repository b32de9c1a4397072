"""What the recursions of delay/sums.pyx work on: where they begin, and where they end."""
from libc.math cimport INFINITY, M_LN2, frexp, log
from libc.stdint cimport int32_t, int64_t

from ..shared.interrupt cimport Watch
from ..shared.layout cimport Graph
from ..shared.memory cimport Memory
from .lines cimport Core


cdef extern from "delay/scaled_steps.h" nogil:
    const double NOTHING

    ctypedef struct Sums:
        const Core *core
        const double *x
        const double *e
        const double *line_x
        const double *line_e
        bint impossible
        double *ring_x
        double *ring_e
        int64_t mask
        double *run_x
        double *run_e
        double *last
        double *arrived
        double *arrive
    ctypedef struct Behind:
        const double *final
        int64_t T
        double norm_x
        double norm_e
        double *v
        double *beta
        double *counts
        const double *x
        const double *e
        bint direct
        int64_t n_states
    void add_up(double *x, double *e, double more_x, double more_e)
    int delay_convert(int64_t n_rows, int64_t n, const double *rows, int64_t stride, double *x,
                      double *e, double *tops)
    void delay_forward(Sums *, int64_t t, int64_t n, const double *emit_x, const double *emit_e,
                       const int32_t *rows, int64_t stride, int64_t width, double *out)
    void delay_mass(const Sums *, int64_t T, const double *final, double *x, double *e)
    void delay_backward(Sums *, const Behind *, int64_t t, int64_t n, const double *emit_x,
                        const double *emit_e, const int32_t *rows, int64_t stride, int64_t width,
                        const double *alpha, double *gamma, double *entering)
    void delay_window(const Core *, bint direct, int64_t T, int64_t n_states, double *entering,
                      double *gamma)
    int plain_convert(int64_t n, int64_t n_states, const double *rows, double *out, double *total)


cdef enum:
    BATCH = 64                   # steps whose emissions are laid out at once


cdef struct Model:
    const Graph *g
    const Core *core
    const double *start
    const double *table
    const int32_t *rows          # NULL: row t is step t
    int64_t n_rows               # of the table, if they are few; 0: they are converted by batches
    int64_t stride               # of converted rows
    double *emit_x
    double *emit_e
    double *tops
    int flags                    # what was seen in the table: 1 zeros, 2 what cannot be held
    Sums ahead
    Sums back
    Behind behind
    int64_t chunk
    int64_t width
    int64_t ring                 # rows of a ring
    double *alpha                # (chunk + 1, width): the row before a chunk, then its rows
    double *kept                 # (chunks, state)
    int64_t state
    double *entering
    bint fast                    # emissions are plain numbers, unless some are too small
    int plainness                # what plain_convert says of the rows of a table that has few
    double *plain                # these: of all rows of the table, or of a batch
    Watch *watch


cdef inline void convert(Model *p, int64_t first, int64_t n, int64_t at) noexcept nogil:
    """The emissions of rows of the table become row `at` and what follows."""
    cdef int64_t S = p.g.n_states, m, by_place = 0 if p.core.by_state else p.core.n_places
    cdef double *x = p.emit_x + at * p.stride
    cdef double *e = p.emit_e + at * p.stride
    cdef double *end = x + n * p.stride
    p.flags |= delay_convert(n, S, p.table + first * S, p.stride, x + by_place, e + by_place,
                             p.tops + at)
    while by_place and x < end:
        for m in range(by_place):
            x[m], e[m] = x[by_place + p.core.states[m]], e[by_place + p.core.states[m]]
        x += p.stride
        e += p.stride


cdef inline double lay_out(Model *p, int64_t step, int64_t n) noexcept nogil:
    """Make the emissions of some steps ready; the sum of what they were divided by."""
    cdef int64_t t
    cdef double total = 0.0
    if p.n_rows:
        for t in range(step, step + n):
            total += p.tops[p.rows[t]]
        return total
    if p.rows == NULL:
        convert(p, step, n, 0)
    else:
        for t in range(n):
            convert(p, p.rows[step + t], 1, t)
    for t in range(n):
        total += p.tops[t]
    return total


cdef inline void begin_anew(const Core *c, Sums *s) noexcept nogil:
    cdef int64_t k
    for k in range(8 * c.n_heads):
        s.run_x[k], s.run_e[k], s.last[k] = 1.0, 0.0, -1.0


cdef inline void first_row(Model *p, int64_t origin, double *out) noexcept nogil:
    """alpha of step 0, whose emissions are ready."""
    cdef const Core *c = p.core
    cdef int64_t i, m, k, N = c.n_places, at = p.stride * p.rows[origin] if p.n_rows else 0
    cdef int power
    cdef Sums *s = &p.ahead
    for m in range(N):
        out[m], out[N + m] = 0.0, NOTHING
    for i in range(p.g.n_states):
        if p.g.start_nodes[i] < 0:
            continue
        m = c.place[p.g.start_nodes[i]]
        k = at + c.emit[m // 8] + m % 8
        if p.start[i] > 0.0 and p.emit_x[k] > 0.0:
            out[m] = 2.0 * frexp(p.start[i], &power)
            out[N + m] = p.emit_e[k] + power - 1
            out[m] = 2.0 * frexp(out[m] * p.emit_x[k], &power)
            out[N + m] += power - 1
    for k in range(8 * c.n_heads):
        m = 8 * c.n_plain + k
        s.ring_x[k], s.ring_e[k] = out[m] * s.line_x[k], out[N + m] + s.line_e[k]


cdef inline void finish(Model *p, int64_t T, const double *row, double total,
                        double *log_z) noexcept nogil:
    """The sum over all paths, from the last row."""
    cdef const Core *c = p.core
    cdef int64_t m, N = c.n_places
    cdef double x = 0.0, e = NOTHING
    for m in range(8 * c.n_plain):
        if c.nodes[m] >= 0 and p.g.final[c.nodes[m]] > 0.0:
            add_up(&x, &e, row[m] * p.g.final[c.nodes[m]], row[N + m])
    delay_mass(&p.ahead, T, p.g.final, &x, &e)
    log_z[0] = -INFINITY
    if x > 0.0:
        log_z[0] = total + e * M_LN2 + log(x)
        p.behind.norm_x, p.behind.norm_e = 1.0 / x, -e


cdef inline void begin_back(Model *p, int64_t T) noexcept nogil:
    cdef const Core *c = p.core
    cdef int64_t m, N = c.n_places
    cdef double *beta = p.behind.beta
    p.behind.T = T
    begin_anew(c, &p.back)
    for m in range(N):
        beta[m], beta[N + m] = 0.0, NOTHING
    for m in range(8 * c.n_plain):
        if c.nodes[m] >= 0:
            add_up(&beta[m], &beta[N + m], p.g.final[c.nodes[m]], 0.0)


cdef inline int open_sums(Sums *s, Memory memory, const Core *core, int64_t ring,
                          double *rings) except -1:
    cdef int64_t k, L = 8 * core.n_heads
    s.core, s.mask, s.impossible = core, ring - 1, False
    s.ring_x, s.ring_e = rings, rings + ring * L
    s.run_x, s.run_e, s.last = memory.rows(1, L), memory.rows(1, L), memory.rows(1, L)
    s.arrived, s.arrive = memory.rows(2, L), memory.rows(2, core.n_places)
    for k in range(core.n_places):
        s.arrive[core.n_places + k] = NOTHING
    return 0
