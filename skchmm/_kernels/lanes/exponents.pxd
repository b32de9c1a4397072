from libc.stdint cimport int64_t

from ..shared.layout cimport Graph
from ..shared.memory cimport Memory
from .edges cimport Edges


cdef extern from "lanes/exponent_steps.h" nogil:
    double LANES_CENTRE


cdef struct Event:
    int64_t t
    bint care                    # a step done with care; else new exponents for its row
    int uneven                   # lanes that were before it
    double *shift                # (n_nodes, 8): what the exponents grew by
    double *reached              # (n_nodes, 8): after care, the exponents of the sums


cdef struct Exponents:
    double *values               # (n_nodes, 8)
    double live[8]               # 1, or 0: nothing more happens in the lane
    int uneven                   # lanes whose nodes have different exponents
    bint stale                   # the weights of the edges are not those of the exponents
    bint keep                    # whether events are gone back to
    Event *events
    double *shifts               # memory for them
    int64_t n_events


cdef int new_exponents(const Graph *g, Memory memory, int64_t n_steps, bint keep,
                       Exponents *x) except -1
cdef void weigh(Exponents *x, const Edges *edges) noexcept nogil
cdef void silence(Exponents *x, const Edges *edges, int64_t lane) noexcept nogil
cdef void balance(const Graph *g, Exponents *x, const Edges *edges, int lanes, int close,
                  int64_t t, double *row) noexcept nogil
cdef Event *begin_care(const Graph *g, Exponents *x, const Edges *edges, int64_t e, int64_t t,
                       const double *before) noexcept nogil
cdef void end_care(const Graph *g, Exponents *x, const Event *event,
                   const double *scales) noexcept nogil
cdef bint undo_event(const Graph *g, Exponents *x, const Edges *back, int64_t e, double *alpha,
                     double *beta) noexcept nogil
