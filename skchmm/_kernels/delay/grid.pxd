"""Scores as whole numbers, so that sums of them are exact in whatever order they are added.

A line's value is the one that went in plus a difference of prefix sums. In floating-point numbers
the two would forget their digits in different ways, and paths that are equally good would not be so
any more. So scores are rounded once, to multiples of 2^-q that are so fine that the paths keep
their order and so coarse that no sum that a step sees reaches 2^53.
"""
from libc.math cimport floor, ldexp, log2
from libc.stdint cimport int64_t


cdef extern from "delay/grid_steps.h" nogil:
    void delay_span(int64_t n, const double *x, double *top, double *low, double *total,
                    int64_t *count)


cdef struct Grid:
    double level                 # taken off every log-likelihood first; it is the same for all
    double scale                 # 2^q
    bint impossible              # some log-likelihood is -inf


cdef struct Span:
    # What is known of some log-likelihoods.
    double top, low, total       # of those that are finite
    int64_t n                    # how many these are
    bint impossible              # whether there are others


cdef inline double whole(double x) noexcept nogil:
    """The nearest whole number, of numbers below 2^51."""
    return (x + 6755399441055744.0) - 6755399441055744.0


cdef inline Span span_of(const double *table, int64_t n) noexcept nogil:
    cdef Span span
    delay_span(n, table, &span.top, &span.low, &span.total, &span.n)
    span.impossible = span.n < n
    return span


cdef inline bint choose_grid(const Span *span, bint once, double weights, int64_t n_steps,
                             Grid *grid) noexcept nogil:
    """Whether a grid is fine enough for sums over so many steps.

    `once`: each log-likelihood is that of one step; `weights`: the largest of the other scores.
    """
    cdef double reach = span.top - span.low, mean = 0.0, bound
    grid.impossible, grid.level, grid.scale = span.impossible, 0.0, 1.0
    bound = 1.0
    if span.n > 0:
        grid.level = span.top
        mean = span.top - span.total / span.n
        bound += n_steps * reach
        if once:
            bound = min(bound, 1.0 + mean * span.n)
    bound += n_steps * weights
    if not bound < 1e15:
        return False
    grid.scale = ldexp(1.0, <int> floor(51.0 - log2(bound)))
    return grid.scale * max(1.0, mean) >= 1e9
