/* Steps of lanes/filtering.pyx, for 8 sequences; one vector operation an edge. */
#ifndef ISA

#include "lanes/fill_steps.h"
#include "lanes/side.h"

#define STEPS "lanes/filter_steps.h"
#include "simd/each.h"

#define lanes_filter_run(...) DISPATCH(lanes_filter_run)(__VA_ARGS__)
#define lanes_put_first(...) DISPATCH(lanes_put_first)(__VA_ARGS__)

#else

/* Probabilities of the states, from a row of nodes with these factors, to where `out` has a place for
 * a lane; that place goes on. `end`: what lies there belongs to others. `first` has the first node of
 * every state and, after it, the number of nodes; it is NULL where a node is a state. */
TARGET INLINE void NAME(lanes_put)(int64_t n_states, const int32_t *first, const double *row,
                                   const double *factors, int active, double **out,
                                   double *const *end)
{
    const W8 factor = LOAD(factors);
    for (int64_t i = 0; i < n_states; i += 8) {
        W8 states[8];
        for (int j = 0; j < 8; j++) {
            states[j] = SPREAD(0.0);
            if (i + j >= n_states)
                continue;
            if (!first) {
                states[j] = MUL(LOAD(row + 8 * (i + j)), factor);
                continue;
            }
            for (int32_t m = first[i + j]; m < first[i + j + 1]; m++)
                states[j] = ADD(states[j], LOAD(row + 8 * m));
            states[j] = MUL(states[j], factor);
        }
        TRANSPOSE(states);
        for (int l = 0; l < active; l++) {
            double *place = out[l] + i;
            if (end[l] - place >= 8)
                STORE(place, states[l]); /* the next row is written over what is too much */
            else
                STORE_HEAD(place, states[l], n_states - i);
        }
    }
    for (int l = 0; l < active; l++)
        out[l] += n_states;
}

TARGET static void NAME(lanes_put_first)(int64_t n_states, const int32_t *first, const double *row,
                                         const double *factors, int active, double **out,
                                         double *const *end)
{ NAME(lanes_put)(n_states, first, row, factors, active, out, end); }

/* n steps of the first `active` lanes, each from the row before it; the rows in turn are `here` and
 * `there`. Returns the last one, which sums to 1. Lanes in which a positive sum, or all of a row, was
 * below floor are added to `small`. */
#define SUM(i, sum)                                         \
    do {                                                    \
        least = LEAST(sum, least);                          \
        sum = MUL(sum, LOAD(emit + STATE(i)));              \
        total = ADD(total, sum);                            \
        STORE(there + NODE(i), sum);                        \
    } while (0)
#define ONE(D)                                                               \
    do {                                                                     \
        W8 sum = SPREAD(0.0);                                                \
        for (int64_t j = 0; j < (D); j++)                                    \
            sum = FMA(OTHER(here, 1, j), SPREAD(weights[k + j]), sum);       \
        SUM(0, sum);                                                         \
    } while (0)
#define FOUR(D)                                                     \
    do {                                                            \
        W8 a = SPREAD(0.0), b = a, c = a, d = a;                    \
        for (int64_t j = 0; j < (D); j++) {                         \
            W8 from = OTHER(here, 4, j);                            \
            a = FMA(from, SPREAD(weights[k + j]), a);               \
            b = FMA(from, SPREAD(weights[k + j + (D)]), b);         \
            c = FMA(from, SPREAD(weights[k + j + 2 * (D)]), c);     \
            d = FMA(from, SPREAD(weights[k + j + 3 * (D)]), d);     \
        }                                                           \
        SUM(0, a);                                                  \
        SUM(1, b);                                                  \
        SUM(2, c);                                                  \
        SUM(3, d);                                                  \
    } while (0)
TARGET static double *NAME(lanes_filter_run)(const Side *g, const double *weights, int64_t n,
                                             int64_t n_states, const int32_t *first,
                                             const double *emit, double floor, int active,
                                             double *here, double *there, double **out,
                                             double *const *end, int *small)
{
    W8 least = SPREAD(INFINITY), factor = SPREAD(1.0);
    double factors[8];
    for (int64_t t = 0; t < n; t++, emit += 8 * n_states) {
        W8 total = SPREAD(0.0);
        ALL_NODES(ONE, FOUR);
        *small |= ABOVE(SPREAD(floor), total);
        factor = DIV(SPREAD(1.0), total);
        STORE(factors, factor);
        NAME(lanes_put)(n_states, first, there, factors, active, out, end);
        double *swap = here;
        here = there;
        there = swap;
    }
    *small |= ABOVE(SPREAD(floor), least);
    for (int64_t m = 0; m < g->n_nodes; m++)
        STORE(here + 8 * m, MUL(LOAD(here + 8 * m), factor));
    return here;
}
#undef SUM
#undef ONE
#undef FOUR

#endif
