/* Steps of lanes/values.pyx, for 8 sequences; one vector operation an edge. */
#ifndef ISA

#include "lanes/fill_steps.h"
#include "lanes/put_steps.h"
#include "lanes/side.h"

#define STEPS "lanes/value_steps.h"
#include "simd/each.h"

#define lanes_value_run(...) DISPATCH(lanes_value_run)(__VA_ARGS__)

#else

/* n steps, from the row before them; the rows follow each other. The lanes in which an edge was as
 * good as the best before it, if these are looked for: a constant of the compiler. */
#define BEGIN SPREAD(-INFINITY)
#define TAKE(best, edge)                                    \
    do {                                                    \
        W8 candidate = ADD(from, SPREAD(weights[edge]));    \
        if (look)                                           \
            equal = OR_EQUAL(equal, candidate, best);       \
        best = MAX(best, candidate);                        \
    } while (0)
#define FINISH(i, best) STORE(there + NODE(i), ADD(best, LOAD(emit + STATE(i))))
TARGET INLINE int NAME(value_steps)(const int look, const Side *g, const double *weights, int64_t n,
                                    int64_t n_states, const double *emit, double *rows)
{
    LANE_SET equal = NO_LANES();
    const double *here = rows;
    for (int64_t t = 0; t < n; t++, emit += 8 * n_states) {
        double *there = rows + 8 * (t + 1) * g->n_nodes;
        ALL_NODES(TAKE_ONE, TAKE_FOUR);
        here = there;
    }
    return LANE_BITS(equal);
}
#undef BEGIN
#undef TAKE
#undef FINISH

TARGET static int NAME(lanes_value_run)(int look, const Side *g, const double *weights, int64_t n,
                                        int64_t n_states, const double *emit, double *rows)
{
    if (look)
        return NAME(value_steps)(1, g, weights, n, n_states, emit, rows);
    return NAME(value_steps)(0, g, weights, n, n_states, emit, rows);
}

#endif
