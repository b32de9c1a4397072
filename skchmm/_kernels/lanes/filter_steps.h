/* Steps of lanes/filtering.pyx, for 8 sequences; one vector operation an edge. */
#ifndef ISA

#include "lanes/fill_steps.h"
#include "lanes/put_steps.h"
#include "lanes/side.h"

#define STEPS "lanes/filter_steps.h"
#include "simd/each.h"

#define lanes_filter_run(...) DISPATCH(lanes_filter_run)(__VA_ARGS__)
#define lanes_filter_few(...) DISPATCH(lanes_filter_few)(__VA_ARGS__)
#define lanes_scale(...) DISPATCH(lanes_scale)(__VA_ARGS__)
#define lanes_put_first(...) DISPATCH(lanes_put_first)(__VA_ARGS__)

#else

#include "simd/exp.h"

/* Logarithms of n steps as probabilities, divided by the largest of their step; the lanes in which
 * doubles may lose something: a ratio below e^least. */
TARGET static int NAME(lanes_scale)(int64_t n, int64_t n_states, double least, double *emit)
{
    const W8 none = SPREAD(-INFINITY);
    int lossy = 0;
    for (int64_t t = 0; t < n; t++, emit += 8 * n_states) {
        W8 top = LOAD(emit);
        for (int64_t i = 1; i < n_states; i++)
            top = MAX(top, LOAD(emit + 8 * i));
        top = PICK(top, none, top, SPREAD(0.0));
        for (int64_t i = 0; i < n_states; i++) {
            W8 x = SUB(LOAD(emit + 8 * i), top);
            lossy |= ABOVE(SPREAD(least), x) & ABOVE(x, none);
            STORE(emit + 8 * i, NAME(exp_of)(x));
        }
    }
    return lossy;
}

/* Probabilities of the states, from a row of nodes with these factors. `first` has the first node of
 * every state and, after it, the number of nodes; it is NULL where a node is a state. */
TARGET INLINE void NAME(state_row)(int64_t n_states, const int32_t *first, const double *row,
                                   W8 factor, double *out)
{
    for (int64_t i = 0; i < n_states; i++) {
        W8 mass = SPREAD(0.0);
        if (!first)
            mass = LOAD(row + 8 * i);
        else
            for (int32_t m = first[i]; m < first[i + 1]; m++)
                mass = ADD(mass, LOAD(row + 8 * m));
        STORE(out + 8 * i, MUL(mass, factor));
    }
}

TARGET static void NAME(lanes_put_first)(int64_t n_states, const int32_t *first, const double *row,
                                         const double *factors, int active, double *put,
                                         double **out, double *const *end)
{
    NAME(state_row)(n_states, first, row, LOAD(factors), put);
    NAME(lanes_put)(n_states, put, active, out, end);
}

/* n steps of the first `active` lanes, each from the row before it; the rows in turn are `here` and
 * `there`. Returns the last one, which sums to 1. Lanes in which a positive sum, or all of a row, was
 * below floor are added to `small`. `put` is room for what is written to `out`, and for 8 more. */
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
                                             double *here, double *there, double *put,
                                             double **out, double *const *end, int *small)
{
    W8 least = SPREAD(INFINITY), lowest = least, factor = SPREAD(1.0);
    for (int64_t t = 0; t < n; t++, emit += 8 * n_states) {
        W8 total = SPREAD(0.0);
        ALL_NODES(ONE, FOUR);
        lowest = MIN(total, lowest);
        factor = DIV(SPREAD(1.0), total);
        NAME(state_row)(n_states, first, there, factor, put + 8 * t * n_states);
        double *swap = here;
        here = there;
        there = swap;
    }
    NAME(lanes_put)(n * n_states, put, active, out, end);
    *small |= ABOVE(SPREAD(floor), lowest) | ABOVE(SPREAD(floor), least);
    for (int64_t m = 0; m < g->n_nodes; m++)
        STORE(here + 8 * m, MUL(LOAD(here + 8 * m), factor));
    return here;
}
#undef SUM
#undef ONE
#undef FOUR

/* The same where a row of K nodes stays in registers; K is a constant of the compiler. weights(m, n),
 * (K, 8), is that of the edge from n to m, or 0; `states` are places in a row of emissions. */
TARGET INLINE void NAME(few_nodes)(const int K, const double *weights, const int32_t *states,
                                   int64_t n, int64_t n_states, const int32_t *first,
                                   const double *emit, double floor, int active, double *here,
                                   double *put, double **out, double *const *end, int *small)
{
    W8 row[8], least = SPREAD(INFINITY), lowest = least, factor = SPREAD(1.0);
    for (int m = 0; m < K; m++)
        row[m] = LOAD(here + 8 * m);
    for (int64_t t = 0; t < n; t++, emit += 8 * n_states) {
        W8 sums[8], total = SPREAD(0.0);
        for (int m = 0; m < K; m++)
            sums[m] = MUL(row[0], SPREAD(weights[8 * m]));
        for (int j = 1; j < K; j++)
            for (int m = 0; m < K; m++)
                sums[m] = FMA(row[j], SPREAD(weights[8 * m + j]), sums[m]);
        for (int m = 0; m < K; m++) {
            least = LEAST(sums[m], least);
            row[m] = MUL(sums[m], LOAD(emit + states[m]));
            total = ADD(total, row[m]);
        }
        lowest = MIN(total, lowest);
        factor = DIV(SPREAD(1.0), total);
        if (first) {
            for (int m = 0; m < K; m++)
                STORE(here + 8 * m, row[m]);
            NAME(state_row)(n_states, first, here, factor, put + 8 * t * n_states);
        } else {
            for (int m = 0; m < K && m < n_states; m++)
                STORE(put + 8 * (t * n_states + m), MUL(row[m], factor));
        }
    }
    NAME(lanes_put)(n * n_states, put, active, out, end);
    *small |= ABOVE(SPREAD(floor), lowest) | ABOVE(SPREAD(floor), least);
    for (int m = 0; m < K; m++)
        STORE(here + 8 * m, MUL(row[m], factor));
}

TARGET static void NAME(lanes_filter_few)(int64_t K, const double *weights, const int32_t *states,
                                          int64_t n, int64_t n_states, const int32_t *first,
                                          const double *emit, double floor, int active,
                                          double *here, double *put, double **out,
                                          double *const *end, int *small)
{
#define RUN(K)                                                                                  \
    NAME(few_nodes)(K, weights, states, n, n_states, first, emit, floor, active, here, put, out, \
                    end, small)
    switch (K) {
    case 1:
    case 2: RUN(2); break;
    case 3: RUN(3); break;
    case 4: RUN(4); break;
    case 5: RUN(5); break;
    case 6: RUN(6); break;
    default: RUN(8);
    }
#undef RUN
}

#endif
