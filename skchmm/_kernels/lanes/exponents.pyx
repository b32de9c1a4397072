"""Exponents of the nodes in each of 8 lanes, so that no row of probabilities loses anything.

Where rules make a graph run in one direction, or emissions are extreme, the nodes of a row drift
apart without bound, and what is negligible now may be all that is accepted in the end. So every
node has an exponent of its own in every lane,

    alpha(m) = row(m) 2^exponent(m),

and the edges of the lane carry weight 2^(exponent(n) - exponent(m)). Exponents change only when
a number leaves [1e20, 1e155]; they are one number per lane while the nodes keep together. Where
that is not enough, a step is done with *care*: the exponents of its sums are those of their largest
terms. What changes is noted as an event, and taken back on the way back. O(edges) an event.
"""
from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport Graph, edges_into
from ..shared.memory cimport Memory
from ..simd.instructions cimport instructions_in_use
from .edges cimport LANES, Edges


cdef extern from "lanes/exponent_steps.h" nogil:
    const int *instructions
    void lanes_weigh(int64_t n, const int32_t *source, const int32_t *target, const double *base,
                     const double *before, const double *after, double least, int raise_,
                     const double *live, double *out)
    int lanes_balance(int64_t n_nodes, int64_t n_edges, const int32_t *source,
                      const int32_t *target, const double *chosen, const double *close,
                      double *row, double *exponents, double *shift)
    void lanes_reach(int64_t n_nodes, int64_t n_edges, const int32_t *source,
                     const int32_t *target, const double *row, const double *exponents,
                     double *sizes, double *out)
    void lanes_move(int64_t n_nodes, const int32_t *states, const double *reached,
                    const double *scales, double *exponents, double *shift)
    void lanes_undo(int64_t n_nodes, const double *shift, double *alpha, double *beta,
                    double *exponents)

instructions = instructions_in_use()

# In uneven lanes weights are raised to this, so that what should be positive is; see the bounds in
# sums.pyx for what that is beside other sums.
cdef double LEAST_WEIGHT = 1e-290


cdef int new_exponents(const Graph *g, Memory memory, int64_t n_steps, bint keep,
                       Exponents *x) except -1:
    """For so many steps at a time."""
    # At most, and rarely touched: two events per step.
    cdef int64_t n_events = 2 * n_steps if keep else 1
    x.keep = keep
    x.values = memory.rows(1, g.n_nodes * LANES)
    x.events = <Event *> memory.room(n_events * sizeof(Event))
    x.shifts = memory.table(2 * n_events, g.n_nodes * LANES)
    return 0


cdef void weigh(Exponents *x, const Edges *edges) noexcept nogil:
    """The weights that the exponents make."""
    lanes_weigh(edges.n, edges.source, edges.target, edges.base, x.values, x.values, LEAST_WEIGHT,
                True, x.live, edges.weights)
    x.stale = False


cdef void weigh_with_care(const Graph *g, const Exponents *x, const Edges *edges, int64_t e,
                          const double *reached) noexcept nogil:
    """Weights of the edges of an epoch, for one step."""
    cdef int64_t first = edges_into(g, e)[0]
    lanes_weigh(edges_into(g, e)[g.n_nodes] - first, edges.source + first, edges.target + first,
                edges.base + first, x.values, reached, LEAST_WEIGHT, False, x.live,
                edges.weights + first * LANES)


cdef Event *new_event(const Graph *g, Exponents *x, int64_t t, bint care) noexcept nogil:
    """The next event; it counts if it is to be gone back to."""
    cdef Event *event = x.events + x.n_events
    event.t, event.care, event.uneven = t, care, x.uneven
    event.shift = x.shifts + 2 * x.n_events * g.n_nodes * LANES
    event.reached = event.shift + g.n_nodes * LANES
    if x.keep:
        x.n_events += 1
    return event


cdef void silence(Exponents *x, const Edges *edges, int64_t lane) noexcept nogil:
    """From here on, nothing in a lane; numbers that fade to denormal ones would take long."""
    cdef int64_t k
    x.live[lane] = 0.0
    for k in range(edges.n):
        edges.weights[k * LANES + lane] = 0.0


cdef void balance(const Graph *g, Exponents *x, const Edges *edges, int lanes, int close,
                  int64_t t, double *row) noexcept nogil:
    """An event: new exponents for some lanes.

    `close`: lanes whose sums are, whatever the emissions made of them; the next will be again.
    """
    cdef Event *event = new_event(g, x, t, False)
    cdef double chosen[8]
    cdef double kept[8]
    cdef int64_t l
    for l in range(LANES):
        chosen[l] = lanes >> l & 1
        kept[l] = (close & ~x.uneven) >> l & 1
    x.uneven = (x.uneven & ~lanes) | lanes_balance(
        g.n_nodes, edges.n, edges.source, edges.target, chosen, kept, row, x.values, event.shift)
    if event.uneven | x.uneven:
        x.stale = True


cdef Event *begin_care(const Graph *g, Exponents *x, const Edges *edges, int64_t e, int64_t t,
                       const double *before) noexcept nogil:
    """An event: the weights of a step that is done with care."""
    cdef Event *event = new_event(g, x, t, True)
    cdef int64_t first = edges_into(g, e)[0]
    lanes_reach(g.n_nodes, edges_into(g, e)[g.n_nodes] - first, edges.source + first,
                edges.target + first, before, x.values, event.shift, event.reached)
    weigh_with_care(g, x, edges, e, event.reached)
    return event


cdef void end_care(const Graph *g, Exponents *x, const Event *event,
                   const double *scales) noexcept nogil:
    """After that step; `scales` are exponents of its emissions, or NULL."""
    lanes_move(g.n_nodes, g.node_states, event.reached, scales, x.values, event.shift)
    x.uneven = (1 << LANES) - 1
    x.stale = True


cdef bint undo_event(const Graph *g, Exponents *x, const Edges *back, int64_t e, double *alpha,
                     double *beta) noexcept nogil:
    """Take the last event back; whether it was one of care: then the weights are those of it."""
    cdef int64_t m
    cdef Event *event
    x.n_events -= 1
    event = x.events + x.n_events
    if event.uneven | x.uneven:
        x.stale = True
    x.uneven = event.uneven
    if not event.care:
        lanes_undo(g.n_nodes, event.shift, alpha, beta, x.values)
        return False
    for m in range(g.n_nodes * LANES):
        x.values[m] -= event.shift[m]
    weigh_with_care(g, x, back, e, event.reached)
    return True
